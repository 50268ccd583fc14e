/*
 * What include/wallprof.h is used for, with everything that can be done wrong. Built without the library,
 * whose part it finds out about when it runs: without it it does and prints the same, but for the errors.
 *
 *   target_labels work MS      threads whose time with each label the program measures itself: prints
 *                              THREAD LABEL NS, and THREAD stalled NS, for how long it could not go on
 *   target_labels pairs MS     two keys that only ever have equal values, changed as fast as can be, and
 *                              handlers that have labels of their own
 *   target_labels misuse       prints what each wrong call gives
 *   target_labels fork MS      a child that goes on with its parent's labels
 *   target_labels cost         prints the ns of a push and a pop
 */
#include "target.h"
#include "wallprof.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>

static uint64_t run_ns;
static __thread uint64_t stalled_ns;

/* Shorter times are judged by the number of samples. */
static void note_stall(uint64_t ns)
{
    if (ns > 20 * NS_PER_MS)
        stalled_ns += ns;
}

static void name_thread(const char *name)
{
    pthread_setname_np(pthread_self(), name);
}

/* Between two readings of the clock lies at most 1 ms of work,
 * so a pause of the machine does not take all of it. */
KEEP_FRAME static void compute(uint64_t ns)
{
    uint64_t last_ns = now_ns();
    for (uint64_t done_ns = 0; done_ns < ns;) {
        uint64_t took_ns = now_ns() - last_ns;
        last_ns += took_ns;
        done_ns += took_ns < NS_PER_MS ? took_ns : NS_PER_MS;
        note_stall(took_ns);
    }
    KEEP_CALL();
}

KEEP_FRAME static void rest(uint64_t ns)
{
    struct timespec time = timespec_of(ns);
    uint64_t due_ns = now_ns() + ns;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    uint64_t woken_ns = now_ns();
    note_stall(woken_ns > due_ns ? woken_ns - due_ns : 0);
    KEEP_CALL();
}

/* ---- work ---- */

struct phase {
    const char *name;
    void (*work)(uint64_t ns);
    uint64_t ns;
};

/* Each phase in turn, for odd lengths of time that no tick keeps step with. */
static void run_phases(const char *thread, const struct phase *phases, int count)
{
    uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + run_ns, took_ns[4] = {0};
    while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
        for (int i = 0; i < count; i++) {
            uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
            int token = phases[i].name ? wallprof_push(wallprof_label("phase", phases[i].name)) : 0;
            phases[i].work(phases[i].ns);
            CHECK(wallprof_pop(token) == 0);
            took_ns[i] += clock_ns(CLOCK_MONOTONIC) - begin_ns;
        }
    }
    for (int i = 0; i < count; i++)
        printf("%s %s %llu\n", thread, phases[i].name ? phases[i].name : "-", (unsigned long long)took_ns[i]);
    printf("%s stalled %llu\n", thread, (unsigned long long)stalled_ns);
}

static void *busy(void *unused)
{
    static const struct phase phases[] = {
        {"parse", compute, 7 * NS_PER_MS}, {"link", compute, 3 * NS_PER_MS}, {NULL, compute, 2 * NS_PER_MS}};
    name_thread("busy");
    run_phases("busy", phases, 3);
    return unused;
}

/* Seen from outside, mostly. */
static void *sleeper(void *unused)
{
    static const struct phase phases[] = {{"parse", rest, 31 * NS_PER_MS}, {"link", rest, 67 * NS_PER_MS}};
    name_thread("sleeper");
    CHECK(wallprof_thread_name("dreamer") == 0);
    run_phases("dreamer", phases, 2);
    return unused;
}

static void *bystander(void *unused)
{
    name_thread("bystander");
    CHECK(wallprof_thread_uninteresting(1) == 0);
    compute(run_ns / 2);
    rest(run_ns / 2);
    return unused;
}

static void work(void)
{
    pthread_t threads[3];
    void *(*const routines[])(void *) = {busy, sleeper, bystander};
    WALLPROF_SCOPE("role", "waits");
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, routines[i], NULL) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

/* ---- pairs ---- */

enum { PAIRS = 8 };

static const wallprof_label_t *left[PAIRS], *right[PAIRS], *in_handler;
static unsigned handled;

