/*
 * A CPython whose memory is hostile: the walk over its frames ends within its result, reads nothing that is
 * not there, and what it finds has names and lines that are text. No frame is lost when it is merged.
 *
 * Input: the version; how much fits; the table of offsets of 3.13; and then words of a sound CPython's memory
 * that are overwritten, each with its new value. Small values are addresses in that memory, so that records
 * refer to each other.
 */
#include "fuzz.h"
#include "interp/interp_merge.h"
#include "interp/python_names.h"
#include "lib/fake_python.h"

#include <string.h>

enum { WORD_BYTES = 8, CAPACITY = FAKE_PYTHON_FRAMES, CHANGES_MAX = 64, READS_MAX = 8192 };

static struct fake_python python;

/* A number that is small enough is the address of a word. */
static uint64_t take_word(struct fuzz_input *input)
{
    const uint64_t number = take_number(input);
    return number > 0 && number < 0x80 ? (uintptr_t)&python.block.words[number * 4] : number;
}

/* Two native calls, with three frames each; recursion, a wide name, and lines of every form. */
static void build(uint32_t version)
{
    static const uint8_t lines[] = {0x80, 1, 0xd2, 2, 3, 0xe8, 5, 0xf1, 0x41, 1, 0, 4, 5, 0xf8, 0xd9, 1, 1};
    static const uint16_t wide[] = {0x444, 0x20ac, 7};
    fake_python_init(&python, version);
    for (int call = 0; call < 2; call++) {
        const uint64_t code =
            fake_python_code(&python, call ? "outer" : "Inner.method", 10, lines, sizeof lines);
        const uint64_t other = fake_python_code(&python, "other", 20, lines, sizeof lines);
        *fake_at(&python.block, other + python.layout.frames.code.qualname) =
            fake_python_wide_text(&python, wide, 3);
        if (python.layout.frames.frame.has_shims)
            fake_python_shim(&python);
        fake_python_call(&python, code, 4, true);
        fake_python_call(&python, code, 8, false);
        fake_python_call(&python, other, 12, false);
    }
}

static void check_offsets(struct fuzz_input *input)
{
    enum { VERSION = 0x030d00f0 };
    uint64_t table[PYTHON_OFFSETS_WORDS] = {0x7970677562656478U, VERSION};
    struct python_layout layout;
    for (size_t i = 3; i < PYTHON_OFFSETS_WORDS; i++)
        table[i] = take_number(input) * WORD_BYTES;
    if (!python_layout_read(VERSION, 1, table, &layout))
        return;
    FUZZ_ASSERT(layout.frames.frame.bytes <= SIG_INTERP_FRAME_WORDS * WORD_BYTES);
    FUZZ_ASSERT(layout.frames.code.bytes <= SIG_INTERP_STATE_WORDS * WORD_BYTES);
    FUZZ_ASSERT(layout.frames.state.bytes <= SIG_INTERP_STATE_WORDS * WORD_BYTES);
    FUZZ_ASSERT(layout.frames.state.native_thread_id < layout.frames.state.bytes);
    FUZZ_ASSERT(layout.frames.code.first_line < layout.frames.code.bytes);
    FUZZ_ASSERT(layout.frames.frame.mark < layout.frames.frame.bytes);
}

static void check_stack(const struct sig_interp_stack *stack)
{
    FUZZ_ASSERT(stack->count <= stack->capacity);
    for (uint32_t i = 0; i < stack->count; i++)
        FUZZ_ASSERT(stack->frames[i].code ? stack->frames[i].check != 0 : stack->frames[i].is_entry);
}

static void check_names(const struct python_layout *layout, const struct sig_interp_memory *how,
                        const struct sig_interp_frame *frame)
{
    struct interp_names names;
    if (!python_names_read(layout, how, frame, &names))
        return;
    FUZZ_ASSERT(names.function[0] && strlen(names.function) < sizeof names.function);
    FUZZ_ASSERT(strlen(names.file) < sizeof names.file);
    FUZZ_ASSERT(names.line <= INT32_MAX && names.first_line <= INT32_MAX);
}

static void check_merge(struct fuzz_input *input, const struct sig_interp_stack *stack)
{
    arena_ref path[CAPACITY], frames[CAPACITY], merged[2 * CAPACITY];
    uint8_t roles[CAPACITY];
    uint8_t marks[CAPACITY];
    bool is_misfit;
    struct interp_stacks stacks = {.mode = take_u8(input) % 2 ? INTERP_MERGED : INTERP_ALL,
                                   .path = path,
                                   .roles = roles,
                                   .depth = take_u8(input) % CAPACITY,
                                   .frames = frames,
                                   .marks = marks,
                                   .frame_count = stack->count,
                                   .is_cut = stack->end == SIG_INTERP_CUT};
    size_t folded = 0;
    for (size_t i = 0; i < stacks.depth; i++) {
        path[i] = (arena_ref)i + 1;
        roles[i] = take_u8(input) % 4;
        folded += roles[i] != INTERP_NATIVE;
    }
    stacks.is_truncated = stacks.depth > 0 && take_u8(input) % 2;
    for (size_t i = 0; i < stacks.frame_count; i++) {
        frames[i] = 1000 + (arena_ref)i; /* those without code too */
        marks[i] = stack->frames[i].is_entry ? INTERP_ENTRY : 0;
    }
    const size_t count = interp_merge(&stacks, merged, 2 * CAPACITY, &is_misfit);
    FUZZ_ASSERT(count <= stacks.depth + stacks.frame_count);
    FUZZ_ASSERT(count + folded >= stacks.depth + stacks.frame_count);
    for (size_t i = 0, next = 0; i < count; i++) /* no frame is lost, and their order is kept */
        FUZZ_ASSERT(merged[i] < 1000 || merged[i] == 1000 + next++);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t versions[] = {0x030b02f0, 0x030c01f0, 0x030a0df0, 0x030912f0};
    struct fuzz_input input = {data, data + size};
    struct sig_interp_stack stack;
    build(versions[take_u8(&input) % 4]);
    const uint32_t capacity = 1 + take_u8(&input) % CAPACITY;
    if (take_u8(&input) % 4 == 0)
        check_offsets(&input);
    for (int i = 0; i < CHANGES_MAX && input.at < input.end; i++) {
        const uint64_t at = take_fixed(&input, 2) % python.block.used;
        python.block.words[at] = take_word(&input);
    }
    fake_python_walk(&python, &stack, capacity);
    FUZZ_ASSERT(python.block.reads < READS_MAX);
    check_stack(&stack);
    for (uint32_t i = 0; i < stack.count; i++)
        check_names(&python.layout, &python.block.memory, &stack.frames[i]);
    input = (struct fuzz_input){data, data + size};
    check_merge(&input, &stack);
    return 0;
}
