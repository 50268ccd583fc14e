/*
 * What a program sees of a signal that it makes come in less usual ways, without having done anything with it
 * before:
 *
 *     target_signal_calls list
 *     target_signal_calls CASE NUMBER
 *
 * Each case is a way to make it come. It is met by a handler, in sigwaitinfo and in a signalfd of all signals
 * where all are blocked, and by its default action. Meant to be run bare and profiled, with the profiler's
 * signal as NUMBER: the output must be the same.
 */
#include "own_signal.h"

#include <aio.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { VALUE = 4711, PATIENCE_MS = 5000 };

static char directory[64];

static void nap(void)
{
    usleep(20000);
}

static void complain(const char *what, long result)
{
    if (result < 0)
        say("%s: %s", what, strerrorname_np(errno));
}

/* ---- sent ---- */

static void send_to_group(void)
{
    complain("kill", kill(0, number));
}

static void send_to_group_by_number(void)
{
    complain("kill", kill(-getpgrp(), number));
}

static void send_by_killpg(void)
{
    complain("killpg", killpg(0, number));
}

static siginfo_t made_up(void)
{
    siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_value.sival_int = VALUE;
    return info;
}

static void call_kill(void)
{
    complain("kill", syscall(SYS_kill, getpid(), number));
}

static void call_tkill(void)
{
    complain("tkill", syscall(SYS_tkill, gettid(), number));
}

static void call_tgkill(void)
{
    complain("tgkill", syscall(SYS_tgkill, getpid(), gettid(), number));
}

static void call_queue(void)
{
    siginfo_t info = made_up();
    complain("rt_sigqueueinfo", syscall(SYS_rt_sigqueueinfo, getpid(), number, &info));
}

static void call_queue_to_thread(void)
{
    siginfo_t info = made_up();
    complain("rt_tgsigqueueinfo", syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), number, &info));
}

static void call_pidfd(void)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    siginfo_t info = made_up();
    complain("pidfd_send_signal", syscall(SYS_pidfd_send_signal, fd, number, &info, 0));
    close(fd);
}

static void send_by_pidfd(void)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    complain("pidfd_send_signal", pidfd_send_signal(fd, number, NULL, 0));
    close(fd);
}

/* From a child of the C library's fork, which does nothing else. */
static void send_from_child(int how)
{
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        nap();
        if (how == 0)
            kill(parent, number);
        else if (how == 1)
            sigqueue(parent, number, (union sigval){.sival_int = VALUE});
        else
            tgkill(parent, parent, number);
        _exit(0);
    }
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static void kill_from_child(void)
{
    send_from_child(0);
}

static void queue_from_child(void)
{
    send_from_child(1);
}

static void tgkill_from_child(void)
{
    send_from_child(2);
}

/* ---- asked for ---- */

static struct sigevent event_of(int notify)
{
    return (struct sigevent){.sigev_notify = notify, .sigev_signo = number, .sigev_value.sival_int = VALUE};
}

static void ask_timer(int notify)
{
    struct sigevent event = event_of(notify);
    struct itimerspec once = {.it_value = {0, 5000000}};
    timer_t timer;
    event._sigev_un._tid = gettid();
    complain("timer_create", timer_create(CLOCK_MONOTONIC, &event, &timer));
    complain("timer_settime", timer_settime(timer, 0, &once, NULL));
}

static void ask_timer_for_process(void)
{
    ask_timer(SIGEV_SIGNAL);
}

static void ask_timer_for_thread(void)
{
    ask_timer(SIGEV_THREAD_ID);
}

static void ask_queue(void)
{
    char name[64];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    struct sigevent event = event_of(SIGEV_SIGNAL);
    snprintf(name, sizeof(name), "/own_signal.%d", (int)getpid());
    mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    complain("mq_open", (int)queue);
    mq_unlink(name);
    complain("mq_notify", mq_notify(queue, &event));
    complain("mq_send", mq_send(queue, "1", 1, 0));
}

static int pipe_with_signal(int ends[2])
{
    complain("pipe", pipe(ends));
    complain("F_SETSIG", fcntl(ends[0], F_SETSIG, number));
    return fcntl(ends[0], F_GETSIG) == number;
}

static void ask_pipe(void)
{
    int ends[2];
    complain("F_GETSIG", pipe_with_signal(ends) - 1);
    complain("F_SETOWN", fcntl(ends[0], F_SETOWN, getpid()));
    complain("F_SETFL", fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK));
    complain("write", write(ends[1], "1", 1));
}

