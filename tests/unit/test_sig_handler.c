/*
 * The handler and the walk on live stacks of this process: what it sees agrees with the C library's own
 * unwinder, our signals and the program's are told apart, and errno and masks survive.
 */
#include "lib/unit.h"
#include "lib/arch.h"
#include "targets/asleep.h"
#include "base/arena.h"
#include "base/clock.h"
#include "modules/loader.h"
#include "modules/modules.h"
#include "sig/cfi/sig_eh_frame.h"
#include "sig/ground/sig_unloads.h"
#include "sig/signal/sig_request.h"
#include "sig/signal/sig_setup.h"
#include "sig/walk/sig_walk_tables.h"
#include "sig/sys/sig_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { SLOTS = 4, CAPACITY = 256 };

static struct sig_slot memory[SLOTS];
static uint64_t addresses[SLOTS * CAPACITY];
static struct sig_slots slots;
static struct arena arena;
static struct modules modules;

static int setup_group(void **state)
{
    sig_slots_init(&slots, memory, SLOTS, addresses, CAPACITY);
    if (arena_init(&arena, 1 << 20) < 0 || modules_init(&modules, &arena) < 0)
        return -1;
    sig_walk_tables_publish(modules_table(&modules), sig_unloads_read().ended, UINT64_MAX);
    return sig_setup_install(SIGPROF, &slots, 0xabcd, sigaction);
}

/* A sample of this very thread, with nothing known of its stack, so that every page of it is probed. */
static struct sig_slot *sample_self(uint64_t stack_low, uint64_t stack_high)
{
    uint64_t generation;
    int index = sig_slots_arm(&slots, stack_low, stack_high, NULL, &generation);
    assert_true(index >= 0);
    assert_int_equal(sig_request_send(gettid(), (uint32_t)index, generation), 0);
    assert_true(sig_slots_is_done(&slots, (uint32_t)index));
    sig_slots_release(&slots, (uint32_t)index);
    return &memory[index];
}

static uint64_t function_of(uint64_t address)
{
    const struct sig_module *module = sig_modules_find(modules_table(&modules), address);
    struct sig_cie cie;
    struct sig_fde fde;
    return module && sig_eh_frame_find(module, address, false, &cie, &fde) ? fde.start_pc : 0;
}

static bool is_trampoline(const void *pc)
{
    return memcmp(pc, trampoline_code, sizeof(trampoline_code)) == 0;
}

static int sample_here(void);

/* The first frame of a list that lies in sample_here; a sanitizer puts frames of its own before it. */
static int place_of_sample_here(const uint64_t *lookup_pcs, int count)
{
    uint64_t function = function_of((uint64_t)(uintptr_t)sample_here);
    int at = 0;
    while (at < count && function_of(lookup_pcs[at]) != function)
        at++;
    assert_true(at < count);
    return at;
}

/* From sample_here outwards both have the same frames. */
static void assert_same_callers(const struct sig_slot *slot, void *const *trace, int depth)
{
    uint64_t expected[CAPACITY];
    for (int i = 0; i < depth; i++) {
        bool was_called = i == 0 || !is_trampoline(trace[i - 1]); /* else it was interrupted, and is exact */
        expected[i] = (uint64_t)(uintptr_t)trace[i] - was_called;
    }
    int ours = place_of_sample_here(slot->addresses, (int)slot->depth),
        theirs = place_of_sample_here(expected, depth);
    assert_int_equal((int)slot->depth - ours, depth - theirs);
    for (int i = 1; theirs + i < depth; i++)
        assert_int_equal(slot->addresses[ours + i], expected[theirs + i]);
    assert_int_equal(slot->end, SIG_UNWIND_ROOT);
}

static uint64_t stack_low, stack_high;

__attribute__((noinline)) static int sample_here(void)
{
    void *trace[CAPACITY];
    const struct sig_slot *slot = sample_self(stack_low, stack_high);
    int depth = backtrace(trace, CAPACITY);
    assert_same_callers(slot, trace, depth);
    return depth;
}

__attribute__((noinline)) static int recurse(int levels)
{
    volatile char padding[24] = {(char)levels};
    int depth = levels > 0 ? recurse(levels - 1) : sample_here();
    return depth + padding[1];
}

/* Variable-length frames have the frame pointer as CFA;
 * an aligned buffer makes the compiler realign the stack. */
__attribute__((noinline)) static int recurse_odd(int levels)
{
    _Alignas(64) volatile char aligned[64];
    char *variable = __builtin_alloca((size_t)levels * 16 + 16);
    variable[0] = aligned[0] = (char)levels;
    int depth = levels > 0 ? recurse_odd(levels - 1) : sample_here();
    __asm__ volatile("" : : "r"(variable), "r"(aligned));
    return depth;
}

