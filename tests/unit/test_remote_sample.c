/* Remote samples of threads of this program: what is proved, what is walked, and which need a request. */
/* test: not-emulated */
#include "lib/unit.h"
#include "lib/arch.h"
#include "account/fold.h"
#include "base/arena.h"
#include "sample/remote_sample.h"
#include "base/clock.h"
#include "modules/modules.h"
#include "proc/proc_tasks.h"
#include "sig/signal/sig_request.h"
#include "sig/signal/sig_setup.h"
#include "sig/walk/sig_walk_tables.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CAPACITY = 256, ROUNDS = 100, LEVELS = 5 };

static struct sig_slot slot_memory[1];
static uint64_t slot_addresses[CAPACITY];
static struct sig_slots slots;
static struct arena arena;
static struct modules modules;
static struct remote_sampler sampler;

/* ---- a thread to sample ---- */

struct subject {
    pthread_t thread;
    pid_t tid;
    int wake[2]; /* it waits for a letter: 's' spins until told, 'q' ends it */
    bool polls;  /* waits in poll, which a signal cuts short, and not in read, which is restarted */
    _Atomic bool spins;
    struct thread_stat stat;
    struct remote_memory memory;
    bool is_silent, may_run;
};

/* The C library's own functions for these calls may keep registers where they can be found. */
static inline __attribute__((always_inline)) char next_letter(struct subject *subject)
{
    struct pollfd polled = {.fd = subject->wake[0], .events = POLLIN};
    char letter = 'q';
    while (subject->polls && syscall(SYS_ppoll, &polled, 1, NULL, NULL, 8) < 0)
        ;
    while (syscall(SYS_read, subject->wake[0], &letter, 1) != 1)
        ;
    return letter;
}

static inline __attribute__((always_inline)) void wait_for_letters(struct subject *subject)
{
    while (next_letter(subject) != 'q') {
        while (subject->spins)
            ;
    }
}

__attribute__((noinline)) static int wait_deep(struct subject *subject, int levels)
{
    volatile char padding[40] = {(char)levels};
    if (levels > 0)
        return wait_deep(subject, levels - 1) + padding[0];
    wait_for_letters(subject);
    return padding[1];
}

/* Its stack pointer moves as it likes: its caller is found with its frame pointer only. */
__attribute__((noinline)) static int wait_moved(struct subject *subject, int levels)
{
    char *moved = __builtin_alloca((size_t)(rand() % 64) * 16 + 16);
    moved[0] = (char)levels;
    int result = levels > 0 ? wait_moved(subject, levels - 1) : 0;
    if (levels == 0)
        wait_for_letters(subject);
    __asm__ volatile("" : : "r"(moved));
    return result;
}

static int (*way_in)(struct subject *subject, int levels);

static void *run(void *argument)
{
    struct subject *subject = argument;
    __atomic_store_n(&subject->tid, gettid(), __ATOMIC_SEQ_CST);
    way_in(subject, LEVELS);
    return NULL;
}

static void say(struct subject *subject, char letter)
{
    assert_int_equal(write(subject->wake[1], &letter, 1), 1);
}

static void end(struct subject *subject)
{
    say(subject, 'q');
    pthread_join(subject->thread, NULL);
    thread_stat_close(&sampler.stats, &subject->stat);
    close(subject->wake[0]);
    close(subject->wake[1]);
}

/* Until it waits for a letter: the kernel names the call of a thread only when it is not to run. */
static void settle(struct subject *subject)
{
    const long number = subject->polls ? SYS_ppoll : SYS_read;
    struct thread_stat_call call;
    while (thread_stat_call(&sampler.stats, &subject->stat, subject->tid, &call) != THREAD_STAT_KNOWN ||
           call.number != number)
        usleep(100);
}

static void begin(struct subject *subject, int (*way)(struct subject *, int), bool polls)
{
    *subject = (struct subject){.polls = polls};
    way_in = way;
    assert_int_equal(pipe(subject->wake), 0);
    assert_int_equal(pthread_create(&subject->thread, NULL, run, subject), 0);
    while (!__atomic_load_n(&subject->tid, __ATOMIC_SEQ_CST))
        usleep(1000);
    settle(subject);
}

