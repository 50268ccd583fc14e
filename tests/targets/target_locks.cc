/*
 * Threads that wait for locks, and threads that hold them.
 *
 *     target_locks held [MS]
 *     target_locks swap MS
 *
 * held: every kind of lock, and what is none: each is held for MS, or until the end of its input, from when
 * all who wait for it do. Records that time only (WALLPROF_START=0). Prints the truth first, a line
 * WAITER HOLDER ON for each that waits: "-" where nobody can be named.
 *
 * swap: locks that change hands all the time, whose memory is used again, and whose holders have died. A
 * thread's name begins with its group, and only threads of one group take the same lock; those that begin
 * with "none" wait for a dead thread.
 */
#include "target.h"
#include "wallprof.h"

#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

struct Server {
    long requests;
    pthread_mutex_t lock;
    static pthread_mutex_t all;
};

pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive, checking, adaptive, inheriting, robust, both;
static pthread_mutex_t timed = PTHREAD_MUTEX_INITIALIZER, clocked = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER, quiet = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t orphan = PTHREAD_MUTEX_INITIALIZER;
static Server server = {0, PTHREAD_MUTEX_INITIALIZER};
pthread_mutex_t Server::all = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER, busy_table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t readers_wait = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static uint32_t word;
static std::mutex cxx_mutex;
static std::timed_mutex cxx_timed;
static std::shared_mutex cxx_shared;
static std::recursive_mutex cxx_recursive;
static pthread_t sleeper;

using action = std::function<void()>;

static std::atomic<int> held;
static std::atomic<bool> is_over;

static void name_this(const char *name)
{
    if (pthread_setname_np(pthread_self(), name) != 0)
        die(name);
}

static void begin(const std::string &name, action run)
{
    std::thread([name, run] {
        name_this(name.c_str());
        run();
    }).detach();
}

static void sleep_on()
{
    while (!is_over)
        usleep(10000);
}

static void make_mutex(pthread_mutex_t *mutex, int type, int protocol, int robustness, int is_shared)
{
    pthread_mutexattr_t attributes;
    CHECK(pthread_mutexattr_init(&attributes) == 0);
    CHECK(pthread_mutexattr_settype(&attributes, type) == 0);
    CHECK(pthread_mutexattr_setprotocol(&attributes, protocol) == 0);
    CHECK(pthread_mutexattr_setrobust(&attributes, robustness) == 0);
    CHECK(pthread_mutexattr_setpshared(&attributes, is_shared) == 0);
    CHECK(pthread_mutex_init(mutex, &attributes) == 0);
}

static void lock(pthread_mutex_t *mutex)
{
    CHECK(pthread_mutex_lock(mutex) == 0);
}

static timespec far_away(clockid_t clock)
{
    return timespec_of(clock_ns(clock) + 3600 * NS_PER_S);
}

/* ---- held ---- */

/* Whether a thread waits in futex for a word of an object. */
static bool waits_for(pid_t tid, const void *object, size_t bytes)
{
    char path[64], line[256] = "";
    unsigned long number = 0, at = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", (int)tid);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    bool is_read = fgets(line, sizeof line, file) && sscanf(line, "%lu 0x%lx", &number, &at) == 2;
    fclose(file);
    return is_read && number == SYS_futex && at - (unsigned long)object < bytes;
}

struct waiter {
    std::string name, holder, on;
    const void *object; /* nullptr: any futex */
    size_t bytes;
    std::atomic<pid_t> tid;
};

static std::vector<waiter *> waiters;

static void begin_waiter(const std::string &name, const std::string &holder, const std::string &on,
                         const void *object, size_t bytes, action wait)
{
    waiter *one = new waiter{name, holder, on, object, bytes, {0}};
    waiters.push_back(one);
    begin(name, [one, wait] {
        one->tid = gettid();
        wait();
    });
}

/* One holds the lock, and others wait for it. */
struct lock_case {
    const char *name, *on;
    const void *object;
    size_t bytes;
    action take;
    std::vector<action> waits;
};

static void begin_case(const lock_case &one)
{
    const int before = held;
    const std::string holder = std::string("h-") + one.name;
    begin(holder, [one] {
        one.take();
        held++;
        sleep_on();
    });
    while (held == before)
        usleep(1000);
    for (size_t i = 0; i < one.waits.size(); i++)
        begin_waiter(std::string("w") + std::to_string(i) + "-" + one.name, holder, one.on, one.object,
                     one.bytes, one.waits[i]);
}

