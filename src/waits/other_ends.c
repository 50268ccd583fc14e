#include "other_ends.h"
#include "relatives.h"
#include "told_apart.h"
#include "unix_peers.h"
#include "base/arena.h"
#include "base/raw_calls.h"
#include "proc/proc_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A process with more descriptors is not looked through. */
enum { KEPT = 512, DESCRIPTORS_MAX = 1024, LINK_BYTES = 64, LATER_MOST = 3 };

static const uint64_t looking_max_ns = 10 * NS_PER_MS, again_ns = NS_PER_S;

struct other_ends_memory {
    struct kept_end {
        uint64_t inode; /* 0: none */
        mode_t mode;    /* of the other end; 0: of a socket */
        uint64_t until_ns;
        uint32_t later;             /* how often the name was not to stay */
        char name[OTHER_END_BYTES]; /* "": it is not known */
    } kept[KEPT];                   /* by inode and mode */
    struct told_apart processes;
    struct unix_peers peers;
};

/* ---- who has an end ---- */

struct wanted {
    const char *link;
    mode_t mode; /* S_IRUSR or S_IWUSR: of descriptors that can read, or write; 0: of any */
    uint64_t end_ns;
};

enum table_result { TABLE_WITHOUT, TABLE_WITH, TABLE_UNKNOWN };

/* The mode of a link in /proc says what its descriptor can do (tid_fd_update_inode in fs/proc/fd.c). */
static mode_t mode_of(int directory, const char *name)
{
    struct stat status;
    return raw_fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0
               ? status.st_mode & (S_IRUSR | S_IWUSR)
               : 0;
}

/* What cannot be read: the process or the descriptor is gone, and has no end; or it is not shown. */
static enum table_result result_of(int error)
{
    return error == ENOENT || error == ESRCH ? TABLE_WITHOUT : TABLE_UNKNOWN;
}

/* Who can list the descriptors can not always read their links. */
static enum table_result look_at_descriptor(int directory, int descriptor, const struct wanted *wanted)
{
    char name[16], link[LINK_BYTES];
    snprintf(name, sizeof name, "%d", descriptor);
    const ssize_t bytes = readlinkat(directory, name, link, sizeof link);
    if (bytes < 0)
        return result_of(errno);
    const bool is_wanted = bytes == (ssize_t)strlen(wanted->link) &&
                           memcmp(link, wanted->link, (size_t)bytes) == 0 &&
                           (!wanted->mode || (mode_of(directory, name) & wanted->mode));
    return is_wanted ? TABLE_WITH : TABLE_WITHOUT;
}

/* Descriptors are a directory of numbers, as threads are. */
static enum table_result look_through(int directory, const struct wanted *wanted)
{
    int numbers[PROC_TASKS_NEXT_MAX], seen = 0, count;
    while ((count = proc_tasks_next(directory, numbers)) > 0) {
        if (seen >= DESCRIPTORS_MAX || clock_read_ns(CLOCK_THREAD_CPUTIME_ID) >= wanted->end_ns)
            return TABLE_UNKNOWN;
        for (int i = 0; i < count; i++) {
            const enum table_result result = look_at_descriptor(directory, numbers[i], wanted);
            if (result != TABLE_WITHOUT)
                return result;
        }
        seen += count;
    }
    return count == 0 ? TABLE_WITHOUT : result_of(-count);
}

static enum table_result look_at_table(int directory, const char *path, const struct wanted *wanted)
{
    const int table = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (table < 0)
        return result_of(errno);
    const enum table_result result = look_through(table, wanted);
    close(table);
    return result;
}

struct owners {
    struct relative first; /* of other processes */
    uint32_t others;
    bool is_own, is_complete;
};

static void find_owners(const struct near_end *near, const struct wanted *wanted, struct owners *ret)
{
    struct relatives relatives;
    char path[48];
    relatives_read(&relatives, near->task_directory, near->tid, wanted->end_ns);
    *ret = (struct owners){.is_complete = relatives.is_complete};
    for (uint32_t i = 0; i < relatives.count; i++) {
        snprintf(path, sizeof path, "../../%d/fd", (int)relatives.all[i].pid); /* see relatives_read() */
        const enum table_result result = look_at_table(near->task_directory, path, wanted);
        ret->is_complete &= result != TABLE_UNKNOWN;
        if (result == TABLE_WITH && ret->others++ == 0)
            ret->first = relatives.all[i];
    }
    snprintf(path, sizeof path, "%d/fd", (int)near->tid);
    ret->is_own = look_at_table(near->task_directory, path, wanted) == TABLE_WITH;
}

/* ---- names ---- */

