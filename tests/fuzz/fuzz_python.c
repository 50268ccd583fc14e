/*
 * A CPython whose memory is hostile: the walk over its frames ends within its result, reads nothing that is
 * not there, and what it finds has names and lines that are text. No frame is lost when it is merged.
 *
 * Input: the version; how much fits; a table of offsets of 3.13 or 3.14; and then words of a sound CPython's
 * memory that are overwritten, each with its new value. Small values are addresses in that memory, so that
 * records refer to each other.
 */
#include "fuzz_interp.h"
#include "interp/python_names.h"
#include "lib/fake_python.h"

#include <string.h>

enum { WORD_BYTES = 8, READS_MAX = 8192 };

static struct fake_python python;

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
        if (call == 1 && python.layout.frames.state.status)
            fake_python_enter_other(&python);
        if (python.layout.frames.frame.has_shims)
            fake_python_shim(&python);
        fake_python_call(&python, code, 4, true);
        fake_python_call(&python, code, 8, false);
        const uint64_t frame = fake_python_call(&python, other, 12, false);
        if (python.layout.frames.frame.copy)
            fake_python_copy_code(&python, other, frame, 12);
    }
}

static void check_offsets(struct fuzz_input *input)
{
    const uint32_t version = take_u8(input) % 2 ? FAKE_PYTHON_3_14 : FAKE_PYTHON_3_13;
    uint64_t table[PYTHON_OFFSETS_WORDS] = {0x7970677562656478U, version, take_u8(input) % 2};
    struct python_layout layout;
    for (size_t i = 3; i < PYTHON_OFFSETS_WORDS; i++)
        table[i] = take_number(input) * WORD_BYTES / 2;
    if (!python_layout_read(version, 1, table, &layout))
        return;
    FUZZ_ASSERT(layout.frames.frame.bytes <= SIG_INTERP_FRAME_WORDS * WORD_BYTES);
    FUZZ_ASSERT(layout.frames.code.bytes <= SIG_INTERP_STATE_WORDS * WORD_BYTES);
    FUZZ_ASSERT(layout.frames.state.bytes <= SIG_INTERP_STATE_WORDS * WORD_BYTES);
    FUZZ_ASSERT(layout.frames.state.native_thread_id < layout.frames.state.bytes);
    FUZZ_ASSERT(layout.frames.code.first_line < layout.frames.code.bytes);
    FUZZ_ASSERT(layout.frames.code.flags < layout.frames.code.bytes);
    FUZZ_ASSERT(layout.frames.code.version < layout.frames.code.bytes);
    FUZZ_ASSERT(layout.frames.code.copies < layout.frames.code.bytes);
    FUZZ_ASSERT(layout.frames.frame.copy < layout.frames.frame.bytes);
    FUZZ_ASSERT(layout.frames.frame.mark < layout.frames.frame.bytes);
}

static void check_names(const struct python_layout *layout, const struct sig_interp_memory *how,
                        const struct sig_interp_frame *frame)
{
    struct interp_names names;
    if (!python_names_read(layout, how, frame, &names))
        return;
    check_text(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t versions[] = {0x030b02f0, 0x030c01f0,       0x030a0df0,
                                        0x030912f0, FAKE_PYTHON_3_14, FAKE_PYTHON_FREE_THREADED};
    struct fuzz_input input = {data, data + size};
    struct sig_interp_stack stack;
    build(versions[take_u8(&input) % 6]);
    const uint32_t capacity = 1 + take_u8(&input) % CAPACITY;
    if (take_u8(&input) % 4 == 0)
        check_offsets(&input);
    change_words(&input, &python.block);
    fake_python_walk(&python, &stack, capacity);
    FUZZ_ASSERT(python.block.reads < READS_MAX);
    check_stack(&stack);
    for (uint32_t i = 0; i < stack.count; i++)
        check_names(&python.layout, &python.block.memory, &stack.frames[i]);
    input = (struct fuzz_input){data, data + size};
    check_merge(&input, &stack);
    return 0;
}