static void ask_pipe_for_thread(void)
{
    int ends[2];
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = gettid()};
    complain("F_GETSIG", pipe_with_signal(ends) - 1);
    complain("F_SETOWN_EX", fcntl(ends[0], F_SETOWN_EX, &owner));
    complain("F_SETFL", fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK));
    complain("write", write(ends[1], "1", 1));
}

static void create_within(const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    complain(path, fd);
    close(fd);
}

static void ask_directory(void)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY);
    complain("F_SETSIG", fcntl(fd, F_SETSIG, number));
    complain("F_NOTIFY", fcntl(fd, F_NOTIFY, DN_CREATE));
    char name[32];
    snprintf(name, sizeof(name), "new.%d", (int)getpid());
    create_within(name);
}

static void open_in_child(const char *path)
{
    pid_t child = fork();
    if (child == 0)
        _exit(open(path, O_WRONLY | O_NONBLOCK) >= 0);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static void ask_lease(void)
{
    char path[128];
    create_within("leased");
    snprintf(path, sizeof(path), "%s/leased", directory);
    int fd = open(path, O_RDONLY);
    complain("F_SETSIG", fcntl(fd, F_SETSIG, number));
    complain("F_SETLEASE", fcntl(fd, F_SETLEASE, F_RDLCK));
    open_in_child(path);
}

/* A file's request that is done by a thread of the C library's. */
static struct aiocb request;
static char requested[8];

static void prepare_request(int operation)
{
    char path[128];
    create_within("requested");
    snprintf(path, sizeof(path), "%s/requested", directory);
    request = (struct aiocb){.aio_fildes = open(path, O_RDWR),
                             .aio_buf = requested,
                             .aio_nbytes = sizeof(requested),
                             .aio_lio_opcode = operation,
                             .aio_sigevent = event_of(SIGEV_SIGNAL)};
}

static void ask_read(void)
{
    prepare_request(LIO_READ);
    complain("aio_read", aio_read(&request));
}

static void ask_write(void)
{
    prepare_request(LIO_WRITE);
    complain("aio_write", aio_write(&request));
}

static void ask_sync(void)
{
    prepare_request(LIO_NOP);
    complain("aio_fsync", aio_fsync(O_SYNC, &request));
}

static void ask_list(void)
{
    static struct aiocb *list[] = {&request};
    struct sigevent event = event_of(SIGEV_SIGNAL);
    prepare_request(LIO_WRITE);
    request.aio_sigevent.sigev_notify = SIGEV_NONE;
    complain("lio_listio", lio_listio(LIO_NOWAIT, list, 1, &event));
}

static void ask_one_of_list(void)
{
    static struct aiocb *list[] = {&request};
    prepare_request(LIO_WRITE);
    complain("lio_listio", lio_listio(LIO_WAIT, list, 1, NULL));
}

static void ask_resolver(void)
{
    static struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
    static struct gaicb asked = {.ar_name = "127.0.0.1", .ar_request = &hints}, *list[] = {&asked};
    struct sigevent event = event_of(SIGEV_SIGNAL);
    complain("getaddrinfo_a", getaddrinfo_a(GAI_NOWAIT, list, 1, &event) ? -1 : 0);
}

/* It says so in a grandchild, whose parent ends. */
static void ask_parents_death(void)
{
    int ends[2];
    char byte;
    complain("pipe", pipe(ends));
    if (fork() != 0) {
        complain("read", read(ends[0], &byte, 1));
        exit(0);
    }
    pass_time();
    complain("PR_SET_PDEATHSIG", prctl(PR_SET_PDEATHSIG, number, 0, 0, 0));
    complain("write", write(ends[1], "", 1));
}

static void ask_childs_end(void)
{
    if (syscall(SYS_clone, number, NULL, NULL, NULL, NULL) == 0)
        syscall(SYS_exit_group, 3);
}

/* ---- met ---- */

static void say_info(const char *what, int seen, int code, int value, int sender)
{
    bool is_sent = code == SI_USER || code == SI_TKILL || code == SI_QUEUE;
    bool has_value = code == SI_QUEUE || code == SI_TIMER || code == SI_MESGQ || code == SI_ASYNCIO;
    say("%s: signal %d code %d value %d, sent by itself: %d", what, seen == number ? 0 : seen, code,
        has_value ? value : 0, is_sent && sender == getpid());
}

static volatile sig_atomic_t met_code, met_value, met_sender;

static void on_signal(int seen, siginfo_t *info, void *context)
{
    (void)context;
    calls += seen == number;
    met_code = info->si_code;
    met_value = info->si_value.sival_int;
    met_sender = info->si_pid;
}

static void meet_by_handler(void (*come)(void))
{
    catch (number, on_signal, SA_RESTART);
    come();
    for (int ms = 0; !calls && ms < PATIENCE_MS; ms++)
        usleep(1000);
    say_info("handler", number, met_code, met_value, met_sender);
    say("calls %d", (int)calls);
}

static void block_all(void)
{
    sigset_t all = full();
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

static void meet_by_waiting(void (*come)(void))
{
    sigset_t set = full();
    struct timespec patience = {PATIENCE_MS / 1000, 0};
    siginfo_t info = {0};
    block_all();
    sigdelset(&set, SIGCHLD);
    come();
    int seen = sigtimedwait(&set, &info, &patience);
    complain("sigtimedwait", seen);
    say_info("sigtimedwait", seen, info.si_code, info.si_value.sival_int, info.si_pid);
}

static void meet_by_descriptor(void (*come)(void))
{
    sigset_t set = full();
    struct signalfd_siginfo info = {0};
    block_all();
    sigdelset(&set, SIGCHLD);
    come();
    int fd = signalfd(-1, &set, SFD_NONBLOCK);
    poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, PATIENCE_MS);
    complain("read", read(fd, &info, sizeof(info)));
    say_info("signalfd", (int)info.ssi_signo, info.ssi_code, info.ssi_int, (int)info.ssi_pid);
}

static void meet_by_default(void (*come)(void))
{
    come();
    for (int ms = 0; ms < PATIENCE_MS; ms++)
        usleep(1000);
    say("alive");
}

/* In a child; its children, too, have ended when this returns. */
static void meet(const char *what, void (*by)(void (*come)(void)), void (*come)(void))
{
    int status, ends[2];
    char byte;
    fflush(stdout);
    complain("pipe", pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        setpgid(0, 0);
        burn(0.03); /* it is recorded by then */
        by(come);
        fflush(stdout);
        _exit(0);
    }
    close(ends[1]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    complain("read", read(ends[0], &byte, 1));
    close(ends[0]);
    say("%s: signal %d status %d", what, WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

#define WAYS(name, come)                                                                                     \
    static void name(void)                                                                                   \
    {                                                                                                        \
        meet("by a handler", meet_by_handler, come);                                                         \
        meet("by waiting", meet_by_waiting, come);                                                           \
        meet("by a descriptor", meet_by_descriptor, come);                                                   \
        meet("by default", meet_by_default, come);                                                           \
    }

/* What a set of all signals does not have in the kernel is not found in a descriptor for it. */
#define WAYS_FROM_OUTSIDE(name, come)                                                                        \
    static void name(void)                                                                                   \
    {                                                                                                        \
        meet("by a handler", meet_by_handler, come);                                                         \
        meet("by waiting", meet_by_waiting, come);                                                           \
        meet("by default", meet_by_default, come);                                                           \
    }

WAYS(case_group, send_to_group)
WAYS(case_group_by_number, send_to_group_by_number)
WAYS(case_killpg, send_by_killpg)
WAYS(case_call_kill, call_kill)
WAYS(case_call_tkill, call_tkill)
WAYS(case_call_tgkill, call_tgkill)
WAYS(case_call_queue, call_queue)
WAYS(case_call_queue_to_thread, call_queue_to_thread)
WAYS(case_call_pidfd, call_pidfd)
WAYS(case_pidfd, send_by_pidfd)
WAYS(case_timer, ask_timer_for_process)
WAYS(case_timer_thread, ask_timer_for_thread)
WAYS(case_message_queue, ask_queue)
WAYS(case_pipe, ask_pipe)
WAYS(case_pipe_thread, ask_pipe_for_thread)
WAYS(case_directory, ask_directory)
WAYS(case_lease, ask_lease)
WAYS(case_aio_read, ask_read)
WAYS(case_aio_write, ask_write)
WAYS(case_aio_fsync, ask_sync)
WAYS(case_lio_listio, ask_list)
WAYS(case_lio_one, ask_one_of_list)
WAYS(case_resolver, ask_resolver)
WAYS(case_death, ask_parents_death)
WAYS_FROM_OUTSIDE(case_clone, ask_childs_end)
WAYS_FROM_OUTSIDE(case_other_kill, kill_from_child)
WAYS_FROM_OUTSIDE(case_other_queue, queue_from_child)

/* One of SIGPROF that is still pending in the thread makes one with it,
 * until the program is seen to use it. */
static void case_other_tgkill(void)
{
    meet("by a handler", meet_by_handler, tgkill_from_child);
}

/* ---- calls of other kinds ---- */

/* Several processes of a group: each of them meets it. */
static void case_processes(void)
{
    enum { MEMBERS = 4 };
    pid_t group = 0, members[MEMBERS];
    int ends[2], met = 0;
    char byte;
    complain("pipe", pipe(ends));
    for (int i = 0; i < MEMBERS; i++) {
        members[i] = fork();
        if (members[i] == 0) {
            burn(0.02);
            if (i % 2)
                catch (number, on_signal, 0);
            complain("write", write(ends[1], "", 1));
            for (int ms = 0; !calls && ms < PATIENCE_MS; ms++)
                usleep(1000);
            _exit((int)calls);
        }
        setpgid(members[i], group);
        group = group ? group : members[i];
    }
    for (int i = 0; i < MEMBERS; i++)
        complain("read", read(ends[0], &byte, 1));
    complain("kill", kill(-group, number));
    for (int i = 0; i < MEMBERS; i++) {
        int status;
        waitpid(members[i], &status, 0);
        met += i % 2 ? WIFEXITED(status) && WEXITSTATUS(status) == 1
                     : WIFSIGNALED(status) && WTERMSIG(status) == number;
    }
    say("%d of %d", met, MEMBERS);
}

/* What sigpause is called in programs of the one and the other kind. */
extern int sigpause_for_signal(int) __asm__("__xpg_sigpause");
extern int sigpause_with_mask(int) __asm__("sigpause");

static volatile unsigned long long were_blocked;

static void on_paused(int seen)
{
    calls += seen == number;
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    were_blocked = bits(&set);
}

static void pause_by(const char *what, int (*pauses)(int), int argument)
{
    pthread_t sender = begin_sender(send_later);
    errno = 0;
    int result = pauses(argument), error = errno;
    say("%s: %d %s calls %d with %llx", what, result, strerrorname_np(error), (int)calls, were_blocked);
    pthread_join(sender, NULL);
    calls = 0;
    say_mask(what);
}

static void case_sigpause(void)
{
    struct sigaction action = {.sa_handler = on_paused};
    sigaction(number, &action, NULL);
    block(SIG_BLOCK);
    pause_by("of a signal", sigpause_for_signal, number);
    block(SIG_UNBLOCK);
    pause_by("with a mask", sigpause_with_mask, 1 << (SIGUSR1 - 1));
    pause_by("with none", sigpause_with_mask, 0);
    say("%d", sigpause_for_signal(99));
}

static void on_virtual(int seen)
{
    calls += seen == SIGVTALRM || seen == SIGALRM;
}

static void say_pause(void)
{
    int result = pause(), error = errno;
    say("pause %d %s calls %d", result, strerrorname_np(error), (int)calls);
}

/* The timers that are not ours go on as they are. */
static void case_alarms(void)
{
    struct itimerval soon = {{0, 0}, {0, 20000}}, left;
    struct sigaction action = {.sa_handler = on_virtual};
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
    say("alarm %u", alarm(100));
    say("again %d", alarm(50) > 90);
    say("off %d", alarm(0) > 40);
    say("ualarm %u", ualarm(20000, 0));
    say_pause();
    setitimer(ITIMER_REAL, &soon, NULL);
    say_pause();
    setitimer(ITIMER_VIRTUAL, &soon, NULL);
    while (calls < 3)
        burn(0.001);
    getitimer(ITIMER_VIRTUAL, &left);
    say("virtual: calls %d, left %d", (int)calls, left.it_value.tv_usec != 0);
    alarm(1);
    say("sleep %d", sleep(100) > 50);
    say("calls %d", (int)calls);
}

static sigset_t mask_of_callback;
static volatile sig_atomic_t value_of_callback;

static void on_event(union sigval value)
{
    pthread_sigmask(SIG_BLOCK, NULL, &mask_of_callback);
    burn(0.01);
    value_of_callback = value.sival_int;
}

static void say_callback(const char *what)
{
    for (int ms = 0; !value_of_callback && ms < PATIENCE_MS; ms++)
        usleep(1000);
    say("%s: value %d mask %llx", what, (int)value_of_callback, bits(&mask_of_callback));
    value_of_callback = 0;
}

/* In threads that the C library creates. */
static void case_callbacks(void)
{
    struct sigevent event = event_of(SIGEV_THREAD);
    struct itimerspec once = {.it_value = {0, 5000000}};
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
    timer_t timer;
    event.sigev_notify_function = on_event;
    complain("timer_create", timer_create(CLOCK_MONOTONIC, &event, &timer));
    timer_settime(timer, 0, &once, NULL);
    say_callback("timer");
    timer_delete(timer);
    char name[64];
    snprintf(name, sizeof(name), "/own_callback.%d", (int)getpid());
    mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    mq_unlink(name);
    complain("mq_notify", mq_notify(queue, &event));
    complain("mq_send", mq_send(queue, "1", 1, 0));
    say_callback("message queue");
    prepare_request(LIO_WRITE);
    request.aio_sigevent = event;
    complain("aio_write", aio_write(&request));
    say_callback("aio");
}

/* A set of some signals, ours among them. */
static void case_some(void)
{
    sigset_t set = only(number);
    struct signalfd_siginfo seen[4] = {0};
    siginfo_t info;
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN + 3);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_NONBLOCK);
    pass_time();
    complain("nothing", read(fd, seen, sizeof(seen)));
    kill(getpid(), number);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGRTMIN + 3);
    say("%zd", read(fd, seen, sizeof(seen)) / (ssize_t)sizeof(seen[0]));
    for (int i = 0; i < 3; i++)
        say("%u", seen[i].ssi_signo);
    kill(getpid(), number);
    kill(getpid(), SIGUSR1);
    int first = sigwaitinfo(&set, &info), second = sigwaitinfo(&set, &info);
    say("%d %d", first, second);
}

/* Names with which the C library has the same once more. */
extern int __poll(struct pollfd *fds, nfds_t count, int ms);
extern int __nanosleep(const struct timespec *asked, struct timespec *rest);
extern int __select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *time);
extern int __sigaction(int seen, const struct sigaction *action, struct sigaction *old);
extern int __sigsuspend(const sigset_t *mask);
extern pid_t __fork(void);

