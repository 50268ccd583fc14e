/*
 * Raw system calls, instead of functions that the preloaded library interposes. By plain name, the engine
 * would call our own hooks, which are for the program: scripts/lint-symbols finds such calls.
 * Others are here because the C library's function is newer than glibc 2.17 (scripts/lint-glibc): it has
 * fstat and its like since 2.33, gettid since 2.30, memfd_create since 2.27.
 *
 * Results and errno are as with the C library.
 */
#ifndef WALLPROF_RAW_CALLS_H
#define WALLPROF_RAW_CALLS_H

#include "sig/sys/sig_arch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Turns the result of a system call into that of the C library: -1 and errno for an error. */
static inline long raw_result(long status)
{
    if (status >= 0 || status < -4095)
        return status;
    errno = (int)-status;
    return -1;
}

static inline ssize_t raw_read(int fd, void *buffer, size_t bytes)
{
    return raw_result(sig_syscall4(SYS_read, fd, (long)buffer, (long)bytes, 0));
}

static inline ssize_t raw_write(int fd, const void *data, size_t bytes)
{
    return raw_result(sig_syscall4(SYS_write, fd, (long)data, (long)bytes, 0));
}

/* argument: a number, or a pointer. */
static inline int raw_fcntl(int fd, int command, long argument)
{
    return (int)raw_result(sig_syscall4(SYS_fcntl, fd, command, argument, 0));
}

static inline ssize_t raw_getrandom(void *buffer, size_t bytes, unsigned flags)
{
    return raw_result(sig_syscall4(SYS_getrandom, (long)buffer, (long)bytes, flags, 0));
}

/* argument: a number, or a pointer. */
static inline int raw_prctl(int option, long argument)
{
    return (int)raw_result(sig_syscall6(SYS_prctl, option, argument, 0, 0, 0, 0));
}

static inline ssize_t raw_getdents(int directory_fd, void *buffer, size_t bytes)
{
    return raw_result(sig_syscall4(SYS_getdents64, directory_fd, (long)buffer, (long)bytes, 0));
}

static inline pid_t raw_waitpid(pid_t pid, int *status, int options)
{
    return (pid_t)raw_result(sig_syscall4(SYS_wait4, pid, (long)status, options, 0));
}

/* Sets the calling thread's mask, and returns the old one. The C library's function leaves out some signals.
 * errno is kept. */
static inline uint64_t raw_set_mask(uint64_t mask)
{
    uint64_t before = 0;
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, (long)&before, sizeof(mask));
    return before;
}

/* On our machines struct stat is as the kernel writes it. */
static inline int raw_fstatat(int directory_fd, const char *path, struct stat *ret, int flags)
{
    return (int)raw_result(sig_syscall4(SYS_newfstatat, directory_fd, (long)path, (long)ret, flags));
}

static inline int raw_fstat(int fd, struct stat *ret)
{
    return raw_fstatat(fd < 0 ? -1 : fd, "", ret, AT_EMPTY_PATH);
}

static inline int raw_stat(const char *path, struct stat *ret)
{
    return raw_fstatat(AT_FDCWD, path, ret, 0);
}

static inline int raw_lstat(const char *path, struct stat *ret)
{
    return raw_fstatat(AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW);
}

static inline int raw_memfd_create(const char *name, unsigned flags)
{
    return (int)raw_result(sig_syscall4(SYS_memfd_create, (long)name, flags, 0, 0));
}

static inline pid_t raw_gettid(void)
{
    return (pid_t)sig_syscall4(SYS_gettid, 0, 0, 0, 0);
}

_Noreturn static inline void raw_exit(int status)
{
    for (;;)
        sig_syscall4(SYS_exit_group, status, 0, 0, 0);
}

#endif
