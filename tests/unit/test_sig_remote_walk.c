/*
 * Walks of blocked threads from outside, with nothing but sp and pc, held to what the same thread's own
 * handler sees right after: address by address, thousands of times. And of threads that are ending.
 *
 * A pair counts when the thread has not run in between (its run count). A walk may end early, for want of a
 * register, but what it has found must be there.
 */
/* test: not-emulated */
#include "lib/unit.h"
#include "lib/arch.h"
#include "base/arena.h"
#include "base/clock.h"
#include "modules/modules.h"
#include "sig/cfi/sig_eh_frame.h"
#include "sig/ground/sig_unloads.h"
#include "sig/signal/sig_request.h"
#include "sig/signal/sig_setup.h"
#include "sig/walk/sig_remote_walk.h"
#include "sig/walk/sig_walk_tables.h"

#include <dirent.h>
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
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CAPACITY = 256, COPY_BYTES = 65536, ROUNDS = 200, LEVELS = 12, STACK_BYTES = 65536 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_INSTRUMENTED = 1 };
#else
enum { IS_INSTRUMENTED = 0 };
#endif

static struct sig_slot memory[1];
static uint64_t addresses[CAPACITY], other_addresses[CAPACITY];
static uint64_t copied_words[COPY_BYTES / sizeof(uint64_t)];
static struct sig_stack_copy copy = {
    .words = copied_words, .capacity_bytes = COPY_BYTES, .mem_descriptor = -1};
static struct sig_slots slots;
static struct arena arena;
static struct modules modules;

static int setup_group(void **state)
{
    sig_slots_init(&slots, memory, 1, addresses, CAPACITY);
    if (arena_init(&arena, 1 << 20) < 0 || modules_init(&modules, &arena) < 0)
        return -1;
    sig_walk_tables_publish(modules_table(&modules), sig_unloads_read().ended, UINT64_MAX);
    return sig_setup_install(SIGPROF, &slots, 0xabcd, sigaction);
}

/* ---- threads that wait ---- */

enum wait_kind {
    IN_READ,
    IN_POLL,
    IN_EPOLL,
    IN_SLEEP,
    IN_FUTEX,
    IN_SYSCALL,  /* the rest without anybody who saves the frame pointer: called by one, */
    IN_ASSEMBLY, /* by none, */
    IN_VARYING,  /* by one whose frame varies in size */
    WAIT_KINDS
};

struct waiter {
    pthread_t thread;
    pid_t tid; /* atomic; 0 before it is there */
    enum wait_kind kind;
    int pipe[2], epoll;
    sem_t semaphore;
    bool is_done; /* atomic */
};

/* Who asks for its frame's address has a frame pointer, by which its table counts. */
__attribute__((noinline)) static long read_by_stub(int descriptor, void *to, size_t bytes)
{
    void *volatile frame = __builtin_frame_address(0);
    long result = syscall(SYS_read, descriptor, to, bytes);
    return frame ? result : 0;
}

__attribute__((noinline)) static long read_with_room(int descriptor, void *to, size_t bytes, int room)
{
    volatile char *variable = __builtin_alloca((size_t)room * 16 + 16);
    variable[0] = (char)room;
    long result = syscall(SYS_read, descriptor, to, bytes);
    return variable[0] == 1 ? 0 : result;
}

__attribute__((noinline)) static long read_by_assembly(int descriptor, void *to, size_t bytes)
{
    void *volatile frame = __builtin_frame_address(0);
    long result = sig_syscall4(SYS_read, descriptor, (long)to, (long)bytes, 0);
    return frame ? result : 0;
}

static void wait_once(struct waiter *waiter, int times)
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
    case IN_FUTEX:
        sem_wait(&waiter->semaphore);
        break;
    case IN_SYSCALL:
        read_by_stub(waiter->pipe[0], &byte, 1);
        break;
    case IN_ASSEMBLY:
        read_by_assembly(waiter->pipe[0], &byte, 1);
        break;
    default:
        read_with_room(waiter->pipe[0], &byte, 1, times % 9);
        break;
    }
}