static void case_other_names(void)
{
    struct sigaction action = {.sa_handler = on_virtual}, old;
    struct timespec span = {0, 100000000};
    struct timeval period = {0, 100000};
    sigset_t none;
    sigemptyset(&none);
    say("%d", __poll(NULL, 0, 100));
    say("%d", __nanosleep(&span, NULL));
    say("%d", __select(0, NULL, NULL, NULL, &period));
    say("%d", __sigaction(number, &action, &old));
    say("%d %x", old.sa_handler == SIG_DFL, (unsigned)old.sa_flags);
    say("%d", __sigaction(SIGALRM, &action, NULL));
    ualarm(50000, 0);
    int result = __sigsuspend(&none), error = errno;
    say("%d %s calls %d", result, strerrorname_np(error), (int)calls);
    fflush(stdout);
    pid_t child = __fork();
    if (child == 0)
        _exit(__sigaction(number, NULL, &old) == 0 && old.sa_handler == on_virtual ? 5 : 6);
    int status = 0;
    bool is_child = waitpid(child, &status, 0) == child;
    say("%d %d", is_child, WEXITSTATUS(status));
}

static void case_names(void)
{
    siginfo_t info = made_up();
    say("%s %s", strsignal(number), sigabbrev_np(number) ? sigabbrev_np(number) : "");
    fflush(stdout);
    psignal(number, "psignal");
    info.si_pid = 0;
    psiginfo(&info, "psiginfo");
    say("%d %d", SIGRTMIN, SIGRTMAX);
}