/* Until it has run for a letter, and waits again. */
static void stir(struct subject *subject)
{
    struct thread_stat_runs before, after;
    assert_int_equal(thread_stat_runs(&sampler.stats, &subject->stat, subject->tid, &before),
                     THREAD_STAT_KNOWN);
    say(subject, 'a');
    do {
        usleep(100);
        assert_int_equal(thread_stat_runs(&sampler.stats, &subject->stat, subject->tid, &after),
                         THREAD_STAT_KNOWN);
    } while (after.count == before.count);
    settle(subject);
}

static enum remote_result take_sample(struct subject *subject, struct remote_sample *ret)
{
    struct remote_thread thread = {.tid = subject->tid,
                                   .stat = &subject->stat,
                                   .memory = &subject->memory,
                                   .is_silent = subject->is_silent,
                                   .may_run = subject->may_run};
    memset(ret, 0xab, sizeof(*ret)); /* what is not filled in shows */
    return remote_sample(&sampler, &thread, ret);
}

/* By a signal, and what the reply teaches. */
static const struct sig_slot *request_sample(struct subject *subject)
{
    uint64_t generation;
    int index = sig_slots_arm(&slots, 0, 0, NULL, &generation);
    assert_int_equal(sig_request_send(subject->tid, (uint32_t)index, generation), 0);
    sig_slots_wait(&slots, clock_monotonic_ns() + 10ULL * NS_PER_S);
    assert_true(sig_slots_is_done(&slots, (uint32_t)index));
    const struct sig_slot *slot = &slot_memory[index];
    remote_sample_learn(&subject->memory, slot);
    sig_slots_release(&slots, (uint32_t)index);
    return &slot_memory[index];
}

/* ---- fixture ---- */

static int set_up(void **state)
{
    sig_slots_init(&slots, slot_memory, 1, slot_addresses, CAPACITY);
    if (arena_init(&arena, 1 << 20) < 0 || modules_init(&modules, &arena) < 0 ||
        remote_sample_init(&sampler, CAPACITY) < 0)
        return -1;
    thread_stats_init(&sampler.stats, proc_tasks_open(-1), true);
    sig_walk_tables_publish(modules_table(&modules), sig_unloads_read().ended, UINT64_MAX);
    return sig_setup_install(SIGPROF, &slots, 0xabcd, sigaction);
}

static int tear_down(void **state)
{
    close(sampler.stats.task_directory);
    remote_sample_deinit(&sampler);
    return 0;
}

/* ---- tests ---- */

static void who_has_not_run_is_where_it_was(void **state)
{
    struct subject subject;
    struct remote_sample first, again;
    begin(&subject, wait_deep, false);
    for (int round = 0; round < ROUNDS; round++) {
        assert_false(remote_sample_has_not_run(&sampler, subject.tid, &subject.stat, &subject.memory));
        assert_int_equal(take_sample(&subject, &first), REMOTE_WALKED);
        assert_int_equal(first.end, SIG_UNWIND_ROOT);
        assert_true(first.depth > LEVELS + 3);
        assert_true(remote_sample_waits_at(&subject.memory, first.addresses[0]));
        assert_false(remote_sample_waits_at(&subject.memory, first.addresses[1]));
        assert_int_equal(subject.memory.places, 1); /* always the same */
        for (int i = 0; i < 3; i++) {
            assert_int_equal(take_sample(&subject, &again), REMOTE_UNCHANGED);
            assert_int_equal(again.cpu_ns, first.cpu_ns);
        }
        assert_true(remote_sample_has_not_run(&sampler, subject.tid, &subject.stat, &subject.memory));
        stir(&subject);
    }
    end(&subject);
}

/* Of many threads no descriptor is kept, so their CPU clock is read alone. Nothing else has been read then.
 */