/* word: "pipe from", "unix". kind: "pipe", "unix". "" where nobody is known. True if that may stay so: where
 * this process has the end too, a child may have it only because it has just been forked.
 */
static bool name_owners(struct other_ends_memory *memory, const struct owners *owners, const char *word,
                        const char *kind, char ret[OTHER_END_BYTES])
{
    char pid[24] = "";
    if (owners->others == 0) {
        if (owners->is_own && owners->is_complete)
            snprintf(ret, OTHER_END_BYTES, "%s within this process", kind);
        return false;
    }
    if (told_apart_is(&memory->processes, owners->first.pid))
        snprintf(pid, sizeof pid, " (pid %d)", (int)owners->first.pid);
    snprintf(ret, OTHER_END_BYTES, "%s %s%s%s", word, owners->first.name, pid,
             owners->others + owners->is_own > 1 ? " and others" : "");
    return !owners->is_own;
}

/* ---- looking ---- */

static bool look_for_pipe(struct other_ends_memory *memory, const struct near_end *near, mode_t mode,
                          uint64_t end_ns, char ret[OTHER_END_BYTES])
{
    struct owners owners;
    find_owners(near, &(struct wanted){near->link, mode, end_ns}, &owners);
    return name_owners(memory, &owners, mode == S_IWUSR ? "pipe from" : "pipe to", "pipe", ret);
}

static bool look_for_peer(struct other_ends_memory *memory, const struct near_end *near, uint64_t end_ns,
                          char ret[OTHER_END_BYTES])
{
    struct owners owners;
    struct unix_peer peer;
    char link[LINK_BYTES];
    if (!unix_peer_find(&memory->peers, near->task_directory, near->tid, near->inode, &peer))
        return false;
    if (*peer.path) {
        snprintf(ret, OTHER_END_BYTES, "unix %s", peer.path);
        return true;
    }
    snprintf(link, sizeof link, "socket:[%u]", peer.inode);
    find_owners(near, &(struct wanted){link, 0, end_ns}, &owners);
    return name_owners(memory, &owners, "unix", "unix", ret);
}

static void look(struct other_ends *ends, struct kept_end *kept, const struct near_end *near, uint64_t now_ns)
{
    const uint64_t begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID), end_ns = begin_ns + looking_max_ns;
    *kept->name = '\0';
    const bool is_final = kept->mode ? look_for_pipe(ends->memory, near, kept->mode, end_ns, kept->name)
                                     : look_for_peer(ends->memory, near, end_ns, kept->name);
    kept->until_ns = is_final ? UINT64_MAX : now_ns + (again_ns << kept->later);
    kept->later += kept->later < LATER_MOST;
    reading_credit_pay(&ends->credit, begin_ns);
}

static bool find(struct other_ends *ends, const struct near_end *near, mode_t mode, uint64_t now_ns,
                 char ret[OTHER_END_BYTES])
{
    ends->again_ns = UINT64_MAX;
    if (!ends->memory)
        ends->memory = scratch_alloc(sizeof *ends->memory);
    if (!ends->memory)
        return false;
    struct kept_end *kept = &ends->memory->kept[(near->inode * 2 + (mode == S_IRUSR)) % KEPT];
    const bool is_same = kept->inode == near->inode && kept->mode == mode;
    if (!is_same || now_ns >= kept->until_ns) {
        ends->again_ns = now_ns + again_ns;
        if (!reading_credit_is_left(&ends->credit, now_ns))
            return false;
        if (!is_same)
            *kept = (struct kept_end){.inode = near->inode, .mode = mode};
        look(ends, kept, near, now_ns);
    }
    ends->again_ns = kept->until_ns;
    if (*kept->name)
        strcpy(ret, kept->name);
    return *kept->name != '\0';
}

/* A descriptor that can do both says nothing of the other end. */
bool other_ends_pipe(struct other_ends *ends, const struct near_end *near, uint64_t now_ns,
                     char ret[OTHER_END_BYTES])
{
    char path[48];
    ends->again_ns = UINT64_MAX;
    snprintf(path, sizeof path, "%d/fd/%d", (int)near->tid, near->descriptor);
    const mode_t mode = mode_of(near->task_directory, path);
    if (mode != S_IRUSR && mode != S_IWUSR)
        return false;
    return find(ends, near, mode == S_IRUSR ? S_IWUSR : S_IRUSR, now_ns, ret);
}

bool other_ends_unix(struct other_ends *ends, const struct near_end *near, uint64_t now_ns,
                     char ret[OTHER_END_BYTES])
{
    return find(ends, near, 0, now_ns, ret);
}

void other_ends_deinit(struct other_ends *ends)
{
    scratch_free(ends->memory, sizeof *ends->memory);
    ends->memory = NULL;
}
