/*
 * The walk over hostile stacks: it ends within its result, touches nothing that is not there, and comes to
 * one result, with the cache and without, careful or not, knowing the stack or probing it. And the walk from
 * outside, which knows less: it goes the same way, if not as far.
 *
 * Input: how the stack is described; capacity; registers; instructions of one hostile function; and then
 * words of the stack, until its end. Everything else stands: a stack and a foreign one between guard pages,
 * one module with a function for each kind of rule, one without unwind tables.
 */
#include "fuzz.h"
#include "fuzz_tables.h"
#include "sig/sys/sig_arch.h"
#include "sig/walk/sig_fp_offset_cache.h"
#include "sig/walk/sig_unwind_slow.h"
#include "sig/walk/sig_rules.h"
#include "sig/walk/sig_unwind.h"

#include <inttypes.h>
#include <string.h>

/* Where things are in the arena; whatever is not opened is a guard. */
enum {
    TABLES_AT = 0x100000,
    CODE_AT = TABLES_AT + FUZZ_CODE_DISTANCE,
    BARE_AT = CODE_AT + 0x10000, /* a module without tables */
    STACK_AT = 0x400000,
    STACK_BYTES = 4 * FUZZ_PAGE_BYTES,
    FOREIGN_AT = 0x500000,
    FOREIGN_BYTES = 2 * FUZZ_PAGE_BYTES,
    GENERATED_AT = 0x580000, /* code in no module */
    RESULT_AT = 0x600000,
    RESULT_BYTES = FUZZ_PAGE_BYTES,
    CONTEXT_AT = 0x700000,
    CODE_BYTES = FUZZ_PAGE_BYTES,
    FUNCTION_BYTES = 64,
    SLOTS_AT = CODE_BYTES - 0x200, /* in the code */
    WORD_BYTES = 8,
    CAPACITY_MAX = RESULT_BYTES / WORD_BYTES,
    TRAMPOLINE_FUNCTION = 1, /* index in functions[] */
    SHORT_FUNCTION = 14,     /* the next one has nothing before it */
    NEXT_WALK = 0xef,
    WALKS_MAX = 4,
};

/* A function for each kind of rule, by its instructions after those of the CIE (CFA = rsp + 8, return
 * address at CFA - 8). */
static const struct {
    uint8_t count, instructions[15];
} functions[] = {
    {0, {0}},                             /* a leaf */
    {0, {0}},                             /* the signal trampoline */
    {4, {0x0e, 32, 0x86, 2}},             /* rbp at CFA - 16 */
    {5, {0x0c, 6, 16, 0x86, 2}},          /* CFA = rbp + 16 */
    {7, {0x0c, 3, 16, 0x83, 3, 0x86, 2}}, /* CFA = rbx + 16, rbx at CFA - 24 */
    {14,
     {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x10, 3, 2, 0x76}}, /* realigned: CFA = *(rbp - 8) */
    {8, {0x0f, 6, 0x77, 0x98, 0x01, 0x06, 0x23, 8}},                      /* CFA = *(rsp + 152) + 8 */
    {7, {0x0f, 5, 0x77, 0x00, 0x06, 0x23, 8}},                            /* CFA = *rsp + 8 */
    {13, {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}}, /* the PLT */
    {2, {0x07, 16}},                                                              /* root */
    {5, {0x0e, 0, 0x09, 16, 5}},                          /* vfork: return address in rdi */
    {3, {0x0c, 10, 8}},                                   /* CFA = r10 + 8 */
    {6, {0x16, 16, 3, 0x77, 0, 0x06}},                    /* return address by an expression */
    {4, {0x07, 6, 0x07, 3}},                              /* rbp and rbx lost */
    {8, {0x09, 6, 3, 0x09, 3, 6, 0x0e, 16}},              /* rbp and rbx exchanged */
    {7, {0x10, 16, 2, 0x76, 8, 0x0e, 0}},                 /* return address at rbp + 8, CFA = rsp */
    {6, {0x0e, 0xf8, 0xff, 0xff, 0xff, 0x07}},            /* CFA = rsp + 2^31 - 8 */
    {5, {0x12, 7, 0x04, 0x86, 0x7f}},                     /* CFA = rsp - 32 */
    {6, {0x0e, 0x80, 0x20, 0x83, 0x80, 4}},               /* a frame of a page, rbx half a page down */
    {9, {0x0f, 5, 0x73, 0x00, 0x06, 0x23, 16, 0x86, 1}},  /* CFA = *rbx + 16 */
    {10, {0x0e, 40, 0x80, 4, 0x81, 3, 0x83, 2, 0x07, 6}}, /* as libgcc's, which return to handlers */
};

enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]), HOSTILE_FUNCTION = FUNCTIONS };

static struct fuzz_tables tables;
static size_t hostile_fde_at, hostile_at; /* in tables.bytes: the hostile function's FDE and instructions */
static uint8_t *stack, *foreign, *tables_region, *result;
static ucontext_t *context;
static union {
    struct sig_modules_table table;
    uint8_t bytes[sizeof(struct sig_modules_table) + 2 * sizeof(struct sig_module)];
} modules;

bool __real_sig_memory_copy(void *to, uint64_t from, size_t bytes);
bool __wrap_sig_memory_copy(void *to, uint64_t from, size_t bytes);
size_t __real_sig_memory_copy_some(void *to, uint64_t from, size_t bytes, int mem_descriptor,
                                   struct sig_memory_piece *beside);
size_t __wrap_sig_memory_copy_some(void *to, uint64_t from, size_t bytes, int mem_descriptor,
                                   struct sig_memory_piece *beside);
bool __real_sig_memory_is_readable(uint64_t address);
bool __wrap_sig_memory_is_readable(uint64_t address);
bool __real_sig_memory_peek(uint8_t *to, uint64_t from, size_t bytes);
bool __wrap_sig_memory_peek(uint8_t *to, uint64_t from, size_t bytes);

/* What the fuzzer itself has mapped elsewhere is not there for the walk, nor what it is just writing. */
static bool may_be_seen(uint64_t address)
{
    uint64_t in_arena = address - FUZZ_ARENA;
    return fuzz_arena_holds(address) && (in_arena < RESULT_AT || in_arena >= RESULT_AT + RESULT_BYTES);
}

bool __wrap_sig_memory_copy(void *to, uint64_t from, size_t bytes)
{
    return may_be_seen(from) && __real_sig_memory_copy(to, from, bytes); /* a Haskell stack may be anywhere */
}

size_t __wrap_sig_memory_copy_some(void *to, uint64_t from, size_t bytes, int mem_descriptor,
                                   struct sig_memory_piece *beside)
{
    return may_be_seen(from) ? __real_sig_memory_copy_some(to, from, bytes, mem_descriptor, beside) : 0;
}

bool __wrap_sig_memory_is_readable(uint64_t address)
{
    return may_be_seen(address) && __real_sig_memory_is_readable(address);
}

/* Code and tables do not change from walk to walk: what the cache has kept of them stays true. */
bool __wrap_sig_memory_peek(uint8_t *to, uint64_t from, size_t bytes)
{
    uint64_t in_arena = from - FUZZ_ARENA;
    bool is_constant = (in_arena >= CODE_AT && in_arena + bytes <= CODE_AT + CODE_BYTES) ||
                       (in_arena >= BARE_AT && in_arena + bytes <= BARE_AT + CODE_BYTES) ||
                       (in_arena >= GENERATED_AT && in_arena + bytes <= GENERATED_AT + FUZZ_PAGE_BYTES);
    return is_constant && __real_sig_memory_peek(to, from, bytes);
}

/* ---- what stands ---- */

static size_t put_usual_cie(const char *augmentation)
{
    static const uint8_t rest[] = {1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};
    size_t start = tables.used;
    put_fixed(&tables, 0, 8);
    put_u8(&tables, 1);
    put_bytes(&tables, augmentation, strlen(augmentation) + 1);
    put_bytes(&tables, rest, sizeof(rest));
    close_entry(&tables, start, 0);
    return start;
}