static void who_is_known_by_its_clock_has_waited_for_no_cpu(void **state)
{
    struct subject subject;
    struct remote_sample first, again;
    begin(&subject, wait_deep, false);
    assert_int_equal(take_sample(&subject, &first), REMOTE_WALKED);
    thread_stat_close(&sampler.stats, &subject.stat);
    assert_int_equal(take_sample(&subject, &again), REMOTE_UNCHANGED);
    assert_int_equal(subject.memory.trusted, 1);
    assert_int_equal(again.cpu_ns, first.cpu_ns);
    assert_true(again.delay_ns == FOLD_NO_DELAY);
    assert_false(again.is_runnable);
    end(&subject);
}

/* ---- what is waited for ---- */

static pid_t begin_writer(struct subject *subject)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_NAME, "writer");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(subject->wake[0]);
        (void)!write(ready[1], "", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

/* The sample of a thread at a time, in seconds: what it waits for. */
static const char *waits_for_at(struct subject *subject, struct lock_waits *waits, uint64_t now_s,
                                enum remote_result expected)
{
    struct remote_sample seen;
    waits_begin_tick(waits, now_s * NS_PER_S, true);
    assert_int_equal(take_sample(subject, &seen), expected);
    assert_int_not_equal(seen.wait.on, 0);
    return tree_label_value(waits->tree->arena, tree_location_at(waits->tree, seen.wait.on));
}

/* A thread that never runs may wait for hours: who has the other end of its pipe changes meanwhile. */
static void a_long_wait_is_looked_at_again(void **state)
{
    struct subject subject;
    struct tree tree = {0};
    struct lock_waits waits = {0};
    char expected[64];
    assert_int_equal(tree_init(&tree, &arena), 0);
    waits_init(&waits, &tree, &modules, NULL, NULL);
    sampler.waits = &waits;
    begin(&subject, wait_deep, false);
    const char *first = waits_for_at(&subject, &waits, 1000, REMOTE_WALKED);
    assert_true(strcmp(first, "pipe within this process") == 0 || strcmp(first, "pipe") == 0);
    const pid_t writer = begin_writer(&subject);
    snprintf(expected, sizeof expected, "pipe from writer (pid %d) and others", (int)writer);
    assert_string_equal(waits_for_at(&subject, &waits, 1000, REMOTE_UNCHANGED), first);
    assert_string_equal(waits_for_at(&subject, &waits, 1001, REMOTE_UNCHANGED), expected);
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    assert_string_equal(waits_for_at(&subject, &waits, 1002, REMOTE_UNCHANGED), expected);
    assert_string_equal(waits_for_at(&subject, &waits, 1003, REMOTE_UNCHANGED), first);
    end(&subject);
    sampler.waits = NULL;
    waits_deinit(&waits);
    tree_deinit(&tree);
}

static void who_runs_needs_a_request(void **state)
{
    struct subject subject;
    struct remote_sample seen;
    begin(&subject, wait_deep, false);
    assert_int_equal(take_sample(&subject, &seen), REMOTE_WALKED);
    subject.spins = true;
    say(&subject, 's');
    while (take_sample(&subject, &seen) != REMOTE_SIGNAL)
        usleep(100);
    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(take_sample(&subject, &seen), REMOTE_SIGNAL);
    assert_int_not_equal(seen.delay_ns, FOLD_NO_DELAY);
    subject.may_run = true; /* then less is read */
    assert_int_equal(take_sample(&subject, &seen), REMOTE_SIGNAL);
    assert_true(seen.is_runnable);
    assert_int_equal(seen.cpu_ns, 0);
    assert_int_equal(seen.delay_ns, FOLD_NO_DELAY);
    subject.spins = false;
    settle(&subject);
    assert_int_equal(take_sample(&subject, &seen), REMOTE_WALKED);
    end(&subject);
}

static void who_has_ended_is_gone(void **state)
{
    struct subject subject;
    struct remote_sample seen;
    begin(&subject, wait_deep, false);
    assert_int_equal(take_sample(&subject, &seen), REMOTE_WALKED);
    say(&subject, 'q');
    pthread_join(subject.thread, NULL);
    while (take_sample(&subject, &seen) != REMOTE_GONE)
        usleep(1000);
    thread_stat_close(&sampler.stats, &subject.stat);
    close(subject.wake[0]);
    close(subject.wake[1]);
}

static void a_stack_that_takes_a_register_needs_a_request(void **state)
{
    struct subject subject;
    struct remote_sample seen;
    begin(&subject, wait_moved, false);
    assert_int_equal(take_sample(&subject, &seen), REMOTE_SIGNAL);
    assert_true(subject.memory.lacks_register);
    subject.is_silent = true; /* if that is of no use, what can be seen is better than nothing */
    assert_int_equal(take_sample(&subject, &seen), REMOTE_WALKED);
    assert_int_equal(seen.end, SIG_UNWIND_INEXPRESSIBLE);
    assert_int_equal(seen.depth, 2);
    assert_int_equal(take_sample(&subject, &seen), REMOTE_WALKED); /* and may be better the next time */
    end(&subject);
}

static void a_call_that_a_signal_cuts_short_gets_none(void **state)
{
    struct subject subject;
    struct remote_sample seen;
    begin(&subject, wait_moved, true);
    assert_int_equal(take_sample(&subject, &seen), REMOTE_WALKED);
    assert_int_equal(seen.end, SIG_UNWIND_INEXPRESSIBLE);
    end(&subject);
}

/* A reply holds for the next sample at the same place, and not elsewhere. */
static void what_was_replied_serves_again(void **state)
{
    struct subject subject;
    struct remote_sample seen;
    begin(&subject, wait_moved, false);
    assert_int_equal(take_sample(&subject, &seen), REMOTE_SIGNAL);
    const struct sig_slot *slot = request_sample(&subject);
    assert_int_equal(slot->end, SIG_UNWIND_ROOT);
    settle(&subject);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(take_sample(&subject, &seen), REMOTE_WALKED);
        assert_int_equal(seen.end, SIG_UNWIND_ROOT);
        assert_int_equal(seen.depth, slot->depth);
        assert_memory_equal(seen.addresses + 1, slot->addresses + 1, sizeof(uint64_t) * (slot->depth - 1));
        assert_int_equal(take_sample(&subject, &seen), REMOTE_UNCHANGED);
        stir(&subject);
    }
    subject.memory.replied.stack ^= 1; /* another stack at the same place */
    assert_int_equal(take_sample(&subject, &seen), REMOTE_SIGNAL);
    subject.memory.replied.stack ^= 1;
    subject.memory.replied.sp += 16; /* another place */
    assert_int_equal(take_sample(&subject, &seen), REMOTE_SIGNAL);
    end(&subject);
}

static void without_proc_everybody_gets_a_request(void **state)
{
    struct subject subject;
    struct remote_sample seen;
    struct thread_stats stats = sampler.stats;
    begin(&subject, wait_deep, false);
    thread_stats_init(&sampler.stats, -1, true);
    memset(&seen, 0, sizeof seen);
    assert_int_equal(take_sample(&subject, &seen), REMOTE_SIGNAL);
    assert_int_equal(seen.delay_ns, FOLD_NO_DELAY);
    sampler.stats = stats;
    end(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_not_run_is_where_it_was),
        cmocka_unit_test(who_is_known_by_its_clock_has_waited_for_no_cpu),
        cmocka_unit_test(a_long_wait_is_looked_at_again),
        cmocka_unit_test(who_runs_needs_a_request),
        cmocka_unit_test(who_has_ended_is_gone),
        cmocka_unit_test(a_stack_that_takes_a_register_needs_a_request),
        cmocka_unit_test(a_call_that_a_signal_cuts_short_gets_none),
        cmocka_unit_test(what_was_replied_serves_again),
        cmocka_unit_test(without_proc_everybody_gets_a_request),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