/* Calls that the kernel does not restart come back from a signal: the waiter goes in again. */
__attribute__((noinline)) static int wait_here(struct waiter *waiter)
{
    int times = 0;
    do {
        wait_once(waiter, times);
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

enum { PLAIN, BY_FRAME_POINTER, ODD, CHAINS };

static chain_fn *const chains[CHAINS] = {plain, by_frame_pointer, odd};
static const char *const chain_names[CHAINS] = {"plain", "by frame pointer", "odd"};
static const char *const kind_names[WAIT_KINDS] = {"read",  "poll",    "epoll",    "sleep",
                                                   "futex", "syscall", "assembly", "a varying frame"};

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
static bool read_place(pid_t tid, struct sig_blocked_regs *ret)
{
    char text[256];
    long number;
    read_task_file(tid, "syscall", text, sizeof(text));
    ret->arguments = arguments;
    ret->fp = NULL;
    int got = sscanf(text,
                     "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
                     " %" SCNx64,
                     &number, &arguments[0], &arguments[1], &arguments[2], &arguments[3], &arguments[4],
                     &arguments[5], &ret->sp, &ret->pc);
    return got == 9 && ret->sp != 0 && number != SYS_exit && number != SYS_exit_group;
}

/* ---- pairs ---- */

struct counts {
    int pairs, whole, by_distance, different;
};

static void walk_other(const struct sig_blocked_regs *place, struct sig_remote_walk *ret)
{
    *ret = (struct sig_remote_walk){
        .blocked_regs = *place, .copy = &copy, .addresses = other_addresses, .capacity = CAPACITY};
    sig_remote_walk(ret);
    copy.expected_bytes = ret->bytes;
}

static const struct sig_slot *request_sample(pid_t tid, bool learns)
{
    uint64_t generation;
    int index = sig_slots_arm(&slots, 0, 0, NULL, &generation);
    if (learns)
        sig_slots_let_learn(&slots, (uint32_t)index);
    assert_int_equal(sig_request_send(tid, (uint32_t)index, generation), 0);
    sig_slots_wait(&slots, clock_monotonic_ns() + 60ULL * NS_PER_S);
    assert_true(sig_slots_is_done(&slots, (uint32_t)index));
    sig_slots_release(&slots, (uint32_t)index);
    return &memory[index];
}

/* The handler interrupts at the instruction after the system call, or when that is to be restarted at it. */
static bool is_same(const struct sig_remote_walk *other, const struct sig_slot *slot)
{
    const uint64_t restart_bytes = SIG_CODE_ALIGN == 1 ? 2 : SIG_CODE_ALIGN;
    bool is_first_same = other->addresses[0] == slot->addresses[0] ||
                         other->addresses[0] == slot->addresses[0] + restart_bytes;
    bool is_long_enough =
        other->end == SIG_UNWIND_ROOT ? other->depth == slot->depth : other->depth <= slot->depth;
    return is_first_same && is_long_enough &&
           memcmp(other->addresses + 1, slot->addresses + 1, sizeof(uint64_t) * (size_t)(other->depth - 1)) ==
               0;
}

static void print_pair(const struct sig_remote_walk *other, const struct sig_slot *slot)
{
    for (uint32_t i = 0; i < slot->depth || i < other->depth; i++)
        print_message("%3u %16" PRIx64 " %16" PRIx64 "\n", i, i < other->depth ? other->addresses[i] : 0,
                      i < slot->depth ? slot->addresses[i] : 0);
}

/* One pair, once the thread waits. */
static void compare(pid_t tid, struct counts *counts)
{
    struct sig_blocked_regs place;
    struct sig_remote_walk other;
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
    const struct sig_slot *slot = request_sample(tid, other.end != SIG_UNWIND_ROOT);
    assert_int_equal(slot->end, SIG_UNWIND_ROOT);
    counts->pairs++;
    counts->whole += other.end == SIG_UNWIND_ROOT;
    counts->by_distance += other.by_distance;
    assert_true(other.end == SIG_UNWIND_ROOT || other.end == SIG_UNWIND_INEXPRESSIBLE);
    if (!is_same(&other, slot)) {
        if (counts->different++ == 0)
            print_pair(&other, slot);
    }
}

/* Ends its wait, once it waits (a thread that runs takes a signal without being put on a CPU again), and
 * returns when that has been seen to: until then the signal may still be on its way, and with it the
 * handler's frame. */
static void disturb(const struct waiter *waiter)
{
    struct sig_blocked_regs place;
    uint64_t before;
    do
        before = run_count(waiter->tid);
    while (!read_place(waiter->tid, &place) || run_count(waiter->tid) != before);
    pthread_kill(waiter->thread, SIGUSR2);
    while (run_count(waiter->tid) == before)
        usleep(50);
}

static void test_as_their_own_handlers_see_them(void **state)
{
    if (!kernel_copies_memory() || run_count(gettid()) == 0)
        skip();
    struct sigaction action = {.sa_handler = ignore}; /* not SA_RESTART: it ends waits */
    sigaction(SIGUSR2, &action, NULL);
    for (int chain = 0; chain < CHAINS; chain++) {
        for (int kind = 0; kind < WAIT_KINDS; kind++) {
            struct waiter waiter;
            struct counts counts = {0};
            start(&waiter, (enum wait_kind)kind, chains[chain]);
            for (int i = 0; i < ROUNDS; i++) {
                compare(waiter.tid, &counts);
                if (kind == IN_VARYING && i % 10 == 9)
                    disturb(&waiter);
            }
            stop(&waiter);
            print_message("%s, in %s: %d of %d to the root, %d of them by distance; %d different\n",
                          chain_names[chain], kind_names[kind], counts.whole, counts.pairs,
                          counts.by_distance, counts.different);
            assert_int_equal(counts.different, 0);
            if (SIG_RA_IN_EXTRA || IS_INSTRUMENTED)
                continue; /* stubs keep the return address where it is not known; frames are the sanitizer's
                           */
            assert_true(counts.by_distance > 0 || kind < IN_SYSCALL || kind == IN_VARYING);
            if (kind != IN_VARYING)
                assert_true(counts.whole >= ROUNDS - 1); /* the first signal has taught what is needed */
        }
    }
}

/* ---- what can be seen in no other way ---- */

static uint64_t function_of(uint64_t address)
{
    const struct sig_module *module = sig_modules_find(modules_table(&modules), address);
    return module ? sig_eh_frame_function_start(module, address) : 0;
}

static pid_t vfork_tid;
static int vfork_pipe[2];

__attribute__((noinline, noreturn)) static void mapped_store_as_child(void)
{
    const struct timespec most = {.tv_sec = 60};
    struct pollfd polled = {.fd = vfork_pipe[0], .events = POLLIN};
    sig_syscall6(SYS_ppoll, (long)&polled, 1, (long)&most, 0, 0, 0);
    _exit(0);
}

/* The parent cannot take a signal until the child has ended, and has its return address in a register. */
__attribute__((noinline)) static void *wait_in_vfork(void *argument)
{
    __atomic_store_n(&vfork_tid, gettid(), __ATOMIC_RELEASE);
    pid_t child = vfork();
    if (child == 0)
        mapped_store_as_child();
    waitpid(child, NULL, 0);
    return argument;
}

static bool is_in_vfork(pid_t tid, struct sig_blocked_regs *ret)
{
#ifdef SYS_vfork
    const long number = SYS_vfork;
#else
    const long number = SYS_clone;
#endif
    char text[256];
    read_task_file(tid, "syscall", text, sizeof(text));
    return read_place(tid, ret) && atol(text) == number;
}

static void test_in_vfork(void **state)
{
    pthread_t thread;
    struct sig_blocked_regs place;
    struct sig_remote_walk other;
    if (!kernel_copies_memory() || SIG_RA_IN_EXTRA || IS_INSTRUMENTED)
        skip(); /* a sanitizer puts a vfork of its own before the C library's */
    assert_int_equal(pipe(vfork_pipe), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_in_vfork, NULL), 0);
    while (!is_in_vfork(__atomic_load_n(&vfork_tid, __ATOMIC_ACQUIRE), &place))
        usleep(100);
    walk_other(&place, &other);
    assert_int_equal(other.end, SIG_UNWIND_ROOT);
    assert_int_equal(function_of(other_addresses[1]), function_of((uint64_t)(uintptr_t)wait_in_vfork));
    place.arguments = NULL;
    walk_other(&place, &other);
    assert_int_equal(other.end, SIG_UNWIND_INEXPRESSIBLE);
    assert_int_equal(other.depth, 1);
    assert_int_equal(write(vfork_pipe[1], "x", 1), 1);
    pthread_join(thread, NULL);
}

/* ---- threads that end ---- */

static bool is_churning; /* atomic */

static void *end_soon(void *argument)
{
    struct timespec time = {.tv_nsec = 20000 + (long)(uintptr_t)argument % 7 * 10000};
    nanosleep(&time, NULL);
    return NULL;
}

/* On stacks that are unmapped as soon as they are left. */
static void *churn(void *argument)
{
    enum { THREADS = 8 };
    void *stacks[THREADS];
    pthread_t threads[THREADS];
    while (__atomic_load_n(&is_churning, __ATOMIC_ACQUIRE)) {
        for (uintptr_t i = 0; i < THREADS; i++) {
            pthread_attr_t attributes;
            stacks[i] = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            pthread_attr_init(&attributes);
            pthread_attr_setstack(&attributes, stacks[i], STACK_BYTES);
            if (pthread_create(&threads[i], &attributes, end_soon, (void *)i) != 0)
                return argument;
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            munmap(stacks[i], STACK_BYTES);
        }
    }
    return NULL;
}

struct churned {
    int walks, still, whole; /* still: of a thread that has not run meanwhile */
};

static void walk_task(pid_t tid, struct churned *churned)
{
    struct sig_blocked_regs place;
    struct sig_remote_walk other;
    uint64_t before = run_count(tid);
    if (!read_place(tid, &place))
        return;
    walk_other(&place, &other);
    churned->walks++;
    if (before == 0 || run_count(tid) != before)
        return;
    churned->still++;
    churned->whole += other.end == SIG_UNWIND_ROOT;
}

static void walk_all_tasks(struct churned *churned)
{
    DIR *directory = opendir("/proc/self/task");
    assert_non_null(directory);
    for (const struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        pid_t tid = atoi(entry->d_name);
        if (tid > 0 && tid != gettid())
            walk_task(tid, churned);
    }
    closedir(directory);
}

static void test_of_threads_that_end(void **state)
{
    enum { WALKS = 5000 };
    struct churned churned = {0};
    pthread_t thread;
    void *failed;
    if (!kernel_copies_memory() || run_count(gettid()) == 0)
        skip();
    __atomic_store_n(&is_churning, true, __ATOMIC_RELEASE);
    assert_int_equal(pthread_create(&thread, NULL, churn, &churned), 0);
    while (churned.walks < WALKS)
        walk_all_tasks(&churned);
    __atomic_store_n(&is_churning, false, __ATOMIC_RELEASE);
    pthread_join(thread, &failed);
    assert_null(failed);
    print_message("%d walks, %d of threads that stood still, %d of these to the root\n", churned.walks,
                  churned.still, churned.whole);
    if (!IS_INSTRUMENTED)
        assert_int_equal(churned.whole, churned.still);
    assert_true(churned.whole > churned.still / 2); /* all, but for what a sanitizer does at a thread's end */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_their_own_handlers_see_them),
        cmocka_unit_test(test_in_vfork),
        cmocka_unit_test(test_of_threads_that_end),
    };
    return cmocka_run_group_tests(tests, setup_group, NULL);
}
