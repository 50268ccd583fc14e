/*
 * What a program sees of a signal that it uses itself, call by call: each case prints what it observed.
 *
 *     target_own_signal list
 *     target_own_signal CASE NUMBER
 *
 * Meant to be run bare and profiled, with the profiler's signal as NUMBER: the output must be the same.
 */
#include "own_signal.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

static volatile sig_atomic_t other_calls;
static pthread_barrier_t meeting;

static void on_other(int seen)
{
    other_calls += seen != number;
}

static volatile sig_atomic_t is_sent_enough, is_restarted;

/* Where the read is restarted, after the first has come one whose handler has no SA_RESTART. */
static void *send_again(void *argument)
{
    struct timespec time = {0, 10000000};
    while (!is_sent_enough) {
        nanosleep(&time, NULL);
        pthread_kill(main_thread, is_restarted && calls > 0 ? SIGALRM : number);
    }
    return argument;
}

/* ---- actions ---- */

static void say_action(const char *what)
{
    struct sigaction seen;
    sigaction(number, NULL, &seen);
    const char *handler = seen.sa_sigaction == on_info  ? "info"
                          : seen.sa_handler == on_plain ? "plain"
                          : seen.sa_handler == SIG_DFL  ? "default"
                          : seen.sa_handler == SIG_IGN  ? "ignore"
                                                        : "another";
    say("%s: %s %x %llx", what, handler, (unsigned)seen.sa_flags, bits(&seen.sa_mask));
}

static void case_sigaction(void)
{
    struct sigaction set = {.sa_sigaction = on_info, .sa_flags = SA_SIGINFO | SA_RESTART}, old;
    say_action("at the start");
    sigemptyset(&set.sa_mask);
    sigaddset(&set.sa_mask, SIGUSR1);
    sigaction(number, &set, &old);
    say("old: %d", old.sa_handler == SIG_DFL);
    say_action("set");
    set.sa_mask = full();
    set.sa_flags = (int)(SA_SIGINFO | SA_NODEFER | SA_ONSTACK);
    sigaction(number, &set, &old);
    say("old: %d %llx", old.sa_sigaction == on_info, bits(&old.sa_mask));
    say_action("set again");
    pass_time();
    say_seen("nothing sent");
    raise(number);
    say_seen("raised");
    set.sa_handler = SIG_DFL;
    set.sa_flags = 0;
    sigaction(number, &set, NULL);
    say_action("default again");
}

/* What POSIX has taken back, and the C library still has. */
extern void (*bsd_signal(int, void (*)(int)))(int);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void case_signal(void)
{
    say("%d", signal(number, on_plain) == SIG_DFL);
    say_action("signal");
    raise(number);
    say("%d", bsd_signal(number, SIG_IGN) == on_plain);
    say_action("bsd_signal");
    raise(number);
    say("%d", sysv_signal(number, on_plain) == SIG_IGN);
    say_action("sysv_signal");
    raise(number);
    say_action("reset by the first");
    say_seen("raised");
    siginterrupt(number, 1);
    signal(number, on_plain);
    say_action("signal after siginterrupt");
    siginterrupt(number, 0);
    say_action("siginterrupt");
    pass_time();
    say_seen("nothing sent");
}

static void case_sigset(void)
{
    say("%d", sigset(number, on_plain) == SIG_DFL);
    say_action("sigset");
    sighold(number);
    say("blocked %d", is_blocked());
    raise(number);
    pass_time();
    say("calls %d pending %d", (int)calls, is_pending());
    sigrelse(number);
    say("calls %d", (int)calls);
    say("%d", sigset(number, SIG_HOLD) == on_plain);
    say("blocked %d", is_blocked());
    say("%d", sigset(number, on_plain) == SIG_HOLD);
    say("blocked %d", is_blocked());
    sigignore(number);
    say_action("sigignore");
    raise(number);
    say_seen("raised");
}

