/*
 * The mask in a handler's context is that of the interrupted code, in each kind of wait, and what the handler
 * makes of it is the thread's after its return. Two signals are sent at once, so that a handler often comes
 * upon the entry of another.
 *
 *     target_context_mask
 *
 * Prints a line for each wait. Status 0: all are as they should be.
 */
#include "target.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <ucontext.h>

enum { ROUNDS = 60, PERIOD_US = 4000 };

static volatile sig_atomic_t seen, wrong;
static int epoll;

/* The program has SIGUSR1 and SIGTERM unblocked. The handler leaves SIGUSR2 blocked. */
static void handle(int number, siginfo_t *info, void *context)
{
    sigset_t *mask = &((ucontext_t *)context)->uc_sigmask;
    (void)number, (void)info;
    wrong += sigismember(mask, SIGUSR1) || sigismember(mask, SIGTERM);
    sigaddset(mask, SIGUSR2);
    seen++;
}

static void wait_nanosleep(void)
{
    struct timespec time = timespec_of(10 * NS_PER_S);
    nanosleep(&time, NULL);
}

static void wait_poll(void)
{
    poll(NULL, 0, 10000);
}

static void wait_ppoll(void)
{
    struct timespec time = timespec_of(10 * NS_PER_S);
    sigset_t none;
    sigemptyset(&none);
    ppoll(NULL, 0, &time, &none);
}

static void wait_select(void)
{
    struct timeval time = {.tv_sec = 10};
    select(0, NULL, NULL, NULL, &time);
}

static void wait_epoll(void)
{
    struct epoll_event event;
    epoll_wait(epoll, &event, 1, 10000);
}

static void wait_sigsuspend(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigsuspend(&none);
}

static const struct {
    const char *name;
    void (*wait)(void);
} waits[] = {{"nanosleep", wait_nanosleep}, {"poll", wait_poll},        {"ppoll", wait_ppoll},
             {"select", wait_select},       {"epoll_wait", wait_epoll}, {"sigsuspend", wait_sigsuspend}};

/* Whether only SIGUSR2 is blocked, which is unblocked again. */
static bool is_as_left(void)
{
    sigset_t mask, one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    pthread_sigmask(SIG_UNBLOCK, &one, &mask);
    return sigismember(&mask, SIGUSR2) && !sigismember(&mask, SIGUSR1) && !sigismember(&mask, SIGTERM);
}

static void *send_pairs(void *receiver)
{
    for (;;) {
        usleep(PERIOD_US);
        pthread_kill(*(pthread_t *)receiver, SIGALRM);
        pthread_kill(*(pthread_t *)receiver, SIGRTMIN + 3);
    }
    return NULL;
}

static void start_sender(void)
{
    static pthread_t receiver;
    pthread_t sender;
    sigset_t all, old;
    receiver = pthread_self();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    CHECK(pthread_create(&sender, NULL, send_pairs, &receiver) == 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    int bad = 0;
    epoll = epoll_create1(0);
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGRTMIN + 3, &action, NULL);
    start_sender();
    for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
        int left = 0;
        for (seen = wrong = 0; seen < ROUNDS;) {
            waits[i].wait();
            left += !is_as_left();
        }
        printf("%s: %s in the handler, %s after it\n", waits[i].name, wrong ? "wrong" : "right",
               left ? "wrong" : "right");
        bad |= wrong || left;
    }
    return bad;
}
