/*
 * Stacks with little room, for e2e_small_stacks.sh:
 *
 *     target_small_stacks MS ALTERNATE_BYTES
 *
 * Threads of PTHREAD_STACK_MIN, coroutines of 8 KiB with a guard page below, handlers on signal stacks of so
 * many bytes, with and without SS_AUTODISARM, and stacks that are switched while they are sampled. Each
 * checks what lies on its stack. Prints what the kernel's frame of a handler takes, and "all right"; status 1
 * when something was not.
 */
#include "target.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

enum { COROUTINE_BYTES = 8192, PAGE_BYTES = 4096, USED_BYTES = 1500, THREADS_OF_A_KIND = 3 };

static atomic_uint signals;
static uint64_t end_ns;
static size_t alternate_bytes;

/* Without a word: there is no room for one. */
static void expect(bool is_right)
{
    if (!is_right)
        __atomic_fetch_add(&failures, 1, __ATOMIC_SEQ_CST);
}

/* Some of the stack is the program's own, and stays what it was. */
__attribute__((noinline)) static void use_stack(unsigned char mark)
{
    volatile unsigned char bytes[USED_BYTES];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = mark;
    for (int turn = 0; turn < 20; turn++) {
        for (size_t i = 0; i < sizeof(bytes); i++)
            expect(bytes[i] == mark);
    }
}

/* With a guard page below it: what overflows it ends the program. */
static char *map_stack(size_t bytes)
{
    char *memory = mmap(NULL, bytes + PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, PAGE_BYTES, PROT_NONE) != 0)
        exit(2);
    return memory + PAGE_BYTES;
}

static void *live_on_little(void *unused)
{
    struct timespec pause = {.tv_nsec = 200000};
    while (now_ns() < end_ns) {
        use_stack(3);
        nanosleep(&pause, NULL);
    }
    return unused;
}

/* ---- coroutines ---- */

static __thread ucontext_t outside, inside;

static void coroutine(void)
{
    for (;;) {
        use_stack(5);
        swapcontext(&inside, &outside);
    }
}

static void *switch_contexts(void *unused)
{
    char *stack = map_stack(COROUTINE_BYTES);
    getcontext(&inside);
    inside.uc_stack = (stack_t){.ss_sp = stack, .ss_size = COROUTINE_BYTES};
    makecontext(&inside, coroutine, 0);
    while (now_ns() < end_ns)
        swapcontext(&outside, &inside);
    return unused;
}

/* ---- signal stacks ---- */

/* What blocks nothing but its own signal has nothing else blocked. */
static void check_mask(int number)
{
    sigset_t mask, action_mask;
    struct sigaction action;
    CHECK(sigprocmask(SIG_BLOCK, NULL, &mask) == 0 && sigaction(number, NULL, &action) == 0);
    action_mask = action.sa_mask;
    for (int i = 1; i <= SIGRTMAX; i++)
        CHECK(sigismember(&mask, i) == (i == number) && sigismember(&action_mask, i) != 1);
}

static void on_signal(int number)
{
    int before = errno;
    use_stack((unsigned char)number);
    if (atomic_fetch_add(&signals, 1) % 16 == 0)
        check_mask(number);
    errno = before;
}

/* Its mask stays. */
static __thread jmp_buf place;

static void on_signal_jumping(int number)
{
    use_stack((unsigned char)number);
    longjmp(place, 1);
}

static void jump_out(void)
{
    sigset_t mask, one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    if (setjmp(place) == 0)
        raise(SIGUSR2);
    CHECK(sigprocmask(SIG_UNBLOCK, &one, &mask) == 0);
    for (int i = 1; i <= SIGRTMAX; i++)
        CHECK(sigismember(&mask, i) == (i == SIGUSR2));
}

static void use_alternate(unsigned flags)
{
    char *stacks[2] = {map_stack(alternate_bytes), map_stack(alternate_bytes)};
    for (unsigned turn = 0; now_ns() < end_ns; turn++) {
        stack_t alternate = {.ss_sp = stacks[turn % 2], .ss_size = alternate_bytes, .ss_flags = (int)flags},
                was;
        CHECK(sigaltstack(&alternate, NULL) == 0);
        raise(SIGUSR1);
        if (turn % 64 == 0 && !flags) /* the stack would stay disarmed */
            jump_out();
        CHECK(sigaltstack(NULL, &was) == 0 && was.ss_sp == alternate.ss_sp && was.ss_size == alternate_bytes);
    }
}

static void *handle_elsewhere(void *unused)
{
    use_alternate(0);
    return unused;
}

static void *handle_disarmed(void *unused)
{
    use_alternate(SS_AUTODISARM);
    return unused;
}

int main(int argc, char **argv)
{
    static void *(*const kinds[])(void *) = {live_on_little, switch_contexts, handle_elsewhere,
                                             handle_disarmed};
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    pthread_t threads[KINDS * THREADS_OF_A_KIND];
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
    pthread_attr_t little;
    if (argc != 3)
        return 2;
    end_ns = now_ns() + strtoull(argv[1], NULL, 10) * 1000000;
    alternate_bytes = strtoul(argv[2], NULL, 10);
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = on_signal_jumping;
    sigaction(SIGUSR2, &action, NULL);
    pthread_attr_init(&little);
    pthread_attr_setstacksize(&little, PTHREAD_STACK_MIN);
    fprintf(stderr, "a frame of the kernel's: %lu bytes\n", getauxval(AT_MINSIGSTKSZ));
    for (int i = 0; i < KINDS * THREADS_OF_A_KIND; i++)
        CHECK(pthread_create(&threads[i], i % KINDS ? NULL : &little, kinds[i % KINDS], NULL) == 0);
    for (int i = 0; i < KINDS * THREADS_OF_A_KIND; i++)
        pthread_join(threads[i], NULL);
    puts(failures ? "not all right" : "all right");
    return failures != 0;
}
