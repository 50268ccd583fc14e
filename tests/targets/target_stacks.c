/*
 * Stacks of every kind, to be profiled: each in a thread named for it, which spends its time in spin_KIND, or
 * in hammer_KIND and the short functions that it calls.
 *
 *     target_stacks [LIBRARY [KIND...]]
 *
 * What the stacks must look like stands in judge_stacks.py. The library is e2e_stacks.sh's; without it the
 * kinds that need it are left out.
 */
#include "target.h"

#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

enum { STACK_BYTES = 256 * 1024, SPIN_MS = 300, HAMMER_BATCH = 5000000 };

static uint64_t spin_rounds; /* that take SPIN_MS of CPU time */
static const char *library_path;

/* CPU time, not the clock: on a crowded machine a kind would end before it is sampled often enough. */
static uint64_t cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline __attribute__((always_inline)) void spin(uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++)
        __asm__ volatile("" ::"r"(i));
}

/* A function that calls nothing, of its own for each kind: equal ones would be merged. */
#define SPIN(kind)                                                                                           \
    static KEEP_FRAME void spin_##kind(void)                                                                 \
    {                                                                                                        \
        spin(spin_rounds);                                                                                   \
        __asm__ volatile("# " #kind);                                                                        \
    }

static void calibrate(void)
{
    const uint64_t rounds = 50000000;
    uint64_t start_ns = cpu_ns();
    spin(rounds);
    spin_rounds = rounds * SPIN_MS / ((cpu_ns() - start_ns) / 1000000 + 1);
}

/* ---- frames of unusual shape ---- */

static volatile size_t some_bytes = 100;
static volatile int sink;

static KEEP_FRAME void use(void *memory)
{
    __asm__ volatile("" ::"r"(memory) : "memory");
}

SPIN(alloca)
static KEEP_FRAME void frame_alloca(void)
{
    use(alloca(some_bytes));
    spin_alloca();
    use(alloca(some_bytes));
}

SPIN(vla)
static KEEP_FRAME void frame_vla(size_t count)
{
    int array[count];
    use(array);
    spin_vla();
    use(array);
}

SPIN(aligned)
static KEEP_FRAME void frame_aligned(void)
{
    char memory[256] __attribute__((aligned(64)));
    use(memory);
    spin_aligned();
    use(memory);
}

/* Both: the frame needs a base for its arguments, one for its locals and one for the rest. */
SPIN(aligned_alloca)
static KEEP_FRAME void frame_aligned_alloca(int a, int b, int c, int d, int e, int f, int g, int h)
{
    char memory[256] __attribute__((aligned(64)));
    use(memory);
    use(alloca(some_bytes));
    spin_aligned_alloca();
    use(memory);
    sink = a + b + c + d + e + f + g + h;
}

SPIN(large)
static KEEP_FRAME void frame_large(void)
{
    char memory[100 * 1000];
    use(memory);
    spin_large();
    use(memory);
}

static void life_alloca(void)
{
    frame_alloca();
    KEEP_CALL();
}

static void life_vla(void)
{
    frame_vla(some_bytes);
    KEEP_CALL();
}

static void life_aligned(void)
{
    frame_aligned();
    KEEP_CALL();
}

static void life_aligned_alloca(void)
{
    frame_aligned_alloca(1, 2, 3, 4, 5, 6, 7, 8);
    KEEP_CALL();
}

static void life_large(void)
{
    frame_large();
    KEEP_CALL();
}

/* ---- short functions, so that every instruction of theirs is met ---- */

static KEEP_FRAME int short_alloca(int x)
{
    int *memory = alloca(some_bytes);
    memory[0] = x;
    use(memory);
    return memory[0];
}

static KEEP_FRAME int short_aligned(int x)
{
    int memory[16] __attribute__((aligned(64)));
    memory[0] = x;
    use(memory);
    return memory[0];
}

static KEEP_FRAME int short_aligned_alloca(int x)
{
    int memory[16] __attribute__((aligned(64)));
    int *more = alloca(some_bytes);
    memory[0] = more[0] = x;
    use(memory);
    use(more);
    return memory[0] + more[0];
}

/* All registers that a callee must keep are pushed and popped again. */
static KEEP_FRAME int short_registers(int x)
{
    int a = sink, b = sink, c = sink, d = sink, e = sink;
    use(&a);
    sink = a + b + c + d + e + x;
    use(&b);
    return a + b + c + d + e;
}

/* Two ways out, one of them in a part of its own. */
static KEEP_FRAME int short_cold(int x)
{
    if (__builtin_expect(x % 2, 0)) {
        use(&x);
        return sink;
    }
    return x;
}

static KEEP_FRAME int short_tail(int x)
{
    return short_registers(x + 1);
}

#define HAMMER(kind, expression)                                                                             \
    static KEEP_FRAME void hammer_##kind(void)                                                               \
    {                                                                                                        \
        uint64_t end_ns = cpu_ns() + SPIN_MS * (uint64_t)1000000;                                            \
        do {                                                                                                 \
            for (int i = 0; i < HAMMER_BATCH; i++)                                                           \
                sink = (int)(expression);                                                                    \
        } while (cpu_ns() < end_ns);                                                                         \
    }                                                                                                        \
    static void life_short_##kind(void)                                                                      \
    {                                                                                                        \
        hammer_##kind();                                                                                     \
        KEEP_CALL();                                                                                         \
    }

HAMMER(alloca, short_alloca(i))
HAMMER(aligned, short_aligned(i))
HAMMER(aligned_alloca, short_aligned_alloca(i))
HAMMER(registers, short_registers(i))
HAMMER(cold, short_cold(i))
HAMMER(tail, short_tail(i))

/* A function of the C library through the procedure linkage table; not the header's macro. */
extern uint32_t htonl(uint32_t value);
HAMMER(plt, htonl((uint32_t)i))

/* ---- calls without a return, returns without a call ---- */

SPIN(tail)
static KEEP_FRAME void tail_second(int x)
{
    spin_tail();
    sink = x;
}

static KEEP_FRAME void tail_first(int x)
{
    tail_second(x + 1); /* a jump: this frame is gone */
}

static void life_tail(void)
{
    tail_first(1);
    KEEP_CALL();
}

static __thread jmp_buf way_back;

SPIN(noreturn)
static KEEP_FRAME _Noreturn void never_return(void)
{
    spin_noreturn();
    longjmp(way_back, 1);
}

/* The call is its last instruction: the return address lies in the next function. */
static KEEP_FRAME _Noreturn void end_in_call(void)
{
    never_return();
}

static KEEP_FRAME void after_end_in_call(void)
{
    use(&way_back);
}

static void life_noreturn(void)
{
    if (setjmp(way_back) == 0)
        end_in_call();
    after_end_in_call();
}

SPIN(longjmp)
static KEEP_FRAME void jump_out(int depth)
{
    if (depth > 0)
        jump_out(depth - 1);
    else if (some_bytes > 0) /* always, but the compiler does not know */
        longjmp(way_back, 1);
    KEEP_CALL();
}

static void life_longjmp(void)
{
    if (setjmp(way_back) == 0)
        jump_out(20);
    spin_longjmp();
    KEEP_CALL();
}

SPIN(compare)
static int compare(const void *a, const void *b)
{
    if (*(const int *)a != *(const int *)b)
        spin_compare();
    KEEP_CALL();
    return 0;
}

static void life_compare(void)
{
    int pair[2] = {1, 2};
    qsort(pair, 2, sizeof(pair[0]), compare);
    KEEP_CALL();
}

SPIN(cleanup)
static KEEP_FRAME void clean_up(void *unused)
{
    (void)unused;
    spin_cleanup();
    KEEP_CALL();
}

static KEEP_FRAME void leave_thread(void)
{
    pthread_cleanup_push(clean_up, NULL);
    pthread_exit(NULL);
    pthread_cleanup_pop(0);
}

static void life_cleanup(void)
{
    leave_thread();
    KEEP_CALL();
}

/* The child has the parent's stack until it ends; the parent waits in the kernel. */
static KEEP_FRAME void wait_in_vfork(void)
{
    pid_t child = vfork();
    if (child == 0) {
        spin(spin_rounds);
        _exit(0);
    }
    if (child < 0 || waitpid(child, NULL, 0) != child)
        die("vfork");
}

static void life_vfork(void)
{
    wait_in_vfork();
    KEEP_CALL();
}

/* ---- stacks of the program's own ---- */

SPIN(coroutine)
static KEEP_FRAME void coroutine_deeper(void)
{
    spin_coroutine();
    KEEP_CALL();
}

static void coroutine_body(void)
{
    coroutine_deeper();
    KEEP_CALL();
}

static void prepare_coroutine(ucontext_t *coroutine, ucontext_t *back, void (*body)(void))
{
    if (getcontext(coroutine) < 0)
        die("getcontext");
    coroutine->uc_stack.ss_sp = malloc(STACK_BYTES);
    coroutine->uc_stack.ss_size = STACK_BYTES;
    coroutine->uc_link = back;
    if (!coroutine->uc_stack.ss_sp)
        die("memory");
    makecontext(coroutine, body, 0);
}

static void run_coroutine(void (*body)(void))
{
    static ucontext_t coroutine, back;
    prepare_coroutine(&coroutine, &back, body);
    if (swapcontext(&back, &coroutine) < 0)
        die("swapcontext");
}

static void life_coroutine(void)
{
    run_coroutine(coroutine_body);
    KEEP_CALL();
}

static ucontext_t inner_context, outer_context;
static volatile int switch_ends;

static void switch_body(void)
{
    while (!switch_ends)
        swapcontext(&inner_context, &outer_context);
    KEEP_CALL();
}

/* Back and forth: most of the time in the middle of a switch. */
static KEEP_FRAME void hammer_switch(void)
{
    uint64_t end_ns = cpu_ns() + SPIN_MS * (uint64_t)1000000;
    prepare_coroutine(&inner_context, &outer_context, switch_body);
    while (cpu_ns() < end_ns)
        for (int i = 0; i < 1000; i++)
            swapcontext(&outer_context, &inner_context);
    switch_ends = 1;
    swapcontext(&outer_context, &inner_context);
}

static void life_switch(void)
{
    hammer_switch();
    KEEP_CALL();
}

static void catch (int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    if (sigaction(number, &action, NULL) < 0)
        die("sigaction");
}

/* Signals have a stack of their own here, so no one may write below a coroutine's small one. */
enum { SMALL_STACK_BYTES = 2048, CANARY = 0xa5 };

static void use_signal_stack(void)
{
    stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    if (!stack.ss_sp || sigaltstack(&stack, NULL) < 0)
        die("sigaltstack");
}

/* Only a profiler sends it, whose handler then runs where this one would. */
static void on_profile(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
}

SPIN(small)
static void small_body(void)
{
    spin_small();
    KEEP_CALL();
}

static void life_small(void)
{
    static ucontext_t coroutine, back;
    unsigned char *below = malloc(STACK_BYTES);
    if (!below || getcontext(&coroutine) < 0)
        die("memory");
    use_signal_stack();
    catch (SIGPROF, on_profile, SA_ONSTACK);
    memset(below, CANARY, STACK_BYTES);
    coroutine.uc_stack.ss_sp = below + STACK_BYTES - SMALL_STACK_BYTES;
    coroutine.uc_stack.ss_size = SMALL_STACK_BYTES;
    coroutine.uc_link = &back;
    makecontext(&coroutine, small_body, 0);
    if (swapcontext(&back, &coroutine) < 0)
        die("swapcontext");
    for (size_t i = 0; i < STACK_BYTES - SMALL_STACK_BYTES; i++) {
        if (below[i] != CANARY) {
            fprintf(stderr, "%zu bytes below a small stack were written\n",
                    STACK_BYTES - SMALL_STACK_BYTES - i);
            exit(4);
        }
    }
    free(below);
}

/* ---- signals ---- */

static __thread char *fault_page; /* reading it is a fault until the handler is done */
static long page_bytes;

static void forbid_page(void)
{
    if (!fault_page && posix_memalign((void **)&fault_page, (size_t)page_bytes, (size_t)page_bytes) != 0)
        die("memory");
    if (mprotect(fault_page, (size_t)page_bytes, PROT_NONE) < 0)
        die("mprotect");
}

static void permit_page(const siginfo_t *info)
{
    if (info->si_addr != fault_page || mprotect(fault_page, (size_t)page_bytes, PROT_READ | PROT_WRITE) < 0)
        _exit(3);
}

/* The signal comes from an instruction of this function, not from a system call. */
static KEEP_FRAME void stumble(void)
{
    sink = *(volatile char *)fault_page;
    KEEP_CALL();
}

SPIN(handler)
static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    spin_handler();
    permit_page(info);
}

