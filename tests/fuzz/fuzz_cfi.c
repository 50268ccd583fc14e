/*
 * The CFI evaluator on hostile and truncated tables: it ends, reads nothing outside of them, and gives one
 * answer for one address.
 *
 * Input: byte 0 bit 0 selects raw tables (the rest of the input as it is) or tables built by fuzz_tables.h,
 * bit 1 whether they lie before a guard page or after one, bits 2 to 7 the copy through the kernel that
 * fails, 0 for none; byte 1 where in them .eh_frame_hdr is; 4 times 16 bits, lookup pcs relative to the code;
 * the tables.
 */
#include "fuzz.h"
#include "fuzz_tables.h"
#include "sig/sys/sig_arch.h"
#include "sig/cfi/sig_cfi.h"
#include "sig/cfi/sig_full_frame.h"
#include "sig/walk/sig_rules.h"

#include <sanitizer/asan_interface.h>
#include <string.h>

enum {
    TABLES_AT = 0x100000, /* in the arena */
    CODE_AT = TABLES_AT + FUZZ_CODE_DISTANCE,
    CODE_BYTES = 0x140,
    CODE_REGION_BYTES = FUZZ_TABLES_MAX_BYTES + FUZZ_PAGE_BYTES,
    COPY_AT = 0x300000,
    STACK_AT = 0x400000,
    STACK_WORDS = FUZZ_PAGE_BYTES / 8,
    LOOKUPS = 4,
};

static uint8_t *tables_region, *code_region, *copy_region;
static unsigned copies_left; /* until the kernel refuses one, as after a dlclose; 0 for never */
static uint64_t *stack;
static struct fuzz_tables tables;
static struct sig_module module;

bool __real_sig_memory_copy(void *to, uint64_t from, size_t bytes);
bool __wrap_sig_memory_copy(void *to, uint64_t from, size_t bytes);
bool __wrap_sig_memory_is_readable(uint64_t address);

static bool lies_in(uint64_t from, size_t bytes, uint64_t low, uint64_t high)
{
    return from >= low && from <= high && bytes <= high - from;
}

/* The kernel would refuse what lies in a guard page; here it is an error to try. */
bool __wrap_sig_memory_copy(void *to, uint64_t from, size_t bytes)
{
    FUZZ_ASSERT(lies_in(from, bytes, module.cfi_low, module.cfi_high) ||
                lies_in(from, bytes, module.start_pc, module.end_pc));
    if (copies_left && --copies_left == 0)
        return false;
    FUZZ_ASSERT(__real_sig_memory_copy(to, from, bytes));
    return true;
}

/* Expressions read the stack, which is the only memory there is for them. */
bool __wrap_sig_memory_is_readable(uint64_t address)
{
    return lies_in(address, 8, (uint64_t)(uintptr_t)stack, (uint64_t)(uintptr_t)stack + FUZZ_PAGE_BYTES);
}

/* Words that point at each other. */
static void place_stack(void)
{
    stack = (uint64_t *)(void *)fuzz_arena_open(STACK_AT, FUZZ_PAGE_BYTES);
    for (size_t i = 0; i < STACK_WORDS; i++)
        stack[i] = (uint64_t)(uintptr_t)&stack[i * 5 % STACK_WORDS];
}

static void open_regions(void)
{
    if (tables_region)
        return;
    fuzz_arena_reserve();
    tables_region = fuzz_arena_open(TABLES_AT, FUZZ_TABLES_MAX_BYTES);
    code_region = fuzz_arena_open(CODE_AT, CODE_REGION_BYTES);
    copy_region = fuzz_arena_open(COPY_AT, FUZZ_TABLES_MAX_BYTES);
    place_stack();
}

/* Signal trampolines after one byte, as the C library has it; at the start of a function; and cut off. */
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

