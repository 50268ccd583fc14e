/*
 * Waits that are left otherwise than by their end, for e2e_leaving.sh: by siglongjmp out of a handler, by
 * pthread_exit in one, by cancellation. Afterwards the thread's mask is what it was, and it waits again at
 * the same depth of the stack, in calls that pass no hook too.
 *
 *     target_leaving ROUNDS
 *
 * Prints, for each kind of wait and each way to leave it, how many rounds were right; status 1 when one was
 * not.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

enum { LONG_S = 60, CANCEL_SIGNAL = 32, SETXID_SIGNAL = 33 };

enum way { BY_JUMP, BY_EXIT, BY_CANCEL, BY_CANCEL_AT_ONCE, WAYS };
static const char *const way_names[WAYS] = {"jump", "exit", "cancel", "cancel-at-once"};

static int queue; /* of messages, always empty */

static struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec moment;
    clock_gettime(clock, &moment);
    moment.tv_nsec += ms % 1000 * 1000000;
    moment.tv_sec += ms / 1000 + moment.tv_nsec / 1000000000;
    moment.tv_nsec %= 1000000000;
    return moment;
}

/* ---- the waits: for ever, as far as this program goes ---- */

static void wait_nanosleep(void)
{
    struct timespec time = {.tv_sec = LONG_S};
    nanosleep(&time, NULL);
}

static void wait_until(void)
{
    struct timespec moment = in_ms(CLOCK_MONOTONIC, LONG_S * 1000);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL);
}

static void wait_poll(void)
{
    poll(NULL, 0, LONG_S * 1000);
}

static void wait_ppoll(void)
{
    ppoll(NULL, 0, NULL, NULL);
}

static void wait_select(void)
{
    struct timeval time = {.tv_sec = LONG_S};
    select(0, NULL, NULL, NULL, &time);
}

static void wait_pselect(void)
{
    struct timespec time = {.tv_sec = LONG_S};
    pselect(0, NULL, NULL, NULL, &time, NULL);
}

static __thread int epoll;

static void wait_epoll(void)
{
    struct epoll_event event;
    epoll_wait(epoll, &event, 1, LONG_S * 1000);
}

static void wait_semaphore(void)
{
    sem_t semaphore;
    struct timespec moment = in_ms(CLOCK_REALTIME, LONG_S * 1000);
    sem_init(&semaphore, 0, 0);
    sem_timedwait(&semaphore, &moment);
}

static void wait_message(void)
{
    struct {
        long type;
        char text[8];
    } message;
    msgrcv(queue, &message, sizeof(message.text), 1, 0);
}

static void wait_pause(void)
{
    pause();
}

static void wait_signal(void)
{
    sigset_t set;
    struct timespec time = {.tv_sec = LONG_S};
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigtimedwait(&set, NULL, &time);
}

static void wait_suspended(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigsuspend(&none);
}

static const struct kind {
    const char *name;
    void (*wait)(void);
} kinds[] = {{"nanosleep", wait_nanosleep}, {"until", wait_until},         {"poll", wait_poll},
             {"ppoll", wait_ppoll},         {"select", wait_select},       {"pselect", wait_pselect},
             {"epoll", wait_epoll},         {"semaphore", wait_semaphore}, {"message", wait_message},
             {"pause", wait_pause},         {"signal", wait_signal},       {"suspended", wait_suspended}};

/* ---- afterwards ---- */

/* Whether the thread blocks nothing; the C library blocks its own signal while it cancels. */
static bool blocks_nothing(void)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (number != CANCEL_SIGNAL && number != SETXID_SIGNAL && sigismember(&now, number) == 1)
            return false;
    }
    return true;
}

/* The C library waits without a hook here; that this was interrupted does not matter. */
static bool waits_unhooked(long ms)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec moment = in_ms(CLOCK_REALTIME, ms);
    pthread_mutex_lock(&mutex);
    int error = pthread_cond_timedwait(&condition, &mutex, &moment);
    pthread_mutex_unlock(&mutex);
    return error == ETIMEDOUT;
}

static bool waits_hooked(void)
{
    struct timespec time = {.tv_nsec = 500000}, moment = in_ms(CLOCK_REALTIME, 1);
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    return nanosleep(&time, NULL) == 0 && poll(NULL, 0, 1) == 0 && sem_timedwait(&semaphore, &moment) == -1 &&
           errno == ETIMEDOUT;
}

/* ---- a thread that waits and is made to leave ---- */

struct leaving {
    const struct kind *kind;
    enum way way;
    int rounds;
    unsigned seed;
    pthread_t thread; /* in the wait */
    atomic_bool has_left, is_ready;
    atomic_int right;
};

static __thread struct leaving *own;
static __thread sigjmp_buf before;
static pthread_key_t key;

static void on_signal(int number)
{
    if (own->way == BY_EXIT)
        pthread_exit(own);
    siglongjmp(before, number);
}

