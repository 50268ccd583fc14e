#include "objects.h"
#include "descriptor_names.h"
#include "base/clock.h"
#include "proc/proc_text.h"
#include "sig/sys/sig_memory.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert((int)DESCRIPTOR_NAME_BYTES <= (int)KNOWN_OBJECT_BYTES &&
                   (int)SOCKET_NAME_BYTES <= (int)KNOWN_OBJECT_BYTES &&
                   (int)OTHER_END_BYTES <= (int)KNOWN_OBJECT_BYTES,
               "a name has room");

/* Of the text that has an epoll set's members, 80 bytes for each. */
enum { MEMBERS_BYTES = 4096 };

/* Descriptors of select: the C library's sets have no more (FD_SETSIZE). */
enum { SELECTED_MAX = 1024 };

static const uint64_t epoll_ns = NS_PER_S / 10;

/* ---- descriptors ---- */

/* In the thread's own table, which it may not share with others. */
static bool read_link(const struct object_wait *wait, int descriptor, char ret[DESCRIPTOR_LINK_BYTES])
{
    char path[48];
    snprintf(path, sizeof path, "%d/fd/%d", (int)wait->tid, descriptor);
    const ssize_t bytes = readlinkat(wait->task_directory, path, ret, DESCRIPTOR_LINK_BYTES - 1);
    ret[bytes > 0 ? bytes : 0] = '\0';
    return bytes > 0;
}

/* Of several things the first that may change. */
static void ask_again_at(struct objects *objects, uint64_t at_ns)
{
    if (at_ns < objects->again_ns)
        objects->again_ns = at_ns;
}

static bool name_descriptor(struct objects *objects, const struct object_wait *wait, int descriptor,
                            uint64_t now_ns, char ret[KNOWN_OBJECT_BYTES])
{
    char link[DESCRIPTOR_LINK_BYTES];
    struct near_end near = {wait->task_directory, wait->tid, descriptor, link, 0};
    if (descriptor < 0 || !read_link(wait, descriptor, link))
        return false;
    if (!descriptor_is_socket(link, &near.inode) && !descriptor_is_pipe(link, &near.inode))
        return descriptor_name(link, ret);
    if (descriptor_name(link, ret)) {
        other_ends_pipe(&objects->ends, &near, now_ns, ret);
        ask_again_at(objects, objects->ends.again_ns);
        return true;
    }
    sockets_find(&objects->sockets, wait->task_directory, wait->tid, near.inode, now_ns, ret);
    ask_again_at(objects, objects->sockets.again_ns);
    if (strcmp(ret, "unix") == 0) {
        other_ends_unix(&objects->ends, &near, now_ns, ret);
        ask_again_at(objects, objects->ends.again_ns);
    }
    return *ret != '\0';
}

/* ---- sets ---- */

static void add_member(struct objects *objects, const struct object_wait *wait, int descriptor,
                       uint64_t now_ns, struct object_set *set)
{
    char link[DESCRIPTOR_LINK_BYTES];
    uint64_t inode;
    char *name = set->names[set->count];
    if (name_descriptor(objects, wait, descriptor, now_ns, name))
        set->count++;
    else if (descriptor >= 0 && read_link(wait, descriptor, link) && descriptor_is_socket(link, &inode))
        strcpy(set->names[set->count++], "socket");
}

static bool name_members(struct objects *objects, const struct object_wait *wait, const int *descriptors,
                         int count, const char *word, uint64_t now_ns, char ret[KNOWN_OBJECT_BYTES])
{
    struct object_set set = {.count = 0};
    for (int i = 0; i < count; i++)
        add_member(objects, wait, descriptors[i], now_ns, &set);
    object_set_name(&set, word, ret);
    return set.count > 0;
}

/* The only member of a set is what is waited for. */
static bool name_set(struct objects *objects, const struct object_wait *wait, const int *descriptors,
                     int count, const char *word, uint64_t now_ns, char ret[KNOWN_OBJECT_BYTES])
{
    return count == 1 ? name_descriptor(objects, wait, descriptors[0], now_ns, ret)
                      : name_members(objects, wait, descriptors, count, word, now_ns, ret);
}

static bool name_polled(struct objects *objects, const struct object_wait *wait,
                        const struct blocking_call *call, uint64_t now_ns, char ret[KNOWN_OBJECT_BYTES])
{
    struct pollfd polled[OBJECT_SET_MAX];
    int descriptors[OBJECT_SET_MAX];
    const uint64_t count = call->polled_count;
    if (count > OBJECT_SET_MAX || !sig_memory_copy(polled, call->polled, sizeof *polled * count))
        return false;
    for (uint64_t i = 0; i < count; i++)
        descriptors[i] = polled[i].fd;
    return name_set(objects, wait, descriptors, (int)count, "poll", now_ns, ret);
}

/* What is in any of the sets: as many as one more than are described, which are too many. The kernel writes
 * into the sets only when it returns. */
