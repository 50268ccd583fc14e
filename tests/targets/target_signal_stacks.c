/*
 * A runtime that keeps all its handlers on signal stacks, for e2e_signal_stacks.sh:
 *
 *     target_signal_stacks CASE
 *
 * Like Erlang's it exports a sigaction of its own, which adds SA_ONSTACK and goes on to the next __sigaction.
 *
 * below         data lies right below the stack pointer while a thread works, and must stay as it is
 * small         the signal stack takes the kernel's frame, if at all, and no handler; a guard page is below
 * it read-only     the signal stack was made read-only unmapped      the signal stack was unmapped beside
 * SIGSEGV alone has a small signal stack, and other handlers have none
 *
 * In these a handler takes the thread's signal stack away; the kernel puts it back when the handler returns:
 *
 * back-small     it takes no handler
 * back-unmapped  it is unmapped then
 * back-left      the handler is left by a jump, so it does not come back; it was small
 * back-anew      it is small, and the thread sets a larger one afterwards, which our handler may use
 *
 * Prints "all right", or status 1.
 */
#include "target.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

enum { WORK_MS = 200, STACK_BYTES = 65536, SMALL_BYTES = 4096, BELOW_BYTES = 16384, PAGE_BYTES = 4096 };

static bool adds_flag;
static volatile sig_atomic_t calls, takes_away, is_left;
static __thread ucontext_t before_handler; /* the C library refuses siglongjmp from a stack that is gone */
static __thread volatile bool has_left;
static int (*volatile leave)(const ucontext_t *) = setcontext; /* bound now: that takes 3 KiB of stack */
static pthread_barrier_t stacks_are_there, handlers_are_there;

int __sigaction(int number, const struct sigaction *action, struct sigaction *old);
int __sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    static int (*next)(int, const struct sigaction *, struct sigaction *);
    static __thread int depth;
    struct sigaction changed;
    if (++depth > 1)
        die("sigaction calls itself");
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "__sigaction");
    if (action && adds_flag && action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN) {
        changed = *action;
        changed.sa_flags |= SA_ONSTACK;
        action = &changed;
    }
    int status = next(number, action, old);
    depth--;
    return status;
}

int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    return __sigaction(number, action, old);
}

static void on_signal(int number)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    (void)number;
    calls++;
    if (takes_away)
        CHECK(sigaltstack(&none, NULL) == 0);
    has_left = is_left;
    if (is_left)
        leave(&before_handler);
}

/* Spins with the stack pointer at `top`, so that a frame of the kernel would lie below it. */
KEEP_FRAME static void spin_at(char *top)
{
    uint64_t turns = 20000;
#if defined(__x86_64__)
    __asm__ volatile("mov %%rsp, %%r12\n"
                     "mov %1, %%rsp\n"
                     "1: dec %0\n"
                     "jnz 1b\n"
                     "mov %%r12, %%rsp\n"
                     : "+r"(turns)
                     : "r"(top)
                     : "r12", "memory", "cc");
#elif defined(__aarch64__)
    __asm__ volatile("mov x19, sp\n"
                     "mov sp, %1\n"
                     "1: subs %0, %0, #1\n"
                     "b.ne 1b\n"
                     "mov sp, x19\n"
                     : "+r"(turns)
                     : "r"(top)
                     : "x19", "memory", "cc");
#endif
}

KEEP_FRAME static void work_with_data_below(void)
{
    char *memory = malloc(2 * BELOW_BYTES);
    uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + WORK_MS * NS_PER_MS;
    memset(memory, 0x5a, 2 * BELOW_BYTES);
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        spin_at(memory + BELOW_BYTES);
    unsigned changed = 0;
    for (unsigned i = 0; i < 2 * BELOW_BYTES; i++)
        changed += memory[i] != 0x5a;
    if (changed)
        fprintf(stderr, "%u bytes below the stack pointer were changed\n", changed);
    CHECK(changed == 0);
    free(memory);
}

KEEP_FRAME static void work(void)
{
    uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + WORK_MS * NS_PER_MS;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        KEEP_CALL();
}

