/*
 * A service with one planted bottleneck, among an idle pool and a little other work:
 *
 *     target_answers list
 *     target_answers KIND      planted_KIND is the function that somebody would have to change
 *
 * It ends after about a second. Every wait is made by four request threads, deep in their work.
 */
#include "target.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <regex.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define PLANTED __attribute__((noinline)) static void

enum { REQUESTS = 4, POOL = 5, RUN_MS = 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, done_lock = PTHREAD_MUTEX_INITIALIZER,
                       pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER, pool_has_work = PTHREAD_COND_INITIALIZER;
static sem_t slots;
static int file, wire[2], pipe_ends[2];
static bool requests_end, peer_ends, pool_ends;
static void (*planted)(void);

/* No function of its own in a profile. */
#define NAP_MS(ms) nanosleep(&(struct timespec){.tv_nsec = (ms)*1000000L}, NULL)

PLANTED planted_mutex(void)
{
    pthread_mutex_lock(&lock);
    NAP_MS(3);
    pthread_mutex_unlock(&lock);
    KEEP_CALL();
}

PLANTED planted_rwlock(void)
{
    pthread_rwlock_wrlock(&table_lock);
    NAP_MS(3);
    pthread_rwlock_unlock(&table_lock);
    KEEP_CALL();
}

PLANTED planted_semaphore(void)
{
    sem_wait(&slots);
    NAP_MS(3);
    sem_post(&slots);
    KEEP_CALL();
}

/* For what another thread makes every 20 ms. */
PLANTED planted_condition(void)
{
    pthread_mutex_lock(&done_lock);
    pthread_cond_wait(&done, &done_lock);
    pthread_mutex_unlock(&done_lock);
    KEEP_CALL();
}

PLANTED planted_sleep(void)
{
    NAP_MS(20);
    KEEP_CALL();
}

/* For the lock of a file, which takes as long on any disk. */
PLANTED planted_file(void)
{
    static __thread int own = -1;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (own < 0)
        own = open(path, O_RDWR);
    CHECK(flock(own, LOCK_EX) == 0);
    NAP_MS(3);
    CHECK(flock(own, LOCK_UN) == 0);
    KEEP_CALL();
}

PLANTED planted_network(void)
{
    char byte;
    recv(wire[0], &byte, 1, 0);
    KEEP_CALL();
}

PLANTED planted_poll(void)
{
    struct pollfd end = {.fd = wire[0], .events = POLLIN};
    char byte;
    poll(&end, 1, 1000);
    recv(wire[0], &byte, 1, MSG_DONTWAIT);
    KEEP_CALL();
}

PLANTED planted_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        NAP_MS(30);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    KEEP_CALL();
}

PLANTED planted_running(void)
{
    for (volatile unsigned i = 0; i < 20000000; i++)
        ;
}

/* The time is in the C library. */
PLANTED planted_library(void)
{
    static char text[4096];
    regex_t expression;
    memset(text, 'a', sizeof text - 1);
    if (regcomp(&expression, "(a|b)*c", REG_EXTENDED) != 0)
        return;
    for (int i = 0; i < 20; i++)
        regexec(&expression, text, 0, NULL, 0);
    regfree(&expression);
}

PLANTED planted_copy(void)
{
    static char from[1 << 20], to[1 << 20];
    for (int i = 0; i < 500; i++) {
        memcpy(to, from, sizeof to);
        __asm__ volatile("" ::"r"(to) : "memory"); /* it is read */
    }
}

static int compare(const void *left, const void *right)
{
    return strcmp(left, right);
}

PLANTED planted_sort(void)
{
    static __thread char words[20000][8];
    for (unsigned i = 0; i < 20000; i++)
        snprintf(words[i], sizeof words[i], "%06u", i * 7919 % 20000);
    qsort(words, 20000, sizeof words[0], compare);
    KEEP_CALL();
}

KEEP_FRAME static unsigned planted_recursion_step(unsigned depth)
{
    unsigned sum = depth;
    for (volatile unsigned i = 0; i < 200; i++)
        sum += i;
    return depth ? sum + planted_recursion_step(depth - 1) : sum;
}

PLANTED planted_recursion(void)
{
    for (int i = 0; i < 200; i++)
        planted_recursion_step(200);
    KEEP_CALL();
}

PLANTED planted_allocation(void)
{
    static __thread void *pieces[1000];
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 1000; i++)
            pieces[i] = malloc((size_t)16 + (size_t)i * 37 % 2000);
        for (int i = 0; i < 1000; i++)
            free(pieces[i]);
    }
    KEEP_CALL();
}