static void case_old_masks(void)
{
    int mask = 1 << (number <= 31 ? number - 1 : SIGUSR2 - 1), other = 1 << (SIGUSR1 - 1);
    say("%x", (unsigned)sigblock(mask));
    say_mask("sigblock");
    say("%x", (unsigned)sigsetmask(other));
    say_mask("sigsetmask");
    sigset_t all = full();
    sigprocmask(SIG_SETMASK, &all, NULL);
    say("%x", (unsigned)sigblock(0));
    say_mask("sigblock nothing");
    say("%x", (unsigned)sigsetmask(0));
    say_mask("sigsetmask nothing");
}
#pragma GCC diagnostic pop

static void case_flags(void)
{
    catch (number, on_info, (int)SA_RESETHAND);
    raise(number);
    say_seen("reset");
    say_action("reset");
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&stack, NULL);
    catch (number, on_info, (int)SA_ONSTACK);
    pass_time();
    raise(number);
    say_seen("on a stack of its own");
}

static volatile sig_atomic_t depth, deepest, mask_within;

static void nest(int seen, siginfo_t *info, void *context)
{
    (void)seen, (void)info, (void)context;
    depth++;
    mask_within = is_blocked();
    deepest = depth > deepest ? depth : deepest;
    if (depth < 3 && ++calls < 3)
        raise(number);
    depth--;
}

/* What sigaction has shown, installed again by the system call, as a program does that saves its actions. */
struct kernel_action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static void case_restorer(void)
{
    struct sigaction seen;
    catch (number, on_info, SA_RESTART);
    sigaction(number, NULL, &seen);
    struct kernel_action action = {.handler = seen.sa_sigaction,
                                   .flags = (unsigned long)(unsigned)seen.sa_flags};
#ifdef __x86_64__
    action.restorer = seen.sa_restorer;
    say("a way back: %d", seen.sa_restorer != NULL);
#endif
    say("set: %ld", syscall(SYS_rt_sigaction, number, &action, NULL, sizeof(action.mask)));
    raise(number);
    say_seen("raised");
}

static void say_by_number(const char *what)
{
    struct kernel_action seen;
    long status = syscall(SYS_rt_sigaction, number, NULL, &seen, sizeof(seen.mask));
    say("%s: %ld, handler %d, flags %lx, way back %d, mask %llx", what, status,
        seen.handler == on_info ? 2 : seen.handler != NULL, seen.flags, seen.restorer != NULL,
        (unsigned long long)seen.mask);
}

/* As Chromium does between fork and exec. */
static int reset_all_by_number(void)
{
    int refused = 0;
    for (int each = 1; each <= 64; each++) {
        struct kernel_action action = {0};
        refused += syscall(SYS_rt_sigaction, each, &action, NULL, sizeof(action.mask)) < 0;
    }
    return refused;
}

/* A process that has reset all actions runs on for a while. */
static void case_by_number(void)
{
    struct kernel_action action;
    int status;
    say_by_number("at first");
    catch (SIGUSR1, on_info, SA_RESTART);
    syscall(SYS_rt_sigaction, SIGUSR1, NULL, &action, sizeof(action.mask));
    action.mask = 1U << (SIGUSR2 - 1) | 1U << (SIGKILL - 1);
    say("set: %ld", syscall(SYS_rt_sigaction, number, &action, NULL, sizeof(action.mask)));
    raise(number);
    say_seen("raised");
    say_by_number("then");
    say_action("the library's");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        say("refused: %d", reset_all_by_number());
        say_by_number("reset");
        pass_time();
        fflush(stdout);
        raise(number);
        _exit(0);
    }
    waitpid(child, &status, 0);
    say("ended by signal %d", WIFSIGNALED(status) ? WTERMSIG(status) == number ? 1 : 2 : 0);
}

static void case_nodefer(void)
{
    catch (number, nest, 0);
    raise(number);
    say("deferred: deepest %d, blocked %d", (int)deepest, (int)mask_within);
    calls = deepest = 0;
    catch (number, nest, (int)SA_NODEFER);
    raise(number);
    say("SA_NODEFER: deepest %d, blocked %d", (int)deepest, (int)mask_within);
}