/* With a guard page below. */
static char *use_stack(size_t bytes)
{
    char *memory = mmap(NULL, bytes + PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, PAGE_BYTES, PROT_NONE) != 0)
        die("mmap");
    /* else the handler could not take it away */
    stack_t stack = {.ss_sp = memory + PAGE_BYTES, .ss_size = bytes, .ss_flags = (int)SS_AUTODISARM}, seen;
    CHECK(sigaltstack(&stack, NULL) == 0 && sigaltstack(NULL, &seen) == 0);
    CHECK(seen.ss_sp == stack.ss_sp && seen.ss_size == stack.ss_size);
    return memory + PAGE_BYTES;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal}, seen;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGTERM, NULL, &seen);
    CHECK(!(seen.sa_flags & SA_ONSTACK) == !adds_flag);
    signal(SIGUSR2, on_signal); /* the C library's does not call the program's sigaction */
    sigaction(SIGUSR2, NULL, &seen);
    CHECK(!(seen.sa_flags & SA_ONSTACK));
    signal(SIGUSR2, SIG_DFL);
}

/* A thread whose signal stack is taken away while handlers may run there is at fault by itself. So the
 * handlers come after that. */
static bool takes_stack_away(const char *name)
{
    return !strcmp(name, "read-only") || !strcmp(name, "unmapped");
}

/* The thread's signal stack is small, but for the kernel's frame and a short handler. */
static void have_it_back(const char *name, char *stack)
{
    stack_t seen;
    getcontext(&before_handler);
    if (!has_left)
        raise(SIGUSR1);
    CHECK(calls > 0 && sigaltstack(NULL, &seen) == 0);
    CHECK(is_left ? (seen.ss_flags & SS_DISABLE) != 0 : seen.ss_sp == stack);
    if (!strcmp(name, "back-unmapped"))
        munmap(stack, STACK_BYTES);
    if (!strcmp(name, "back-anew"))
        use_stack(STACK_BYTES);
}

static bool has_small_stack(const char *name)
{
    return !strcmp(name, "small") || !strcmp(name, "beside") ||
           (!strncmp(name, "back-", 5) && strcmp(name, "back-unmapped") != 0);
}

static void *in_thread(void *argument)
{
    const char *name = argument;
    char *stack = use_stack(has_small_stack(name) ? SMALL_BYTES : STACK_BYTES);
    if (!strcmp(name, "read-only"))
        mprotect(stack, STACK_BYTES, PROT_READ);
    if (!strcmp(name, "unmapped"))
        munmap(stack, STACK_BYTES);
    pthread_barrier_wait(&stacks_are_there);
    pthread_barrier_wait(&handlers_are_there);
    if (!strcmp(name, "below")) {
        work_with_data_below();
        CHECK(raise(SIGUSR1) == 0 && calls > 0);
    }
    if (takes_away)
        have_it_back(name, stack);
    work();
    return NULL;
}

static void *install(void *argument)
{
    if (!takes_stack_away(argument))
        catch_signals();
    pthread_barrier_wait(&stacks_are_there);
    if (takes_stack_away(argument))
        catch_signals();
    pthread_barrier_wait(&handlers_are_there);
    return NULL;
}

int main(int count, char **arguments)
{
    char *name = count > 1 ? arguments[1] : "below";
    pthread_t thread, installer;
    adds_flag = strcmp(name, "beside") != 0;
    takes_away = !strncmp(name, "back-", 5);
    is_left = !strcmp(name, "back-left");
    pthread_barrier_init(&stacks_are_there, NULL, 3);
    pthread_barrier_init(&handlers_are_there, NULL, 3);
    if (!adds_flag) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
        sigaction(SIGSEGV, &action, NULL);
    }
    if (pthread_create(&thread, NULL, in_thread, name) != 0 ||
        pthread_create(&installer, NULL, install, name) != 0)
        die("pthread_create");
    in_thread(name);
    pthread_join(thread, NULL);
    pthread_join(installer, NULL);
    if (failures == 0)
        puts("all right");
    return failures != 0;
}
