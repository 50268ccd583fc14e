#include "trusted_path.h"
#include "raw_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_trusted_owner(const struct stat *status)
{
    return status->st_uid == geteuid() || status->st_uid == 0;
}

/* ---- directories ---- */

enum { DIRECTORY_FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC };

/* Opens the target of an open link, whose name may lead elsewhere by now. */
static int follow_link(int handle, int directory_fd, int flags)
{
    char target[PATH_MAX];
    ssize_t bytes = readlinkat(handle, "", target, sizeof(target) - 1);
    if (bytes < 0)
        return -errno;
    target[bytes] = '\0';
    int fd = openat(directory_fd, target, flags);
    return fd < 0 ? -errno : fd;
}

/* Opens the directory that `handle` is of, or leads to as a link. handle: of `name` in directory_fd. */
static int enter_directory(int directory_fd, const char *name, int handle)
{
    struct stat directory, itself;
    if (raw_fstatat(directory_fd, ".", &directory, 0) < 0 || raw_fstat(handle, &itself) < 0)
        return -errno;
    if (S_ISLNK(itself.st_mode) && (directory.st_mode & S_IWOTH))
        return is_trusted_owner(&itself) || itself.st_uid == directory.st_uid
                   ? follow_link(handle, directory_fd, DIRECTORY_FLAGS)
                   : -ELOOP;
    int fd = openat(S_ISLNK(itself.st_mode) ? directory_fd : handle, S_ISLNK(itself.st_mode) ? name : ".",
                    DIRECTORY_FLAGS);
    return fd < 0 ? -errno : fd;
}

/* Opens a directory in directory_fd, which is closed. */
static int descend(int directory_fd, const char *name)
{
    int handle = openat(directory_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int fd = handle < 0 ? -errno : enter_directory(directory_fd, name, handle);
    if (handle >= 0)
        close(handle);
    close(directory_fd);
    return fd;
}

static int walk_path(int fd, const char *path)
{
    char name[NAME_MAX + 1];
    while (fd >= 0 && *(path += strspn(path, "/"))) {
        size_t bytes = strcspn(path, "/");
        if (bytes > NAME_MAX) {
            close(fd);
            return -ENAMETOOLONG;
        }
        snprintf(name, sizeof(name), "%.*s", (int)bytes, path);
        fd = descend(fd, name);
        path += bytes;
    }
    return fd;
}

static int walk_from(const char *root, const char *path)
{
    int fd = open(root, DIRECTORY_FLAGS);
    return fd < 0 ? -errno : walk_path(fd, path);
}

/* Under qemu -L the first "/" is the emulator's. What is not there is searched for in the true root. */
int trusted_path_open_directory(const char *path)
{
    int status = walk_from(*path == '/' ? "/" : ".", path);
    if (status == -ENOENT && *path == '/')
        status = walk_from("/proc/thread-self/root", path);
    return status;
}

/* ---- names in them ---- */

/* Whether users other than us and root can create or replace names in the directory. */
static bool is_shared_directory(int directory_fd)
{
    struct stat status;
    return raw_fstatat(directory_fd, ".", &status, 0) < 0 || !is_trusted_owner(&status) ||
           (status.st_mode & (S_IWGRP | S_IWOTH));
}

bool trusted_path_is_trusted(int directory_fd, const struct stat *itself)
{
    return S_ISCHR(itself->st_mode) || S_ISBLK(itself->st_mode) || is_trusted_owner(itself) ||
           !is_shared_directory(directory_fd);
}

/* Opens the very file, FIFO or device that the handle is of. */
static int reopen(int handle, int flags)
{
    char path[48];
    snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", handle);
    int fd = open(path, flags);
    return fd < 0 ? -errno : fd;
}

static int open_trusted(int handle, int directory_fd, int flags)
{
    struct stat itself;
    if (raw_fstat(handle, &itself) < 0)
        return -errno;
    if (!trusted_path_is_trusted(directory_fd, &itself))
        return S_ISLNK(itself.st_mode) ? -ELOOP : -EPERM;
    if (S_ISLNK(itself.st_mode))
        return follow_link(handle, directory_fd, flags);
    /* Another user may have given a file of ours this name too. */
    return S_ISREG(itself.st_mode) && itself.st_nlink > 1 ? -EPERM : reopen(handle, flags);
}

int trusted_path_open(int directory_fd, const char *name, int flags)
{
    const bool is_shared = is_shared_directory(directory_fd);
    int handle = openat(directory_fd, name, is_shared ? O_PATH | O_NOFOLLOW | O_CLOEXEC : flags);
    if (handle < 0 || !is_shared)
        return handle < 0 ? -errno : handle;
    int fd = open_trusted(handle, directory_fd, flags);
    close(handle);
    return fd;
}

int trusted_path_open_to_append(const char *path)
{
    const int flags = O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY; /* a FIFO may have no reader */
    char directory[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t bytes = slash ? (size_t)(slash - path) : 0;
    if (!slash || bytes + 2 > sizeof(directory))
        return slash ? -ENAMETOOLONG : -EINVAL;
    snprintf(directory, sizeof(directory), "%.*s/", (int)bytes, path);
    int directory_fd = trusted_path_open_directory(directory);
    if (directory_fd < 0)
        return directory_fd;
    int fd = openat(directory_fd, slash + 1, flags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        fd = errno == EEXIST ? trusted_path_open(directory_fd, slash + 1, flags) : -errno;
    close(directory_fd);
    return fd;
}
