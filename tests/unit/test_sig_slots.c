/* The slots: their states one by one, and both sides at once (run under ThreadSanitizer as well). */
/* test: tsan */
#include "lib/unit.h"
#include "base/clock.h"
#include "sig/signal/sig_slots.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { SLOTS = 4, CAPACITY = 8 };

static struct sig_slot memory[SLOTS];
static uint64_t addresses[SLOTS * CAPACITY];
static struct sig_slots slots;

static int setup(void **state)
{
    memset(memory, 0, sizeof(memory));
    sig_slots_init(&slots, memory, SLOTS, addresses, CAPACITY);
    return 0;
}

static void test_one_round(void **state)
{
    uint64_t generation;
    int index = sig_slots_arm(&slots, 100, 200, NULL, &generation);
    assert_int_equal(index, 0);
    assert_int_equal(slots.pending, 1);
    assert_false(sig_slots_is_done(&slots, 0));
    struct sig_slot *slot = sig_slots_claim(&slots, 0, generation);
    assert_ptr_equal(slot, &memory[0]);
    assert_int_equal(slot->stack_low, 100);
    assert_int_equal(slot->stack_high, 200);
    assert_false(sig_slots_is_done(&slots, 0));
    sig_slots_finish(&slots, slot);
    assert_int_equal(slots.pending, 0);
    assert_true(sig_slots_is_done(&slots, 0));
    sig_slots_release(&slots, 0);
    assert_false(sig_slots_is_done(&slots, 0));
}

static void test_learning_is_for_one_round(void **state)
{
    uint64_t generation;
    for (int round = 0; round < 4; round++) {
        assert_int_equal(sig_slots_arm(&slots, 0, 0, NULL, &generation), 0);
        if (round % 2)
            sig_slots_let_learn(&slots, 0);
        assert_int_equal(sig_slots_claim(&slots, 0, generation)->learns, round % 2);
        sig_slots_finish(&slots, &memory[0]);
        sig_slots_release(&slots, 0);
    }
}

static void test_late_signal_is_recognised(void **state)
{
    uint64_t first, second;
    sig_slots_arm(&slots, 0, 0, NULL, &first);
    assert_true(sig_slots_cancel(&slots, 0));
    assert_int_equal(slots.pending, 0);
    assert_null(sig_slots_claim(&slots, 0, first));
    assert_int_equal(sig_slots_arm(&slots, 0, 0, NULL, &second), 0);
    assert_true(second != first);
    assert_null(sig_slots_claim(&slots, 0, first));
    assert_non_null(sig_slots_claim(&slots, 0, second));
    assert_null(sig_slots_claim(&slots, 0, second)); /* a signal delivered twice */
}

static void test_foreign_index_and_generation(void **state)
{
    uint64_t generation;
    sig_slots_arm(&slots, 0, 0, NULL, &generation);
    assert_null(sig_slots_claim(&slots, SLOTS, generation));
    assert_null(sig_slots_claim(&slots, UINT32_MAX, generation));
    assert_null(sig_slots_claim(&slots, 1, generation)); /* free */
    assert_null(sig_slots_claim(&slots, 0, generation + 1));
}

static void test_claimed_slot_cannot_be_cancelled(void **state)
{
    uint64_t generation;
    sig_slots_arm(&slots, 0, 0, NULL, &generation);
    struct sig_slot *slot = sig_slots_claim(&slots, 0, generation);
    assert_false(sig_slots_cancel(&slots, 0));
    assert_int_equal(slots.pending, 1);
    sig_slots_finish(&slots, slot);
    assert_true(sig_slots_is_done(&slots, 0));
}

static void test_all_slots_taken(void **state)
{
    uint64_t generation;
    for (int i = 0; i < SLOTS; i++)
        assert_int_equal(sig_slots_arm(&slots, 0, 0, NULL, &generation), i);
    assert_int_equal(sig_slots_arm(&slots, 0, 0, NULL, &generation), -1);
    assert_int_equal(slots.pending, SLOTS);
    assert_true(sig_slots_cancel(&slots, 2));
    assert_int_equal(sig_slots_arm(&slots, 0, 0, NULL, &generation), 2);
}

static void test_each_slot_has_its_own_addresses(void **state)
{
    for (int i = 0; i < SLOTS; i++)
        assert_ptr_equal(memory[i].addresses, addresses + i * CAPACITY);
}

