#include "other_processes.h"
#include "base/clock.h"
#include "base/lines.h"
#include "proc/proc_text.h"
#include "sig/sys/sig_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 64, TEXT_BYTES = 1024, FIELD_STATE = 3, FIELD_START = 22 };

static const uint64_t alive_ns = NS_PER_S / 10;

/* Who cannot be named now may be later. */
static const uint64_t again_ns = NS_PER_S;

/* ---- /proc ---- */

static void path_of(pid_t tid, const char *name, char ret[PATH_BYTES])
{
    if (tid)
        snprintf(ret, PATH_BYTES, "/proc/%d/%s", (int)tid, name);
    else
        snprintf(ret, PATH_BYTES, "/proc/thread-self/%s", name);
}

static bool read_file(pid_t tid, const char *name, char ret[TEXT_BYTES])
{
    char path[PATH_BYTES];
    path_of(tid, name, path);
    return proc_text_read(AT_FDCWD, path, ret, TEXT_BYTES);
}

/* When a thread began; 0 if it is gone, or only what is left for its parent to see. */
static uint64_t start_of(pid_t tid)
{
    char text[TEXT_BYTES];
    const char *at =
        read_file(tid, "stat", text) ? strrchr(text, ')') : NULL; /* the name may hold anything */
    if (!at || at[1] != ' ' || strchr("ZXx", at[2]))
        return 0;
    for (int field = FIELD_STATE; at && field <= FIELD_START; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

static pid_t process_of(pid_t tid)
{
    char text[TEXT_BYTES];
    return read_file(tid, "status", text) ? (pid_t)proc_text_number(text, "\nTgid:") : 0;
}

/* ---- shared memory ---- */

/* A line of /proc/PID/maps: START-END PERMISSIONS OFFSET DEVICE INODE PATH. */
struct mapping {
    uint64_t start, end, inode;
    char device[16];
    bool is_shared;
};

static bool read_mapping(const struct line *line, struct mapping *ret)
{
    char text[128], permissions[8];
    unsigned long long start, end, inode;
    snprintf(text, sizeof text, "%.*s", (int)(line->bytes < sizeof text ? line->bytes : sizeof text - 1),
             line->text);
    if (sscanf(text, "%llx-%llx %7s %*x %15s %llu", &start, &end, permissions, ret->device, &inode) != 5)
        return false;
    ret->start = start;
    ret->end = end;
    ret->inode = inode;
    ret->is_shared = strlen(permissions) == 4 && permissions[3] == 's';
    return true;
}

static bool is_wanted(const struct mapping *mapping, uint64_t address, const struct mapping *same)
{
    if (same)
        return mapping->is_shared && mapping->inode == same->inode &&
               strcmp(mapping->device, same->device) == 0;
    return mapping->is_shared && mapping->inode && address >= mapping->start && address < mapping->end;
}

/* The shared mapping of a process (0: this one) at an address, or of the same file as another one. */
static bool find_mapping(pid_t pid, uint64_t address, const struct mapping *same, struct mapping *ret)
{
    struct lines lines;
    struct line line;
    char path[PATH_BYTES];
    bool is_found = false;
    path_of(pid, "maps", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return false;
    if (lines_init(&lines, fd, 0, UINT64_MAX) == 0) {
        while (!is_found && lines_next(&lines, &line))
            is_found = read_mapping(&line, ret) && is_wanted(ret, address, same);
        lines_deinit(&lines);
    }
    close(fd);
    return is_found;
}

/* ---- a holder ---- */

static void look_at(struct other_holder *holder)
{
    struct mapping here, there;
    char comm[TEXT_BYTES];
    const pid_t pid = process_of(holder->tid);
    const pid_t subject = sig_memory_subject(); /* a thread of the process that is recorded; 0: this one */
    if (pid == 0 || pid == (subject ? process_of(subject) : getpid()) ||
        !find_mapping(subject, holder->address, NULL, &here) || !find_mapping(pid, 0, &here, &there) ||
        !read_file(holder->tid, "comm", comm))
        return;
    comm[strcspn(comm, "\n")] = '\0';
    snprintf(holder->name, sizeof holder->name, "%.15s%s(pid %d)", comm, *comm ? " " : "", (int)pid);
}

const char *other_processes_holder(struct other_processes *processes, pid_t tid, uint64_t address,
                                   uint64_t now_ns)
{
    struct other_holder *holder =
        &processes->kept[((uint64_t)tid ^ address / sizeof(uint64_t)) % OTHER_PROCESSES_KEPT];
    bool is_same = holder->tid == tid && holder->address == address;
    if (!is_same || now_ns >= holder->due_ns) {
        const uint64_t start = start_of(tid);
        is_same = is_same && start == holder->start && *holder->name;
        if (!is_same)
            *holder = (struct other_holder){.tid = tid, .address = address, .start = start};
        if (!is_same && start)
            look_at(holder);
        holder->due_ns = now_ns + (*holder->name ? alive_ns : again_ns);
    }
    return *holder->name ? holder->name : NULL;
}
