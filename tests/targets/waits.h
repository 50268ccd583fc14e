/*
 * What programs share that wait again and again, each wait in a thread of its own: does it last as long as
 * asked, return what it would return, and does a signal of the program's own still end it?
 *
 * The report on stdout has a line for each:
 *
 *     wait NAME CALLS BAD [what the first bad one was]
 *
 * The status is 1 when there is a bad one.
 */
#ifndef WALLPROF_WAITS_H
#define WALLPROF_WAITS_H

#include "target.h"
#include "asleep.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

/* RESTARTING: its handler has SA_RESTART. */
enum {
    RESTARTING = SIGUSR1,
    ENDING = SIGHUP,
    SHORT_MS = 30,
    NEVER_MS = 60000, /* whatever the machine does, the signal comes before */
    AGAIN_TURNS = 100 /* of the helper, until it gives up waiting for the first signal */,
    UNTOUCHED = 12345
};

struct waiter {
    const char *name;
    void (*call)(struct waiter *waiter);
    int signal; /* that a helper sends some milliseconds after each call has begun; 0: none */
    pthread_t thread, helper;
    atomic_int tid;
    atomic_uint begun, ended;
    unsigned calls, bad;
    char what[96];
    uint64_t begin_ns;
};

static pthread_barrier_t all_ready;
static _Atomic uint64_t end_ns;
static __thread unsigned handled;

static inline struct timespec span(uint64_t ns)
{
    return timespec_of(ns);
}

static inline struct timespec moment(clockid_t clock, uint64_t ns)
{
    return timespec_of(clock_ns(clock) + ns);
}

__attribute__((format(printf, 3, 4))) static void expect(struct waiter *waiter, bool is_good,
                                                         const char *format, ...)
{
    va_list arguments;
    if (is_good)
        return;
    va_start(arguments, format);
    if (waiter->bad++ == 0)
        vsnprintf(waiter->what, sizeof(waiter->what), format, arguments);
    va_end(arguments);
}

/* It gave what it gives when nothing comes, and not before the time. */
static void expect_end(struct waiter *waiter, int result, int expected, int error, int expected_error,
                       uint64_t ms)
{
    uint64_t took_ns = now_ns() - waiter->begin_ns;
    expect(waiter, result == expected && (result != -1 || error == expected_error), "returned %d, %s", result,
           strerrorname_np(error));
    expect(waiter, took_ns >= ms * NS_PER_MS, "took %ju us of %ju ms", (uintmax_t)took_ns / 1000,
           (uintmax_t)ms);
}

#define SHORT(name, expected, expected_error, wait)                                                          \
    static void name(struct waiter *waiter)                                                                  \
    {                                                                                                        \
        struct timespec time = span(SHORT_MS * NS_PER_MS);                                                   \
        (void)time;                                                                                          \
        errno = 0;                                                                                           \
        int result = (int)(wait);                                                                            \
        expect_end(waiter, result, expected, errno, expected_error, SHORT_MS);                               \
    }

/* ---- that the program's signal ends, and nothing else ---- */

static void on_signal(int number)
{
    (void)number;
    handled++;
}

static void expect_signal(struct waiter *waiter, int result, int error, unsigned before)
{
    expect(waiter, result == -1 && error == EINTR, "returned %d, %s", result, strerrorname_np(error));
    expect(waiter, handled != before, "returned without a signal");
    expect(waiter, handled <= before + 1, "went on after a signal");
}

#define SIGNALLED(name, wait)                                                                                \
    static void name(struct waiter *waiter)                                                                  \
    {                                                                                                        \
        struct timespec time = span(NEVER_MS * NS_PER_MS);                                                   \
        unsigned before = handled;                                                                           \
        (void)time;                                                                                          \
        errno = 0;                                                                                           \
        int result = (int)(wait);                                                                            \
        expect_signal(waiter, result, errno, before);                                                        \
    }

static void *send_signals(void *argument)
{
    struct waiter *waiter = argument;
    struct timespec grace = span(7 * NS_PER_MS);
    unsigned done = 0, turns = 0;
    while (now_ns() < end_ns || atomic_load(&waiter->begun) != atomic_load(&waiter->ended)) {
        unsigned begun = atomic_load(&waiter->begun);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &grace, NULL);
        turns = begun == done ? turns + 1 : 0;
        if ((begun != done || turns == AGAIN_TURNS) && begun != atomic_load(&waiter->ended) &&
            is_asleep(atomic_load(&waiter->tid))) {
            pthread_kill(waiter->thread, waiter->signal);
            done = begun;
            turns = 0;
        }
    }
    return NULL;
}

static void *wait_again_and_again(void *argument)
{
    struct waiter *waiter = argument;
    atomic_store(&waiter->tid, gettid());
    pthread_barrier_wait(&all_ready);
    while (now_ns() < end_ns) {
        waiter->begin_ns = now_ns();
        atomic_fetch_add(&waiter->begun, 1);
        waiter->call(waiter);
        atomic_fetch_add(&waiter->ended, 1);
        waiter->calls++;
    }
    return NULL;
}

/* Runs them all for the time; returns the program's status. */
static int run_waiters(struct waiter *waiters, size_t count, unsigned long ms)
{
    unsigned bad = 0;
    struct sigaction restarting = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction ending = {.sa_handler = on_signal};
    sigaction(RESTARTING, &restarting, NULL);
    sigaction(ENDING, &ending, NULL);
    pthread_barrier_init(&all_ready, NULL, (unsigned)count + 1);
    end_ns = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        pthread_create(&waiters[i].thread, NULL, wait_again_and_again, &waiters[i]);
        if (waiters[i].signal)
            pthread_create(&waiters[i].helper, NULL, send_signals, &waiters[i]);
    }
    pthread_barrier_wait(&all_ready);
    end_ns = now_ns() + ms * NS_PER_MS;
    for (size_t i = 0; i < count; i++) {
        pthread_join(waiters[i].thread, NULL);
        if (waiters[i].signal)
            pthread_join(waiters[i].helper, NULL);
        printf("wait %s %u %u %s\n", waiters[i].name, waiters[i].calls, waiters[i].bad, waiters[i].what);
        bad += waiters[i].bad;
    }
    return bad > 0;
}

#endif