/* Returns where its instructions are. */
static size_t put_function(size_t cie_at, size_t index, const void *instructions, size_t count)
{
    size_t start = tables.used;
    uint64_t distance = FUZZ_CODE_DISTANCE + index * FUNCTION_BYTES;
    patch_u32(&tables, 8 + 8 * index, distance);
    patch_u32(&tables, 12 + 8 * index, start);
    put_fixed(&tables, 0, 4);
    put_fixed(&tables, tables.used - cie_at, 4);
    put_encoded(&tables, SIG_PE_PCREL | SIG_PE_SDATA4, tables.base + distance);
    put_fixed(&tables, index == SHORT_FUNCTION ? FUNCTION_BYTES - 16 : FUNCTION_BYTES, 4);
    put_u8(&tables, 0);
    size_t instructions_at = tables.used;
    put_bytes(&tables, instructions, count);
    close_entry(&tables, start, 0);
    return instructions_at;
}

/* The hostile function comes last, so that its instructions can be written over it: 1 KiB of room. */
static void build_tables(void)
{
    static const uint8_t header[] = {1, 0xff, 0x03, 0x3b}, room[1024];
    tables.base = FUZZ_ARENA + TABLES_AT;
    put_bytes(&tables, header, sizeof(header));
    put_fixed(&tables, FUNCTIONS + 1, 4);
    put_bytes(&tables, room, 8 * (FUNCTIONS + 1));
    size_t usual = put_usual_cie("zR"), signal = put_usual_cie("zRS");
    for (size_t i = 0; i < FUNCTIONS; i++)
        put_function(i == TRAMPOLINE_FUNCTION ? signal : usual, i, functions[i].instructions,
                     functions[i].count);
    hostile_fde_at = tables.used;
    hostile_at = put_function(usual, HOSTILE_FUNCTION, room, sizeof(room));
}

/* Functions of 64 bytes that keep the frame pointer convention and call, in every way there is. */
static void place_generated_code(uint8_t *code)
{
    static const uint8_t function[] = {0x55, 0x48, 0x89, 0xe5, 0xe8, 0,    0,    0,    0,    0xff, 0xd0,
                                       0xff, 0x10, 0xff, 0x50, 8,    0xff, 0x14, 0xc3, 0xff, 0x54, 0x24,
                                       8,    0xff, 0x15, 0,    0,    0,    0,    0xff, 0x94, 0x24, 0,
                                       0,    0,    0,    0x5d, 0xc3, 0xf3, 0xc3, 0xc2, 8,    0,    0x90};
    for (size_t at = 0; at + FUNCTION_BYTES <= FUZZ_PAGE_BYTES; at += FUNCTION_BYTES)
        memcpy(code + at, function, sizeof(function));
}

static void place_call(uint8_t *code, uint32_t end, uint64_t called)
{
    uint32_t distance = (uint32_t)(called - (uint64_t)(uintptr_t)(code + end));
    code[end - 5] = 0xe8;
    memcpy(code + end - 4, &distance, sizeof(distance));
}

/*
 * Calls in each function, of others: by distance, in this module and in the other one, returning to bytes 32
 * and 22, and through a slot, to byte 48.
 */
static void place_calls(uint64_t module_at, uint64_t other_at)
{
    uint8_t *code = (uint8_t *)(uintptr_t)(FUZZ_ARENA + module_at);
    for (unsigned i = 0; i <= FUNCTIONS; i++) {
        uint32_t at = i * FUNCTION_BYTES, slot = SLOTS_AT + i * WORD_BYTES, distance = slot - (at + 48);
        uint64_t called = FUZZ_ARENA + module_at + i * 7 % FUNCTIONS * FUNCTION_BYTES;
        memcpy(code + slot, &called, sizeof(called));
        place_call(code, at + 22, FUZZ_ARENA + other_at + i * 5 % FUNCTIONS * FUNCTION_BYTES);
        place_call(code, at + 32, called);
        code[at + 42] = 0xff;
        code[at + 43] = 0x15;
        memcpy(code + at + 44, &distance, sizeof(distance));
    }
}

