/*
 * The hooks as many threads call them at once, for ThreadSanitizer: the whole library is linked into the
 * program, its hooks before the sanitizer's own. See race_hooks.sh.
 *
 *     race_hooks SECONDS
 *
 * What the sanitizer cannot bear is left out. No signal is sent to a thread, as a handler would run in the
 * middle of the sanitizer: running threads do not reply, and waiting ones get remote samples. No thread ends,
 * as our hook of that comes after the sanitizer's. There is no fork.
 */
#include "target.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/time.h>

int __wrap_sig_request_send(pid_t tid, uint32_t slot_index, uint64_t generation);

int __wrap_sig_request_send(pid_t tid, uint32_t slot_index, uint64_t generation)
{
    (void)tid, (void)slot_index, (void)generation;
    return 0;
}

static int pipe_ends[2];
static sem_t semaphore; /* never posted */

static void on_signal(int number)
{
    (void)number;
}

static sigset_t set_of(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    return set;
}

static void change_mask(int number)
{
    sigset_t set = set_of(number), all, old;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, &old) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    CHECK(sigprocmask(SIG_SETMASK, &old, &all) == 0);
    CHECK(sigismember(&all, number) == 1);
}

static void change_action(int number)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
    CHECK(sigaction(number, &action, &old) == 0);
    CHECK(signal(number, SIG_DFL) != SIG_ERR);
    CHECK(sigaction(number, NULL, &old) == 0);
}

static void use_otherwise(int number)
{
    struct itimerval off = {{0, 0}, {0, 0}};
    sigset_t set = set_of(number);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    CHECK(fd >= 0 && close(fd) == 0);
    CHECK(setitimer(ITIMER_PROF, &off, NULL) == 0);
}

static void sleep_on(int number)
{
    struct timespec time = {.tv_nsec = 200000}, moment = timespec_of(clock_ns(CLOCK_REALTIME) + NS_PER_MS);
    sigset_t set = set_of(number);
    CHECK(nanosleep(&time, NULL) == 0 && usleep(100) == 0);
    CHECK(sem_timedwait(&semaphore, &moment) == -1 && errno == ETIMEDOUT);
    CHECK(sigtimedwait(&set, NULL, &time) == -1 && errno == EAGAIN);
}

static void wait_for_events(int number)
{
    static __thread int epoll = -1;
    struct epoll_event event;
    struct timeval time = {.tv_usec = 300};
    (void)number;
    if (epoll < 0)
        epoll = epoll_create1(EPOLL_CLOEXEC);
    CHECK(poll(NULL, 0, 1) == 0 && epoll_wait(epoll, &event, 1, 1) == 0);
    CHECK(select(0, NULL, NULL, NULL, &time) == 0);
}

static void transfer(int number)
{
    char byte = (char)number;
    CHECK(write(pipe_ends[1], &byte, 1) == 1 && read(pipe_ends[0], &byte, 1) == 1);
}

static void load(int number)
{
    void *library = dlopen("libutil.so.1", RTLD_NOW);
    (void)number;
    CHECK(library != NULL && dlclose(library) == 0);
    usleep(1000);
}

struct actor {
    void (*act)(int number);
    int number;
};

static void *act(void *argument)
{
    const struct actor *actor = argument;
    for (;;)
        actor->act(actor->number);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct actor actors[] = {
        {change_mask, SIGPROF},
        {change_mask, SIGUSR1},
        {change_action, SIGPROF},
        {change_action, SIGUSR1},
        {change_action, 64},
        {use_otherwise, SIGPROF},
        {use_otherwise, SIGUSR2},
        {sleep_on, SIGUSR2},
        {sleep_on, SIGHUP},
        {wait_for_events, 0},
        {wait_for_events, 0},
        {transfer, 0},
        {transfer, 0},
        {load, 0},
    };
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    CHECK(pipe(pipe_ends) == 0);
    for (size_t i = 0; i < sizeof(actors) / sizeof(actors[0]); i++)
        CHECK(pthread_create(&thread, NULL, act, &actors[i]) == 0);
    sleep(argc > 1 ? (unsigned)atoi(argv[1]) : 3);
    _exit(failures != 0);
}
