#include "objects.h"
#include "descriptor_names.h"
#include "base/raw_calls.h"
#include "sig/sys/sig_memory.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert((int)DESCRIPTOR_NAME_BYTES <= (int)KNOWN_OBJECT_BYTES &&
                   (int)SOCKET_NAME_BYTES <= (int)KNOWN_OBJECT_BYTES,
               "a name has room");

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

static bool name_descriptor(struct objects *objects, const struct object_wait *wait, int descriptor,
                            uint64_t now_ns, char ret[KNOWN_OBJECT_BYTES])
{
    char link[DESCRIPTOR_LINK_BYTES];
    uint64_t inode;
    if (descriptor < 0 || !read_link(wait, descriptor, link))
        return false;
    if (!descriptor_is_socket(link, &inode))
        return descriptor_name(link, ret);
    sockets_find(&objects->sockets, wait->task_directory, wait->tid, inode, now_ns, ret);
    return *ret != '\0';
}

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
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    const ssize_t read = fd < 0 ? 0 : raw_read(fd, ret, bytes - 1);
    if (fd >= 0)
        close(fd);
    ret[read > 0 ? read : 0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
}

static bool is_told_apart(struct objects *objects, pid_t pid)
{
    for (uint32_t i = 0; i < objects->child_count; i++) {
        if (objects->children[i] == pid)
            return true;
    }
    if (objects->child_count >= OBJECTS_CHILDREN)
        return false;
    objects->children[objects->child_count++] = pid;
    return true;
}

static bool name_child(struct objects *objects, pid_t pid, char ret[KNOWN_OBJECT_BYTES])
{
    char program[32] = "", number[16] = "";
    if (pid)
        read_program(pid, program, sizeof program);
    if (pid && is_told_apart(objects, pid))
        snprintf(number, sizeof number, " %d", (int)pid);
    snprintf(ret, KNOWN_OBJECT_BYTES, "child%s%s%s", number, *program ? " " : "", program);
    return true;
}

/* ---- any ---- */

bool objects_name(struct objects *objects, const struct object_wait *wait, uint64_t now_ns,
                  char ret[KNOWN_OBJECT_BYTES])
{
    const struct blocking_call call = blocking_call_of(wait->number, wait->arguments);
    struct pollfd polled;
    switch (call.kind) {
    case BLOCKING_DESCRIPTOR:
        return name_descriptor(objects, wait, call.descriptor, now_ns, ret);
    case BLOCKING_POLL:
        return sig_memory_copy(&polled, call.polled, sizeof polled) &&
               name_descriptor(objects, wait, polled.fd, now_ns, ret);
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
}