static void test_same_stack_as_the_c_library(void **state)
{
    stack_low = stack_high = 0;
    assert_true(recurse(25) > 25);
    assert_true(recurse_odd(12) > 12);
}

static void test_same_stack_with_known_bounds(void **state)
{
    stack_high = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 16384;
    stack_low = stack_high - (1 << 20);
    assert_true(recurse(25) > 25);
    assert_true(recurse_odd(12) > 12);
}

static int compare_ints(const void *a, const void *b)
{
    static int calls;
    if (!calls++)
        sample_here(); /* a callback: the C library's qsort lies between two of our frames */
    return *(const int *)a - *(const int *)b;
}

static void test_through_the_c_library(void **state)
{
    int values[] = {3, 1, 2};
    stack_low = stack_high = 0;
    qsort(values, 3, sizeof(int), compare_ints);
    assert_int_equal(values[0], 1);
}

/*
 * vfork takes its return address off the stack, and a signal that came while the parent waited for its child
 * is delivered right there. Another thread sends it, as the sampler would.
 */
struct vfork_sender {
    atomic_int child_runs, is_sent;
    pid_t tid;
    int index;
    uint64_t generation;
};

static void *send_into_vfork(void *argument)
{
    struct vfork_sender *sender = argument;
    while (!atomic_load(&sender->child_runs))
        sched_yield();
    sig_request_send(sender->tid, (uint32_t)sender->index, sender->generation);
    atomic_store(&sender->is_sent, 1);
    return NULL;
}

static void test_in_vfork(void **state)
{
    pthread_t thread;
    int status;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* it puts a vfork of its own before the C library's */
#endif
    /* Shared: an emulator makes a fork of it. */
    struct vfork_sender *sender =
        mmap(NULL, sizeof(*sender), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(sender != MAP_FAILED);
    sender->index = sig_slots_arm(&slots, 0, 0, NULL, &sender->generation);
    sender->tid = gettid();
    assert_int_equal(pthread_create(&thread, NULL, send_into_vfork, sender), 0);
    pid_t child = vfork();
    if (child == 0) {
        atomic_store(&sender->child_runs, 1);
        while (!atomic_load(&sender->is_sent))
            sched_yield();
        _exit(0);
    }
    waitpid(child, &status, 0);
    pthread_join(thread, NULL);
    assert_true(sig_slots_is_done(&slots, (uint32_t)sender->index));
    assert_int_equal(memory[sender->index].end, SIG_UNWIND_ROOT);
    assert_true(memory[sender->index].depth > 4);
    sig_slots_release(&slots, (uint32_t)sender->index);
    munmap(sender, sizeof(*sender));
}

/* Where the user's pending signals are at their limit the kernel delivers the signal but loses what is in it;
 * then it would be taken for the program's. */
static void test_at_the_limit_of_pending_signals(void **state)
{
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_SIGPENDING, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &none), 0);
    struct sig_slot *slot = sample_self(0, 0);
    assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &before), 0);
    assert_int_equal(slot->end, SIG_UNWIND_ROOT);
}

/* ---- signal frames, other stacks ---- */

static void in_handler(int number)
{
    (void)number;
    sample_here();
}

static void raise_on(int flags)
{
    struct sigaction action = {.sa_handler = in_handler, .sa_flags = flags}, old;
    sigaction(SIGUSR1, &action, &old);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &old, NULL);
}

static void test_through_a_signal_frame(void **state)
{
    stack_low = stack_high = 0;
    raise_on(0);
}

static void test_from_an_alternate_stack(void **state)
{
    stack_t alternate = {.ss_size = 64 * 1024}, off = {.ss_flags = SS_DISABLE};
    alternate.ss_sp = malloc(alternate.ss_size);
    sigaltstack(&alternate, NULL);
    stack_high = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 16384;
    stack_low = stack_high - (1 << 20); /* the thread's own stack; the walk begins outside of it */
    raise_on(SA_ONSTACK);
    sigaltstack(&off, NULL);
    free(alternate.ss_sp);
}

static ucontext_t here, there;
static struct sig_slot *coroutine_slot;

static void coroutine(void)
{
    coroutine_slot = sample_self(0, 0);
}

/* A coroutine's stack ends at its own root;
 * what lies above it in memory is a guard page that must not be touched. */
static void test_coroutine_stack_with_a_guard_above(void **state)
{
    size_t bytes = 64 * 1024;
    char *block = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(block + bytes, 4096, PROT_NONE);
    getcontext(&there);
    there.uc_stack.ss_sp = block;
    there.uc_stack.ss_size = bytes;
    there.uc_link = &here;
    makecontext(&there, coroutine, 0);
    swapcontext(&here, &there);
    assert_int_equal(coroutine_slot->end, SIG_UNWIND_ROOT);
    assert_in_range(coroutine_slot->depth, 3, 8);
    munmap(block, bytes + 4096);
}