PLANTED planted_search(void)
{
    static char text[1 << 20];
    memset(text, 'a', sizeof text - 1);
    for (int i = 0; i < 500; i++)
        CHECK(!strchr(text, 'b'));
}

PLANTED planted_format(void)
{
    char line[256];
    for (int i = 0; i < 20000; i++)
        snprintf(line, sizeof line, "%d %f %s", i, i * 0.37, "row");
    KEEP_CALL();
}

PLANTED planted_math(void)
{
    volatile double sum = 0;
    for (int i = 1; i < 500000; i++)
        sum += pow(i, 0.3);
    KEEP_CALL();
}

PLANTED planted_hash(void)
{
    volatile uint64_t hash = 1;
    for (unsigned i = 0; i < 10000000; i++)
        hash = hash * UINT64_C(6364136223846793005) + i;
}

PLANTED planted_pipe(void)
{
    char byte;
    if (read(pipe_ends[0], &byte, 1) < 0)
        die("read");
    KEEP_CALL();
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"mutex", planted_mutex},         {"rwlock", planted_rwlock},
    {"semaphore", planted_semaphore}, {"condition", planted_condition},
    {"sleep", planted_sleep},         {"file", planted_file},
    {"network", planted_network},     {"pipe", planted_pipe},
    {"poll", planted_poll},           {"child", planted_child},
    {"running", planted_running},     {"library", planted_library},
    {"copy", planted_copy},           {"sort", planted_sort},
    {"recursion", planted_recursion}, {"allocation", planted_allocation},
    {"search", planted_search},       {"format", planted_format},
    {"math", planted_math},           {"hash", planted_hash},
};

/* ---- the service ---- */

__attribute__((noinline)) static void parse(void)
{
    work_ms(1);
}

__attribute__((noinline)) static void handle(void)
{
    parse();
    planted();
    KEEP_CALL();
}

__attribute__((noinline)) static void serve(void)
{
    while (!__atomic_load_n(&requests_end, __ATOMIC_RELAXED))
        handle();
}

static void *request_thread(void *argument)
{
    serve();
    return argument;
}

/* Waits for work that does not come. */
static void *pool_thread(void *argument)
{
    pthread_mutex_lock(&pool_lock);
    while (!pool_ends)
        pthread_cond_wait(&pool_has_work, &pool_lock);
    pthread_mutex_unlock(&pool_lock);
    return argument;
}

/* What the requests wait for. */
static void *peer_thread(void *argument)
{
    while (!__atomic_load_n(&peer_ends, __ATOMIC_RELAXED)) {
        NAP_MS(20);
        pthread_cond_broadcast(&done);
        bool is_full = send(wire[1], "....", REQUESTS, MSG_DONTWAIT) < 0;
        is_full |= write(pipe_ends[1], "....", REQUESTS) < 0;
        if (is_full)
            continue;
    }
    return argument;
}

static void join_all(pthread_t *threads, int count)
{
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void end_pool(void)
{
    pthread_mutex_lock(&pool_lock);
    pool_ends = true;
    pthread_cond_broadcast(&pool_has_work);
    pthread_mutex_unlock(&pool_lock);
}

static void run_service(void)
{
    pthread_t requests[REQUESTS], pool[POOL], peer;
    for (int i = 0; i < POOL; i++)
        pthread_create(&pool[i], NULL, pool_thread, NULL);
    pthread_create(&peer, NULL, peer_thread, NULL);
    for (int i = 0; i < REQUESTS; i++)
        pthread_create(&requests[i], NULL, request_thread, NULL);
    NAP_MS(RUN_MS / 2);
    NAP_MS(RUN_MS / 2);
    __atomic_store_n(&requests_end, true, __ATOMIC_RELAXED);
    join_all(requests, REQUESTS);
    __atomic_store_n(&peer_ends, true, __ATOMIC_RELAXED);
    pthread_join(peer, NULL);
    end_pool();
    join_all(pool, POOL);
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/target_answers.XXXXXX";
    const char *kind = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!strcmp(kind, "list"))
            puts(kinds[i].name);
        if (!strcmp(kind, kinds[i].name))
            planted = kinds[i].run;
    }
    if (!planted)
        return strcmp(kind, "list") != 0;
    sem_init(&slots, 0, 1);
    file = mkstemp(path);
    unlink(path);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, wire) < 0 || pipe(pipe_ends) < 0 || file < 0)
        return 2;
    fcntl(pipe_ends[1], F_SETFL, O_NONBLOCK);
    run_service();
    return 0;
}