/* ASan sees reads outside to the byte after the tables, to eight before them; the guard page to the byte. */
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
           is_same_saved(&a->extra, &b->extra) && a->starts_here == b->starts_here &&
           a->may_land == b->may_land;
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
        return (struct sig_rule){.kind = rule->kind, .starts_here = rule->starts_here};
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
        FUZZ_ASSERT(rule->ra.kind != SIG_SAVED_UNDEFINED && rule->ra.kind != SIG_SAVED_UNKNOWN &&
                    !rule->starts_here);
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

/* A frame on the stack, all of whose registers but one point into it; memory with whatever is in it. */
static enum sig_full_frame_result caller_of(const struct sig_row_request *request, uint8_t garbage,
                                            struct sig_registers *ret, uint64_t *ret_cfa)
{
    static struct sig_column rows[SIG_ROW_COPIES * SIG_ROW_ALL];
    static uint64_t values[SIG_EVALUATION_VALUES];
    struct sig_stack window = {.low = 0};
    struct sig_evaluation evaluation = {.stack = &window, .values = values, .operators_left = 500};
    struct sig_registers frame = {.pc = request->lookup_pc};
    for (unsigned i = 0; i < SIG_DWARF_RA; i++)
        frame.value[i] = (uint64_t)(uintptr_t)&stack[256 + i];
    frame.value[SIG_DWARF_RA] = request->lookup_pc;
    frame.known = (((uint64_t)1 << SIG_DWARF_COUNT) - 1) & ~((uint64_t)1 << 12);
    memset(rows, garbage, sizeof(rows));
    memset(values, garbage, sizeof(values));
    memset(ret, garbage, sizeof(*ret));
    sig_stack_begin(&window, frame.value[SIG_DWARF_SP]);
    return sig_full_frame_caller(request, &evaluation, rows, &frame, ret, ret_cfa);
}

static void check_frame(struct sig_row_request request)
{
    struct sig_registers direct, careful;
    uint64_t cfa, careful_cfa;
    request.careful_reads = false;
    enum sig_full_frame_result result = caller_of(&request, 0x5a, &direct, &cfa);
    request.careful_reads = true;
    FUZZ_ASSERT(caller_of(&request, 0xa5, &careful, &careful_cfa) == result);
    if (result != SIG_FULL_FRAME_CALLER)
        return;
    FUZZ_ASSERT(cfa == careful_cfa && direct.pc == careful.pc && direct.known == careful.known);
    FUZZ_ASSERT(direct.known >> SIG_DWARF_SP & 1 && direct.known >> SIG_DWARF_RA & 1);
    for (unsigned i = 0; i < SIG_DWARF_COUNT; i++)
        FUZZ_ASSERT(!(direct.known >> i & 1) || direct.value[i] == careful.value[i]);
}

static bool is_same_column(const struct sig_column *a, const struct sig_column *b)
{
    return a->kind == b->kind && a->dwarf_register == b->dwarf_register && a->offset == b->offset;
}

/* The whole row, in memory with whatever is in it, and by both ways of reading. */
static void check_row(uint64_t pc)
{
    static struct sig_column direct[SIG_ROW_COPIES * SIG_ROW_ALL], careful[SIG_ROW_COPIES * SIG_ROW_ALL];
    struct sig_row_request request;
    struct sig_cfa cfa, careful_cfa;
    if (!sig_cfi_find(&module, pc, false, &request))
        return;
    FUZZ_ASSERT(pc >= request.fde.start_pc && pc < request.fde.end_pc);
    memset(direct, 0x5a, sizeof(direct));
    memset(careful, 0xa5, sizeof(careful));
    bool is_found = sig_cfi_row(&request, SIG_ROW_ALL, direct, &cfa);
    request.careful_reads = true;
    FUZZ_ASSERT(sig_cfi_row(&request, SIG_ROW_ALL, careful, &careful_cfa) == is_found);
    if (!is_found)
        return;
    FUZZ_ASSERT(cfa.dwarf_register == careful_cfa.dwarf_register && cfa.offset == careful_cfa.offset &&
                cfa.expression == careful_cfa.expression);
    for (int i = 0; i < SIG_ROW_ALL; i++) {
        FUZZ_ASSERT(is_same_column(&direct[i], &careful[i]) && direct[i].kind <= SIG_COLUMN_UNKNOWN);
        if (direct[i].kind == SIG_COLUMN_AT_EXPRESSION || direct[i].kind == SIG_COLUMN_IS_EXPRESSION)
            FUZZ_ASSERT(lies_in(sig_column_block(&module, &direct[i]), 1, module.cfi_low, module.cfi_high));
    }
    check_frame(request);
}