KEEP_FRAME static void append_to_journal(pthread_mutex_t *mutex)
{
    lock(mutex);
    KEEP_CALL();
}

static void begin_mutexes()
{
    const size_t bytes = sizeof(pthread_mutex_t);
    struct {
        const char *name, *on;
        pthread_mutex_t *mutex;
    } const plain[] = {{"normal", "mutex normal", &normal},
                       {"recursive", "mutex recursive", &recursive},
                       {"checking", "mutex checking", &checking},
                       {"adaptive", "mutex adaptive", &adaptive},
                       {"inheriting", "mutex inheriting", &inheriting},
                       {"robust", "mutex robust", &robust},
                       {"both", "mutex both", &both},
                       {"member", "mutex server+8", &server.lock},
                       {"class", "mutex Server::all", &Server::all}};
    make_mutex(&recursive, PTHREAD_MUTEX_RECURSIVE, 0, 0, 0);
    make_mutex(&checking, PTHREAD_MUTEX_ERRORCHECK, 0, 0, 0);
    make_mutex(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0, 0);
    make_mutex(&inheriting, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0, 0);
    make_mutex(&robust, PTHREAD_MUTEX_NORMAL, 0, PTHREAD_MUTEX_ROBUST, 0);
    make_mutex(&both, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ROBUST, 0);
    for (const auto &one : plain) {
        const action take = [one] { lock(one.mutex); };
        begin_case({one.name, one.on, one.mutex, bytes, take, {take, take}});
    }
    begin_case({"timed", "mutex timed", &timed, bytes, [] { lock(&timed); }, {[] {
                    timespec end = far_away(CLOCK_REALTIME);
                    pthread_mutex_timedlock(&timed, &end);
                }}});
    begin_case({"clocked", "mutex clocked", &clocked, bytes, [] { lock(&clocked); }, {[] {
                    timespec end = far_away(CLOCK_MONOTONIC);
                    pthread_mutex_clocklock(&clocked, CLOCK_MONOTONIC, &end);
                }}});
    for (const char *name : {"heap", "heap2"}) {
        pthread_mutex_t *mutex = static_cast<pthread_mutex_t *>(malloc(bytes));
        make_mutex(mutex, PTHREAD_MUTEX_NORMAL, 0, 0, 0);
        begin_case({name, "mutex in append_to_journal*", mutex, bytes, [mutex] { lock(mutex); }, {[mutex] {
                        append_to_journal(mutex);
                    }}});
    }
    begin_case(
        {"cxx", "mutex cxx_mutex", &cxx_mutex, bytes, [] { cxx_mutex.lock(); }, {[] { cxx_mutex.lock(); }}});
    begin_case({"cxx_timed",
                "mutex cxx_timed",
                &cxx_timed,
                bytes,
                [] { cxx_timed.lock(); },
                {[] { cxx_timed.lock(); }, [] { (void)cxx_timed.try_lock_for(std::chrono::hours(1)); }}});
    begin_case({"cxx_again", "mutex cxx_recursive", &cxx_recursive, bytes, [] { cxx_recursive.lock(); }, {[] {
                    cxx_recursive.lock();
                }}});
}

static void begin_rwlocks()
{
    const size_t bytes = sizeof(pthread_rwlock_t);
    const action timed_write = [] {
        timespec end = far_away(CLOCK_REALTIME);
        pthread_rwlock_timedwrlock(&table, &end);
    };
    begin_case({"table",
                "rwlock table",
                &table,
                bytes,
                [] { pthread_rwlock_wrlock(&table); },
                {[] { pthread_rwlock_wrlock(&table); }, [] { pthread_rwlock_rdlock(&table); }, timed_write}});
    begin_case({"cxx_shared",
                "rwlock cxx_shared",
                &cxx_shared,
                bytes,
                [] { cxx_shared.lock(); },
                {[] { cxx_shared.lock(); }, [] { cxx_shared.lock_shared(); }}});
    pthread_rwlock_rdlock(&busy_table);
    pthread_rwlock_rdlock(&readers_wait);
    begin_waiter("w-busy", "-", "rwlock busy_table", &busy_table, bytes,
                 [] { pthread_rwlock_wrlock(&busy_table); });
    begin_waiter("w-writer", "-", "rwlock readers_wait", &readers_wait, bytes,
                 [] { pthread_rwlock_wrlock(&readers_wait); });
}