static volatile sig_atomic_t is_on_stack;
static char own_stack[1 << 16];

static void where(int seen, siginfo_t *info, void *context)
{
    (void)seen, (void)info, (void)context;
    char here;
    is_on_stack = &here >= own_stack && &here < own_stack + sizeof(own_stack);
}

static void case_onstack(void)
{
    stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof(own_stack)};
    sigaltstack(&stack, NULL);
    catch (number, where, (int)SA_ONSTACK);
    raise(number);
    say("SA_ONSTACK: %d", (int)is_on_stack);
    catch (number, where, 0);
    raise(number);
    say("without: %d", (int)is_on_stack);
}

/* A read is restarted or not, as the action says. */
static void read_with(int flags)
{
    int ends[2];
    char byte;
    if (pipe(ends) < 0)
        return;
    fcntl(ends[0], F_SETFL, 0);
    calls = 0;
    catch (number, on_info, flags);
    is_sent_enough = 0;
    is_restarted = flags == SA_RESTART;
    pthread_t sender = begin_sender(send_again);
    ssize_t result = read(ends[0], &byte, 1); /* SIGALRM ends the one that is restarted */
    int error = errno, alarms = other_calls;
    is_sent_enough = 1;
    pthread_join(sender, NULL);
    say("read %zd %s calls %d alarms %d", result, result < 0 ? strerrorname_np(error) : "", calls > 0,
        alarms > 0);
}

static void case_restart(void)
{
    struct sigaction alarmed = {.sa_handler = on_other};
    sigaction(SIGALRM, &alarmed, NULL);
    pass_time();
    read_with(0);
    read_with(SA_RESTART);
}

static void case_ignore(void)
{
    signal(number, SIG_IGN);
    raise(number);
    kill(getpid(), number);
    pass_time();
    say("alive");
}

