/*
 * What a program sees of the profiler's signal: what it set, and its own signals. Exits 0, or says what is
 * wrong.
 *
 * Meant to be run bare and profiled: both must be silent.
 */
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t calls, wrong_info, wrong_sender;

static void on_profile(int number, siginfo_t *info, void *context)
{
    (void)context;
    calls++;
    wrong_sender |= info->si_code != SI_KERNEL;
    wrong_info |= number != SIGPROF || info->si_signo != SIGPROF || info->si_code == SI_QUEUE;
}

static void on_plain(int number)
{
    calls += number == SIGPROF;
}

static void burn(double seconds)
{
    struct timespec start, now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 < seconds);
}

/* sigaction reads back what was set, flags and mask included. */
static void action_is_kept(void)
{
    struct sigaction set = {.sa_sigaction = on_profile, .sa_flags = SA_SIGINFO | SA_RESTART}, seen;
    sigemptyset(&set.sa_mask);
    sigaddset(&set.sa_mask, SIGUSR1);
    sigaction(SIGPROF, NULL, &seen);
    check(seen.sa_handler == SIG_DFL, "the first action is not the default one");
    sigaction(SIGPROF, &set, NULL);
    sigaction(SIGPROF, NULL, &seen);
    check(seen.sa_sigaction == on_profile, "another handler is read back");
    check((seen.sa_flags & (SA_SIGINFO | SA_RESTART | SA_ONSTACK)) == (SA_SIGINFO | SA_RESTART),
          "other flags are read back");
    check(sigismember(&seen.sa_mask, SIGUSR1) == 1 && sigismember(&seen.sa_mask, SIGUSR2) == 0,
          "another mask is read back");
}

/*
 * The clock of ITIMER_PROF goes on by a whole tick whenever a tick meets a thread of the process,
 * however short that runs. So this thread is charged for no longer than it took, and our sampler, which wakes
 * 100 times a second, for a tick each time.
 */
static uint64_t timer_calls_max(uint64_t wall_ns)
{
    struct timespec tick;
    clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    uint64_t wakeups = wall_ns / (10 * NS_PER_MS) + 1;
    return (wall_ns + wakeups * (uint64_t)tick.tv_nsec) / (20 * NS_PER_MS) + 1;
}

/* The program's own profiling timer reaches the program's handler, and nothing else does. */
static void timer_arrives(void)
{
    struct itimerval every = {{0, 20000}, {0, 20000}}, off = {{0, 0}, {0, 0}};
    calls = 0;
    uint64_t begin_ns = now_ns();
    setitimer(ITIMER_PROF, &every, NULL);
    do
        burn(0.5);
    while (calls < 5 && now_ns() - begin_ns < 60 * NS_PER_S);
    setitimer(ITIMER_PROF, &off, NULL);
    check(calls >= 5, "the profiling timer does not arrive");
    check((uint64_t)calls <= timer_calls_max(now_ns() - begin_ns), "more signals arrive than were sent");
    check(!wrong_sender, "a signal arrives that the timer has not sent");
    check(!wrong_info, "a signal arrives that is not the program's");
    calls = 0;
    burn(0.2);
    check(calls == 0, "signals arrive that nobody sent");
}

static void handlers_take_turns(void)
{
    check((void *)signal(SIGPROF, on_plain) == (void *)on_profile, "signal() returns another handler");
    calls = 0;
    raise(SIGPROF);
    kill(getpid(), SIGPROF);
    check(calls == 2, "raise and kill do not arrive");
    check(signal(SIGPROF, SIG_IGN) == on_plain, "signal() returns another handler the second time");
    raise(SIGPROF);
    burn(0.05);
    check(calls == 2, "an ignored signal arrives");
    check(signal(SIGPROF, SIG_DFL) == SIG_IGN, "ignoring is not remembered");
}

static void *mask_of_thread(void *seen)
{
    pthread_sigmask(SIG_SETMASK, NULL, seen);
    return NULL;
}

/* A mask reads back as it was set, also in a thread that inherits it. */
static void mask_is_kept(void)
{
    sigset_t all, seen, old, just;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    check(!sigismember(&old, SIGPROF), "the signal is blocked at the start");
    sigprocmask(SIG_SETMASK, NULL, &seen);
    check(sigismember(&seen, SIGPROF) && sigismember(&seen, SIGTERM), "a full mask does not read back");
    pthread_create(&thread, NULL, mask_of_thread, &seen);
    pthread_join(thread, NULL);
    check(sigismember(&seen, SIGPROF), "a thread does not inherit the mask");
    sigemptyset(&just);
    sigaddset(&just, SIGPROF);
    sigprocmask(SIG_UNBLOCK, &just, &seen);
    check(sigismember(&seen, SIGPROF), "the old mask is not what was set");
    sigprocmask(SIG_BLOCK, NULL, &seen);
    check(!sigismember(&seen, SIGPROF) && sigismember(&seen, SIGTERM),
          "unblocking one signal does not read back");
    sigprocmask(SIG_BLOCK, &just, NULL);
    sigprocmask(SIG_SETMASK, &old, &seen);
    check(sigismember(&seen, SIGPROF), "blocking one signal does not read back");
    check(sigprocmask(99, &all, NULL) != 0, "a bad argument is accepted");
    sigprocmask(SIG_BLOCK, NULL, &seen);
    check(!sigismember(&seen, SIGPROF), "a refused change was remembered");
}

/* An alternate stack that is large enough for nothing of ours is the program's business. */
static void small_alternate_stack(void)
{
    static char memory[2048];
    stack_t small = {.ss_sp = memory, .ss_size = sizeof(memory)}, off = {.ss_flags = SS_DISABLE};
    if (sigaltstack(&small, NULL) != 0)
        return; /* the kernel wants more on this machine */
    burn(0.2);
    sigaltstack(&off, NULL);
}

int main(void)
{
    action_is_kept();
    timer_arrives();
    handlers_take_turns();
    mask_is_kept();
    small_alternate_stack();
    return failures != 0;
}