/* Tables that go away while they are read. */
static void check_vanishing(uint64_t pc, unsigned copies)
{
    struct sig_rule rule;
    copies_left = copies;
    sig_cfi_rule(&module, pc, true, &rule);
    check_rule(&rule);
    copies_left = copies;
    FUZZ_ASSERT(sig_eh_frame_function_start(&module, pc) <= pc);
    copies_left = 0;
}

/* The same tables elsewhere, as they are in the file and not where they are mapped; and a copy of the search
 * table (in the process's memory, as the reader of such tables has it). Both lead to the same entry, or to
 * none. */
static void check_copies(uint64_t pc, const struct sig_rule *rule)
{
    static struct sig_search_entry search[FUZZ_TABLES_MAX_BYTES / sizeof(struct sig_search_entry)];
    const struct sig_module mapped = module;
    uint64_t entries, count, eh_frame, size = module.cfi_high - module.cfi_low;
    struct sig_rule other;
    memcpy(copy_region, (const void *)(uintptr_t)module.cfi_low, size);
    module.cfi_shift = (int64_t)((uint64_t)(uintptr_t)copy_region - module.cfi_low);
    sig_cfi_rule(&module, pc, false, &other);
    FUZZ_ASSERT(is_same_rule(rule, &other));
    if (sig_eh_frame_search_table(&module, false, &entries, &count, &eh_frame)) {
        FUZZ_ASSERT(lies_in(entries, count * sizeof(*search), module.cfi_low, module.cfi_high));
        memcpy(search, copy_region + (entries - module.cfi_low), count * sizeof(*search));
        module.search = search;
        module.search_count = count;
        module.search_base = module.eh_frame_hdr;
        sig_cfi_rule(&module, pc, false, &other);
        FUZZ_ASSERT(other.kind == SIG_RULE_NONE || is_same_rule(rule, &other));
    }
    module = mapped;
}

/* One entry after the other, from anywhere: always forwards, and never out of the tables. */
static void check_entries(uint64_t at)
{
    while (at != 0) {
        struct sig_cie cie;
        struct sig_fde fde;
        if (sig_eh_frame_read(&module, at, false, &cie, &fde))
            FUZZ_ASSERT(lies_in(fde.instructions, fde.instructions_end - fde.instructions, module.cfi_low,
                                module.cfi_high));
        uint64_t next = sig_eh_frame_next(&module, at, false);
        FUZZ_ASSERT(next == 0 || (next > at && next <= module.cfi_high));
        at = next;
    }
}

static void check_pc(uint64_t pc, bool with_cache)
{
    struct sig_rule direct, careful;
    sig_cfi_rule(&module, pc, false, &direct);
    check_rule(&direct);
    sig_cfi_rule(&module, pc, true, &careful);
    FUZZ_ASSERT(is_same_rule(&direct, &careful));
    uint64_t start = sig_eh_frame_function_start(&module, pc);
    FUZZ_ASSERT(start <= pc && (start == 0 || direct.kind != SIG_RULE_NONE));
    check_row(pc);
    check_copies(pc, &direct);
    if (with_cache)
        check_cache(pc, &direct);
}

/* Where the tables lie does not depend on what is in them: built once for their size,
 * then for their place. */
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
    check_entries(module.cfi_low + 20);
    if (mode >> 2)
        check_vanishing(module.start_pc, mode >> 2);
    return 0;
}
