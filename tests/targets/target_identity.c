/*
 * Programs that change their user, directory or rights, as daemons and sandboxes do: one per run. Each
 * works before and after; status 3, or 4 and a line about what was not as it should be.
 *
 *     target_identity chroot DIRECTORY    goes to /, has DIRECTORY for its root, closes all descriptors
 *     target_identity daemon DIRECTORY    the same, and becomes user 65534
 *     target_identity unshare             a user namespace of its own: for programs of one thread only
 *     target_identity setns mnt|user|time joins the namespace it is in (user: one it has made)
 *     target_identity seccomp HOW         makes system calls forbidden. narrow: all but few; broad: few;
 *                                         errno: few, but by an error; tsync: all but few, for all threads;
 *                                         handled: as narrow, with a handler for SIGPROF, which comes after
 *     target_identity jail                is user 65534 for a moment, again and again, as varnishd is
 *     target_identity capset              takes capabilities from the thread, then changes its user
 */
#include "target.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { WORKED = 3, FAILED = 4, NOBODY = 65534 };

extern int capset(struct __user_cap_header_struct *, const struct __user_cap_data_struct *);

__attribute__((noinline)) void work_before(void)
{
    work_ms(200);
    __asm__ volatile("# work_before" ::: "memory");
}

__attribute__((noinline)) void work_after(void)
{
    work_ms(300);
    __asm__ volatile("# work_after" ::: "memory");
}

static void leave_for(const char *directory)
{
    CHECK(chdir("/") == 0);
    CHECK(chroot(directory) == 0);
    CHECK(chdir("/") == 0);
    CHECK(close_range(3, ~0U, 0) == 0);
}

static void become_nobody(void)
{
    CHECK(setgroups(0, NULL) == 0);
    CHECK(setresgid(NOBODY, NOBODY, NOBODY) == 0);
    CHECK(setresuid(NOBODY, NOBODY, NOBODY) == 0);
}

static void be_alone(void)
{
    for (int i = 0; i < 200; i++) /* changes nothing, but is refused to a process of two threads */
        CHECK(unshare(CLONE_THREAD | CLONE_SIGHAND | CLONE_VM) == 0);
    CHECK(unshare(CLONE_NEWUSER) == 0);
}

static void join(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/ns/%s", name);
    int fd = open(path, O_RDONLY);
    if (!strcmp(name, "user")) { /* its own cannot be joined: one of a child that waits meanwhile */
        int ready[2];
        char byte;
        CHECK(pipe(ready) == 0);
        pid_t child = fork();
        if (child == 0) {
            CHECK(unshare(CLONE_NEWUSER) == 0);
            CHECK(write(ready[1], "", 1) == 1);
            pause();
        }
        CHECK(read(ready[0], &byte, 1) == 1);
        snprintf(path, sizeof path, "/proc/%d/ns/user", child);
        fd = open(path, O_RDONLY);
        CHECK(setns(fd, CLONE_NEWUSER) == 0);
        kill(child, 9);
        waitpid(child, NULL, 0);
        return;
    }
    CHECK(setns(fd, 0) == 0);
}

/* As with PR_SET_KEEPCAPS and a user of one's own: what one thread may, another may not any more. The C
 * library ends the program when a change of user succeeds in one thread and not in another. */
static void take_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    uint32_t kept = 1U << CAP_SETUID | 1U << CAP_SETGID;
    CHECK(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0);
    CHECK(setresuid(NOBODY, NOBODY, NOBODY) == 0);
    data[0] = (struct __user_cap_data_struct){.effective = kept, .permitted = kept};
    CHECK(capset(&header, data) == 0);
    CHECK(setresgid(NOBODY, NOBODY, NOBODY) == 0);
    CHECK(setresuid(NOBODY - 1, NOBODY - 1, NOBODY - 1) == 0);
}

/* From the start on. */
static void alternate_user(void)
{
    for (int i = 0; i < 20000; i++) {
        CHECK(seteuid(NOBODY) == 0);
        CHECK(seteuid(0) == 0);
    }
}

static struct sock_filter allow(uint32_t number)
{
    return (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
}

/* Allowed is what the program makes itself; the others end the process, or have an error. */
static void restrict_calls(const char *how)
{
    bool is_broad = !strcmp(how, "broad") || !strcmp(how, "errno");
    static const uint32_t own[] = {SYS_write, SYS_exit_group,   SYS_clock_gettime,
                                   SYS_futex, SYS_rt_sigreturn, SYS_tgkill};
    uint32_t inside = is_broad ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW;
    uint32_t outside = is_broad ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS;
    struct sock_filter code[16] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short length = 1;
    for (int i = 0; i < (is_broad ? 1 : 6); i++) {
        code[length++] = allow(is_broad ? SYS_getpriority : own[i]);
        code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, inside);
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, outside);
    struct sock_fprog program = {length, code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (!strcmp(how, "tsync") || !strcmp(how, "broad"))
        CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
    else
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static volatile sig_atomic_t handled;

static void handle(int number)
{
    (void)number;
    handled++;
}

/* A signal of the program's own reaches its handler as it does without the filter. */
static void be_handled(void)
{
    struct sigaction action = {.sa_handler = handle};
    long pid = getpid(), tid = syscall(SYS_gettid);
    CHECK(sigaction(SIGPROF, &action, NULL) == 0);
    CHECK(raise(SIGPROF) == 0 && handled == 1);
    restrict_calls("narrow");
    CHECK(syscall(SYS_tgkill, pid, tid, SIGPROF) == 0 && handled == 2);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";
    if (!strcmp(mode, "jail"))
        alternate_user();
    work_before();
    if (!strcmp(mode, "chroot") || !strcmp(mode, "daemon"))
        leave_for(argument);
    if (!strcmp(mode, "daemon"))
        become_nobody();
    if (!strcmp(mode, "unshare"))
        be_alone();
    if (!strcmp(mode, "setns"))
        join(argument);
    if (!strcmp(mode, "capset"))
        take_capabilities();
    if (!strcmp(mode, "seccomp") && !strcmp(argument, "handled"))
        be_handled();
    else if (!strcmp(mode, "seccomp"))
        restrict_calls(argument);
    work_after();
    return failures ? FAILED : WORKED;
}