static void life_handler(void)
{
    catch (SIGSEGV, on_fault, 0);
    forbid_page();
    stumble();
    KEEP_CALL();
}

SPIN(sigaltstack)
static void on_fault_elsewhere(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    spin_sigaltstack();
    permit_page(info);
}

static void life_sigaltstack(void)
{
    use_signal_stack();
    catch (SIGSEGV, on_fault_elsewhere, SA_ONSTACK);
    forbid_page();
    stumble();
    KEEP_CALL();
}

/* A handler on another stack, interrupted by one that stays there, interrupted by a third. */
SPIN(nested)
static void on_third(int number)
{
    (void)number;
    spin_nested();
    KEEP_CALL();
}

static void on_second(int number)
{
    (void)number;
    raise(SIGUSR2);
    KEEP_CALL();
}

static void on_first(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    raise(SIGUSR1);
    permit_page(info);
}

static void life_nested(void)
{
    use_signal_stack();
    catch (SIGSEGV, on_first, SA_ONSTACK);
    signal(SIGUSR1, on_second);
    signal(SIGUSR2, on_third);
    forbid_page();
    stumble();
    KEEP_CALL();
}

/* On a coroutine's stack, with the handler on a third one. */
SPIN(coroutine_handler)
static void on_fault_in_coroutine(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    spin_coroutine_handler();
    permit_page(info);
}

