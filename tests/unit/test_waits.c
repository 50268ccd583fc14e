/* Locks of this program: what they are called, who is named, and what is read again of them. */
/* test: not-emulated */
#include "lib/unit.h"
#include "waits/waits.h"
#include "base/arena.h"
#include "profile/wait_labels.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ONE = 4711, TWO = 4712, DEAD = 4713, RIGHT_AFTER = 1 };

pthread_mutex_t plain_mutex;
static struct {
    long before;
    pthread_mutex_t mutex;
} inner;

static struct {
    long before;
    pthread_cond_t ready;
} queue;

static pthread_mutex_t many[KNOWN_LOCKS_MAX + 1];

static struct {
    struct arena arena;
    struct modules modules;
    struct tree tree;
    struct lock_waits waits;
    arena_ref one, two;
    uint64_t asked_other_ns;
} fixture;

static arena_ref find_holder(void *context, pid_t tid, uint64_t other_ns)
{
    *(uint64_t *)context = other_ns;
    return tid == ONE ? fixture.one : tid == TWO ? fixture.two : 0;
}

static int setup(void **state)
{
    memset(&fixture, 0, sizeof fixture);
    memset(&plain_mutex, 0, sizeof plain_mutex);
    memset(&inner, 0, sizeof inner);
    if (arena_init(&fixture.arena, 1 << 22) < 0 || modules_init(&fixture.modules, &fixture.arena) < 0 ||
        tree_init(&fixture.tree, &fixture.arena) < 0)
        return -1;
    waits_init(&fixture.waits, &fixture.tree, &fixture.modules, find_holder, &fixture.asked_other_ns);
    waits_begin_tick(&fixture.waits, 100, true);
    fixture.one = waits_holder_label(&fixture.waits, "one");
    fixture.two = waits_holder_label(&fixture.waits, "two");
    return 0;
}

static int teardown(void **state)
{
    waits_deinit(&fixture.waits);
    tree_deinit(&fixture.tree);
    modules_deinit(&fixture.modules);
    arena_deinit(&fixture.arena);
    return 0;
}

/* ---- a thread that waits ---- */

static void lock(pthread_mutex_t *mutex, pid_t owner)
{
    mutex->__data.__lock = 2;
    mutex->__data.__owner = owner;
    mutex->__data.__nusers = 1;
}

/* In the C library, where it is one of that: a sanitizer stands before its functions. */
static uint64_t in_function(const char *name)
{
    void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), *function = dlsym(library, name);
    if (!function)
        function = dlsym(RTLD_DEFAULT, name);
    assert_non_null(function);
    return (uintptr_t)function + RIGHT_AFTER;
}

/* By the kernel: a sanitizer knows that there is something else beside the lock. */
static void copy_words(struct lock_words *words)
{
    assert_true(sig_memory_copy(words->bytes, words->piece.from, words->piece.bytes));
    words->piece.copied = words->piece.bytes;
}

/* Blocked in a function of the C library, which another one has called: of another library, because all of
 * this program counts as ours. */
static struct wait_locations look(const void *word, uint32_t expected, const char *function,
                                  const void *caller, struct waits_memory *memory)
{
    const uint64_t arguments[6] = {(uintptr_t)word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, expected};
    const uint64_t addresses[] = {in_function(function), (uintptr_t)caller + RIGHT_AFTER};
    struct lock_words words;
    const struct waits_walk walk = {ONE + 1000, &words, arguments, {addresses, 2, NULL, NULL}};
    struct wait_locations labels;
    assert_true(lock_words_wanted(SYS_futex, arguments, &words));
    copy_words(&words);
    waits_find(&fixture.waits, &walk, memory, &labels);
    return labels;
}