/* In the middle of the thread's end; cancellation is over, waits are not. */
static void clean_up(void *data)
{
    struct leaving *leaving = data;
    bool is_right = blocks_nothing() && waits_unhooked(1) && waits_hooked();
    close(epoll);
    atomic_fetch_add(&leaving->right, is_right);
    atomic_store(&leaving->has_left, true);
}

static void at_end(void *data)
{
    struct leaving *leaving = data;
    if (!waits_hooked() || !waits_unhooked(1))
        atomic_fetch_sub(&leaving->right, 1);
}

/* The waits before and after are called at one depth:
 * the second meets what the first has left on the stack. */
__attribute__((noinline)) static void leave_by_jump(struct leaving *leaving)
{
    if (sigsetjmp(before, 1) == 0) {
        atomic_store(&leaving->is_ready, true);
        for (;;)
            leaving->kind->wait();
    }
    atomic_store(&leaving->is_ready, false);
    atomic_store(&leaving->has_left, true);
    bool is_right = blocks_nothing() && waits_unhooked(2) && waits_hooked() && blocks_nothing();
    atomic_fetch_add(&leaving->right, is_right);
}

static void *wait_to_leave(void *volatile leaving)
{
    own = leaving;
    epoll = epoll_create1(EPOLL_CLOEXEC);
    pthread_setspecific(key, own);
    if (own->way == BY_CANCEL_AT_ONCE)
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_cleanup_push(clean_up, own);
    atomic_store(&own->is_ready, true);
    while (own->way != BY_CANCEL_AT_ONCE)
        own->kind->wait();
    for (;;)
        ;
    pthread_cleanup_pop(0);
    return NULL;
}

static void pause_us(struct leaving *leaving, int most)
{
    usleep((unsigned)rand_r(&leaving->seed) % (unsigned)most);
}

static void *keep_leaving(void *data)
{
    own = data;
    epoll = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < own->rounds; i++)
        leave_by_jump(own);
    close(epoll);
    return NULL;
}

/* One thread for all rounds: each leaves what the next one finds. */
static void make_jump(struct leaving *leaving)
{
    pthread_create(&leaving->thread, NULL, keep_leaving, leaving);
    for (int i = 0; i < leaving->rounds; i++) {
        while (!atomic_load(&leaving->is_ready))
            usleep(100);
        pause_us(leaving, 1500);
        atomic_store(&leaving->has_left, false);
        pthread_kill(leaving->thread, SIGUSR1);
        while (!atomic_load(&leaving->has_left))
            usleep(100);
    }
    pthread_join(leaving->thread, NULL);
}

static void make_end(struct leaving *leaving)
{
    void *result;
    leaving->is_ready = leaving->has_left = false;
    if (pthread_create(&leaving->thread, NULL, wait_to_leave, leaving) != 0)
        exit(2);
    while (!atomic_load(&leaving->is_ready))
        usleep(100);
    pause_us(leaving, 1500);
    if (leaving->way == BY_EXIT)
        pthread_kill(leaving->thread, SIGUSR1);
    else
        pthread_cancel(leaving->thread);
    pthread_join(leaving->thread, &result);
    if (result != (leaving->way == BY_EXIT ? (void *)leaving : PTHREAD_CANCELED) || !leaving->has_left)
        atomic_fetch_sub(&leaving->right, 1);
}

static void *direct(void *data)
{
    struct leaving *leaving = data;
    if (leaving->way == BY_JUMP)
        make_jump(leaving);
    for (int i = 0; leaving->way != BY_JUMP && i < leaving->rounds; i++)
        make_end(leaving);
    return NULL;
}

/* All kinds at once, one way after the other. */
static bool leave_by(enum way way, int rounds)
{
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    static struct leaving all[KINDS];
    pthread_t directors[KINDS];
    bool is_right = true;
    for (unsigned i = 0; i < KINDS; i++) {
        all[i] = (struct leaving){.kind = &kinds[i], .way = way, .rounds = rounds, .seed = i + 1};
        pthread_create(&directors[i], NULL, direct, &all[i]);
    }
    for (unsigned i = 0; i < KINDS; i++) {
        pthread_join(directors[i], NULL);
        printf("%s %s %d of %d\n", way_names[way], kinds[i].name, atomic_load(&all[i].right), rounds);
        is_right &= all[i].right == rounds;
    }
    return is_right;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 50;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER};
    bool is_right = true;
    setvbuf(stdout, NULL, _IOLBF, 0);
    queue = msgget(IPC_PRIVATE, 0600);
    pthread_key_create(&key, at_end);
    sigaction(SIGUSR1, &action, NULL);
    for (enum way way = 0; way < WAYS; way++)
        is_right &= leave_by(way, rounds);
    msgctl(queue, IPC_RMID, NULL);
    return !is_right;
}
