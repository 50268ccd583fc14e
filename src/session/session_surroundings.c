#include "session_surroundings.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/raw_calls.h"
#include "sig/sys/sig_arch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { DESCRIPTORS_PLENTY = 32 };

/*
 * A root and a working directory of our own, so that the paths of the start are right at the end too. It also
 * lets the program call setns(2), which wants them unshared. The working directory becomes /, so that the
 * file system of the old one can be unmounted.
 */
static void leave_directories(void)
{
    if (sig_syscall4(SYS_unshare, CLONE_FS, 0, 0, 0) == 0 && chdir("/") < 0)
        return; /* a root that may not be entered: then we stay */
}

/* Opens 0 to 2, so that no file of ours gets one of these numbers, unless there are hardly any others. */
static void fill_standard_descriptors(struct session_surroundings *surroundings)
{
    struct rlimit files = {.rlim_cur = 0};
    getrlimit(RLIMIT_NOFILE, &files);
    surroundings->has_fillers = files.rlim_cur >= DESCRIPTORS_PLENTY;
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        close(fd);
        if (surroundings->has_fillers)
            open("/dev/null", O_RDWR);
    }
}

/* The kernel looks at the numbers first: with these it changes nothing (fs/file.c). */
bool session_surroundings_can_leave(void)
{
    return sig_syscall4(SYS_close_range, 2, 1, CLOSE_RANGE_UNSHARE, 0) == -EINVAL;
}

/* A descriptor table of our own: the program sees none of our descriptors, and we hold none of its open.
 * False if there is none. */
static bool leave_descriptors(struct session_surroundings *surroundings, bool is_strict)
{
    surroundings->stderr_handle = -1;
    if (is_strict || sig_syscall4(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_UNSHARE, 0) < 0)
        return false; /* before Linux 5.9; then none of ours is open between the start and the end */
    surroundings->stderr_handle = log_open_stderr_handle();
    fill_standard_descriptors(surroundings);
    return true;
}

/*
 * With a short time slice the scheduler runs us soon after the deadline even if all cores are busy. Our share
 * of the CPU stays the same. Linux 6.12 and later take sched_runtime as a wish (man sched_setattr); others
 * ignore it. The structure is the kernel's SCHED_ATTR_SIZE_VER0; the C library has none.
 */
static void ask_for_short_slices(void)
{
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } attributes = {.size = sizeof(attributes)};
    if (sig_syscall4(SYS_sched_getattr, 0, (long)&attributes, sizeof(attributes), 0) < 0 ||
        attributes.policy != SCHED_OTHER)
        return;
    attributes.runtime_ns = 100 * NS_PER_US;
    sig_syscall4(SYS_sched_setattr, 0, (long)&attributes, 0, 0);
}

/*
 * The kernel ends a wait up to 50 us after its moment, together with another one that is due
 * (PR_SET_TIMERSLACK in prctl(2)). The other one may be the program's: ticks would then keep step with its
 * timers.
 */
static void ask_for_exact_timers(void)
{
    raw_prctl(PR_SET_TIMERSLACK, 1);
}

void session_surroundings_enter(struct session_surroundings *surroundings, bool is_strict)
{
    if (!is_strict) {
        ask_for_short_slices();
        ask_for_exact_timers();
        leave_directories();
    }
    surroundings->has_own_descriptors = leave_descriptors(surroundings, is_strict);
}

void session_surroundings_free_descriptors(struct session_surroundings *surroundings)
{
    struct rlimit files = {.rlim_cur = 0};
    getrlimit(RLIMIT_NOFILE, &files);
    if (!surroundings->has_fillers || files.rlim_cur >= DESCRIPTORS_PLENTY)
        return;
    surroundings->has_fillers = false;
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        close(fd);
}