static int read_selected(const struct blocking_call *call, int ret[OBJECT_SET_MAX + 1])
{
    uint64_t sets[BLOCKING_SETS][SELECTED_MAX / 64] = {{0}};
    const uint64_t words = (call->selected_bits + 63) / 64;
    int count = 0;
    if (call->selected_bits > SELECTED_MAX)
        return 0;
    for (int i = 0; i < BLOCKING_SETS; i++) {
        if (call->selected[i] && !sig_memory_copy(sets[i], call->selected[i], sizeof *sets[i] * words))
            return 0;
    }
    for (uint64_t bit = 0; bit < call->selected_bits && count <= OBJECT_SET_MAX; bit++) {
        if ((sets[0][bit / 64] | sets[1][bit / 64] | sets[2][bit / 64]) >> bit % 64 & 1)
            ret[count++] = (int)bit;
    }
    return count;
}

static bool name_selected(struct objects *objects, const struct object_wait *wait,
                          const struct blocking_call *call, uint64_t now_ns, char ret[KNOWN_OBJECT_BYTES])
{
    int descriptors[OBJECT_SET_MAX + 1];
    const int count = read_selected(call, descriptors);
    return count <= OBJECT_SET_MAX && name_set(objects, wait, descriptors, count, "select", now_ns, ret);
}

/* -1: there are too many. */
static int read_members(const struct object_wait *wait, int descriptor, int ret[OBJECT_SET_MAX])
{
    char path[48], text[MEMBERS_BYTES];
    snprintf(path, sizeof path, "%d/fdinfo/%d", (int)wait->tid, descriptor);
    proc_text_read(wait->task_directory, path, text, sizeof text);
    return object_set_members(text, ret);
}

static void look_into_epoll(struct objects *objects, const struct object_wait *wait, int descriptor,
                            uint64_t now_ns, char ret[KNOWN_OBJECT_BYTES])
{
    int members[OBJECT_SET_MAX];
    const int count = objects->has_large_epolls ? 0 : read_members(wait, descriptor, members);
    objects->has_large_epolls |= count < 0;
    name_members(objects, wait, members, count, "epoll", now_ns, ret);
}

static bool name_epoll(struct objects *objects, const struct object_wait *wait, int descriptor,
                       uint64_t now_ns, char ret[KNOWN_OBJECT_BYTES])
{
    struct epoll_name *kept = &objects->epolls[((unsigned)wait->tid + (unsigned)descriptor) % OBJECTS_EPOLLS];
    if (kept->tid != wait->tid || kept->descriptor != descriptor || now_ns >= kept->due_ns) {
        *kept = (struct epoll_name){.tid = wait->tid, .descriptor = descriptor, .due_ns = now_ns + epoll_ns};
        look_into_epoll(objects, wait, descriptor, now_ns, kept->name);
        kept->again_ns = objects->again_ns;
    }
    objects->again_ns = kept->again_ns;
    strcpy(ret, kept->name);
    return true;
}

/* ---- queues ---- */

/* In a file system of its own: its path begins with the name. */
static bool name_queue(const struct object_wait *wait, int descriptor, char ret[KNOWN_OBJECT_BYTES])
{
    char link[DESCRIPTOR_LINK_BYTES];
    if (!read_link(wait, descriptor, link) || *link != '/')
        return false;
    snprintf(ret, KNOWN_OBJECT_BYTES, "mqueue %.200s", link);
    return true;
}

/* ---- children ---- */

static void read_program(pid_t pid, char *ret, size_t bytes)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    proc_text_read(AT_FDCWD, path, ret, bytes);
    ret[strcspn(ret, "\n")] = '\0';
}

static bool name_child(struct objects *objects, pid_t pid, char ret[KNOWN_OBJECT_BYTES])
{
    char program[32] = "", number[16] = "";
    if (pid)
        read_program(pid, program, sizeof program);
    if (pid && told_apart_is(&objects->children, pid))
        snprintf(number, sizeof number, " %d", (int)pid);
    snprintf(ret, KNOWN_OBJECT_BYTES, "child%s%s%s", number, *program ? " " : "", program);
    return true;
}

/* ---- any ---- */

bool objects_name(struct objects *objects, const struct object_wait *wait, uint64_t now_ns,
                  char ret[KNOWN_OBJECT_BYTES])
{
    const struct blocking_call call = blocking_call_of(wait->number, wait->arguments);
    objects->again_ns = UINT64_MAX;
    switch (call.kind) {
    case BLOCKING_DESCRIPTOR:
        return name_descriptor(objects, wait, call.descriptor, now_ns, ret);
    case BLOCKING_POLL:
        return name_polled(objects, wait, &call, now_ns, ret);
    case BLOCKING_SELECT:
        return name_selected(objects, wait, &call, now_ns, ret);
    case BLOCKING_EPOLL:
        return name_epoll(objects, wait, call.descriptor, now_ns, ret);
    case BLOCKING_QUEUE:
        return name_queue(wait, call.descriptor, ret);
    case BLOCKING_CHILD:
        return name_child(objects, call.child, ret);
    case BLOCKING_OTHER:
        break;
    }
    return false;
}

void objects_deinit(struct objects *objects)
{
    known_objects_deinit(&objects->known);
    sockets_deinit(&objects->sockets);
    other_ends_deinit(&objects->ends);
}
