/*
 * The CFI evaluator on hostile and truncated tables: it ends, reads nothing outside of them, and gives one
 * answer for one question.
 *
 * Input: byte 0 bit 0 selects raw tables (the rest of the input as it is) or tables built by fuzz_tables.h,
 * bit 1 whether they lie before a guard page or behind one; byte 1 where in them .eh_frame_hdr is; 4 times 16
 * bits, lookup pcs relative to the code; the tables.
 */
#include "fuzz.h"
#include "fuzz_tables.h"
#include "sig_arch.h"
#include "sig_cfi.h"
#include "sig_rules.h"

#include <sanitizer/asan_interface.h>
#include <string.h>

enum {
    TABLES_AT = 0x100000, /* in the arena */
    CODE_AT = TABLES_AT + FUZZ_CODE_DISTANCE,
    CODE_BYTES = 0x140,
    CODE_REGION_BYTES = FUZZ_TABLES_MAX_BYTES + FUZZ_PAGE_BYTES,
    LOOKUPS = 4,
};

static uint8_t *tables_region, *code_region;
static struct fuzz_tables tables;
static struct sig_module module;

bool __real_sig_memory_copy(void *to, uint64_t from, size_t bytes);
bool __wrap_sig_memory_copy(void *to, uint64_t from, size_t bytes);
bool __real_sig_memory_is_readable(uint64_t address);
bool __wrap_sig_memory_is_readable(uint64_t address);

static bool lies_in(uint64_t from, size_t bytes, uint64_t low, uint64_t high)
{
    return from >= low && from <= high && bytes <= high - from;
}

/* The kernel would refuse what lies in a guard page; here it is an error to ask. */
bool __wrap_sig_memory_copy(void *to, uint64_t from, size_t bytes)
{
    FUZZ_ASSERT(lies_in(from, bytes, module.cfi_low, module.cfi_high) ||
                lies_in(from, bytes, module.start_pc, module.end_pc));
    FUZZ_ASSERT(__real_sig_memory_copy(to, from, bytes));
    return true;
}

bool __wrap_sig_memory_is_readable(uint64_t address)
{
    return __real_sig_memory_is_readable(address);
}

static void open_regions(void)
{
    if (tables_region)
        return;
    fuzz_arena_reserve();
    tables_region = fuzz_arena_open(TABLES_AT, FUZZ_TABLES_MAX_BYTES);
    code_region = fuzz_arena_open(CODE_AT, CODE_REGION_BYTES);
}