/* How a child ends that does something with a signal it does not handle. */
static void say_end(const char *what, void (*body)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        pass_time();
        body();
        burn(0.05);
        _exit(0);
    }
    waitpid(child, &status, 0);
    say("%s: signal %d status %d", what, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void raise_it(void)
{
    raise(number);
}

static void queue_it(void)
{
    sigqueue(getpid(), number, (union sigval){.sival_int = 7});
}

static void kill_by_the_shell(void)
{
    char command[64];
    snprintf(command, sizeof(command), "kill -%d %d", number, (int)getpid());
    if (system(command) < 0)
        perror("system");
}

static void ignore_and_raise(void)
{
    signal(number, SIG_IGN);
    raise(number);
}

static void block_and_raise(void)
{
    block(SIG_BLOCK);
    raise(number);
}

static void block_raise_unblock(void)
{
    block_and_raise();
    block(SIG_UNBLOCK);
}

static void fill_and_raise(void)
{
    sigset_t all = full();
    sigprocmask(SIG_SETMASK, &all, NULL);
    raise(number);
}

static void fill_and_be_killed(void)
{
    sigset_t all = full();
    sigprocmask(SIG_SETMASK, &all, NULL);
    kill_by_the_shell();
}

static void case_default(void)
{
    say_end("raise", raise_it);
    say_end("sigqueue", queue_it);
    say_end("from outside", kill_by_the_shell);
    say_end("ignored", ignore_and_raise);
    say_end("blocked", block_and_raise);
    say_end("unblocked", block_raise_unblock);
    say_end("all blocked", fill_and_raise);
    say_end("all blocked, from outside", fill_and_be_killed);
}

/* ---- sending ---- */

static void case_send(void)
{
    union sigval value = {.sival_int = 4711};
    catch (number, on_info, SA_RESTART);
    raise(number);
    say_seen("raise");
    kill(getpid(), number);
    say_seen("kill");
    tgkill(getpid(), gettid(), number);
    say_seen("tgkill");
    sigqueue(getpid(), number, value);
    say_seen("sigqueue");
    pthread_kill(pthread_self(), number);
    say_seen("pthread_kill");
    pthread_sigqueue(pthread_self(), number, value);
    say_seen("pthread_sigqueue");
    pass_time();
    say_seen("nothing sent");
}

/* Every one arrives, also when ours is pending at the same moment. */
static void case_many(void)
{
    catch (number, on_info, SA_RESTART);
    for (int i = 0; i < 5000; i++)
        raise(number);
    say_seen("raised 5000");
    for (int i = 0; i < 5000; i++)
        pthread_sigqueue(pthread_self(), number, (union sigval){.sival_int = i});
    say_seen("queued 5000");
}

static void case_from_outside(void)
{
    catch (number, on_info, SA_RESTART);
    kill_by_the_shell();
    pass_time();
    say("calls %d code %d", (int)calls, (int)last_code);
}

static void run_timer(int notify)
{
    struct sigevent event = {.sigev_notify = notify, .sigev_signo = number, .sigev_value.sival_int = 12};
    struct itimerspec once = {.it_value = {0, 5000000}}, off = {0};
    timer_t timer;
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
        return;
    timer_settime(timer, 0, &once, NULL);
    for (int i = 0; i < 500 && !calls; i++)
        pass_time();
    timer_settime(timer, 0, &off, NULL);
    timer_delete(timer);
    say_seen(notify == SIGEV_SIGNAL ? "SIGEV_SIGNAL" : "SIGEV_THREAD_ID");
}

static void case_timers(void)
{
    catch (number, on_info, SA_RESTART);
    run_timer(SIGEV_SIGNAL);
    run_timer(SIGEV_THREAD_ID);
    struct itimerval once = {{0, 0}, {0, 5000}};
    if (number == SIGPROF && setitimer(ITIMER_PROF, &once, NULL) == 0) {
        for (int i = 0; i < 500 && !calls; i++)
            pass_time();
        pass_time();
        say_seen("ITIMER_PROF");
    }
}

/* ---- blocking ---- */

static void case_masks(void)
{
    sigset_t all = full(), none, one = only(number), others = full(), old;
    sigemptyset(&none);
    sigdelset(&others, number);
    say_mask("at the start");
    sigprocmask(SIG_SETMASK, &all, &old);
    say_mask("all");
    pass_time();
    sigprocmask(SIG_SETMASK, &others, NULL);
    say_mask("all others");
    sigprocmask(SIG_SETMASK, &all, NULL);
    say_mask("all again");
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    say_mask("unblocked");
    sigprocmask(SIG_SETMASK, &none, NULL);
    sigprocmask(SIG_BLOCK, &one, NULL);
    say_mask("blocked");
    pass_time();
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    say_mask("as at the start");
    say("%d", sigprocmask(99, &all, NULL));
    say_mask("refused");
}

static void case_pending(void)
{
    catch (number, on_info, SA_RESTART);
    block(SIG_BLOCK);
    pass_time();
    say("pending %d", is_pending());
    raise(number);
    pass_time();
    say("pending %d calls %d", is_pending(), (int)calls);
    block(SIG_UNBLOCK);
    say_seen("unblocked");
    say("pending %d", is_pending());
}

/* As in a worker that blocks everything, and meets a signal all the same. */
static void case_pending_among_all(void)
{
    sigset_t all = full(), none;
    sigemptyset(&none);
    catch (number, on_info, SA_RESTART);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pass_time();
    say("pending %d", is_pending());
    raise(number);
    kill_by_the_shell();
    pass_time();
    say("pending %d calls %d", is_pending(), (int)calls);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    say("calls %d", (int)calls > 0);
}

static void case_sigwait(void)
{
    sigset_t one = only(number), all = full();
    siginfo_t info = {0};
    struct timespec soon = {0, 20000000}, long_time = {5, 0};
    int got = 0;
    block(SIG_BLOCK);
    raise(number);
    sigwait(&one, &got);
    say("%d", got == number);
    sigqueue(getpid(), number, (union sigval){.sival_int = 99});
    got = sigwaitinfo(&one, &info);
    say("%d code %d value %d", got == number, info.si_code, info.si_value.sival_int);
    got = sigtimedwait(&one, NULL, &soon);
    say("%d %s", got, strerrorname_np(errno));
    pthread_t sender = begin_sender(send_later);
    got = sigtimedwait(&one, &info, &long_time);
    say("%d code %d", got == number, info.si_code);
    pthread_join(sender, NULL);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sender = begin_sender(send_later);
    got = sigwaitinfo(&all, &info);
    say("%d code %d", got == number, info.si_code);
    pthread_join(sender, NULL);
}

static void *wait_for_all(void *got)
{
    sigset_t all = full();
    pthread_barrier_wait(&meeting);
    sigwait(&all, got);
    return NULL;
}

/* Everything is blocked everywhere, and one thread waits for everything. */
static void case_signal_thread(void)
{
    sigset_t all = full();
    pthread_t thread;
    int got = 0;
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_barrier_init(&meeting, NULL, 2);
    pthread_create(&thread, NULL, wait_for_all, &got);
    pthread_barrier_wait(&meeting);
    pass_time();
    kill(getpid(), number);
    pthread_join(thread, NULL);
    say("%d", got == number);
    pthread_create(&thread, NULL, wait_for_all, &got);
    pthread_barrier_wait(&meeting);
    burn(0.05);
    kill(getpid(), SIGUSR1);
    pthread_join(thread, NULL);
    say("%d", got);
}

static void case_signalfd(void)
{
    sigset_t one = only(number), all = full();
    struct signalfd_siginfo info = {0};
    sigprocmask(SIG_SETMASK, &all, NULL);
    int fd = signalfd(-1, &one, SFD_NONBLOCK);
    pass_time();
    say("%zd", read(fd, &info, sizeof(info)));
    sigqueue(getpid(), number, (union sigval){.sival_int = 21});
    say("%zd", read(fd, &info, sizeof(info)));
    say("%d %d", info.ssi_signo == (unsigned)number, info.ssi_int);
    close(fd);
    fd = signalfd(-1, &all, SFD_NONBLOCK);
    for (int i = 0; i < 1000; i++) {
        if (read(fd, &info, sizeof(info)) >= 0)
            say("a signal %u", info.ssi_signo);
        usleep(20);
    }
    raise(SIGUSR1);
    say("%zd", read(fd, &info, sizeof(info)));
    say("%u", info.ssi_signo);
    close(fd);
}

/* ---- masks for the length of something ---- */

static int wait_suspended(const sigset_t *mask)
{
    return sigsuspend(mask);
}

static int wait_ppoll(const sigset_t *mask)
{
    struct timespec time = {0, 100000000};
    return ppoll(NULL, 0, &time, mask);
}

static int wait_pselect(const sigset_t *mask)
{
    struct timespec time = {0, 100000000};
    return pselect(0, NULL, NULL, NULL, &time, mask);
}

static int wait_epoll(const sigset_t *mask)
{
    struct epoll_event event;
    int fd = epoll_create1(0), result = epoll_pwait(fd, &event, 1, 100, mask), error = errno;
    close(fd);
    errno = error;
    return result;
}

static int wait_epoll2(const sigset_t *mask)
{
    struct epoll_event event;
    struct timespec time = {0, 100000000};
    int fd = epoll_create1(0), result = epoll_pwait2(fd, &event, 1, &time, mask), error = errno;
    close(fd);
    errno = error;
    return result;
}

static void wait_masked(const char *name, int (*wait)(const sigset_t *), int is_timed)
{
    sigset_t all = full(), none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &all, NULL);
    raise(number);
    int result = wait(&none);
    say("%s: %d %s calls %d pending %d", name, result, strerrorname_np(errno), (int)calls, is_pending());
    say_mask(name);
    sigprocmask(SIG_SETMASK, &none, NULL);
    calls = 0;
    if (!is_timed)
        return;
    pthread_t sender = begin_sender(send_later);
    result = wait(&all);
    pthread_join(sender, NULL);
    say("%s, blocked: %d calls %d", name, result, (int)calls);
    say_mask(name);
    calls = 0;
}

