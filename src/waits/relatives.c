#include "relatives.h"
#include "base/clock.h"
#include "proc/proc_tasks.h"
#include "proc/proc_text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_BYTES = 2048, STAT_BYTES = 512, INIT = 1 };

struct family {
    pid_t own, parent;
    bool has_parent; /* it has been found */
};

static struct family family_of(int task_directory, pid_t tid)
{
    char text[STATUS_BYTES];
    proc_tasks_read(task_directory, tid, "status", text, sizeof text);
    return (struct family){.own = (pid_t)proc_text_number(text, "\nTgid:"),
                           .parent = (pid_t)proc_text_number(text, "\nPPid:")};
}

/* What init has started are strangers. In a container the first process may be the program's own master. */
static bool is_relative(const struct family *family, pid_t pid, pid_t parent)
{
    if (pid == family->own)
        return false;
    return parent == family->own || pid == family->parent ||
           (family->parent > INIT && parent == family->parent);
}

/* "PID (COMM) STATE PARENT ...": the name may hold anything. */
static void look_at(struct relatives *relatives, struct family *family, int processes, pid_t pid)
{
    char text[STAT_BYTES];
    if (!proc_tasks_read(processes, pid, "stat", text, sizeof text))
        return;
    const char *name = strchr(text, '('), *end = strrchr(text, ')');
    if (!name || !end || end < name || strlen(end) < sizeof ") S ")
        return;
    if (!is_relative(family, pid, (pid_t)strtol(end + sizeof ") S", NULL, 10)))
        return;
    family->has_parent |= pid == family->parent;
    if (relatives->count == RELATIVES_MAX) {
        relatives->is_complete = false;
        return;
    }
    struct relative *relative = &relatives->all[relatives->count++];
    relative->pid = pid;
    snprintf(relative->name, sizeof relative->name, "%.*s", (int)(end - name - 1), name + 1);
}

void relatives_read(struct relatives *ret, int task_directory, pid_t tid, uint64_t end_ns)
{
    struct family family = family_of(task_directory, tid);
    pid_t pids[PROC_TASKS_NEXT_MAX];
    int processes =
        family.own ? openat(task_directory, "../..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1; /* /proc */
    *ret = (struct relatives){.is_complete = processes >= 0};
    if (processes < 0)
        return;
    int count = 1;
    while (ret->is_complete && (count = proc_tasks_next(processes, pids)) > 0) {
        for (int i = 0; i < count; i++) {
            if (pids[i] > 0) /* other names are 0 */
                look_at(ret, &family, processes, pids[i]);
        }
        ret->is_complete &= clock_read_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns;
    }
    ret->is_complete &= count == 0 && family.has_parent && family.parent > INIT;
    close(processes);
}
