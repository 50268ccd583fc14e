/*
 * For programs that use a signal themselves and say, case by case, what they see of it: the signal's number,
 * what is sent and seen, and the command line, `PROGRAM list` or `PROGRAM CASE NUMBER`.
 */
#ifndef WALLPROF_OWN_SIGNAL_H
#define WALLPROF_OWN_SIGNAL_H

#include "asleep.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct own_case {
    const char *name;
    void (*run)(void);
};

static int number; /* the signal */
static volatile sig_atomic_t calls, last_code, last_value, foreign_senders;

/* Long enough to be sampled some times. */
static inline void burn(double seconds)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 < seconds);
}

static inline void pass_time(void)
{
    burn(0.01);
}

static inline void say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
}

static inline void on_info(int seen, siginfo_t *info, void *context)
{
    (void)context;
    if (seen != number || info->si_signo != number)
        foreign_senders++;
    if (info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE)
        foreign_senders += info->si_pid != getpid();
    calls++;
    last_code = info->si_code;
    last_value = info->si_code == SI_QUEUE || info->si_code == SI_TIMER ? info->si_value.sival_int : 0;
}

static inline void on_plain(int seen)
{
    calls += seen == number;
}

static inline void catch (int seen, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigemptyset(&action.sa_mask);
    sigaction(seen, &action, NULL);
}

static inline sigset_t only(int one)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, one);
    return set;
}

static inline sigset_t full(void)
{
    sigset_t set;
    sigfillset(&set);
    return set;
}

static inline void block(int how)
{
    sigset_t set = only(number);
    sigprocmask(how, &set, NULL);
}

static inline int is_blocked(void)
{
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    return sigismember(&set, number);
}

static inline int is_pending(void)
{
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, number);
}

static inline unsigned long long bits(const sigset_t *set)
{
    unsigned long long ret = 0;
    for (int i = 1; i <= 64; i++)
        ret |= (unsigned long long)(sigismember(set, i) == 1) << (i - 1);
    return ret;
}

static inline void say_mask(const char *what)
{
    sigset_t set;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    say("%s: %llx", what, bits(&set));
}

static inline void say_seen(const char *what)
{
    say("%s: calls %d code %d value %d wrong %d", what, (int)calls, (int)last_code, (int)last_value,
        (int)foreign_senders);
    calls = last_code = last_value = 0;
}

/* The program's signal from another thread, once it waits; after a while also to one that does not. */
static pthread_t main_thread;
static pid_t main_tid;

static inline void *send_later(void *argument)
{
    (void)argument;
    struct timespec time = {0, 30000000};
    int turns = 0;
    do
        nanosleep(&time, NULL);
    while (!is_asleep(main_tid) && ++turns < 300);
    pthread_kill(main_thread, number);
    return NULL;
}

static inline pthread_t begin_sender(void *(*sender)(void *))
{
    pthread_t thread;
    main_thread = pthread_self();
    main_tid = gettid();
    pthread_create(&thread, NULL, sender, NULL);
    return thread;
}

static inline int run_case(const struct own_case *cases, size_t case_count, int count, char **arguments)
{
    number = count > 2 ? atoi(arguments[2]) : SIGPROF;
    for (size_t i = 0; i < case_count; i++) {
        if (count < 2 || !strcmp(arguments[1], "list"))
            say("%s", cases[i].name);
        else if (!strcmp(arguments[1], cases[i].name)) {
            pass_time();
            cases[i].run();
        }
    }
    return 0;
}

#endif