static void case_wait_masks(void)
{
    catch (number, on_info, 0);
    wait_masked("sigsuspend", wait_suspended, 0);
    wait_masked("ppoll", wait_ppoll, 1);
    wait_masked("pselect", wait_pselect, 1);
    wait_masked("epoll_pwait", wait_epoll, 1);
    wait_masked("epoll_pwait2", wait_epoll2, 1);
}

/* The same where nothing was done with the signal before. */
static void case_wait_first(void)
{
    sigset_t all = full();
    wait_ppoll(&all);
    say_mask("ppoll");
    wait_pselect(&all);
    say_mask("pselect");
    wait_epoll(&all);
    say_mask("epoll_pwait");
}

static volatile sig_atomic_t calls_within, pending_within, mask_of_other;

static void on_other_raising(int seen)
{
    (void)seen;
    raise(number);
    pass_time();
    mask_of_other = is_blocked();
    calls_within = calls;
    pending_within = is_pending();
}

static void other_handler_with(sigset_t mask)
{
    struct sigaction other = {.sa_handler = on_other_raising, .sa_mask = mask}, seen;
    sigaction(SIGUSR1, &other, NULL);
    sigaction(SIGUSR1, NULL, &seen);
    say("mask %llx", bits(&seen.sa_mask));
    raise(SIGUSR1);
    say("within: calls %d pending %d blocked %d; after: calls %d", (int)calls_within, (int)pending_within,
        (int)mask_of_other, (int)calls);
    calls = 0;
    say_mask("after");
}