static void on_signal(int number)
{
    (void)number;
    int token = wallprof_push(in_handler);
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
    if (token >= 0 && wallprof_pop(token) != 0)
        _exit(3);
}

/* Never without `left` while `right` is there, whose value is the same then. */
KEEP_FRAME static void *change(void *unused)
{
    uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + run_ns;
    for (unsigned i = 0; i % 64 || clock_ns(CLOCK_MONOTONIC) < end_ns; i++) {
        int outer = wallprof_push(left[i % PAIRS]);
        int inner = wallprof_push(right[i % PAIRS]);
        CHECK(wallprof_pop(inner) == 0);
        CHECK(wallprof_pop(outer) == 0);
    }
    KEEP_CALL();
    return unused;
}

static void pairs(void)
{
    struct itimerval timer = {{0, 700}, {0, 700}};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t thread;
    char value[8];
    for (int i = 0; i < PAIRS; i++) {
        snprintf(value, sizeof value, "v%d", i);
        left[i] = wallprof_label("left", value);
        right[i] = wallprof_label("right", value);
    }
    in_handler = wallprof_label("handler", "yes");
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    CHECK(pthread_create(&thread, NULL, change, NULL) == 0);
    change(NULL);
    pthread_join(thread, NULL);
    CHECK(handled > 0);
}

/* ---- misuse ---- */

static void say(const char *what, int result)
{
    static const char *const codes[] = {[-WALLPROF_NOT_RECORDED] = "not recorded",
                                        [-WALLPROF_NO_LABEL] = "no label",
                                        [-WALLPROF_FULL] = "full",
                                        [-WALLPROF_NOT_THERE] = "not there"};
    printf("%s: %s\n", what, result > 0 ? "a token" : result == 0 ? "0" : codes[-result]);
}

static void say_label(const char *what, const wallprof_label_t *label)
{
    printf("%s: %s\n", what, label ? "a label" : "NULL");
}

static void misuse_texts(void)
{
    static const char *const reserved[] = {"thread", "thread_id", "process",         "pid",
                                           "rank",   "wait",      "end_timestamp_ns"};
    char long_text[300];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    say_label("no key", wallprof_label(NULL, "v"));
    say_label("an empty key", wallprof_label("", "v"));
    say_label("no value", wallprof_label("k", NULL));
    say_label("an empty value", wallprof_label("k", ""));
    say_label("a key with =", wallprof_label("a=b", "v"));
    say_label("a long key", wallprof_label(long_text, "v"));
    say_label("a long value", wallprof_label("k", long_text));
    for (int i = 0; i < 7; i++)
        say_label(reserved[i], wallprof_label(reserved[i], "v"));
    CHECK(wallprof_label("k", "v") == wallprof_label("k", "v"));
}

static void misuse_tokens(void)
{
    const wallprof_label_t *a = wallprof_label("a", "one"), *b = wallprof_label("b", "one");
    int outer = wallprof_push(a), inner = wallprof_push(b), last = 0;
    say("push nothing", wallprof_push(NULL));
    say("push what is no label", wallprof_push((const wallprof_label_t *)(const void *)"text"));
    say("pop the outer one", wallprof_pop(outer));
    say("pop it again", wallprof_pop(outer));
    say("pop the inner one", wallprof_pop(inner));
    say("pop it again", wallprof_pop(inner));
    say("pop an error", wallprof_pop(-22));
    say("pop any number", wallprof_pop(0x7fffffff));
    for (int i = 0; i < 16; i++)
        last = wallprof_push(i % 2 ? a : b);
    say("the 16th", last);
    say("the 17th", wallprof_push(a));
    for (int token = last; token > 0 && wallprof_pop(token) == 0;) /* left unbalanced all but one */
        token = 0;
}

static pthread_key_t key;

static void on_end(void *rounds)
{
    if ((uintptr_t)rounds < 3)
        pthread_setspecific(key, (void *)((uintptr_t)rounds + 1));
    (void)wallprof_pop(wallprof_push(WALLPROF_LABEL("at", "end")));
}

static void *leave_unbalanced(void *unused)
{
    pthread_setspecific(key, (void *)1);
    for (int i = 0; i < 40; i++)
        (void)wallprof_push(WALLPROF_LABEL("left", "behind"));
    return unused;
}