static void stumbling_body(void)
{
    stumble();
    KEEP_CALL();
}

static void life_coroutine_handler(void)
{
    use_signal_stack();
    catch (SIGSEGV, on_fault_in_coroutine, SA_ONSTACK);
    forbid_page();
    run_coroutine(stumbling_body);
    KEEP_CALL();
}

#ifdef __x86_64__

/* ---- assembly with unusual tables ---- */

/* The CFA is in a register that calls may change,
 * and is counted on across a local one (OpenSSL's AES-GCM). */
__asm__(".pushsection .text\n"
        ".type frame_scratch, @function\n"
        "frame_scratch:\n"
        ".cfi_startproc\n"
        "mov %rsp, %rax\n"
        ".cfi_def_cfa rax, 8\n"
        "push %rbx\n"
        ".cfi_offset rbx, -16\n"
        "sub $200, %rsp\n"
        "and $-64, %rsp\n"
        "call spin_scratch\n"
        "mov -8(%rax), %rbx\n"
        "mov %rax, %rsp\n"
        ".cfi_def_cfa rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size frame_scratch, . - frame_scratch\n"
        ".type spin_scratch, @function\n"
        "spin_scratch:\n"
        ".cfi_startproc\n"
        "1: dec %rdi\n"
        "jnz 1b\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size spin_scratch, . - spin_scratch\n"

        /* No tables, and the frame pointer used for counting (GMP). */
        ".type spin_bare, @function\n"
        "spin_bare:\n"
        "push %rbx\n"
        "push %rbp\n"
        "sub $24, %rsp\n"
        "mov %rdi, %rbp\n"
        "1: dec %rbp\n"
        "jnz 1b\n"
        "add $24, %rsp\n"
        "pop %rbp\n"
        "pop %rbx\n"
        "ret\n"
        ".size spin_bare, . - spin_bare\n"

        /* Nor here, where it has come to 0 when another one of the kind is called. */
        ".type spin_bare_inner, @function\n"
        "spin_bare_inner:\n"
        "1: dec %rdi\n"
        "jnz 1b\n"
        "ret\n"
        ".size spin_bare_inner, . - spin_bare_inner\n"
        ".type bare_outer, @function\n"
        "bare_outer:\n"
        "push %rbp\n"
        "xor %ebp, %ebp\n"
        "call spin_bare_inner\n"
        "pop %rbp\n"
        "ret\n"
        ".size bare_outer, . - bare_outer\n"

        /* CFA = *(rsp + 8 + r9 * 8) + 8 (OpenSSL's Montgomery multiplication) */
        ".type spin_indexed, @function\n"
        "spin_indexed:\n"
        ".cfi_startproc\n"
        "mov %rsp, %rax\n"
        ".cfi_def_cfa rax, 8\n"
        "mov $20, %r9d\n"
        "sub $512, %rsp\n"
        "and $-64, %rsp\n"
        "mov %rax, 8(%rsp, %r9, 8)\n"
        ".cfi_escape 0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8\n"
        "xor %eax, %eax\n"
        "1: dec %rdi\n"
        "jnz 1b\n"
        "mov 8(%rsp, %r9, 8), %rsp\n"
        ".cfi_def_cfa rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size spin_indexed, . - spin_indexed\n"
        ".popsection\n");