static struct wait_locations look_at(pthread_mutex_t *mutex, struct waits_memory *memory)
{
    return look(mutex, 2, "pthread_mutex_lock", dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests"), memory);
}

static struct wait_locations look_again(struct waits_memory *memory)
{
    struct wait_locations labels;
    waits_begin_tick(&fixture.waits, fixture.waits.tick_ns + 100, true);
    waits_find_again(&fixture.waits, ONE + 1000, memory, &labels);
    return labels;
}

static const char *text_of(arena_ref label)
{
    return label ? tree_label_value(&fixture.arena, tree_location_at(&fixture.tree, label)) : "-";
}

static void assert_labels(struct wait_locations labels, const char *on, const char *holder)
{
    assert_string_equal(text_of(labels.on), on);
    assert_string_equal(text_of(labels.holder), holder);
}

/* ---- tests ---- */

static void a_variable_has_its_name(void **state)
{
    struct waits_memory memory;
    lock(&plain_mutex, ONE);
    assert_labels(look_at(&plain_mutex, &memory), "mutex plain_mutex", "one");
    lock(&inner.mutex, TWO);
    assert_labels(look_at(&inner.mutex, &memory), "mutex inner+8", "two");
}

static void others_are_called_by_who_waited_first(void **state)
{
    struct waits_memory memory;
    pthread_mutex_t *mutexes[2];
    for (int i = 0; i < 2; i++) {
        mutexes[i] = calloc(1, sizeof *mutexes[i]);
        lock(mutexes[i], ONE);
    }
    for (int again = 0; again < 2; again++) { /* and keep that */
        assert_labels(look_at(mutexes[0], &memory), "mutex in _cmocka_run_group_tests", "one");
        assert_labels(look_at(mutexes[1], &memory), "mutex in _cmocka_run_group_tests #2", "one");
        waits_forget(&fixture.waits);
    }
    free(mutexes[0]);
    free(mutexes[1]);
}

static void what_is_waited_for_is_told_by_the_function(void **state)
{
    struct waits_memory memory;
    lock(&plain_mutex, ONE);
    assert_labels(look(&plain_mutex, 2, "sem_wait", (const void *)look_at, &memory), "sem plain_mutex", "-");
    assert_labels(look(&plain_mutex, 2, "pthread_barrier_wait", (const void *)look_at, &memory),
                  "barrier plain_mutex", "-");
    assert_labels(look_again(&memory), "barrier plain_mutex", "-");
    assert_labels(look(&plain_mutex, 2, "syscall", (const void *)look_at, &memory), "futex plain_mutex", "-");
    assert_labels(look(&plain_mutex, 2, "getpid", (const void *)look_at, &memory), "mutex plain_mutex",
                  "one");
}

/* Both versions of the function count. */
static void a_condition_is_called_as_a_lock_is(void **state)
{
    static const char *const functions[] = {"pthread_cond_wait", "pthread_cond_timedwait"};
    struct waits_memory memory;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const struct wait_locations labels =
            look(&queue.ready.__data.__g_signals[1], 0, functions[i], (const void *)look_at, &memory);
        assert_labels(labels, "cond queue+8", "-");
        assert_labels(look_again(&memory), "cond queue+8", "-");
    }
}

static void a_joined_thread_has_its_name(void **state)
{
    static int tid;
    struct waits_memory memory;
    assert_labels(look(&tid, ONE, "pthread_join", (const void *)look_at, &memory), "join one", "-");
    assert_labels(look_again(&memory), "join one", "-");
    assert_labels(look(&tid, DEAD, "pthread_join", (const void *)look_at, &memory), "join", "-");
    waits_forget(&fixture.waits);
    assert_labels(look_again(&memory), "join", "-");
}

static void there_are_so_many_objects_and_no_more(void **state)
{
    char name[32];
    for (uint32_t i = 1; i <= KNOWN_OBJECTS_MAX; i++) {
        snprintf(name, sizeof name, "file /%u", i);
        assert_int_equal(known_objects_get(&fixture.waits.objects.known, name), i);
    }
    const uint32_t late = known_objects_get(&fixture.waits.objects.known, "file /late");
    assert_string_equal(text_of(known_objects_label(&fixture.waits.objects.known, late)), LABELS_OTHER);
    assert_int_equal(known_objects_get(&fixture.waits.objects.known, "file /7"), 7);
    assert_string_equal(text_of(known_objects_label(&fixture.waits.objects.known, 7)), "file /7");
}

/* In a function that is not known: unless it is known as a mutex, a thread must hold it. */
static void words_alone_are_not_enough(void **state)
{
    struct waits_memory memory;
    lock(&plain_mutex, DEAD);
    assert_labels(look(&plain_mutex, 2, "getpid", (const void *)look_at, &memory), "-", "-");
    lock(&plain_mutex, 0);
    assert_labels(look(&plain_mutex, 2, "getpid", (const void *)look_at, &memory), "-", "-");
    assert_labels(look_at(&plain_mutex, &memory), "mutex plain_mutex", "-");
    assert_labels(look(&plain_mutex, 2, "getpid", (const void *)look_at, &memory), "mutex plain_mutex", "-");
}

static void a_holder_is_read_again(void **state)
{
    pthread_mutex_t *heap = calloc(1, sizeof *heap), *mutexes[] = {&plain_mutex, heap};
    for (int i = 0; i < 2; i++) {
        struct waits_memory memory;
        lock(mutexes[i], ONE);
        const char *name = i ? "mutex in _cmocka_run_group_tests" : "mutex plain_mutex";
        assert_labels(look_at(mutexes[i], &memory), name, "one");
        assert_labels(look_again(&memory), name, "one");
        lock(mutexes[i], TWO);
        assert_labels(look_again(&memory), name, "two");
        lock(mutexes[i], 0);
        assert_labels(look_again(&memory), name, "-");
        lock(mutexes[i], DEAD);
        assert_labels(look_again(&memory), name, "-");
        lock(mutexes[i], ONE);
        assert_labels(look_again(&memory), name, "one");
    }
    free(heap);
}

