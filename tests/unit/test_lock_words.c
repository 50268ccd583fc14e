/* What the words of a lock say, of words made by hand: nobody is named who does not hold it. */
#include "lib/unit.h"
#include "waits/lock_words.h"

#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>

enum { HOLDER = 4711, KIND_SHARED = 128, KIND_ROBUST = 16, KIND_INHERIT = 32, KIND_PROTECT = 64 };

static const uint32_t private_wait = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;

/* Of a thread that waits for a word of these, with a value expected there. */
static struct lock_found read_at(const void *word, uint32_t operation, uint32_t expected, enum lock_role role)
{
    const uint64_t arguments[6] = {(uintptr_t)word, operation, expected};
    struct lock_words words;
    struct lock_found found;
    assert_true(lock_words_wanted(SYS_futex, arguments, &words));
    assert_true(words.piece.bytes <= sizeof words.bytes);
    memcpy(words.bytes, (const void *)(uintptr_t)words.piece.from, words.piece.bytes);
    words.piece.copied = words.piece.bytes;
    lock_words_read(&words, arguments, role, &found);
    return found;
}

/* Three words, with room before and after them, as any lock has. */
static uint32_t *words_with_room(int which, const uint32_t words[3])
{
    static _Alignas(8) uint32_t room[4][48];
    uint32_t *ret = room[which] + 16;
    memset(room[which], 0, sizeof room[which]);
    memcpy(ret, words, 3 * sizeof *words);
    return ret;
}

/* The same for a mutex. */
static struct {
    char before[64];
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    char after[64];
} memory;

static pthread_mutex_t *make_mutex(int kind, uint32_t word, int owner)
{
    memset(&memory, 0, sizeof memory);
    memory.mutex.__data.__lock = (int)word;
    memory.mutex.__data.__owner = owner;
    memory.mutex.__data.__nusers = owner != 0;
    memory.mutex.__data.__kind = kind;
    return &memory.mutex;
}

static void the_owner_of_a_mutex_holds_it(void **state)
{
    static const int kinds[] = {PTHREAD_MUTEX_TIMED_NP, PTHREAD_MUTEX_RECURSIVE_NP,
                                PTHREAD_MUTEX_ERRORCHECK_NP, PTHREAD_MUTEX_ADAPTIVE_NP, 256};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const pthread_mutex_t *mutex = make_mutex(kinds[i], 2, HOLDER);
        const struct lock_found found = read_at(mutex, private_wait, 2, LOCK_ROLE_MUTEX);
        assert_int_equal(found.kind, LOCK_MUTEX);
        assert_int_equal(found.address, (uintptr_t)mutex);
        assert_int_equal(found.holder, HOLDER);
        assert_int_equal(found.holder_at, (uintptr_t)&mutex->__data.__owner);
        assert_false(found.needs_holder);
        assert_false(found.is_shared);
    }
}

static void a_mutex_that_is_handed_over_has_no_holder(void **state)
{
    const struct lock_found found = read_at(make_mutex(0, 2, 0), private_wait, 2, LOCK_ROLE_MUTEX);
    assert_int_equal(found.kind, LOCK_MUTEX);
    assert_int_equal(found.holder, 0);
    assert_int_not_equal(found.holder_at, 0);
}

static void a_robust_mutex_is_locked_by_its_word(void **state)
{
    struct lock_found found = read_at(make_mutex(KIND_ROBUST | KIND_SHARED, FUTEX_WAITERS | HOLDER, 12),
                                      FUTEX_WAIT, FUTEX_WAITERS | HOLDER, LOCK_ROLE_LIBRARY);
    assert_int_equal(found.kind, LOCK_MUTEX);
    assert_int_equal(found.holder, HOLDER);
    assert_int_equal(found.holder_at, found.address);
    assert_true(found.is_shared);
    found = read_at(make_mutex(KIND_ROBUST, FUTEX_WAITERS | FUTEX_OWNER_DIED | HOLDER, HOLDER), FUTEX_WAIT,
                    FUTEX_WAITERS | HOLDER, LOCK_ROLE_LIBRARY);
    assert_int_equal(found.kind, LOCK_MUTEX);
    assert_int_equal(found.holder, 0);
}

static void the_kernel_knows_the_holder_of_one_that_inherits(void **state)
{
    const pthread_mutex_t *mutex = make_mutex(KIND_INHERIT, FUTEX_WAITERS | HOLDER, 0);
    for (enum lock_role role = LOCK_ROLE_SEMAPHORE; role <= LOCK_ROLE_FUTEX; role++) {
        const struct lock_found found = read_at(mutex, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0, role);
        assert_int_equal(found.kind, LOCK_MUTEX);
        assert_int_equal(found.holder, HOLDER);
        assert_true(found.is_inherited);
    }
}

