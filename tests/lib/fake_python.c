#include "lib/fake_python.h"

#include "sig/interp/sig_interp_read.h"

#include <string.h>

enum { WORD_BYTES = 8, CODE_TYPE = 0x5000 };

static void set_word(struct fake_python *python, uint64_t address, uint64_t value)
{
    fake_set(&python->block, address, value);
}

void fake_python_init(struct fake_python *python, uint32_t version)
{
    fake_memory_init(&python->block);
    python->frame = 0;
    python_layout_of(version, CODE_TYPE, &python->layout);
    const struct sig_python_layout *frames = &python->layout.frames;
    python->state = fake_alloc(&python->block, SIG_INTERP_STATE_WORDS);
    set_word(python, python->state + frames->state.native_thread_id, FAKE_PYTHON_TID);
    set_word(python, python->state + frames->state.thread_id, FAKE_PYTHON_THREAD_ID);
    if (frames->state.is_frame_in_record)
        set_word(python, python->state + frames->state.frame, fake_alloc(&python->block, 2));
}

static uint64_t text_header(struct fake_python *python, uint32_t bytes, uint32_t length, uint32_t kind,
                            bool is_ascii)
{
    const uint16_t header_bytes = is_ascii ? python->layout.text.ascii_bytes : python->layout.text.wide_bytes;
    uint64_t text = fake_alloc(&python->block, (header_bytes + bytes + WORD_BYTES) / WORD_BYTES);
    set_word(python, text + python->layout.text.length, length);
    fake_set_half(&python->block, text + python->layout.text.state,
                  kind << 2 | 1U << 5 | (uint32_t)is_ascii << 6);
    return text;
}

uint64_t fake_python_text(struct fake_python *python, const char *text)
{
    const uint32_t length = (uint32_t)strlen(text);
    uint64_t address = text_header(python, length, length, 1, true);
    memcpy(fake_at(&python->block, address + python->layout.text.ascii_bytes), text, length);
    return address;
}

uint64_t fake_python_wide_text(struct fake_python *python, const uint16_t *text, uint32_t length)
{
    uint64_t address = text_header(python, 2 * length, length, 2, false);
    memcpy(fake_at(&python->block, address + python->layout.text.wide_bytes), text, 2 * (size_t)length);
    return address;
}

uint64_t fake_python_bytes(struct fake_python *python, const void *bytes, uint32_t count)
{
    uint64_t address =
        fake_alloc(&python->block, (python->layout.bytes_data + count + WORD_BYTES) / WORD_BYTES);
    set_word(python, address + 16, count);
    memcpy(fake_at(&python->block, address + python->layout.bytes_data), bytes, count);
    return address;
}

uint64_t fake_python_code(struct fake_python *python, const char *name, uint32_t first_line,
                          const uint8_t *lines, uint32_t line_bytes)
{
    const struct sig_python_layout *layout = &python->layout.frames;
    uint64_t code = fake_alloc(&python->block, FAKE_PYTHON_CODE_BYTES / WORD_BYTES);
    set_word(python, code + 8, CODE_TYPE);
    fake_set_half(&python->block, code + layout->code.first_line, first_line);
    set_word(python, code + layout->code.filename, fake_python_text(python, "/home/user/app.py"));
    set_word(python, code + layout->code.name, fake_python_text(python, "short"));
    set_word(python, code + layout->code.qualname, fake_python_text(python, name));
    set_word(python, code + layout->code.line_table, fake_python_bytes(python, lines, line_bytes));
    return code;
}

static uint64_t add_frame(struct fake_python *python, uint64_t code, uint64_t instruction, uint8_t mark)
{
    const struct sig_python_layout *layout = &python->layout.frames;
    uint64_t frame = fake_alloc(&python->block, layout->frame.bytes / WORD_BYTES + 3);
    const uint64_t record = *fake_at(&python->block, python->state + layout->state.frame);
    set_word(python, frame + layout->frame.code, code);
    set_word(python, frame + layout->frame.previous, python->frame);
    set_word(python, frame + layout->frame.instruction, instruction);
    if (!layout->frame.is_object)
        ((uint8_t *)fake_at(&python->block, frame))[layout->frame.mark] = mark;
    if (layout->state.is_frame_in_record)
        set_word(python, record + layout->state.frame_in_record, frame);
    else
        set_word(python, python->state + layout->state.frame, frame);
    return python->frame = frame;
}

uint64_t fake_python_call(struct fake_python *python, uint64_t code, int32_t at, bool is_entry)
{
    const struct sig_python_layout *layout = &python->layout.frames;
    const bool is_marked = is_entry && !layout->frame.has_shims;
    const uint64_t instruction = layout->frame.is_object
                                     ? (uint32_t)(at / layout->frame.units_bytes)
                                     : code + layout->code.instructions + (uint64_t)(int64_t)at;
    return add_frame(python, code, instruction, is_marked ? layout->frame.entry_mark : 0);
}

uint64_t fake_python_shim(struct fake_python *python)
{
    return add_frame(python, 0, 0, python->layout.frames.frame.entry_mark);
}

bool fake_python_walk(struct fake_python *python, struct sig_interp_stack *stack, uint32_t capacity)
{
    static struct sig_interp_frame frames[FAKE_PYTHON_FRAMES];
    static struct sig_interp_scratch scratch;
    const struct sig_interp_thread thread = {
        .state = python->state, .native_id = FAKE_PYTHON_TID, .thread_id = FAKE_PYTHON_THREAD_ID};
    *stack = (struct sig_interp_stack){.frames = frames, .capacity = capacity};
    const struct sig_interp_walk walk = {&thread, &python->block.memory, &scratch, stack};
    sig_interp_begin(&walk);
    return sig_python_walk(&python->layout.frames, &walk);
}