/* Two threads share what is read in one tick, but not what was read before one of them waited. */
static void a_tick_has_one_reading(void **state)
{
    struct waits_memory first, second;
    struct wait_locations labels;
    lock(&plain_mutex, ONE);
    look_at(&plain_mutex, &first);
    look_at(&plain_mutex, &second);
    assert_labels(look_again(&first), "mutex plain_mutex", "one");
    lock(&plain_mutex, TWO);
    waits_find_again(&fixture.waits, ONE + 1001, &second, &labels);
    assert_labels(labels, "mutex plain_mutex", "one");
    look_at(&plain_mutex, &second);
    waits_find_again(&fixture.waits, ONE + 1001, &second, &labels);
    assert_labels(labels, "mutex plain_mutex", "two");
}

static void memory_that_is_gone_names_nobody(void **state)
{
    struct waits_memory memory;
    pthread_mutex_t *mutex = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    lock(mutex, ONE);
    assert_labels(look_at(mutex, &memory), "mutex in _cmocka_run_group_tests", "one");
    munmap(mutex, 8192);
    assert_labels(look_again(&memory), "mutex in _cmocka_run_group_tests", "-");
}

/* One that has another one's tid is the holder if it began before the lock was last seen without it. */
static void it_is_known_since_when_a_holder_may_hold(void **state)
{
    struct waits_memory memory;
    lock(&plain_mutex, ONE);
    look_at(&plain_mutex, &memory);
    assert_int_equal(fixture.asked_other_ns, 0);
    look_again(&memory); /* at 200 */
    assert_int_equal(fixture.asked_other_ns, 0);
    look_again(&memory); /* at 300 */
    lock(&plain_mutex, TWO);
    look_again(&memory); /* at 400 */
    assert_int_equal(fixture.asked_other_ns, 300);
    look_again(&memory);
    assert_int_equal(fixture.asked_other_ns, 300);
}

/* The kernel gives a lock that inherits priorities to the one that it wakes. */
static void who_has_got_a_lock_waits_for_nobody(void **state)
{
    const uint64_t arguments[6] = {(uintptr_t)&plain_mutex, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG};
    const uint64_t addresses[] = {in_function("_cmocka_run_group_tests")};
    struct lock_words words;
    struct waits_memory memory;
    struct wait_locations labels;
    plain_mutex.__data.__lock = (int)(FUTEX_WAITERS | ONE);
    assert_true(lock_words_wanted(SYS_futex, arguments, &words));
    copy_words(&words);
    waits_find(&fixture.waits, &(struct waits_walk){ONE, &words, arguments, {addresses, 1, NULL, NULL}},
               &memory, &labels);
    assert_labels(labels, "mutex plain_mutex", "-");
    waits_find(&fixture.waits, &(struct waits_walk){TWO, &words, arguments, {addresses, 1, NULL, NULL}},
               &memory, &labels);
    assert_labels(labels, "mutex plain_mutex", "one");
}

static void there_are_so_many_locks_and_no_more(void **state)
{
    struct waits_memory memory;
    for (size_t i = 0; i < KNOWN_LOCKS_MAX; i++) {
        lock(&many[i], ONE);
        assert_string_not_equal(text_of(look_at(&many[i], &memory).on), LABELS_OTHER);
    }
    lock(&many[KNOWN_LOCKS_MAX], ONE);
    assert_labels(look_at(&many[KNOWN_LOCKS_MAX], &memory), LABELS_OTHER, "one");
    lock(&many[KNOWN_LOCKS_MAX], TWO);
    assert_labels(look_again(&memory), LABELS_OTHER, "two");
    assert_labels(look_at(&many[1], &memory), "mutex many+40", "one");
}

static void there_are_so_many_holders_and_no_more(void **state)
{
    char name[16];
    for (int i = 2; i < WAITS_HOLDERS_MAX; i++) {
        snprintf(name, sizeof name, "conn-%d", i);
        assert_string_equal(text_of(waits_holder_label(&fixture.waits, name)), name);
    }
    assert_string_equal(text_of(waits_holder_label(&fixture.waits, "late")), LABELS_OTHER);
}

static void names_are_plain_text(void **state)
{
    assert_string_equal(text_of(waits_holder_label(&fixture.waits, "a\nb\xff")), "a?b?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_variable_has_its_name, setup, teardown),
        cmocka_unit_test_setup_teardown(others_are_called_by_who_waited_first, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_waited_for_is_told_by_the_function, setup, teardown),
        cmocka_unit_test_setup_teardown(a_condition_is_called_as_a_lock_is, setup, teardown),
        cmocka_unit_test_setup_teardown(a_joined_thread_has_its_name, setup, teardown),
        cmocka_unit_test_setup_teardown(there_are_so_many_objects_and_no_more, setup, teardown),
        cmocka_unit_test_setup_teardown(words_alone_are_not_enough, setup, teardown),
        cmocka_unit_test_setup_teardown(a_holder_is_read_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_tick_has_one_reading, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_that_is_gone_names_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(it_is_known_since_when_a_holder_may_hold, setup, teardown),
        cmocka_unit_test_setup_teardown(who_has_got_a_lock_waits_for_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(there_are_so_many_locks_and_no_more, setup, teardown),
        cmocka_unit_test_setup_teardown(there_are_so_many_holders_and_no_more, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_plain_text, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
