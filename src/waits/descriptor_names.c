#include "descriptor_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SHOWN = 200, KIND_SHOWN = 32 };

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static const char *word_of_path(const char *path)
{
    if (begins_with(path, "/dev/pts/") || begins_with(path, "/dev/tty") || strcmp(path, "/dev/console") == 0)
        return "tty";
    return begins_with(path, "/dev/") && !begins_with(path, "/dev/shm/") ? "device" : "file";
}

static bool name_path(const char *path, char ret[DESCRIPTOR_NAME_BYTES])
{
    const size_t bytes = strlen(path);
    const bool is_long = bytes > PATH_SHOWN;
    snprintf(ret, DESCRIPTOR_NAME_BYTES, "%s %s%s", word_of_path(path), is_long ? "..." : "",
             is_long ? path + bytes - PATH_SHOWN : path);
    return true;
}

/* anon_inode:[eventpoll], anon_inode:inotify */
static bool name_anonymous(const char *kind, char ret[DESCRIPTOR_NAME_BYTES])
{
    kind += *kind == '[';
    const size_t bytes = strcspn(kind, "]");
    snprintf(ret, DESCRIPTOR_NAME_BYTES, "%.*s", (int)(bytes < KIND_SHOWN ? bytes : KIND_SHOWN), kind);
    if (strcmp(ret, "eventpoll") == 0)
        strcpy(ret, "epoll");
    return *ret != '\0';
}

bool descriptor_name(const char *link, char ret[DESCRIPTOR_NAME_BYTES])
{
    static const char anonymous[] = "anon_inode:";
    if (*link == '/')
        return name_path(link, ret);
    if (begins_with(link, anonymous))
        return name_anonymous(link + sizeof anonymous - 1, ret);
    if (!begins_with(link, "pipe:"))
        return false;
    strcpy(ret, "pipe");
    return true;
}

static bool has_inode(const char *link, const char *start, uint64_t *ret_inode)
{
    if (!begins_with(link, start))
        return false;
    *ret_inode = strtoull(link + strlen(start), NULL, 10);
    return true;
}

bool descriptor_is_socket(const char *link, uint64_t *ret_inode)
{
    return has_inode(link, "socket:[", ret_inode);
}

bool descriptor_is_pipe(const char *link, uint64_t *ret_inode)
{
    return has_inode(link, "pipe:[", ret_inode);
}