/* ---- whose signal is it? ---- */

static volatile sig_atomic_t program_calls, program_value;
static sigset_t program_mask;

static void program_handler(int number, siginfo_t *info, void *context)
{
    (void)context;
    program_calls += number == SIGPROF;
    program_value = info->si_value.sival_int;
    sigprocmask(SIG_BLOCK, NULL, &program_mask);
}

static void test_programs_own_signal_reaches_its_handler(void **state)
{
    struct sigaction action = {.sa_sigaction = program_handler, .sa_flags = SA_SIGINFO}, old;
    union sigval value = {.sival_int = 77};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR2);
    sig_action_swap(SIGPROF, &action, &old);
    assert_true(old.sa_handler == SIG_DFL);
    program_calls = 0;
    raise(SIGPROF);
    assert_int_equal(program_calls, 1);
    assert_true(sigismember(&program_mask, SIGPROF));
    assert_true(sigismember(&program_mask, SIGUSR2));
    assert_false(sigismember(&program_mask, SIGUSR1));
    sigqueue(getpid(), SIGPROF, value); /* SI_QUEUE like ours, but without our cookie */
    assert_int_equal(program_calls, 2);
    assert_int_equal(program_value, 77);
    sample_self(0, 0);
    assert_int_equal(program_calls, 2);
    sigprocmask(SIG_BLOCK, NULL, &program_mask);
    assert_false(sigismember(&program_mask, SIGPROF)); /* back as it was */
    sig_action_swap(SIGPROF, &old, NULL);
}

static void test_ignored_and_default_action(void **state)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
    int status;
    sig_action_swap(SIGPROF, &ignore, &old);
    raise(SIGPROF);
    sig_action_swap(SIGPROF, &old, NULL);
    pid_t child = fork();
    if (child == 0) {
        raise(SIGPROF);
        _exit(0);
    }
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGPROF);
}

static void test_reset_after_one(void **state)
{
    struct sigaction action = {.sa_sigaction = program_handler, .sa_flags = SA_SIGINFO | (int)SA_RESETHAND},
                     now, old;
    sig_action_swap(SIGPROF, &action, &old);
    raise(SIGPROF);
    sig_action_swap(SIGPROF, &old, &now);
    assert_true(now.sa_handler == SIG_DFL);
}

static void test_late_signal_is_counted_without_a_reply(void **state)
{
    uint64_t generation, strays = sig_request_stray_count();
    int index = sig_slots_arm(&slots, 0, 0, NULL, &generation);
    assert_true(sig_slots_cancel(&slots, (uint32_t)index));
    assert_int_equal(sig_request_send(gettid(), (uint32_t)index, generation), 0);
    assert_int_equal(sig_request_stray_count(), strays + 1);
    assert_false(sig_slots_is_done(&slots, (uint32_t)index));
}

static void test_errno_survives(void **state)
{
    errno = 4711;
    sample_self(0, 0);
    assert_int_equal(errno, 4711);
}

/* By the clock: within the call, in which the reply is given, and more than nothing. */
static void test_what_it_took_is_told(void **state)
{
    uint64_t before_ns = clock_monotonic_ns();
    const struct sig_slot *slot = sample_self(0, 0);
    uint64_t after_ns = clock_monotonic_ns();
    assert_in_range(slot->time_ns, before_ns, after_ns);
    assert_in_range(slot->took_ns, 1, after_ns - slot->time_ns);
}

static void test_gone_thread(void **state)
{
    uint64_t generation;
    int index = sig_slots_arm(&slots, 0, 0, NULL, &generation);
    assert_int_equal(sig_request_send(0x3fffffff, (uint32_t)index, generation), -ESRCH);
    assert_true(sig_slots_cancel(&slots, (uint32_t)index));
}

/* ---- blocked or running ---- */

static int pipe_ends[2];

static void *wait_in_read(void *tid)
{
    char byte;
    *(pid_t *)tid = gettid();
    return read(pipe_ends[0], &byte, 1) == 1 ? NULL : tid;
}