static void case_handler_mask(void)
{
    sigset_t none;
    sigemptyset(&none);
    catch (number, on_info, 0);
    other_handler_with(full());
    other_handler_with(only(number));
    other_handler_with(none);
}

static void case_handler_mask_first(void)
{
    struct sigaction other = {.sa_handler = on_other, .sa_mask = full()}, seen;
    sigaction(SIGUSR1, &other, NULL);
    sigaction(SIGUSR1, NULL, &seen);
    say("mask %llx", bits(&seen.sa_mask));
    raise(SIGUSR1);
    say_mask("after");
    catch (number, on_info, 0);
    sigaction(SIGUSR1, NULL, &seen);
    say("mask %llx", bits(&seen.sa_mask));
}

/* ---- masks that come back ---- */

static sigjmp_buf place;

static void jump_over(const sigset_t *before, const sigset_t *between, const char *what)
{
    sigprocmask(SIG_SETMASK, before, NULL);
    if (sigsetjmp(place, 1) == 0) {
        sigprocmask(SIG_SETMASK, between, NULL);
        pass_time();
        siglongjmp(place, 1);
    }
    say_mask(what);
}

static void case_siglongjmp(void)
{
    sigset_t all = full(), none, one = only(number);
    sigemptyset(&none);
    jump_over(&none, &all, "none back");
    jump_over(&all, &none, "all back");
    jump_over(&one, &none, "one back");
    jump_over(&none, &one, "not the one");
    jump_over(&one, &all, "one instead of all");
}

static void switch_over(const sigset_t *before, const sigset_t *between, const char *what)
{
    ucontext_t context;
    volatile int count = 0;
    sigprocmask(SIG_SETMASK, before, NULL);
    getcontext(&context);
    if (count++ == 0) {
        sigprocmask(SIG_SETMASK, between, NULL);
        pass_time();
        setcontext(&context);
    }
    say_mask(what);
}

static ucontext_t here, there;

