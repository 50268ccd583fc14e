/*
 * Hooks that do nothing but call the function: what standing before it costs in any case. A library to
 * preload.
 *
 * After a system call, where the processor's predictions have been thrown away, one return more is several
 * nanoseconds.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EMPTY_HOOK(type, name, parameters, arguments)                                                        \
    type name parameters                                                                                     \
    {                                                                                                        \
        static type(*real) parameters;                                                                       \
        if (!real)                                                                                           \
            real = (type(*) parameters)(uintptr_t)dlsym(RTLD_NEXT, #name);                                   \
        type result = real arguments;                                                                        \
        __asm__ volatile("" ::: "memory"); /* no jump instead */                                             \
        return result;                                                                                       \
    }

EMPTY_HOOK(int, poll, (struct pollfd * fds, nfds_t count, int ms), (fds, count, ms))
EMPTY_HOOK(int, epoll_wait, (int epoll, struct epoll_event *events, int count, int ms),
           (epoll, events, count, ms))
EMPTY_HOOK(int, sem_wait, (sem_t * semaphore), (semaphore))
EMPTY_HOOK(ssize_t, read, (int fd, void *to, size_t bytes), (fd, to, bytes))
EMPTY_HOOK(ssize_t, write, (int fd, const void *from, size_t bytes), (fd, from, bytes))
EMPTY_HOOK(int, sigaction, (int number, const struct sigaction *action, struct sigaction *old),
           (number, action, old))
EMPTY_HOOK(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))
EMPTY_HOOK(int, sigprocmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))