void frame_scratch(uint64_t rounds);
void spin_indexed(uint64_t rounds);
void spin_bare(uint64_t rounds);
void bare_outer(uint64_t rounds);

static void life_scratch(void)
{
    frame_scratch(spin_rounds);
    KEEP_CALL();
}

static KEEP_FRAME void frame_bare(void)
{
    use(alloca(some_bytes)); /* its CFA is by frame pointer */
    spin_bare(spin_rounds);
    use(alloca(some_bytes));
}

static void life_bare(void)
{
    frame_bare();
    KEEP_CALL();
}

static void life_bare_call(void)
{
    bare_outer(spin_rounds);
    KEEP_CALL();
}

static void life_indexed(void)
{
    spin_indexed(spin_rounds);
    KEEP_CALL();
}

#endif

/* ---- beginnings and ends ---- */

static pthread_key_t key;

SPIN(key)
static void destroy_key(void *unused)
{
    (void)unused;
    spin_key();
    KEEP_CALL();
}

static void life_key(void)
{
    if (pthread_key_create(&key, destroy_key) != 0 || pthread_setspecific(key, &key) != 0)
        die("key");
}

SPIN(atexit)
static void at_exit(void)
{
    spin_atexit();
    KEEP_CALL();
}

/* The library's constructor, destructor, and resolver of an indirect function each call the function they
 * find here. */