static void at_exit(void)
{
    (void)wallprof_pop(wallprof_push(WALLPROF_LABEL("at", "exit")));
    (void)wallprof_thread_name("late");
}

__attribute__((destructor)) static void after_exit(void)
{
    (void)wallprof_pop(wallprof_push(WALLPROF_LABEL("after", "exit")));
}

static void misuse_in_children(void)
{
    int status, results[2] = {0};
    volatile int *volatile from_child = results; /* a child of vfork's memory is ours */
    pid_t child = vfork();
    if (child == 0) {
        from_child[0] = wallprof_push(WALLPROF_LABEL("of", "vfork"));
        from_child[1] = wallprof_thread_name("child");
        _exit(0);
    }
    waitpid(child, &status, 0);
    say("push in a child of vfork", results[0]);
    say("name in a child of vfork", results[1]);
    child = _Fork();
    if (child == 0) {
        int token = wallprof_push(WALLPROF_LABEL("of", "_Fork"));
        _exit(token >= 0 && wallprof_pop(token) == 0 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    CHECK(status == 0);
}

/* More labels, and more stacks of them, than there is room for: those that come too late are [other]. In a
 * thread that has none yet. */
static void *misuse_too_many(void *unused)
{
    const wallprof_label_t *some[64] = {0};
    int made = 0, refused = 0, pushed = 0;
    char value[16];
    for (int i = 0; i < 10000; i++) {
        snprintf(value, sizeof value, "v%d", i);
        const wallprof_label_t *label = wallprof_label("many", value);
        made += label != NULL;
        if (i < 64)
            some[i] = label;
    }
    printf("labels of 10000: %s\n", made == 0 ? "none" : made < 10000 ? "some" : "all");
    for (int i = 0; i < 64 * 64 * 64 && refused == 0; i++) {
        int tokens[3] = {wallprof_push(some[i % 64]), wallprof_push(some[i / 64 % 64]),
                         wallprof_push(some[i / 4096])};
        for (int j = 3; j-- > 0;) {
            refused += tokens[j] < 0;
            pushed += tokens[j] > 0;
            (void)wallprof_pop(tokens[j]);
        }
    }
    printf("stacks of 262144: %s\n", pushed == 0 ? "none" : refused > 0 ? "some" : "all");
    say("one that there has been", wallprof_push(some[0]));
    return unused;
}

static void misuse(void)
{
    pthread_t thread;
    CHECK(pthread_key_create(&key, on_end) == 0);
    atexit(at_exit);
    misuse_texts();
    misuse_tokens();
    misuse_in_children();
    CHECK(pthread_create(&thread, NULL, leave_unbalanced, NULL) == 0);
    pthread_join(thread, NULL);
    CHECK(pthread_create(&thread, NULL, misuse_too_many, NULL) == 0);
    pthread_join(thread, NULL);
}

/* ---- fork ---- */

static void fork_with_labels(void)
{
    int status, token = wallprof_push(WALLPROF_LABEL("request", "index"));
    pid_t child = fork();
    if (child == 0) {
        int inner = wallprof_push(WALLPROF_LABEL("step", "child"));
        compute(run_ns);
        CHECK(wallprof_pop(inner) == 0);
        CHECK(wallprof_pop(token) == 0);
        compute(run_ns);
        exit(failures > 0);
    }
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(wallprof_pop(token) == 0);
}

/* ---- cost ---- */

static void cost(void)
{
    enum { ROUNDS = 20000000 };
    uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < ROUNDS; i++)
        wallprof_pop(wallprof_push(WALLPROF_LABEL("a", "label")));
    printf("a push and a pop: %.1f ns\n", (double)(clock_ns(CLOCK_MONOTONIC) - begin_ns) / ROUNDS);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    run_ns = argc > 2 ? strtoull(argv[2], NULL, 10) * NS_PER_MS : 0;
    name_thread("main");
    if (strcmp(what, "work") == 0)
        work();
    else if (strcmp(what, "pairs") == 0)
        pairs();
    else if (strcmp(what, "misuse") == 0)
        misuse();
    else if (strcmp(what, "fork") == 0)
        fork_with_labels();
    else if (strcmp(what, "cost") == 0)
        cost();
    else
        return 2;
    return failures > 0;
}
