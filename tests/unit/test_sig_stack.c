/*
 * How much of the interrupted thread's stack the handler uses: the handler itself, called on a painted stack
 * as the kernel would call it, over everything that goes deep. A thread may be interrupted with little room
 * left, and none of the program's signal stacks is used.
 *
 * What is counted are the bytes that were written below the frame that the kernel makes. Built with other
 * flags than the library's the figures mean nothing: a sanitizer's or an unoptimised build skips.
 */
/* test: not-aarch64 */
#include "lib/unit.h"
#include "base/arena.h"
#include "modules/loader.h"
#include "modules/modules.h"
#include "sig/walk/sig_unwind_slow.h"
#include "sig/ground/sig_unloads.h"
#include "sig/signal/sig_handler.h"
#include "sig/signal/sig_request.h"
#include "sig/signal/sig_setup.h"
#include "sig/walk/sig_walk_tables.h"
#include "sig/walk/sig_rules.h"
#include "sig/signal/sig_wait.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    PAINTED_BYTES = 16384,
    FAKE_WORDS = 8192,
    CAPACITY = 256,
    COOKIE = 0x1234,
    SLOT_BITS = 12, /* si_value: 16 bits of cookie, 36 of generation, 12 of slot index */
    COOKIE_SHIFT = 48,
};

static struct sig_slot slot_memory[1];
static uint64_t addresses[CAPACITY];
static struct sig_unwind_slow_scratch scratch;
static struct sig_slots slots;
static struct arena arena;
static struct modules modules;
static const struct sig_modules_table *table;
static void (*handler)(int number, siginfo_t *info, void *context);

/* Where the handler runs, and what it walks. */
static _Alignas(64) unsigned char painted[PAINTED_BYTES];
static _Alignas(64) uint64_t fake[FAKE_WORDS];

/* ---- the deepest unwind tables ---- */

/*
 * Functions of which the walk is at the label ..._pc: rows remembered within rows, expressions with values on
 * values. Written for the assembler, so that they stand in the program's own tables like any function.
 */
extern const char in_rows_pc[], in_cfa_expression_pc[], in_register_expression_pc[], in_unsupported_pc[],
    in_wait_pc[];
__asm__(".text\n"
        "in_rows: .cfi_startproc\n" /* CFA = rsp + 16 */
        "    nop\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset rbp, -16\n"
        "    .rept 4\n    nop\n    .cfi_remember_state\n    .cfi_def_cfa_offset 16\n    .endr\n"
        "    .rept 3\n    nop\n    .cfi_restore_state\n    .endr\n"
        ".globl in_rows_pc\n"
        "in_rows_pc: nop\n"
        "    nop\n"
        "    .cfi_endproc\n"
        "in_cfa_expression: .cfi_startproc\n" /* four values deep: rsp + 8, and const4u 0 thrice */
        "    .cfi_escape 0x0f, 20, 0x77, 8, 0x0c,0,0,0,0, 0x0c,0,0,0,0, 0x0c,0,0,0,0, 0x22,0x22,0x22\n"
        "    nop\n"
        ".globl in_cfa_expression_pc\n"
        "in_cfa_expression_pc: nop\n"
        "    nop\n"
        "    .cfi_endproc\n"
        "in_register_expression: .cfi_startproc\n" /* the frame pointer is saved where one says */
        "    .cfi_remember_state\n"
        "    .cfi_escape 0x10, 6, 20, 0x77, 0, 0x0c,0,0,0,0, 0x0c,0,0,0,0, 0x0c,0,0,0,0, 0x22,0x22,0x22\n"
        "    nop\n"
        ".globl in_register_expression_pc\n"
        "in_register_expression_pc: nop\n"
        "    nop\n"
        "    .cfi_endproc\n"
        "in_unsupported: .cfi_startproc\n" /* a dereference of a dereference */
        "    .cfi_escape 0x0f, 4, 0x77, 8, 0x06, 0x06\n"
        "    nop\n"
        ".globl in_unsupported_pc\n"
        "in_unsupported_pc: nop\n"
        "    nop\n"
        "    .cfi_endproc\n"
        "in_wait: .cfi_startproc\n" /* cut short, and called by no hook */
        "    syscall\n"
        ".globl in_wait_pc\n"
        "in_wait_pc: nop\n"
        "    .cfi_endproc\n");

