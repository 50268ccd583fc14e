/* The walks that are compared. Each is used as a profiler would use it in its handler. */
#include "unwind.h"
#include "modules/modules.h"
#include "sig/walk/sig_rules.h"
#include "sig/walk/sig_unwind.h"

#include <dlfcn.h>
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdio.h>

typedef int backtrace_fn(void **addresses, int capacity);

static const struct sig_modules_table *modules_in_use;
static backtrace_fn *glibc_backtrace;

/* Of the one thread that walks. */
static union {
    struct sig_stack_cache stack_cache;
    char bytes[sizeof(struct sig_stack_cache) + 2 * WALK_CAPACITY * sizeof(struct sig_stack_cache_frame)];
} kept = {.stack_cache.capacity = 2 * WALK_CAPACITY};

static size_t walk_with(struct sig_stack_cache *stack_cache, const ucontext_t *context,
                        const struct bounds *bounds, uint64_t *addresses)
{
    enum sig_unwind_end end;
    struct sig_unwind_request request = {.modules = modules_in_use,
                                         .stack_low = bounds->low,
                                         .stack_high = bounds->high,
                                         .use_cache = true,
                                         .stack_cache = stack_cache,
                                         .addresses = addresses,
                                         .capacity = WALK_CAPACITY};
    size_t count = sig_unwind(&request, context, &end);
    return stack_cache ? count + stack_cache->shared : count;
}

static size_t walk_ours(const ucontext_t *context, const struct bounds *bounds, uint64_t *addresses)
{
    return walk_with(NULL, context, bounds, addresses);
}

static size_t walk_keeping(const ucontext_t *context, const struct bounds *bounds, uint64_t *addresses)
{
    return walk_with(&kept.stack_cache, context, bounds, addresses);
}

static void forget_stack(void)
{
    kept.stack_cache.count = 0;
}

static void forget_stack_and_rules(void)
{
    forget_stack();
    sig_rules_clear();
}

/* The frame pointer convention and nothing else, bounded by the thread's stack. */
static size_t walk_frame_pointers(const ucontext_t *context, const struct bounds *bounds, uint64_t *addresses)
{
    uint64_t fp = (uint64_t)context->uc_mcontext.gregs[REG_RBP];
    uint64_t above = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
    size_t count = 0;
    addresses[count++] = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    while (count < WALK_CAPACITY && fp >= above && fp <= bounds->high - 16 && fp % 8 == 0) {
        const uint64_t *frame = (const uint64_t *)(uintptr_t)fp;
        if (frame[1] == 0)
            break;
        addresses[count++] = frame[1] - 1;
        above = fp + 16;
        fp = frame[0];
    }
    return count;
}

static size_t walk_unw_backtrace(const ucontext_t *context, const struct bounds *bounds, uint64_t *addresses)
{
    (void)context;
    (void)bounds;
    int count = unw_backtrace((void **)addresses, WALK_CAPACITY);
    return count > 0 ? (size_t)count : 0;
}

/* As CPU profilers do it: from the interrupted registers, so that the handler's own frames are not walked. */
static size_t walk_unw_step(const ucontext_t *context, const struct bounds *bounds, uint64_t *addresses)
{
    unw_cursor_t cursor;
    size_t count = 0;
    (void)bounds;
    if (unw_init_local2(&cursor, (unw_context_t *)(uintptr_t)context, UNW_INIT_SIGNAL_FRAME) < 0)
        return 0;
    do {
        unw_word_t pc = 0;
        unw_get_reg(&cursor, UNW_REG_IP, &pc);
        addresses[count++] = pc;
    } while (count < WALK_CAPACITY && unw_step(&cursor) > 0);
    return count;
}

static size_t walk_glibc(const ucontext_t *context, const struct bounds *bounds, uint64_t *addresses)
{
    (void)context;
    (void)bounds;
    return (size_t)glibc_backtrace((void **)addresses, WALK_CAPACITY);
}

static void forget_libunwind(void)
{
    unw_flush_cache(unw_local_addr_space, 0, 0);
}

/* unw_backtrace keeps what it learnt in its thread for ever. */
const struct walker walkers[WALKER_COUNT] = {
    {"wallprof", chain_plain_descend, walk_ours, NULL, sig_rules_clear},
    {"keeping", chain_plain_descend, walk_keeping, forget_stack, forget_stack_and_rules},
    {"frame-pointers", chain_fp_descend, walk_frame_pointers, NULL, NULL},
    {"unw_backtrace", chain_plain_descend, walk_unw_backtrace, NULL, NULL},
    {"unw_step", chain_plain_descend, walk_unw_step, NULL, forget_libunwind},
    {"backtrace", chain_plain_descend, walk_glibc, NULL, NULL},
};

int walkers_init(void)
{
    static struct arena arena;
    static struct modules modules;
    void *first[WALK_CAPACITY];
    /* libunwind has a function of that name too. */
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    *(void **)&glibc_backtrace = libc ? dlsym(libc, "backtrace") : NULL;
    if (!glibc_backtrace) {
        fprintf(stderr, "unwind: the C library has no backtrace\n");
        return -1;
    }
    glibc_backtrace(first, WALK_CAPACITY); /* loads libgcc_s */
    unw_backtrace(first, WALK_CAPACITY);
    if (arena_init(&arena, 1 << 20) != 0 || modules_init(&modules, &arena) != 0) {
        fprintf(stderr, "unwind: no modules\n");
        return -1;
    }
    modules_in_use = modules_table(&modules);
    return modules_in_use ? 0 : -1;
}