static void within_context(void)
{
    sigset_t all = full();
    say_mask("within");
    sigprocmask(SIG_SETMASK, &all, NULL);
    say_mask("all within");
}

static void case_contexts(void)
{
    sigset_t all = full(), none, one = only(number);
    sigemptyset(&none);
    switch_over(&none, &all, "none back");
    switch_over(&all, &none, "all back");
    switch_over(&one, &none, "one back");
    sigprocmask(SIG_SETMASK, &none, NULL);
    getcontext(&there);
    there.uc_stack.ss_sp = malloc(1 << 17);
    there.uc_stack.ss_size = 1 << 17;
    there.uc_link = &here;
    makecontext(&there, within_context, 0);
    swapcontext(&here, &there);
    say_mask("without");
}

/* A handler that leaves another mask behind. */
static void on_leaving(int seen, siginfo_t *info, void *context)
{
    (void)seen, (void)info;
    sigaddset(&((ucontext_t *)context)->uc_sigmask, number);
}

static void case_sigreturn(void)
{
    catch (SIGUSR1, on_leaving, 0);
    catch (number, on_info, 0);
    raise(SIGUSR1);
    say_mask("left behind");
    raise(number);
    pass_time();
    say("pending %d calls %d", is_pending(), (int)calls);
    block(SIG_UNBLOCK);
    say("calls %d", (int)calls);
}

/* ---- masks that are passed on ---- */

static void *say_inherited(void *what)
{
    say_mask(what);
    return NULL;
}

static void create_with(const sigset_t *mask, char *what)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (mask)
        pthread_attr_setsigmask_np(&attributes, mask);
    pthread_create(&thread, &attributes, say_inherited, what);
    pthread_join(thread, NULL);
    sigset_t seen;
    if (mask && pthread_attr_getsigmask_np(&attributes, &seen) == 0)
        say("%s: attribute %llx", what, bits(&seen));
    pthread_attr_destroy(&attributes);
}

static void case_threads(void)
{
    sigset_t all = full(), none, one = only(number), others = full();
    sigemptyset(&none);
    sigdelset(&others, number);
    create_with(NULL, "inherited");
    create_with(&all, "all");
    create_with(&others, "all others");
    create_with(&all, "all again");
    sigprocmask(SIG_SETMASK, &all, NULL);
    create_with(NULL, "inherited all");
    create_with(&none, "none");
    create_with(&one, "one");
    sigprocmask(SIG_SETMASK, &one, NULL);
    create_with(NULL, "inherited one");
}

/* A program that is not profiled says what it was given. */
static char *const show[] = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", NULL};
static char *const nothing[] = {NULL};

static void spawn_with(const sigset_t *mask, const sigset_t *defaults)
{
    posix_spawnattr_t attributes;
    pid_t child;
    fflush(stdout);
    posix_spawnattr_init(&attributes);
    if (mask)
        posix_spawnattr_setsigmask(&attributes, mask);
    if (defaults)
        posix_spawnattr_setsigdefault(&attributes, defaults);
    posix_spawnattr_setflags(
        &attributes, (short)((mask ? POSIX_SPAWN_SETSIGMASK : 0) | (defaults ? POSIX_SPAWN_SETSIGDEF : 0)));
    if (posix_spawn(&child, "/bin/grep", NULL, &attributes, show, nothing) == 0)
        waitpid(child, NULL, 0);
    posix_spawnattr_destroy(&attributes);
}

static void case_spawn(void)
{
    sigset_t all = full(), none, one = only(number);
    sigemptyset(&none);
    spawn_with(NULL, NULL);
    spawn_with(&all, NULL);
    sigprocmask(SIG_SETMASK, &all, NULL);
    spawn_with(NULL, NULL);
    say_mask("after");
    spawn_with(&none, NULL);
    spawn_with(&one, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(number, SIG_IGN);
    spawn_with(NULL, NULL);
    spawn_with(NULL, &one);
}

static void exec_with(const sigset_t *mask)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        sigprocmask(SIG_SETMASK, mask, NULL);
        pass_time();
        execve("/nowhere", show, nothing);
        say_mask("after a failed exec");
        fflush(stdout);
        execve("/bin/grep", show, nothing);
        _exit(1);
    }
    waitpid(child, NULL, 0);
}

