#include "run_child.h"
#include "refusal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIT(number) (UINT64_C(1) << ((number)-1))

/* By the system calls: the C library leaves out its own signals, 32 and 33. */
static const uint64_t every_signal = UINT64_MAX;
static const uint64_t stop_signals = BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU);
static uint64_t caller_mask;
static struct sigaction caller_child_action;

static uint64_t set_mask(uint64_t mask)
{
    uint64_t before = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, sizeof mask);
    return before;
}

static void set_action(int number, void (*handler)(int))
{
    const struct sigaction action = {.sa_handler = handler};
    sigaction(number, &action, NULL);
}

/* Does to this process what the signal does by default. All signals are blocked, also afterwards. */
static void suffer(int number)
{
    set_action(number, SIG_DFL);
    kill(getpid(), number);
    set_mask(every_signal & ~BIT(number));
    set_mask(every_signal);
}

/* ---- its start ---- */

int run_child_become(const struct run_program *program)
{
    char *preload;
    const char *others = getenv("LD_PRELOAD"), *library = program->library;
    if (library) {
        if (asprintf(&preload, "%s%s%s", library, others && *others ? ":" : "", others ? others : "") < 0)
            return ENOMEM;
        setenv("LD_PRELOAD", preload, 1);
    }
    execv(program->path, program->argv);
    return errno;
}

int run_child_start(struct run_child *ret, const struct run_program *program)
{
    const struct sigaction keep = {.sa_handler = SIG_DFL}; /* else an ignored SIGCHLD would take its status */
    int *errors = mmap(NULL, 2 * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (errors == MAP_FAILED)
        return -errno;
    *ret = (struct run_child){.exec_error = errors, .hold_error = errors + 1};
    caller_mask = set_mask(every_signal);
    sigaction(SIGCHLD, &keep, &caller_child_action);
    ret->pid = fork();
    if (ret->pid == 0) {
        if (program->hold)
            *ret->hold_error = program->hold(program->hold_context);
        if (*ret->hold_error)
            _exit(0);
        sigaction(SIGCHLD, &caller_child_action, NULL);
        set_mask(caller_mask);
        *ret->exec_error = run_child_become(program);
        _exit(0);
    }
    return ret->pid < 0 ? -errno : 0;
}

static bool is_among(int fd, const int *kept, int count)
{
    bool is_found = false;
    for (int i = 0; i < count; i++)
        is_found |= kept[i] == fd;
    return is_found;
}

void run_child_drop_streams(const int *kept, int count)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    DIR *own = opendir("/proc/self/fd");
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    for (const struct dirent *entry; own && (entry = readdir(own));) {
        int fd = atoi(entry->d_name);
        if (fd > STDERR_FILENO && fd != dirfd(own) && !is_among(fd, kept, count))
            close(fd);
    }
    if (own)
        closedir(own);
}

/* ---- signals ---- */

/*
 * Whether the program has got the signal as well as we: the terminal sends it to the whole foreground group.
 * Only to the leader of a session it sends a hangup for itself. Whoever else sends a signal to a group cannot
 * be told from one who sends it to us, and then the program gets it twice.
 */
static bool is_from_terminal(const siginfo_t *info)
{
    const uint64_t signals = BIT(SIGINT) | BIT(SIGQUIT) | BIT(SIGWINCH) | stop_signals;
    const bool is_leaders = getsid(0) == getpid();
    return info->si_code == SI_KERNEL &&
           BIT(info->si_signo) & (is_leaders ? signals : signals | BIT(SIGHUP) | BIT(SIGCONT));
}

/* With the value of sigqueue(3). */
static void hand_on(const struct run_child *child, siginfo_t *info)
{
    if (info->si_code != SI_QUEUE || syscall(SYS_rt_sigqueueinfo, child->pid, info->si_signo, info) < 0)
        kill(child->pid, info->si_signo);
}

/* As the program, so that our parent sees it. An orphaned process group does not stop. */
static void stop(struct run_child *child)
{
    int number = child->stop_signal;
    child->was_stopped = true;
    child->stop_signal = 0;
    suffer(number); /* until we are continued */
}

/*
 * We stop where the program has stopped and we have been told to stop too. A program that alone was stopped
 * may be continued alone, and that would not continue us. A SIGCONT that waits came later.
 */
static void stop_with_program(struct run_child *child)
{
    uint64_t pending = 0;
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
    if (pending & stop_signals)
        child->stop_signal = 1 + __builtin_ctzll(pending & stop_signals);
    if (child->is_stopped && child->stop_signal && !(pending & BIT(SIGCONT)))
        stop(child);
}

/* Takes note of all children: as process 1 of a container we get those of others. False: it has ended. */
static bool note_children(struct run_child *child)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
        if (pid != child->pid)
            continue;
        child->is_stopped = WIFSTOPPED(status);
        child->status = status;
        if (WIFEXITED(status) || WIFSIGNALED(status))
            return false;
    }
    return true;
}

/* False: the program has ended. */
static bool take_signal(struct run_child *child, siginfo_t *info)
{
    const int number = info->si_signo;
    if (!note_children(child))
        return false;
    bool is_news = number == SIGCHLD && info->si_code > 0 && info->si_code != SI_KERNEL; /* a child's */
    bool has_it = number == SIGCONT && child->was_stopped && !child->is_stopped; /* the whole group got it */
    if (BIT(number) & stop_signals)
        child->stop_signal = number;
    if (number == SIGCONT)
        child->stop_signal = child->was_stopped = 0;
    if (!is_news && !has_it && !is_from_terminal(info))
        hand_on(child, info);
    stop_with_program(child);
    return true;
}

void run_child_await(struct run_child *child)
{
    siginfo_t info;
    do {
        if (syscall(SYS_rt_sigtimedwait, &every_signal, &info, NULL, sizeof every_signal) < 0)
            info = (siginfo_t){.si_signo = SIGCHLD, .si_code = CLD_EXITED}; /* interrupted: look at it */
    } while (take_signal(child, &info));
}

/* ---- the end ---- */

_Noreturn void run_child_leave(const struct run_child *child)
{
    const struct rlimit none = {0, 0};
    if (!WIFSIGNALED(child->status))
        exit(WEXITSTATUS(child->status));
    int number = WTERMSIG(child->status);
    prctl(PR_SET_DUMPABLE, 0); /* the program has left its core, and ours is of no use */
    setrlimit(RLIMIT_CORE, &none);
    suffer(number);
    exit(RUN_SIGNAL_STATUS + number); /* process 1 of a container does not die of it */
}

void run_tool(char *const *argv, int output, int inherited)
{
    static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE,
                                  SIGXFSZ, SIGTSTP, SIGTTIN, SIGTTOU};
    pid_t pid = fork();
    if (pid != 0) {
        waitpid(pid, NULL, 0);
        return;
    }
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        set_action(ignored[i], SIG_IGN);
    dup2(output, STDOUT_FILENO);
    if (inherited >= 0)
        fcntl(inherited, F_SETFD, 0);
    unsetenv(
        "LD_PRELOAD"); /* a run around us would have it record itself, into the directory that it reads */
    set_mask(caller_mask);
    execv("/proc/self/exe", argv);
    _exit(RUN_NOT_FOUND);
}