static void test_wait_ends_at_the_deadline(void **state)
{
    uint64_t generation;
    sig_slots_wait(&slots, UINT64_MAX / 2); /* nothing pending: at once */
    sig_slots_arm(&slots, 0, 0, NULL, &generation);
    uint64_t deadline_ns = clock_monotonic_ns() + 2 * NS_PER_MS;
    sig_slots_wait(&slots, deadline_ns);
    assert_true(clock_monotonic_ns() >= deadline_ns);
    assert_int_equal(slots.pending, 1);
}

/* ---- both sides at once ---- */

enum { ROUNDS = 20000, REPLIERS = 3, MAIL = 64 };

/* Index and generation as the signal would carry them; 0 is empty, UINT64_MAX the end. */
static _Atomic uint64_t mail[MAIL];
static _Atomic uint64_t replied;

static void *reply_again(void *unused)
{
    (void)unused;
    for (;;) {
        for (int i = 0; i < MAIL; i++) {
            uint64_t letter = mail[i];
            if (letter == UINT64_MAX)
                return NULL;
            if (letter == 0)
                continue;
            uint32_t index = (uint32_t)(letter & 0xff);
            struct sig_slot *slot = sig_slots_claim(&slots, index, letter >> 8);
            if (!slot)
                continue;
            slot->depth = CAPACITY;
            for (int k = 0; k < CAPACITY; k++)
                slot->addresses[k] = letter; /* every word of a reply belongs to one letter */
            replied++;
            sig_slots_finish(&slots, slot);
        }
        sched_yield();
    }
}

static uint32_t take_reply(uint32_t index, uint64_t letter)
{
    for (int k = 0; k < CAPACITY; k++)
        assert_int_equal(memory[index].addresses[k], letter);
    sig_slots_release(&slots, index);
    return 1;
}

static void test_two_sides_at_once(void **state)
{
    pthread_t repliers[REPLIERS];
    uint64_t outstanding[SLOTS] = {0}, taken = 0, cancelled = 0, sent = 0;
    for (int i = 0; i < REPLIERS; i++)
        assert_int_equal(pthread_create(&repliers[i], NULL, reply_again, NULL), 0);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t generation;
        int index = sig_slots_arm(&slots, 0, 0, NULL, &generation);
        if (index >= 0) {
            outstanding[index] = generation << 8 | (uint64_t)index;
            mail[round % MAIL] = outstanding[index];
            sent++;
        }
        for (uint32_t i = 0; i < SLOTS; i++) {
            if (outstanding[i] && sig_slots_is_done(&slots, i)) {
                taken += take_reply(i, outstanding[i]);
                outstanding[i] = 0;
            } else if (outstanding[i] && round % 5 == 0 && sig_slots_cancel(&slots, i)) {
                cancelled++;
                outstanding[i] = 0;
            }
        }
        if (round % 7 == 0)
            sig_slots_wait(&slots, clock_monotonic_ns() + 50 * NS_PER_US);
    }
    for (int i = 0; i < MAIL; i++)
        mail[i] = UINT64_MAX;
    for (int i = 0; i < REPLIERS; i++)
        pthread_join(repliers[i], NULL);
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (outstanding[i] && sig_slots_is_done(&slots, i))
            taken += take_reply(i, outstanding[i]);
        else if (outstanding[i])
            cancelled += sig_slots_cancel(&slots, i);
    }
    assert_int_equal(taken, replied);
    assert_int_equal(taken + cancelled, sent);
    assert_int_equal(slots.pending, 0);
    assert_true(taken > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_one_round, setup),
        cmocka_unit_test_setup(test_learning_is_for_one_round, setup),
        cmocka_unit_test_setup(test_late_signal_is_recognised, setup),
        cmocka_unit_test_setup(test_foreign_index_and_generation, setup),
        cmocka_unit_test_setup(test_claimed_slot_cannot_be_cancelled, setup),
        cmocka_unit_test_setup(test_all_slots_taken, setup),
        cmocka_unit_test_setup(test_each_slot_has_its_own_addresses, setup),
        cmocka_unit_test_setup(test_wait_ends_at_the_deadline, setup),
        cmocka_unit_test_setup(test_two_sides_at_once, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