static void open_all(void)
{
    static const uint8_t trampoline[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    if (stack)
        return;
    fuzz_arena_reserve();
    stack = fuzz_arena_open(STACK_AT, STACK_BYTES);
    foreign = fuzz_arena_open(FOREIGN_AT, FOREIGN_BYTES);
    tables_region = fuzz_arena_open(TABLES_AT, FUZZ_TABLES_MAX_BYTES);
    context = (ucontext_t *)(void *)(fuzz_arena_open(CONTEXT_AT, FUZZ_PAGE_BYTES) + FUZZ_PAGE_BYTES) - 1;
    result = fuzz_arena_open(RESULT_AT, RESULT_BYTES);
    uint8_t *code_region = fuzz_arena_open(CODE_AT, CODE_BYTES);
    memcpy(code_region + TRAMPOLINE_FUNCTION * FUNCTION_BYTES + 1, trampoline, sizeof(trampoline));
    fuzz_arena_open(BARE_AT, CODE_BYTES);
    place_calls(CODE_AT, BARE_AT);
    place_calls(BARE_AT, CODE_AT);
    place_generated_code(fuzz_arena_open(GENERATED_AT, FUZZ_PAGE_BYTES));
    build_tables();
    uint64_t code = FUZZ_ARENA + CODE_AT, bare = FUZZ_ARENA + BARE_AT, low = FUZZ_ARENA + TABLES_AT;
    modules.table.count = 2;
    modules.table.modules[0] = (struct sig_module){.start_pc = code,
                                                   .end_pc = code + CODE_BYTES,
                                                   .eh_frame_hdr = low,
                                                   .cfi_low = low,
                                                   .is_permanent = true,
                                                   .cfi_high = low + tables.used};
    modules.table.modules[1] =
        (struct sig_module){.start_pc = bare, .end_pc = bare + CODE_BYTES, .is_permanent = true};
}

/* ---- what the input says ---- */

/* A word as stacks and registers have them: code, either stack, or what is nowhere. */
static uint64_t take_word(struct fuzz_input *input)
{
    uint8_t tag = take_u8(input), low = tag & 0x3f;
    switch (tag >> 6) {
    case 0:
        if (low < 0x38)
            return FUZZ_ARENA + CODE_AT + low % (FUNCTIONS + 1) * FUNCTION_BYTES + take_u8(input);
        return FUZZ_ARENA + (low % 2 ? BARE_AT + low % 8 / 2 * 4 * FUNCTION_BYTES : GENERATED_AT) +
               take_u8(input);
    case 1:
        return FUZZ_ARENA + STACK_AT + WORD_BYTES * ((low & 7U) << 8 | take_u8(input)) + (low >= 0x38);
    case 2:
        return FUZZ_ARENA + FOREIGN_AT + WORD_BYTES * ((low & 3U) << 8 | take_u8(input)) + (low >= 0x38);
    default:
        break;
    }
    switch (low % 8) {
    case 0:
        return take_u8(input);
    case 1:
        return (uint64_t)0 - 1 - take_u8(input);
    case 2:
        return FUZZ_ARENA + STACK_AT - 1 - take_u8(input); /* the guard page */
    case 3:
        return FUZZ_ARENA + STACK_AT + STACK_BYTES - 128 + take_u8(input);
    case 4:
        return (take_fixed(input, 2) << 48) + FUZZ_ARENA + STACK_AT; /* not canonical, mostly */
    case 5:
        return FUZZ_ARENA + CONTEXT_AT + FUZZ_PAGE_BYTES - 8U * take_u8(input);
    default:
        return take_number(input);
    }
}

static void take_registers(struct fuzz_input *input, greg_t *registers)
{
    static const uint8_t taken[] = {REG_RIP, REG_RSP, REG_RBP, REG_RBX};
    for (size_t i = 0; i < sizeof(taken); i++)
        registers[taken[i]] = (greg_t)take_word(input);
}

/* Both stacks are one row of words for this. */
static uint64_t *stack_word(size_t index)
{
    enum { WORDS = STACK_BYTES / WORD_BYTES, FOREIGN_WORDS = FOREIGN_BYTES / WORD_BYTES };
    index %= WORDS + FOREIGN_WORDS;
    return (uint64_t *)(void *)(index < WORDS ? stack : foreign - STACK_BYTES) + index;
}

static bool has_room_for_context(const uint64_t *word)
{
    uint64_t in_arena = (uint64_t)(uintptr_t)word - FUZZ_ARENA;
    return in_arena + sizeof(ucontext_t) <= STACK_AT + STACK_BYTES ||
           (in_arena >= FOREIGN_AT && in_arena + sizeof(ucontext_t) <= FOREIGN_AT + FOREIGN_BYTES);
}

/* Until the next walk. Steps of at most 1 KiB, so that an input can go through the stack as the walk does. */
static void take_stacks(struct fuzz_input *input)
{
    for (size_t at = 0; input->at < input->end;) {
        uint8_t op = take_u8(input);
        if (op == NEXT_WALK)
            return;
        at += op & 0x7f;
        uint64_t *word = stack_word(at);
        if (op < 0xc0) {
            *word = take_word(input);
        } else if (op < 0xe0 && has_room_for_context(word)) {
            take_registers(input, ((ucontext_t *)(void *)word)->uc_mcontext.gregs);
        } else if (op < 0xf0) {
            at = take_fixed(input, 2);
        } else {
            uint64_t value = take_word(input);
            for (unsigned left = take_u8(input); left > 0; left--)
                *stack_word(at++) = value;
        }
    }
}

/* Its length is what the instructions need; what follows them in the space for them is never read. */
static void take_hostile_function(struct fuzz_input *input)
{
    tables.used = hostile_at;
    put_instructions(&tables, input, SIG_PE_PCREL | SIG_PE_SDATA4);
    put_u8(&tables, 0);
    patch_u32(&tables, hostile_fde_at, tables.used - hostile_fde_at - 4);
    size_t end = (size_t)(modules.table.modules[0].cfi_high - modules.table.modules[0].cfi_low);
    memcpy(tables_region, tables.bytes, end);
}

/* The contract: from a stack pointer inside the bounds, the stack is mapped up to the upper one. */
static void describe_stack(uint8_t choice, struct sig_unwind_request *request)
{
    static const struct {
        uint64_t low, high;
    } bounds[] = {
        {STACK_AT, STACK_AT + STACK_BYTES},
        {STACK_AT - 0x80000, STACK_AT + STACK_BYTES - 64}, /* the main thread's: how far it might grow */
        {STACK_AT + 520, STACK_AT + STACK_BYTES - 1024},
        {FOREIGN_AT, FOREIGN_AT + FOREIGN_BYTES},
    };
    uint64_t sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
    request->stack_low = FUZZ_ARENA + bounds[choice % 4].low;
    request->stack_high = FUZZ_ARENA + bounds[choice % 4].high;
    if (choice % 4 == 1 && sp >= request->stack_low && sp < FUZZ_ARENA + STACK_AT)
        context->uc_mcontext.gregs[REG_RSP] = (greg_t)(FUZZ_ARENA + STACK_AT + sp % WORD_BYTES);
}

/* ---- the promises ---- */

struct walked {
    size_t count;
    enum sig_unwind_end end;
    uint64_t addresses[CAPACITY_MAX];
};

static union {
    struct sig_stack_cache stack_cache;
    uint8_t bytes[sizeof(struct sig_stack_cache) + 2 * CAPACITY_MAX * sizeof(struct sig_stack_cache_frame)];
} remembered;

/* The result lies before a guard page. */
static void walk(const struct sig_unwind_request *request, struct walked *ret)
{
    enum { UNTOUCHED = -1 };
    struct sig_unwind_request own = *request;
    own.addresses = (uint64_t *)(void *)(result + RESULT_BYTES) - (ptrdiff_t)request->capacity;
    ret->end = (enum sig_unwind_end)UNTOUCHED;
    ret->count = sig_unwind(&own, context, &ret->end);
    FUZZ_ASSERT(ret->count <= request->capacity);
    FUZZ_ASSERT(ret->end <= SIG_UNWIND_INEXPRESSIBLE);
    FUZZ_ASSERT(ret->end != SIG_UNWIND_DEPTH || ret->count == request->capacity);
    memcpy(ret->addresses, own.addresses, ret->count * sizeof(uint64_t));
}

static void print_walk(const char *which, const struct walked *walked)
{
    fprintf(stderr, "%s: end %d:", which, (int)walked->end);
    for (size_t i = 0; i < walked->count; i++)
        fprintf(stderr, " %" PRIx64, walked->addresses[i]);
    fputc('\n', stderr);
}

static void assert_same(const struct walked *a, const struct walked *b)
{
    if (a->end != b->end || a->count != b->count ||
        memcmp(a->addresses, b->addresses, a->count * sizeof(uint64_t)) != 0) {
        print_walk("plain", a);
        print_walk("other", b);
    }
    FUZZ_ASSERT(a->end == b->end);
    FUZZ_ASSERT(a->count == b->count);
    FUZZ_ASSERT(memcmp(a->addresses, b->addresses, a->count * sizeof(uint64_t)) == 0);
}

/* What is left out of the result because it is shared with the walk before stands in the stack cache. */
static void walk_with_cache(struct sig_unwind_request request, struct walked *ret)
{
    request.stack_cache = &remembered.stack_cache;
    walk(&request, ret);
    const struct sig_stack_cache *stack_cache = request.stack_cache;
    FUZZ_ASSERT(stack_cache->count == 0 || ret->end == SIG_UNWIND_ROOT);
    FUZZ_ASSERT(stack_cache->count <= stack_cache->capacity &&
                (stack_cache->shared <= stack_cache->count || stack_cache->count == 0));
    for (uint32_t left = stack_cache->count ? stack_cache->shared : 0; left > 0; left--) {
        FUZZ_ASSERT(ret->count < request.capacity);
        ret->addresses[ret->count++] = stack_cache->frames[left - 1].address;
    }
    for (uint32_t i = 0; i < stack_cache->count; i++)
        FUZZ_ASSERT(stack_cache->frames[i].address == ret->addresses[stack_cache->count - 1 - i]);
}

/* Goes on from where the other walk ended, or takes none of its addresses back. */
static void full_walk(const struct sig_unwind_request *request, const struct walked *fast, uint8_t garbage,
                      struct walked *ret)
{
    static struct sig_unwind_slow_scratch scratch;
    struct sig_unwind_request own = *request;
    memset(&scratch, garbage, sizeof(scratch));
    own.addresses = (uint64_t *)(void *)(result + RESULT_BYTES) - (ptrdiff_t)request->capacity;
    memcpy(own.addresses, fast->addresses, fast->count * sizeof(uint64_t));
    ret->end = fast->end;
    ret->count = sig_unwind_slow(&own, context, &scratch, fast->count, &ret->end);
    FUZZ_ASSERT(ret->count >= fast->count && ret->count <= request->capacity);
    FUZZ_ASSERT(ret->end <= SIG_UNWIND_TRUNCATED);
    memcpy(ret->addresses, own.addresses, ret->count * sizeof(uint64_t));
    FUZZ_ASSERT(memcmp(ret->addresses, fast->addresses, fast->count * sizeof(uint64_t)) == 0);
}

/* The tables of what is not permanent are read through the kernel. */
static void set_permanent(bool is_permanent)
{
    for (size_t i = 0; i < modules.table.count; i++)
        modules.table.modules[i].is_permanent = is_permanent;
}

static void check_full_walk(struct sig_unwind_request request, const struct walked *fast)
{
    static struct walked plain, other;
    full_walk(&request, fast, 0x00, &plain);
    set_permanent(false);
    full_walk(&request, fast, 0xa5, &other);
    set_permanent(true);
    assert_same(&plain, &other);
    request.stack_low = request.stack_high = 0;
    full_walk(&request, fast, 0x5a, &other);
    assert_same(&plain, &other);
}

static void walk_other(const struct sig_unwind_request *request, struct walked *ret, bool *ret_by_distance)
{
    static uint64_t words[2 * SIG_STACK_COPY_BYTES_MIN / WORD_BYTES];
    static struct sig_stack_copy copy = {
        .words = words, .capacity_bytes = sizeof(words), .mem_descriptor = -1};
    const greg_t *regs = context->uc_mcontext.gregs;
    uint64_t arguments[] = {(uint64_t)regs[REG_RDI], (uint64_t)regs[REG_RSI], (uint64_t)regs[REG_RDX],
                            (uint64_t)regs[REG_R10], (uint64_t)regs[REG_R8],  (uint64_t)regs[REG_R9]};
    struct sig_blocked_regs place = {
        .pc = (uint64_t)regs[REG_RIP], .sp = (uint64_t)regs[REG_RSP], .arguments = arguments};
    struct sig_unwind_request own = *request;
    struct sig_unwind_course course;
    own.copy = &copy;
    own.addresses = (uint64_t *)(void *)(result + RESULT_BYTES) - (ptrdiff_t)request->capacity;
    ret->count = sig_unwind_remote(&own, &place, &course);
    ret->end = course.end;
    *ret_by_distance = course.by_distance;
    copy.expected_bytes = course.bytes;
    FUZZ_ASSERT(ret->count <= request->capacity);
    FUZZ_ASSERT(ret->end <= SIG_UNWIND_INEXPRESSIBLE);
    FUZZ_ASSERT(!course.by_distance || ret->end == SIG_UNWIND_ROOT);
    memcpy(ret->addresses, own.addresses, ret->count * sizeof(uint64_t));
}

/* With what handlers have learned and without; what is found by no distance is the same each time. */
static void check_other(struct sig_unwind_request request, const struct walked *self)
{
    static struct walked plain, other;
    bool by_distance;
    sig_fp_offset_clear();
    request.use_cache = false;
    walk_other(&request, &plain, &by_distance);
    FUZZ_ASSERT(!by_distance);
    request.use_cache = true;
    for (int i = 0; i < 3; i++) {
        walk_other(&request, &other, &by_distance);
        if (!by_distance)
            assert_same(&plain, &other);
        request.learns = true;
        walk(&request, &other);
        request.learns = false;
        assert_same(self, &other);
    }
    size_t shared = plain.count < self->count ? plain.count : self->count;
    FUZZ_ASSERT(memcmp(plain.addresses, self->addresses, shared * sizeof(uint64_t)) == 0);
}

static bool goes_on_from(const struct walked *before, const struct walked *after)
{
    return before->end == SIG_UNWIND_TRUNCATED && after->count >= before->count &&
           memcmp(before->addresses, after->addresses, before->count * sizeof(uint64_t)) == 0;
}

static void check_walks(struct sig_unwind_request request)
{
    static struct sig_column rows[SIG_ROW_COPIES * SIG_ROW_ALL];
    static struct walked plain, other;
    walk(&request, &plain);
    check_full_walk(request, &plain);
    set_permanent(false);
    walk(&request, &other);
    set_permanent(true);
    assert_same(&plain, &other);
    memset(rows, 0xa5, sizeof(rows));
    request.rows = rows;
    walk(&request, &other);
    assert_same(&plain, &other);
    request.use_cache = true;
    for (int i = 0; i < 2; i++) { /* filling the cache, then reading it */
        walk(&request, &other);
        assert_same(&plain, &other);
    }
    walk_with_cache(request, &other);
    assert_same(&plain, &other);
    check_other(request, &plain);
    bool is_bounded_by_guard = request.stack_high % FUZZ_PAGE_BYTES == 0;
    request.stack_low = request.stack_high = 0;
    walk(&request, &other);
    /* Searches keep to the stack where its end is known, else to what can be read. And who does not know that
     * it is one stack may take what lies lower in it for another. */
    if (is_bounded_by_guard && !goes_on_from(&plain, &other))
        assert_same(&plain, &other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, data + size};
    open_all();
    uint8_t choice = take_u8(&input), stack_cache_choice = take_u8(&input);
    struct sig_unwind_request request = {.modules = &modules.table,
                                         .capacity = 1 + take_number(&input) % CAPACITY_MAX};
    remembered.stack_cache =
        (struct sig_stack_cache){.capacity = stack_cache_choice ? stack_cache_choice : 2 * CAPACITY_MAX};
    take_hostile_function(&input);
    memset(stack, 0, STACK_BYTES);
    memset(foreign, 0, FOREIGN_BYTES);
    sig_rules_clear();
    for (int walks = 0; walks == 0 || (walks < WALKS_MAX && input.at < input.end); walks++) {
        memset(context, 0, sizeof(*context));
        take_registers(&input, context->uc_mcontext.gregs);
        context->uc_mcontext.gregs[REG_RDI] = (greg_t)take_word(&input);
        context->uc_mcontext.gregs[REG_R10] = (greg_t)take_word(&input);
        describe_stack(choice, &request);
        take_stacks(&input);
        check_walks(request);
    }
    return 0;
}