/* A mutex is waited for again after its condition, and three threads wait for one another. */
static void begin_more_mutexes()
{
    const size_t bytes = sizeof(pthread_mutex_t);
    begin_waiter("w-again", "h-again", "mutex guard", &guard, bytes, [] {
        lock(&guard);
        pthread_cond_wait(&condition, &guard);
    });
    const int before = held;
    const waiter *again = waiters.back();
    begin("h-again", [again] {
        while (!waits_for(again->tid, &condition, sizeof condition))
            usleep(1000);
        lock(&guard);
        pthread_cond_broadcast(&condition);
        held++;
        sleep_on();
    });
    while (held < before + 1)
        usleep(1000);
    begin_case({"first", "mutex first", &first, bytes, [] { lock(&first); }, {}});
    const int chained = held;
    begin_waiter("w-chain", "h-first", "mutex first", &first, bytes, [] {
        lock(&second);
        held++;
        lock(&first);
    });
    while (held == chained)
        usleep(1000);
    begin_waiter("w-end", "w-chain", "mutex second", &second, bytes, [] { lock(&second); });
    std::thread([] { lock(&orphan); }).join();
    begin_waiter("w-orphan", "-", "mutex orphan", &orphan, bytes, [] { lock(&orphan); });
}

static void begin_others()
{
    sem_init(&semaphore, 0, 0);
    pthread_barrier_init(&barrier, nullptr, 2);
    begin_waiter("w-cond", "-", "cond never", &never, sizeof never, [] {
        lock(&quiet);
        pthread_cond_wait(&never, &quiet);
    });
    begin_waiter("w-cond-timed", "-", "cond never", &never, sizeof never, [] {
        timespec end = far_away(CLOCK_REALTIME);
        lock(&quiet);
        pthread_cond_timedwait(&never, &quiet, &end);
    });
    begin_waiter("w-sem", "-", "sem semaphore", &semaphore, sizeof semaphore, [] { sem_wait(&semaphore); });
    begin_waiter("w-sem-timed", "-", "sem semaphore", &semaphore, sizeof semaphore, [] {
        timespec end = far_away(CLOCK_REALTIME);
        sem_timedwait(&semaphore, &end);
    });
    begin_waiter("w-barrier", "-", "barrier barrier", &barrier, sizeof barrier,
                 [] { pthread_barrier_wait(&barrier); });
    CHECK(pthread_create(
              &sleeper, nullptr,
              [](void *) -> void * {
                  name_this("sleeper");
                  sleep_on();
                  return nullptr;
              },
              nullptr) == 0);
    begin_waiter("w-join", "-", "join sleeper", nullptr, 0, [] { pthread_join(sleeper, nullptr); });
    begin_waiter("w-futex", "-", "futex word", &word, sizeof word,
                 [] { syscall(SYS_futex, &word, FUTEX_WAIT, 0, nullptr, nullptr, 0); });
}

/* A lock between processes: its holder is in a child, and another one's is here. */
static pid_t begin_shared()
{
    const size_t bytes = sizeof(pthread_mutex_t);
    void *memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutex_t *mutexes = static_cast<pthread_mutex_t *>(memory);
    make_mutex(&mutexes[0], PTHREAD_MUTEX_NORMAL, 0, 0, PTHREAD_PROCESS_SHARED);
    make_mutex(&mutexes[1], PTHREAD_MUTEX_NORMAL, 0, 0, PTHREAD_PROCESS_SHARED);
    std::atomic<int> *is_held = new (&mutexes[2]) std::atomic<int>(0);
    const pid_t child = fork();
    if (child == 0) {
        name_this("h-child");
        lock(&mutexes[0]);
        *is_held = 1;
        pause();
        _exit(0);
    }
    while (!*is_held)
        usleep(1000);
    begin_waiter("w-child", "h-child (pid " + std::to_string(child) + ")", "mutex in append_to_journal*",
                 &mutexes[0], bytes, [mutexes] { append_to_journal(&mutexes[0]); });
    begin_case({"shared",
                "mutex in append_to_journal*",
                &mutexes[1],
                bytes,
                [mutexes] { lock(&mutexes[1]); },
                {[mutexes] { append_to_journal(&mutexes[1]); }}});
    return child;
}

static void tell()
{
    for (const waiter *one : waiters)
        printf("%s\t%s\t%s\n", one->name.c_str(), one->holder.c_str(), one->on.c_str());
    fflush(stdout);
}

static void await_end_of_input()
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
}

