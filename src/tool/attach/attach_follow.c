#include "attach_follow.h"
#include "base/clock.h"
#include "proc/proc_text.h"
#include "sample/thread.h"
#include "tool/io/array.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN_BYTES = 16384, LOAD_BYTES = 128, LOOKS_AFTER_BIRTH = 3 };

static const uint64_t look_ns = 20 * NS_PER_MS;

bool attach_follow_is_possible(void)
{
    return access("/proc/thread-self/children", R_OK) == 0;
}

int attach_follow_begin(struct attach_follow *ret, const char *run, bool is_first)
{
    *ret = (struct attach_follow){.is_on = true, .run = run, .leash = {ATTACH_LEASH_FD, -1}};
    return is_first && pipe2(ret->leash, O_CLOEXEC) < 0 ? -errno : 0;
}

/* ---- a recorder ---- */

/* What it says is not for the user: a process may well end before it is recorded. Returns 0 without one. */
static pid_t start_recorder(const struct attach_follow *follow, pid_t pid)
{
    char number[16];
    char *argv[] = {"wallprof", "attach", "--run", (char *)follow->run, number, NULL};
    posix_spawn_file_actions_t actions;
    pid_t recorder = 0;
    snprintf(number, sizeof number, "%d", (int)pid);
    posix_spawn_file_actions_init(&actions);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, follow->leash[0], ATTACH_LEASH_FD);
    if (posix_spawn(&recorder, "/proc/self/exe", &actions, NULL, argv, environ) != 0)
        recorder = 0;
    posix_spawn_file_actions_destroy(&actions);
    return recorder;
}

/* Waits for it, or only takes note that it has ended. */
static void reap(struct attach_follow *follow, struct attach_followed *child, int options)
{
    int status = 0;
    pid_t reported;
    do
        reported = child->recorder ? waitpid(child->recorder, &status, options) : 0;
    while (reported < 0 && errno == EINTR);
    if (reported == 0)
        return;
    child->recorder = 0;
    follow->has_unrecorded |= reported < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* ---- children ---- */

static void take_child(struct attach_follow *follow, pid_t pid)
{
    for (uint32_t i = 0; i < follow->count; i++) {
        if (follow->children[i].pid == pid) {
            follow->children[i].is_seen = true;
            return;
        }
    }
    const pid_t recorder =
        array_grow(&follow->children, &follow->capacity, follow->count, sizeof *follow->children)
            ? start_recorder(follow, pid)
            : 0;
    follow->has_unrecorded |= recorder == 0;
    if (recorder)
        follow->children[follow->count++] = (struct attach_followed){pid, recorder, true};
}

/* The kernel gives a page of it at a time. */
static void read_list(int directory, const char *name, char ret[CHILDREN_BYTES])
{
    size_t used = 0;
    ssize_t bytes = 1;
    const int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    for (; fd >= 0 && bytes > 0 && used + 1 < CHILDREN_BYTES; used += bytes > 0 ? (size_t)bytes : 0)
        bytes = read(fd, ret + used, CHILDREN_BYTES - 1 - used);
    if (fd >= 0)
        close(fd);
    ret[used] = '\0';
}

static void take_children_of(struct attach_follow *follow, int directory, pid_t tid)
{
    char name[64], text[CHILDREN_BYTES], *end;
    snprintf(name, sizeof name, "task/%d/children", (int)tid);
    read_list(directory, name, text);
    for (const char *at = text; *at; at = end + 1) {
        const long pid = strtol(at, &end, 10);
        if (*end != ' ') /* the list ends, or was cut here */
            break;
        take_child(follow, (pid_t)pid);
    }
    follow->has_unrecorded |= strlen(text) + 1 == sizeof text;
}

/* A pid may be given again once its process has gone, which is then no child any more. */
static void forget_ended(struct attach_follow *follow)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < follow->count; i++) {
        struct attach_followed *child = &follow->children[i];
        reap(follow, child, WNOHANG);
        if (child->is_seen || child->recorder)
            follow->children[kept++] = *child;
    }
    follow->count = kept;
}

/* By the last word of /proc/loadavg. */
static bool has_births(struct attach_follow *follow)
{
    char text[LOAD_BYTES];
    proc_text_read(AT_FDCWD, "/proc/loadavg", text, sizeof text);
    const char *last = strrchr(text, ' ');
    const bool is_new = !last || strncmp(last, follow->births, sizeof follow->births - 1) != 0;
    snprintf(follow->births, sizeof follow->births, "%s", last ? last : "");
    return is_new;
}

void attach_follow_look(struct attach_follow *follow, int directory, const struct threads *threads,
                        uint64_t now_ns)
{
    if (!follow->is_on || now_ns < follow->due_ns)
        return;
    follow->due_ns = now_ns + look_ns;
    if (has_births(follow))
        follow->looks = LOOKS_AFTER_BIRTH;
    if (follow->looks == 0)
        return;
    follow->looks--;
    for (uint32_t i = 0; i < follow->count; i++)
        follow->children[i].is_seen = false;
    for (uint32_t i = 0; i < threads->live_count; i++)
        take_children_of(follow, directory, threads->live[i]->tid);
    forget_ended(follow);
}

bool attach_follow_end(struct attach_follow *follow)
{
    if (follow->leash[1] >= 0)
        close(follow->leash[1]);
    for (uint32_t i = 0; i < follow->count; i++)
        reap(follow, &follow->children[i], 0);
    free(follow->children);
    follow->children = NULL;
    follow->count = 0;
    return !follow->has_unrecorded;
}

void attach_follow_complain(pid_t pid)
{
    char scope[16];
    proc_text_read(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
    fprintf(stderr, "wallprof: some processes that process %d started could not be recorded%s\n", (int)pid,
            atoi(scope) > 0 && geteuid() != 0
                ? "; with kernel.yama.ptrace_scope above 0 only root can record them"
                : "");
}