/* In a function that is not known a mutex is one by its words. */
static void all_words_must_agree(void **state)
{
    struct lock_found found = read_at(make_mutex(0, 2, HOLDER), private_wait, 2, LOCK_ROLE_LIBRARY);
    assert_int_equal(found.kind, LOCK_MUTEX);
    assert_true(found.needs_holder);
    found = read_at(make_mutex(KIND_PROTECT, 7U << 19 | 2, HOLDER), private_wait, 7U << 19 | 2,
                    LOCK_ROLE_LIBRARY);
    assert_int_equal(found.kind, LOCK_MUTEX);
    assert_int_equal(found.holder, HOLDER);
    pthread_mutex_t *mutex = make_mutex(1024, 2, HOLDER); /* no kind */
    assert_int_equal(read_at(mutex, private_wait, 2, LOCK_ROLE_LIBRARY).kind, LOCK_UNKNOWN);
    mutex = make_mutex(0, 2, HOLDER); /* it waits for something else */
    assert_int_equal(read_at(mutex, private_wait, 0, LOCK_ROLE_LIBRARY).kind, LOCK_UNKNOWN);
    assert_int_equal(read_at(mutex, private_wait, 1, LOCK_ROLE_LIBRARY).kind, LOCK_UNKNOWN);
    mutex->__data.__count = 3; /* which only a recursive one has */
    assert_int_equal(read_at(mutex, private_wait, 2, LOCK_ROLE_LIBRARY).kind, LOCK_UNKNOWN);
    mutex = make_mutex(0, 2, HOLDER);
    mutex->__data.__nusers = 0; /* nobody uses it */
    assert_int_equal(read_at(mutex, private_wait, 2, LOCK_ROLE_LIBRARY).kind, LOCK_UNKNOWN);
}

static void what_is_no_lock_is_none(void **state)
{
    const pthread_mutex_t *mutex = make_mutex(0, 2, HOLDER);
    const struct lock_found found = read_at(mutex, private_wait, 2, LOCK_ROLE_FUTEX);
    assert_int_equal(read_at(mutex, private_wait, 2, LOCK_ROLE_SEMAPHORE).kind, LOCK_SEMAPHORE);
    assert_int_equal(found.kind, LOCK_FUTEX);
    assert_int_equal(found.holder_at, 0);
    assert_int_equal(found.holder, 0);
}

static void the_writer_holds_a_lock_for_readers_and_writers(void **state)
{
    const uint32_t wait = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
    struct __pthread_rwlock_arch_t *lock = &memory.rwlock.__data;
    memset(&memory, 0, sizeof memory);
    lock->__cur_writer = HOLDER;
    lock->__shared = 1;
    const struct {
        const void *word;
        uint32_t expected;
        enum lock_role role;
    } waits[] = {{&lock->__writers_futex, 3, LOCK_ROLE_WRITER},
                 {&lock->__wrphase_futex, 2, LOCK_ROLE_WRITER},
                 {&lock->__wrphase_futex, 3, LOCK_ROLE_READER},
                 {&lock->__readers, 8 | 4 | 2, LOCK_ROLE_READER}};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        const struct lock_found found = read_at(waits[i].word, wait, waits[i].expected, waits[i].role);
        assert_int_equal(found.kind, LOCK_RWLOCK);
        assert_int_equal(found.address, (uintptr_t)lock);
        assert_int_equal(found.holder, HOLDER);
        assert_true(found.is_shared);
    }
    assert_int_equal(read_at(&lock->__readers, wait, 1, LOCK_ROLE_READER).kind, LOCK_UNKNOWN);
    lock->__cur_writer = 0;
    assert_int_equal(read_at(&lock->__wrphase_futex, wait, 2, LOCK_ROLE_WRITER).holder, 0);
}

static void other_calls_wait_for_no_lock(void **state)
{
    const uint64_t word = (uintptr_t)&memory.mutex;
    const struct {
        long number;
        uint64_t arguments[6];
    } calls[] = {{SYS_read, {word, FUTEX_WAIT, 2}},  {-1, {word, FUTEX_WAIT, 2}},
                 {SYS_futex, {word, FUTEX_WAKE, 2}}, {SYS_futex, {word + 1, FUTEX_WAIT, 2}},
                 {SYS_futex, {16, FUTEX_WAIT, 2}},   {SYS_futex, {UINT64_MAX - 3, FUTEX_WAIT, 2}}};
    struct lock_words words;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        assert_false(lock_words_wanted(calls[i].number, calls[i].arguments, &words));
}

/* The page before a lock may not be there, and all of it need not have been copied. */
static void only_what_was_copied_is_read(void **state)
{
    const uint64_t page = 16 << 12, arguments[6] = {page + 4, FUTEX_WAIT, 2};
    struct lock_words words;
    struct lock_found found;
    assert_true(lock_words_wanted(SYS_futex, arguments, &words));
    assert_int_equal(words.piece.from, page);
    memset(words.bytes, 1, sizeof words.bytes);
    for (words.piece.copied = 0; words.piece.copied < words.piece.bytes; words.piece.copied++) {
        lock_words_read(&words, arguments, LOCK_ROLE_LIBRARY, &found);
        assert_int_equal(found.kind, LOCK_UNKNOWN);
        lock_words_read(&words, arguments, LOCK_ROLE_MUTEX, &found);
        assert_int_equal(found.kind, LOCK_MUTEX);
        assert_int_equal(found.holder, 0);
    }
}