static void test_blocked_thread_says_so(void **state)
{
    pthread_t thread;
    volatile pid_t tid = 0;
    uint64_t generation;
    assert_false(sample_self(0, 0)->was_blocked);
    assert_int_equal(pipe(pipe_ends), 0);
    pthread_create(&thread, NULL, wait_in_read, (void *)(uintptr_t)&tid);
    while (!tid || !is_asleep(tid))
        usleep(100);
    int index = sig_slots_arm(&slots, 0, 0, NULL, &generation);
    sig_request_send(tid, (uint32_t)index, generation);
    sig_slots_wait(&slots, clock_monotonic_ns() + 5ULL * NS_PER_S);
    assert_true(sig_slots_is_done(&slots, (uint32_t)index));
    assert_true(memory[index].was_blocked);
    assert_int_equal(memory[index].end, SIG_UNWIND_ROOT);
    sig_slots_release(&slots, (uint32_t)index);
    assert_int_equal(write(pipe_ends[1], "x", 1), 1);
    void *failed;
    pthread_join(thread, &failed);
    assert_null(failed); /* the read was restarted, not interrupted */
}

/* The C library unloads without telling anybody, and a word on the stack may still point there. */
static void test_a_library_that_is_gone(void **state)
{
    static const char *const names[] = {"libz.so.1", "libgcc_s.so.1", "libm.so.6"};
    int tried = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *library = dlopen(names[i], RTLD_NOLOAD | RTLD_NOW) ? NULL : dlopen(names[i], RTLD_NOW);
        struct link_map *map;
        if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) < 0)
            continue;
        modules_refresh(&modules);
        const struct sig_modules_table *table = modules_table(&modules);
        ucontext_t context = {0};
        uint64_t stack[4] = {0}, found[4], stack_at = (uintptr_t)stack, pc = (uint64_t)map->l_addr;
        while (!sig_modules_find(table, pc))
            pc += 4096;
        pc += 2048;
        dlclose(library); /* no hook here */
        if (sig_memory_is_readable(pc & ~(uint64_t)7))
            continue; /* never unloaded */
        tried++;
        set_registers(&context, pc, stack_at, 0);
        struct sig_unwind_request request = {.modules = table,
                                             .stack_low = stack_at,
                                             .stack_high = stack_at + sizeof(stack),
                                             .addresses = found,
                                             .capacity = 4};
        enum sig_unwind_end end;
        assert_int_equal(sig_unwind(&request, &context, &end), 1);
        assert_int_equal(end, SIG_UNWIND_TRUNCATED);
    }
    modules_refresh(&modules);
    if (tried == 0)
        skip();
}

/* Loaded since the table was made: the loader itself is searched. */
static void test_a_library_that_is_new(void **state)
{
    const struct sig_modules_table *table = modules_table(&modules);
    void *library = dlopen("libz.so.1", RTLD_NOW);
    uint64_t pc = library ? (uint64_t)(uintptr_t)dlsym(library, "adler32") : 0;
    if (!pc || sig_modules_find(table, pc) || !loader_find_object() || !kernel_copies_memory())
        skip();
    uint64_t stack[4] = {0}, found[4];
    ucontext_t context = {0};
    struct sig_unwind_request request = {.modules = table, .addresses = found, .capacity = 4};
    set_registers(&context, pc, (uintptr_t)stack, 0); /* a return address of 0 is the root */
    enum sig_unwind_end end;
    sig_modules_use_loader(NULL);
    assert_int_equal(sig_unwind(&request, &context, &end), 1);
    assert_int_equal(end, SIG_UNWIND_TRUNCATED);
    sig_modules_use_loader(loader_find_object());
    assert_int_equal(sig_unwind(&request, &context, &end), 1);
    assert_int_equal(end, SIG_UNWIND_ROOT);
    dlclose(library);
    assert_int_equal(sig_unwind(&request, &context, &end), 1);
    assert_int_equal(end, SIG_UNWIND_TRUNCATED);
    sig_modules_use_loader(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_stack_as_the_c_library),
        cmocka_unit_test(test_same_stack_with_known_bounds),
        cmocka_unit_test(test_through_the_c_library),
        cmocka_unit_test(test_in_vfork),
        cmocka_unit_test(test_at_the_limit_of_pending_signals),
        cmocka_unit_test(test_through_a_signal_frame),
        cmocka_unit_test(test_from_an_alternate_stack),
        cmocka_unit_test(test_coroutine_stack_with_a_guard_above),
        cmocka_unit_test(test_programs_own_signal_reaches_its_handler),
        cmocka_unit_test(test_ignored_and_default_action),
        cmocka_unit_test(test_reset_after_one),
        cmocka_unit_test(test_late_signal_is_counted_without_a_reply),
        cmocka_unit_test(test_errno_survives),
        cmocka_unit_test(test_what_it_took_is_told),
        cmocka_unit_test(test_gone_thread),
        cmocka_unit_test(test_blocked_thread_says_so),
        cmocka_unit_test(test_a_library_that_is_gone),
        cmocka_unit_test(test_a_library_that_is_new),
    };
    return cmocka_run_group_tests(tests, setup_group, NULL);
}