static const struct own_case cases[] = {
    {"group", case_group},
    {"group_by_number", case_group_by_number},
    {"killpg", case_killpg},
    {"call_kill", case_call_kill},
    {"call_tkill", case_call_tkill},
    {"call_tgkill", case_call_tgkill},
    {"call_queue", case_call_queue},
    {"call_queue_to_thread", case_call_queue_to_thread},
    {"call_pidfd", case_call_pidfd},
    {"pidfd", case_pidfd},
    {"timer", case_timer},
    {"timer_thread", case_timer_thread},
    {"message_queue", case_message_queue},
    {"pipe", case_pipe},
    {"pipe_thread", case_pipe_thread},
    {"directory", case_directory},
    {"lease", case_lease},
    {"aio_read", case_aio_read},
    {"aio_write", case_aio_write},
    {"aio_fsync", case_aio_fsync},
    {"lio_listio", case_lio_listio},
    {"lio_one", case_lio_one},
    {"resolver", case_resolver},
    {"clone", case_clone},
    {"death", case_death},
    {"other_kill", case_other_kill},
    {"other_queue", case_other_queue},
    {"other_tgkill", case_other_tgkill},
    {"processes", case_processes},
    {"sigpause", case_sigpause},
    {"alarms", case_alarms},
    {"callbacks", case_callbacks},
    {"some", case_some},
    {"other_names", case_other_names},
    {"names", case_names},
};

int main(int count, char **arguments)
{
    snprintf(directory, sizeof(directory), "/tmp/own_signal.XXXXXX");
    if (!mkdtemp(directory))
        return 2;
    int status = run_case(cases, sizeof(cases) / sizeof(cases[0]), count, arguments);
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", directory);
    return system(command) == 0 ? status : 3;
}
