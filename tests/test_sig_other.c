/*
 * Walks of blocked threads from outside, with nothing but sp and pc, held to what the same thread's own
 * handler sees right after: address by address, thousands of times. And of threads that are ending.
 *
 * A pair counts when the thread has not run in between (its run count), and the walk has reached the root;
 * a walk may end early, but what it has found must be there.
 */
#include "unit.h"
#include "arch.h"
#include "arena.h"
#include "clock.h"
#include "modules.h"
#include "sig_handler.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CAPACITY = 256, COPY_BYTES = 65536, ROUNDS = 200, LEVELS = 12 };

static struct sig_slot memory[1];
static uint64_t addresses[CAPACITY], other_addresses[CAPACITY];
static uint64_t copied_words[COPY_BYTES / sizeof(uint64_t)];
static struct sig_stack_copy copy = {
    .words = copied_words, .capacity_bytes = COPY_BYTES, .mem_descriptor = -1};
static struct sig_slots slots;
static struct wp_arena arena;
static struct wp_modules modules;

static int setup_group(void **state)
{
    (void)state;
    sig_slots_init(&slots, memory, 1, addresses, CAPACITY);
    if (arena_init(&arena, 1 << 20) < 0 || modules_init(&modules, &arena) < 0)
        return -1;
    sig_handler_publish_modules(modules_table(&modules), sig_handler_unloads().ended, UINT64_MAX);
    return sig_handler_install(SIGPROF, &slots, 0xabcd, sigaction);
}

/* ---- threads that wait ---- */

enum wait_kind { IN_READ, IN_POLL, IN_EPOLL, IN_SLEEP, IN_FUTEX, IN_SIGWAIT, WAIT_KINDS };

struct waiter {
    pthread_t thread;
    pid_t tid; /* atomic; 0 before it is there */
    enum wait_kind kind;
    int pipe[2], epoll;
    sem_t semaphore;
    bool is_done; /* atomic */
};

static void wait_once(struct waiter *waiter)
{
    struct pollfd polled = {.fd = waiter->pipe[0], .events = POLLIN};
    struct epoll_event event;
    struct timespec long_time = {.tv_sec = 1000};
    char byte;
    switch (waiter->kind) {
    case IN_READ:
        (void)!read(waiter->pipe[0], &byte, 1);
        break;
    case IN_POLL:
        poll(&polled, 1, -1);
        break;
    case IN_EPOLL:
        epoll_wait(waiter->epoll, &event, 1, -1);
        break;
    case IN_SLEEP:
        nanosleep(&long_time, NULL);
        break;
    default:
        sem_wait(&waiter->semaphore);
        break;
    }
}

/* Calls that the kernel does not restart come back from the handler's signal: the waiter goes in again. */
__attribute__((noinline)) static int wait_here(struct waiter *waiter)
{
    int times = 0;
    do {
        wait_once(waiter);
        times++;
    } while (!__atomic_load_n(&waiter->is_done, __ATOMIC_ACQUIRE));
    return times;
}

typedef int chain_fn(struct waiter *waiter, int levels);

__attribute__((noinline)) static int plain(struct waiter *waiter, int levels)
{
    volatile char padding[40] = {(char)levels};
    int result = levels > 0 ? plain(waiter, levels - 1) : wait_here(waiter);
    return result + padding[1];
}

/* Who asks for its frame's address has a frame pointer, by which its table counts. */
__attribute__((noinline)) static int by_frame_pointer(struct waiter *waiter, int levels)
{
    void *volatile frame = __builtin_frame_address(0);
    int result = levels > 0 ? by_frame_pointer(waiter, levels - 1) : wait_here(waiter);
    return result + (frame == NULL);
}

/* A frame of varying size, a realigned one. */
__attribute__((noinline)) static int odd(struct waiter *waiter, int levels)
{
    _Alignas(64) volatile char aligned[64];
    char *variable = __builtin_alloca((size_t)levels * 16 + 16);
    variable[0] = aligned[0] = (char)levels;
    int result = levels > 0 ? odd(waiter, levels - 1) : wait_here(waiter);
    __asm__ volatile("" : : "r"(variable), "r"(aligned));
    return result;
}

static chain_fn *const chains[] = {plain, by_frame_pointer, odd};
static const char *const chain_names[] = {"plain", "by frame pointer", "odd"};
static const char *const kind_names[] = {"read", "poll", "epoll", "sleep", "futex", "sigwait"};

static chain_fn *chain_to_go;

static void *run_waiter(void *argument)
{
    struct waiter *waiter = argument;
    __atomic_store_n(&waiter->tid, gettid(), __ATOMIC_RELEASE);
    chain_to_go(waiter, LEVELS);
    return NULL;
}