static uint64_t address_of(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* The signal trampoline of the C library: what a handler returns to. */
static uint64_t trampoline;

static void note_trampoline(int number)
{
    (void)number;
    trampoline = address_of(__builtin_return_address(0));
}

/* ---- the handler, on a painted stack ---- */

/* Takes the place of the C library's sigaction for sig_setup_install, to get hold of the handler. */
static int keep_handler(int number, const struct sigaction *action, struct sigaction *old)
{
    (void)number;
    if (old)
        memset(old, 0, sizeof(*old));
    if (action->sa_handler != SIG_IGN) /* an action that the program was given back */
        handler = action->sa_sigaction;
    return 0;
}

static void publish(void)
{
    table = modules_table(&modules);
    sig_walk_tables_publish(table, sig_unloads_read().ended, UINT64_MAX);
}

static int setup_group(void **state)
{
    struct sigaction action = {.sa_handler = note_trampoline};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    sig_slots_init(&slots, slot_memory, 1, addresses, CAPACITY);
    slot_memory[0].scratch = &scratch;
    if (arena_init(&arena, 1 << 20) < 0 || modules_init(&modules, &arena) < 0)
        return -1;
    publish();
    sig_unloads_use_loader(loader_unloaded);
    return sig_setup_install(SIGPROF, &slots, COOKIE, keep_handler);
}

static void skip_in_other_builds(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
    skip();
#endif
}

/* handler(SIGPROF, info, context) with the stack pointer at top when it begins: there, as in the kernel's
 * frame, the return address stands. */
static void call_on(void *top, siginfo_t *info, ucontext_t *context)
{
    register siginfo_t *second __asm__("rsi") = info;
    register ucontext_t *third __asm__("rdx") = context;
    unsigned long first = SIGPROF;
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %[top], %%rsp\n\t"
                     "call *%[handler]\n\t"
                     "movq %%rbx, %%rsp"
                     : "+D"(first), "+r"(second), "+r"(third)
                     : [top] "r"(top), [handler] "r"(handler)
                     : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2",
                       "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                       "xmm13", "xmm14", "xmm15");
}

/* Bytes from the lowest one written to the return address, which is the kernel's. */
static size_t bytes_written(unsigned char paint)
{
    size_t at = 0;
    while (at < PAINTED_BYTES && painted[at] == paint)
        at++;
    return at + 8 > PAINTED_BYTES ? 0 : PAINTED_BYTES - 8 - at;
}

static size_t bytes_of_call(siginfo_t *info, ucontext_t *context, unsigned char paint)
{
    memset(painted, paint, sizeof(painted));
    call_on(painted + PAINTED_BYTES, info, context);
    return bytes_written(paint);
}

/* The sampler requests a sample, with the interrupted thread at pc and its stack pointer at the middle of the
 * fake stack. is_known: the bounds of that stack are. The rule cache is emptied unless is_cached. */
struct request {
    uint64_t pc;
    bool is_known, is_cached;
};

static ucontext_t context_at(uint64_t pc)
{
    ucontext_t context = {0};
    context.uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
    context.uc_mcontext.gregs[REG_RAX] = -EINTR;
    context.uc_mcontext.gregs[REG_RSP] = (greg_t)address_of(fake + FAKE_WORDS / 2);
    context.uc_mcontext.gregs[REG_RBP] = (greg_t)address_of(fake + FAKE_WORDS / 2 + 16);
    return context;
}

static size_t request_once(const struct request *request, unsigned char paint)
{
    uint64_t generation;
    ucontext_t context = context_at(request->pc);
    siginfo_t info = {.si_signo = SIGPROF, .si_code = SI_QUEUE};
    if (!request->is_cached)
        sig_rules_clear();
    int index = sig_slots_arm(&slots, request->is_known ? address_of(fake) : 0,
                              request->is_known ? address_of(fake + FAKE_WORDS) : 0, NULL, &generation);
    assert_int_equal(index, 0);
    info.si_value.sival_ptr = (void *)(uintptr_t)((uint64_t)COOKIE << COOKIE_SHIFT | generation << SLOT_BITS);
    size_t bytes = bytes_of_call(&info, &context, paint);
    assert_true(sig_slots_is_done(&slots, 0));
    sig_slots_release(&slots, 0);
    return bytes;
}

/* Two paints: a byte that happens to be written in the colour of one is seen with the other. */
static size_t bytes_of(const struct request *request)
{
    size_t first = request_once(request, 0xa5), second = request_once(request, 0x5b);
    return first > second ? first : second;
}

static void assert_little(const char *what, size_t bytes)
{
    print_message("%zu bytes: %s\n", bytes, what);
    assert_in_range(bytes, 1, SIG_HANDLER_STACK_BYTES);
}

/* ---- the fake stack ---- */

static void put_word(size_t *word, uint64_t value)
{
    fake[FAKE_WORDS / 2 + (*word)++] = value;
}

/* A call of each of the hard functions, times over, as they lie above an interrupted frame of 8 bytes. */
static void put_calls(size_t *word, int times)
{
    for (int i = 0; i < times; i++) {
        put_word(word, address_of(in_cfa_expression_pc) + 1);
        put_word(word, address_of(in_register_expression_pc) + 1);
        put_word(word, address_of(in_rows_pc) + 1);
        put_word(word, 0); /* its saved frame pointer */
    }
}

static void empty_stack(void)
{
    memset(fake, 0, sizeof(fake));
}

static void assert_little_every_way(const char *what, uint64_t pc)
{
    char text[128];
    for (int way = 0; way < 4; way++) {
        struct request request = {.pc = pc, .is_known = way & 1, .is_cached = way & 2};
        snprintf(text, sizeof(text), "%s, stack %s, rules %s", what, request.is_known ? "known" : "foreign",
                 request.is_cached ? "cached" : "not cached");
        assert_little(text, bytes_of(&request));
    }
}

/* ---- tests ---- */

static void test_deep_stack_of_hard_functions(void **state)
{
    size_t word = 0;
    skip_in_other_builds();
    empty_stack();
    put_calls(&word, CAPACITY);
    assert_little_every_way("deep", address_of(in_cfa_expression_pc));
    assert_int_equal(slot_memory[0].depth, CAPACITY);
    assert_int_equal(slot_memory[0].end, SIG_UNWIND_DEPTH);
}

static void test_through_a_signal_frame(void **state)
{
    size_t word = 0;
    skip_in_other_builds();
    empty_stack();
    put_word(&word, trampoline);
    ucontext_t below = context_at(address_of(in_cfa_expression_pc));
    below.uc_mcontext.gregs[REG_RSP] = (greg_t)address_of(fake + FAKE_WORDS / 2 + 1024);
    memcpy(fake + FAKE_WORDS / 2 + word, &below, sizeof(below));
    word = 1024;
    put_calls(&word, 3);
    assert_little_every_way("signal frame", address_of(in_cfa_expression_pc));
    assert_int_equal(slot_memory[0].depth, 12);
    assert_int_equal(slot_memory[0].end, SIG_UNWIND_ROOT);
}

static void test_unsupported(void **state)
{
    skip_in_other_builds();
    empty_stack();
    assert_little_every_way("not evaluated", address_of(in_unsupported_pc));
    assert_int_equal(slot_memory[0].end, SIG_UNWIND_TRUNCATED);
    assert_little_every_way("no function", 0x1000); /* by the frame pointer, to a return address of 0 */
    assert_int_equal(slot_memory[0].end, SIG_UNWIND_ROOT);
}

/* From a frame whose CFA is **(rsp + 8) only the walk with every register gets on;
 * then over the hard ones. */
static void test_with_every_register(void **state)
{
    size_t word = 64;
    skip_in_other_builds();
    empty_stack();
    fake[FAKE_WORDS / 2 + 1] = address_of(fake + FAKE_WORDS / 2 + 2);
    fake[FAKE_WORDS / 2 + 2] = address_of(fake + FAKE_WORDS / 2 + 65);
    put_calls(&word, 3);
    assert_little_every_way("every register", address_of(in_unsupported_pc));
    assert_true(slot_memory[0].by_full_walk);
    assert_int_equal(slot_memory[0].depth, 10);
    assert_int_equal(slot_memory[0].end, SIG_UNWIND_ROOT);
}

/* A wait that a hook has announced: whether it made the call is found out by a walk of its own. */
static void test_after_a_wait(void **state)
{
    size_t word = 0;
    skip_in_other_builds();
    empty_stack();
    put_calls(&word, CAPACITY);
    struct sig_waiting *waiting = (struct sig_waiting *)(uintptr_t)(fake + FAKE_WORDS / 2 + 60);
    *waiting = (struct sig_waiting){.handled = sig_wait_here.handled};
    sig_wait_here.waits = waiting;
    assert_little_every_way("after a wait", address_of(in_wait_pc));
    assert_false(sig_wait_here.was_interrupted);
    sig_wait_use_hooks(address_of(in_rows_pc), address_of(in_rows_pc) + 1);
    assert_little_every_way("in a wait", address_of(in_wait_pc));
    assert_true(sig_wait_here.was_interrupted);
    sig_wait_use_hooks(0, 0);
    sig_wait_here.waits = NULL;
}

/* What a dlclose under way changes: tables are read through the kernel. */
static void test_while_a_library_is_unloaded(void **state)
{
    size_t word = 0;
    skip_in_other_builds();
    empty_stack();
    put_calls(&word, 3);
    uint32_t begun_in = sig_unloads_begin();
    assert_little_every_way("unloading", address_of(in_cfa_expression_pc));
    assert_int_equal(slot_memory[0].depth, 10);
    assert_int_equal(slot_memory[0].end, SIG_UNWIND_ROOT);
    assert_little_every_way("unloading, not evaluated", address_of(in_unsupported_pc));
    sig_unloads_end(begun_in);
    publish();
}

/* Every function of the C library, the loader, the vDSO and this program. */
static size_t most_anywhere(uint64_t stride)
{
    size_t most = 0;
    for (size_t i = 0; i < table->count; i++) {
        for (uint64_t pc = table->modules[i].start_pc; pc < table->modules[i].end_pc; pc += stride) {
            size_t bytes = request_once(&(struct request){.pc = pc, .is_known = true}, 0xa5);
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

static void test_every_function_there_is(void **state)
{
    skip_in_other_builds();
    empty_stack();
    assert_little("anywhere", most_anywhere(64));
    uint32_t begun_in = sig_unloads_begin();
    size_t bytes = most_anywhere(1024);
    sig_unloads_end(begun_in);
    publish();
    assert_little("anywhere, unloading", bytes);
}

static int program_calls;

static void program_handler(int number, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    program_calls += number == SIGPROF;
}

static size_t bytes_of_a_programs_signal(const struct sigaction *action)
{
    siginfo_t info = {.si_signo = SIGPROF, .si_code = SI_USER};
    ucontext_t context = context_at(address_of(in_rows_pc));
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    sig_action_swap(SIGPROF, action, NULL);
    size_t bytes = bytes_of_call(&info, &context, 0xa5);
    sigprocmask(SIG_SETMASK, &mask, NULL); /* what the return from the signal does */
    return bytes;
}

/* The program's own signals, up to and including one of its handlers that does next to nothing. */
static void test_signals_that_are_not_ours(void **state)
{
    struct sigaction called = {.sa_sigaction = program_handler, .sa_flags = SA_SIGINFO};
    struct sigaction called_once = {.sa_sigaction = program_handler,
                                    .sa_flags = SA_SIGINFO | (int)SA_RESETHAND};
    struct sigaction ignored = {.sa_handler = SIG_IGN};
    skip_in_other_builds();
    program_calls = 0;
    assert_little("the program's handler", bytes_of_a_programs_signal(&called));
    assert_little("the program's handler, once", bytes_of_a_programs_signal(&called_once));
    assert_int_equal(program_calls, 2);
    assert_little("ignored", bytes_of_a_programs_signal(&ignored));
}

static void test_late_signal(void **state)
{
    siginfo_t info = {.si_signo = SIGPROF, .si_code = SI_QUEUE};
    ucontext_t context = context_at(address_of(in_rows_pc));
    uint64_t strays = sig_request_stray_count();
    skip_in_other_builds();
    info.si_value.sival_ptr = (void *)(uintptr_t)((uint64_t)COOKIE << COOKIE_SHIFT);
    assert_little("late", bytes_of_call(&info, &context, 0xa5));
    assert_int_equal(sig_request_stray_count(), strays + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deep_stack_of_hard_functions),
        cmocka_unit_test(test_through_a_signal_frame),
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_with_every_register),
        cmocka_unit_test(test_after_a_wait),
        cmocka_unit_test(test_while_a_library_is_unloaded),
        cmocka_unit_test(test_every_function_there_is),
        cmocka_unit_test(test_signals_that_are_not_ours),
        cmocka_unit_test(test_late_signal),
    };
    return cmocka_run_group_tests(tests, setup_group, NULL);
}