static void case_exec(void)
{
    sigset_t all = full(), none, one = only(number);
    sigemptyset(&none);
    exec_with(&all);
    exec_with(&one);
    exec_with(&none);
    signal(number, SIG_IGN);
    exec_with(&all);
}

static void case_fork(void)
{
    sigset_t all = full();
    catch (number, on_info, 0);
    sigprocmask(SIG_SETMASK, &all, NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        say_action("in the child");
        say_mask("in the child");
        raise(number);
        pass_time();
        say("pending %d calls %d", is_pending(), (int)calls);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* ---- threads that are there already when the program begins to use it ---- */

enum { WORKERS = 3 };

static volatile int workers_stop;
static volatile pid_t worker_tids[WORKERS];
static volatile int worker_rounds[WORKERS];
static int worker_pending[WORKERS];

static void *filled_worker(void *argument)
{
    sigset_t all = full();
    int index = *(int *)argument;
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    worker_tids[index] = gettid();
    pthread_barrier_wait(&meeting);
    while (!workers_stop) {
        burn(0.001);
        worker_rounds[index]++;
    }
    worker_pending[index] = is_pending();
    return NULL;
}

static void wait_for_rounds(int index)
{
    int before = worker_rounds[index];
    while (worker_rounds[index] < before + 3)
        usleep(1000);
}

static void case_workers(void)
{
    pthread_t threads[WORKERS];
    int indexes[WORKERS];
    pthread_barrier_init(&meeting, NULL, WORKERS + 1);
    for (int i = 0; i < WORKERS; i++) {
        indexes[i] = i;
        pthread_create(&threads[i], NULL, filled_worker, &indexes[i]);
    }
    pthread_barrier_wait(&meeting);
    burn(0.02);
    catch (number, on_info, SA_RESTART);
    wait_for_rounds(0); /* one of the profiler's may be on its way, and two of SIGPROF are one */
    tgkill(getpid(), worker_tids[0], number);
    wait_for_rounds(0);
    say("calls %d", (int)calls);
    kill(getpid(), number);
    say("calls %d", (int)calls);
    workers_stop = 1;
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    say("pending %d %d %d, calls %d", worker_pending[0], worker_pending[1], worker_pending[2], (int)calls);
}

static const struct own_case cases[] = {
    {"sigaction", case_sigaction},
    {"signal", case_signal},
    {"sigset", case_sigset},
    {"old_masks", case_old_masks},
    {"flags", case_flags},
    {"restorer", case_restorer},
    {"by_number", case_by_number},
    {"nodefer", case_nodefer},
    {"onstack", case_onstack},
    {"restart", case_restart},
    {"ignore", case_ignore},
    {"default", case_default},
    {"send", case_send},
    {"many", case_many},
    {"from_outside", case_from_outside},
    {"timers", case_timers},
    {"masks", case_masks},
    {"pending", case_pending},
    {"pending_among_all", case_pending_among_all},
    {"sigwait", case_sigwait},
    {"signal_thread", case_signal_thread},
    {"signalfd", case_signalfd},
    {"wait_masks", case_wait_masks},
    {"wait_first", case_wait_first},
    {"handler_mask", case_handler_mask},
    {"handler_mask_first", case_handler_mask_first},
    {"siglongjmp", case_siglongjmp},
    {"contexts", case_contexts},
    {"sigreturn", case_sigreturn},
    {"threads", case_threads},
    {"spawn", case_spawn},
    {"exec", case_exec},
    {"fork", case_fork},
    {"workers", case_workers},
};

int main(int count, char **arguments)
{
    return run_case(cases, sizeof(cases) / sizeof(cases[0]), count, arguments);
}