/* ms: for so long; 0: until the end of its input. */
static void hold(uint64_t ms)
{
    const pid_t child = begin_shared();
    begin_mutexes();
    begin_rwlocks();
    begin_more_mutexes();
    begin_others();
    for (const waiter *one : waiters) {
        while (!one->tid || !(one->object ? waits_for(one->tid, one->object, one->bytes)
                                          : waits_for(one->tid, nullptr, SIZE_MAX)))
            usleep(1000);
    }
    tell();
    wallprof_start();
    if (ms)
        usleep((useconds_t)(ms * 1000));
    else
        await_end_of_input();
    wallprof_stop();
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    _exit(failures != 0);
}

/* ---- swap ---- */

/* Three threads of a group hand a mutex over, as often as they can. */
static void hand_over(pthread_mutex_t *mutex)
{
    for (volatile int i = 0; i < 50; i++)
        ;
    lock(mutex);
    for (volatile int i = 0; i < 200; i++)
        ;
    pthread_mutex_unlock(mutex);
}

static void begin_group(std::vector<std::thread> &threads, const std::string &group, action step)
{
    for (char which = 'a'; which <= 'c'; which++) {
        threads.emplace_back([group, which, step] {
            name_this((group + "-" + which).c_str());
            while (!is_over)
                step();
        });
    }
}

/* Two groups take turns with the same memory: in it a lock is made, used, and unmade. */
static void use_again(std::atomic<int> *stop, pthread_mutex_t *mutex, const std::string &group)
{
    std::vector<std::thread> threads;
    pthread_mutex_init(mutex, nullptr);
    *stop = 0;
    for (char which = 'a'; which <= 'c'; which++)
        threads.emplace_back([=] {
            name_this((group + "-" + which).c_str());
            while (!*stop)
                hand_over(mutex);
        });
    usleep(20000);
    *stop = 1;
    for (std::thread &thread : threads)
        thread.join();
    pthread_mutex_destroy(mutex);
}

/* One that has ended holds it: who waits for it gives up after a while. */
static void wait_for_dead(pthread_rwlock_t *rwlock)
{
    pthread_rwlock_init(rwlock, nullptr);
    std::thread([=] {
        name_this("dead");
        pthread_rwlock_wrlock(rwlock);
    }).join();
    std::thread([=] {
        timespec end = timespec_of(clock_ns(CLOCK_REALTIME) + 20 * NS_PER_MS);
        name_this("none");
        pthread_rwlock_timedwrlock(rwlock, &end);
    }).join();
}

static void swap(uint64_t ms)
{
    static pthread_mutex_t mutexes[3];
    static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    std::vector<std::thread> threads;
    make_mutex(&mutexes[0], PTHREAD_MUTEX_NORMAL, 0, 0, 0);
    make_mutex(&mutexes[1], PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0, 0);
    make_mutex(&mutexes[2], PTHREAD_MUTEX_NORMAL, 0, PTHREAD_MUTEX_ROBUST, 0);
    for (size_t i = 0; i < 3; i++)
        begin_group(threads, "mutex" + std::to_string(i), [i] { hand_over(&mutexes[i]); });
    begin_group(threads, "rwlock", [] {
        pthread_rwlock_wrlock(&rwlock);
        for (volatile int i = 0; i < 200; i++)
            ;
        pthread_rwlock_unlock(&rwlock);
    });
    std::thread again([] {
        std::atomic<int> stop(0);
        for (int i = 0; !is_over; i++) {
            pthread_mutex_t *mutex = static_cast<pthread_mutex_t *>(malloc(sizeof *mutex));
            use_again(&stop, mutex, i % 2 ? "odd" : "even");
            free(mutex);
        }
    });
    std::thread dead([] {
        static pthread_rwlock_t left_locked;
        while (!is_over)
            wait_for_dead(&left_locked);
    });
    usleep((useconds_t)(ms * 1000));
    is_over = true;
    for (std::thread &thread : threads)
        thread.join();
    again.join();
    dead.join();
}

int main(int argc, char **argv)
{
    const uint64_t ms = argc == 3 ? strtoull(argv[2], nullptr, 10) : 0;
    const bool is_held = argc > 1 && strcmp(argv[1], "held") == 0;
    if (ms == 0 && !(is_held && argc == 2)) {
        fprintf(stderr, "usage: target_locks held [MS] | swap MS\n");
        return 2;
    }
    if (is_held)
        hold(ms);
    else
        swap(ms);
    return failures != 0;
}