/* Signal trampolines behind one byte, as the C library has it; at the start of a function; and cut off. */
static void place_code(uint8_t *code)
{
    static const uint8_t trampoline[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    ASAN_UNPOISON_MEMORY_REGION(code_region, CODE_REGION_BYTES);
    memset(code, 0x90, CODE_BYTES);
    memcpy(code + 1, trampoline, sizeof(trampoline));
    memcpy(code + 64, trampoline, sizeof(trampoline));
    memcpy(code + CODE_BYTES - sizeof(trampoline), trampoline, sizeof(trampoline));
    ASAN_POISON_MEMORY_REGION(code_region, (size_t)(code - code_region));
    ASAN_POISON_MEMORY_REGION(code + CODE_BYTES,
                              (size_t)(code_region + CODE_REGION_BYTES - code) - CODE_BYTES);
}

/* ASan sees reads outside to the byte behind the tables, to eight before them; the guard page to the byte. */
static void place_tables(const uint8_t *bytes, size_t count, bool at_end, uint8_t header_offset)
{
    uint8_t *start = at_end ? tables_region + FUZZ_TABLES_MAX_BYTES - count : tables_region;
    ASAN_UNPOISON_MEMORY_REGION(tables_region, FUZZ_TABLES_MAX_BYTES);
    memcpy(start, bytes, count);
    ASAN_POISON_MEMORY_REGION(tables_region, (size_t)(start - tables_region));
    ASAN_POISON_MEMORY_REGION(start + count, FUZZ_TABLES_MAX_BYTES - count - (size_t)(start - tables_region));
    place_code(start + FUZZ_CODE_DISTANCE);
    module.cfi_low = (uint64_t)(uintptr_t)start;
    module.cfi_high = module.cfi_low + count;
    module.start_pc = module.cfi_low + FUZZ_CODE_DISTANCE;
    module.end_pc = module.start_pc + CODE_BYTES;
    module.eh_frame_hdr = module.cfi_low + header_offset;
}

static bool is_same_saved(const struct sig_saved *a, const struct sig_saved *b)
{
    return a->kind == b->kind && a->dwarf_register == b->dwarf_register && a->offset == b->offset;
}

static bool is_same_rule(const struct sig_rule *a, const struct sig_rule *b)
{
    return a->kind == b->kind && a->cfa_register == b->cfa_register && a->cfa_deref == b->cfa_deref &&
           a->cfa_offset == b->cfa_offset && a->cfa_offset_after == b->cfa_offset_after &&
           is_same_saved(&a->ra, &b->ra) && is_same_saved(&a->fp, &b->fp) &&
           is_same_saved(&a->extra, &b->extra);
}

/* What the cache need not tell apart: a register's value is not to be had, for whatever reason. */
static struct sig_saved as_cached(struct sig_saved saved)
{
    if (saved.kind == SIG_SAVED_UNKNOWN || saved.kind == SIG_SAVED_UNDEFINED)
        return (struct sig_saved){.kind = SIG_SAVED_UNKNOWN};
    return saved;
}

static struct sig_rule rule_as_cached(const struct sig_rule *rule)
{
    struct sig_rule cached = *rule;
    if (rule->kind != SIG_RULE_FRAME)
        return (struct sig_rule){.kind = rule->kind};
    cached.fp = as_cached(cached.fp);
    cached.extra = as_cached(cached.extra);
    return cached;
}

static void check_rule(const struct sig_rule *rule)
{
    FUZZ_ASSERT(rule->kind <= SIG_RULE_UNSUPPORTED);
    FUZZ_ASSERT(rule->ra.kind <= SIG_SAVED_UNKNOWN && rule->fp.kind <= SIG_SAVED_UNKNOWN &&
                rule->extra.kind <= SIG_SAVED_UNKNOWN);
    if (rule->kind == SIG_RULE_FRAME)
        FUZZ_ASSERT(rule->ra.kind != SIG_SAVED_UNDEFINED && rule->ra.kind != SIG_SAVED_UNKNOWN);
    if (rule->kind == SIG_RULE_ROOT)
        FUZZ_ASSERT(rule->ra.kind == SIG_SAVED_UNDEFINED);
}

/* The cache gives back what was put in, or nothing; and nothing for another pc. */
static void check_cache(uint64_t pc, const struct sig_rule *rule)
{
    struct sig_rule cached, expected = rule_as_cached(rule);
    sig_rules_clear();
    sig_rules_insert(pc, rule);
    if (!sig_rules_lookup(pc, &cached))
        return;
    cached = rule_as_cached(&cached);
    FUZZ_ASSERT(is_same_rule(&cached, &expected));
    for (unsigned bit = 0; bit < 64; bit++)
        FUZZ_ASSERT(!sig_rules_lookup(pc ^ (uint64_t)1 << bit, &cached));
}

static void check_pc(uint64_t pc, bool with_cache)
{
    struct sig_rule direct, careful;
    sig_cfi_rule(&module, pc, false, &direct);
    check_rule(&direct);
    sig_cfi_rule(&module, pc, true, &careful);
    FUZZ_ASSERT(is_same_rule(&direct, &careful));
    uint64_t start = sig_cfi_function_start(&module, pc);
    FUZZ_ASSERT(start <= pc && (start == 0 || direct.kind != SIG_RULE_NONE));
    if (with_cache)
        check_cache(pc, &direct);
}

/* Where the tables lie does not depend on what is in them: built once for their size, then for their place.
 */
static void build(const struct fuzz_input *input, bool at_end)
{
    struct fuzz_input first = *input, second = *input;
    uint64_t start = (uint64_t)(uintptr_t)tables_region;
    fuzz_tables_build(&tables, &first, start);
    size_t used = tables.used;
    if (at_end)
        fuzz_tables_build(&tables, &second, start + FUZZ_TABLES_MAX_BYTES - used);
    FUZZ_ASSERT(tables.used == used);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, data + size};
    uint8_t mode = take_u8(&input), header_offset = take_u8(&input);
    bool at_end = mode & 2;
    uint64_t pcs[LOOKUPS];
    open_regions();
    for (int i = 0; i < LOOKUPS; i++)
        pcs[i] = take_fixed(&input, 2);
    if (mode & 1) {
        size_t count = (size_t)(input.end - input.at);
        place_tables(input.at, count < FUZZ_TABLES_MAX_BYTES ? count : FUZZ_TABLES_MAX_BYTES, at_end,
                     header_offset);
    } else {
        build(&input, at_end);
        place_tables(tables.bytes, tables.used, at_end, header_offset >= 0xf0 ? header_offset - 0xf0 : 0);
    }
    for (int i = 0; i < LOOKUPS; i++)
        check_pc(module.start_pc + (uint64_t)(int64_t)(int16_t)pcs[i], i == 0); /* clearing it takes time */
    return 0;
}