static void start(struct waiter *waiter, enum wait_kind kind, chain_fn *chain)
{
    struct epoll_event event = {.events = EPOLLIN};
    *waiter = (struct waiter){.kind = kind};
    assert_int_equal(pipe(waiter->pipe), 0);
    waiter->epoll = epoll_create1(0);
    epoll_ctl(waiter->epoll, EPOLL_CTL_ADD, waiter->pipe[0], &event);
    sem_init(&waiter->semaphore, 0, 0);
    chain_to_go = chain;
    assert_int_equal(pthread_create(&waiter->thread, NULL, run_waiter, waiter), 0);
    while (__atomic_load_n(&waiter->tid, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
}

static void ignore(int number)
{
    (void)number;
}

static void stop(struct waiter *waiter)
{
    __atomic_store_n(&waiter->is_done, true, __ATOMIC_RELEASE);
    assert_int_equal(write(waiter->pipe[1], "x", 1), 1);
    sem_post(&waiter->semaphore);
    pthread_kill(waiter->thread, SIGUSR2);
    pthread_join(waiter->thread, NULL);
    close(waiter->pipe[0]);
    close(waiter->pipe[1]);
    close(waiter->epoll);
    sem_destroy(&waiter->semaphore);
}

/* ---- what the kernel says of a thread ---- */

static size_t read_task_file(pid_t tid, const char *name, char *text, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/%s", tid, name);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = descriptor >= 0 ? read(descriptor, text, bytes - 1) : -1;
    if (descriptor >= 0)
        close(descriptor);
    text[got > 0 ? got : 0] = '\0';
    return got > 0 ? (size_t)got : 0;
}

/* How often it has been put on a CPU; 0 when that is not known. */
static uint64_t run_count(pid_t tid)
{
    char text[128];
    uint64_t run_ns, wait_ns, count;
    read_task_file(tid, "schedstat", text, sizeof(text));
    return sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &run_ns, &wait_ns, &count) == 3 ? count : 0;
}

static uint64_t arguments[6];

/* False when the thread is running, is on its way out, or is gone. */
static bool read_place(pid_t tid, struct sig_place *ret)
{
    char text[256];
    long number;
    read_task_file(tid, "syscall", text, sizeof(text));
    ret->arguments = arguments;
    int got = sscanf(text,
                     "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
                     " %" SCNx64,
                     &number, &arguments[0], &arguments[1], &arguments[2], &arguments[3], &arguments[4],
                     &arguments[5], &ret->sp, &ret->pc);
    return got == 9 && ret->sp != 0 && number != SYS_exit && number != SYS_exit_group;
}

/* ---- pairs ---- */

struct counts {
    int pairs, whole, different;
};

static void walk_other(const struct sig_place *place, struct sig_other *ret)
{
    *ret = (struct sig_other){
        .place = *place, .copy = &copy, .addresses = other_addresses, .capacity = CAPACITY};
    sig_handler_walk_other(ret);
    copy.expected_bytes = ret->bytes;
}

static const struct sig_slot *ask(pid_t tid)
{
    uint64_t generation;
    int index = sig_slots_arm(&slots, 0, 0, NULL, &generation);
    assert_int_equal(sig_handler_send(tid, (uint32_t)index, generation), 0);
    sig_slots_wait(&slots, clock_monotonic_ns() + 10ULL * NS_PER_S);
    assert_true(sig_slots_is_done(&slots, (uint32_t)index));
    sig_slots_release(&slots, (uint32_t)index);
    return &memory[index];
}

/* The handler interrupts at the instruction behind the system call, or when that is to be restarted at it. */
static bool is_same(const struct sig_other *other, const struct sig_slot *slot)
{
    const uint64_t restart_bytes = sizeof(uint16_t);
    bool is_first_same = other->addresses[0] == slot->addresses[0] ||
                         other->addresses[0] == slot->addresses[0] + restart_bytes;
    bool is_long_enough =
        other->end == SIG_UNWIND_ROOT ? other->depth == slot->depth : other->depth <= slot->depth;
    return is_first_same && is_long_enough &&
           memcmp(other->addresses + 1, slot->addresses + 1, sizeof(uint64_t) * (size_t)(other->depth - 1)) ==
               0;
}

static void print_pair(const struct sig_other *other, const struct sig_slot *slot)
{
    for (uint32_t i = 0; i < slot->depth || i < other->depth; i++)
        print_message("%3u %16" PRIx64 " %16" PRIx64 "\n", i, i < other->depth ? other->addresses[i] : 0,
                      i < slot->depth ? slot->addresses[i] : 0);
}

/* One pair, once the thread waits. */
static void compare(pid_t tid, struct counts *counts)
{
    struct sig_place place;
    struct sig_other other;
    uint64_t count;
    for (;;) {
        count = run_count(tid);
        if (!read_place(tid, &place)) {
            usleep(50);
            continue;
        }
        walk_other(&place, &other);
        if (run_count(tid) == count)
            break;
    }
    const struct sig_slot *slot = ask(tid);
    assert_int_equal(slot->end, SIG_UNWIND_ROOT);
    counts->pairs++;
    counts->whole += other.end == SIG_UNWIND_ROOT;
    if (!is_same(&other, slot)) {
        if (counts->different++ == 0)
            print_pair(&other, slot);
    }
}

static void test_as_their_own_handlers_see_them(void **state)
{
    (void)state;
    if (!kernel_copies_memory() || run_count(gettid()) == 0)
        skip();
    struct sigaction action = {.sa_handler = ignore}; /* not SA_RESTART: it ends waits */
    sigaction(SIGUSR2, &action, NULL);
    for (size_t chain = 0; chain < sizeof(chains) / sizeof(chains[0]); chain++) {
        for (int kind = 0; kind < IN_SIGWAIT; kind++) {
            struct waiter waiter;
            struct counts counts = {0};
            start(&waiter, (enum wait_kind)kind, chains[chain]);
            for (int i = 0; i < ROUNDS; i++)
                compare(waiter.tid, &counts);
            stop(&waiter);
            print_message("%s, in %s: %d of %d to the root, %d different\n", chain_names[chain],
                          kind_names[kind], counts.whole, counts.pairs, counts.different);
            assert_int_equal(counts.different, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_their_own_handlers_see_them),
    };
    return cmocka_run_group_tests(tests, setup_group, NULL);
}