SPIN(constructor)
SPIN(destructor)
SPIN(resolver)
void (*stacks_hooks[])(void) = {spin_constructor, spin_destructor, spin_resolver};

static void *open_library(void)
{
    void *library = dlopen(library_path, RTLD_LAZY);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return library;
}

static void life_constructor(void)
{
    open_library();
    KEEP_CALL();
}

/* The library calls its indirect function through its own linkage table:
 * the loader resolves it at the first call. */
static void life_resolver(void)
{
    void (*call_indirect)(void) = (void (*)(void))dlsym(open_library(), "call_indirect");
    call_indirect();
    KEEP_CALL();
}

static void life_destructor(void)
{
    void *library = open_library(); /* the third time, after the two above */
    for (int i = 0; i < 3; i++)
        dlclose(library);
    KEEP_CALL();
}

/* ---- */

struct kind {
    const char *name;
    void (*life)(void);
    int needs_library;
};

static const struct kind kinds[] = {
    {"alloca", life_alloca, 0},
    {"vla", life_vla, 0},
    {"aligned", life_aligned, 0},
    {"aligned_alloca", life_aligned_alloca, 0},
    {"large", life_large, 0},
    {"s_alloca", life_short_alloca, 0},
    {"s_aligned", life_short_aligned, 0},
    {"s_both", life_short_aligned_alloca, 0},
    {"s_registers", life_short_registers, 0},
    {"s_cold", life_short_cold, 0},
    {"s_tail", life_short_tail, 0},
    {"s_plt", life_short_plt, 0},
    {"tail", life_tail, 0},
    {"noreturn", life_noreturn, 0},
    {"longjmp", life_longjmp, 0},
    {"compare", life_compare, 0},
    {"cleanup", life_cleanup, 0},
    {"vfork", life_vfork, 0},
    {"coroutine", life_coroutine, 0},
    {"switch", life_switch, 0},
    {"small", life_small, 0},
    {"handler", life_handler, 0},
    {"sigaltstack", life_sigaltstack, 0},
    {"nested", life_nested, 0},
    {"co_handler", life_coroutine_handler, 0},
#ifdef __x86_64__
    {"scratch", life_scratch, 0},
    {"indexed", life_indexed, 0},
    {"bare", life_bare, 0},
    {"bare_call", life_bare_call, 0},
#endif
    {"key", life_key, 0},
    {"constructor", life_constructor, 1},
    {"resolver", life_resolver, 1},
    {"destructor", life_destructor, 1},
};

static void *run_kind(void *argument)
{
    const struct kind *kind = argument;
    pthread_setname_np(pthread_self(), kind->name);
    kind->life();
    return NULL;
}

static int is_wanted(const struct kind *kind, int argc, char **argv)
{
    if (kind->needs_library && !library_path)
        return 0;
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], kind->name) == 0)
            return 1;
    return argc <= 2;
}

static void *exit_thread(void *unused)
{
    pthread_exit(unused);
}

/* The process's first pthread_exit loads libgcc_s, which from a disk takes a good part of a kind's time. */
static void exit_first_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, exit_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        die("thread");
}

int main(int argc, char **argv)
{
    library_path = argc > 1 ? argv[1] : NULL;
    page_bytes = sysconf(_SC_PAGESIZE);
    calibrate();
    exit_first_thread();
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        pthread_t thread;
        if (!is_wanted(&kinds[i], argc, argv))
            continue;
        if (pthread_create(&thread, NULL, run_kind, (void *)(uintptr_t)&kinds[i]) != 0 ||
            pthread_join(thread, NULL) != 0)
            die("thread");
    }
    atexit(at_exit);
    return 0;
}