/* The words of its two groups of waiters, as the C library has them. */
static void a_condition_is_where_its_word_lies_in(void **state)
{
    static union {
        char before[64];
        pthread_cond_t condition;
        char after[128];
    } object;
    for (int group = 0; group < 2; group++) {
        const struct lock_found found =
            read_at(&object.condition.__data.__g_signals[group], private_wait, 0, LOCK_ROLE_CONDITION);
        assert_int_equal(found.kind, LOCK_CONDITION);
        assert_int_equal(found.address, (uintptr_t)&object.condition);
        assert_int_equal(found.holder_at, 0);
    }
}

/* Who has been woken locks the mutex again, in the same function. */
static void the_mutex_of_a_condition_is_a_mutex(void **state)
{
    const struct lock_found found = read_at(make_mutex(0, 2, HOLDER), private_wait, 2, LOCK_ROLE_CONDITION);
    assert_int_equal(found.kind, LOCK_MUTEX);
    assert_int_equal(found.holder, HOLDER);
    assert_true(found.needs_holder);
}

/* Where jumps lead into functions without a name. */
static void words_tell_semaphores_and_threads(void **state)
{
    uint32_t *semaphore = words_with_room(0, (uint32_t[]){0, 1, 0}),
             *shared = words_with_room(1, (uint32_t[]){0, 3, 128}),
             *tid = words_with_room(2, (uint32_t[]){HOLDER, 0, 0});
    assert_int_equal(read_at(semaphore, private_wait, 0, LOCK_ROLE_LIBRARY).kind, LOCK_SEMAPHORE);
    assert_int_equal(read_at(semaphore, FUTEX_WAIT, 0, LOCK_ROLE_LIBRARY).kind, LOCK_UNKNOWN);
    assert_int_equal(read_at(shared, FUTEX_WAIT, 0, LOCK_ROLE_LIBRARY).kind, LOCK_SEMAPHORE);
    assert_int_equal(read_at(shared, private_wait, 0, LOCK_ROLE_LIBRARY).kind, LOCK_UNKNOWN);
    semaphore[1] = 0; /* nobody waits */
    assert_int_equal(read_at(semaphore, private_wait, 0, LOCK_ROLE_LIBRARY).kind, LOCK_UNKNOWN);
    const struct lock_found found = read_at(tid, FUTEX_WAIT, HOLDER, LOCK_ROLE_LIBRARY);
    assert_int_equal(found.kind, LOCK_JOIN);
    assert_int_equal(found.joined, HOLDER);
    assert_true(found.needs_holder);
    assert_int_equal(read_at(tid, private_wait, HOLDER, LOCK_ROLE_LIBRARY).kind, LOCK_UNKNOWN);
    assert_int_equal(read_at(tid, FUTEX_WAIT, HOLDER + 1, LOCK_ROLE_LIBRARY).kind, LOCK_UNKNOWN);
}

static void what_nobody_holds_is_where_it_begins(void **state)
{
    const uint32_t *words = words_with_room(3, (uint32_t[]){0, 0, 0}), *second_word = words + 1;
    struct lock_found found = read_at(second_word, private_wait, 0, LOCK_ROLE_BARRIER);
    assert_int_equal(found.kind, LOCK_BARRIER);
    assert_int_equal(found.address, (uintptr_t)words);
    found = read_at(words, private_wait, 0, LOCK_ROLE_SEMAPHORE);
    assert_int_equal(found.kind, LOCK_SEMAPHORE);
    assert_int_equal(found.address, (uintptr_t)words);
    found = read_at(words, FUTEX_WAIT, HOLDER, LOCK_ROLE_JOIN);
    assert_int_equal(found.kind, LOCK_JOIN);
    assert_int_equal(found.joined, HOLDER);
    assert_int_equal(found.holder, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_of_a_mutex_holds_it),
        cmocka_unit_test(a_mutex_that_is_handed_over_has_no_holder),
        cmocka_unit_test(a_robust_mutex_is_locked_by_its_word),
        cmocka_unit_test(the_kernel_knows_the_holder_of_one_that_inherits),
        cmocka_unit_test(all_words_must_agree),
        cmocka_unit_test(what_is_no_lock_is_none),
        cmocka_unit_test(the_writer_holds_a_lock_for_readers_and_writers),
        cmocka_unit_test(other_calls_wait_for_no_lock),
        cmocka_unit_test(only_what_was_copied_is_read),
        cmocka_unit_test(a_condition_is_where_its_word_lies_in),
        cmocka_unit_test(the_mutex_of_a_condition_is_a_mutex),
        cmocka_unit_test(words_tell_semaphores_and_threads),
        cmocka_unit_test(what_nobody_holds_is_where_it_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
