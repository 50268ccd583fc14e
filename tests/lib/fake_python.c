#include "lib/fake_python.h"

#include "sig/interp/sig_interp_read.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 8, CODE_TYPE = 0x5000 };

static void set_word(struct fake_python *python, uint64_t address, uint64_t value)
{
    fake_set(&python->block, address, value);
}

/* ---- tables of offsets ---- */

enum { ENTRIES_MAX = 32 };

struct entry {
    uint8_t at;
    uint16_t offset;
};

static const struct entry table_3_13[ENTRIES_MAX] = {
    {5, 632}, {8, 7264}, {9, 7344}, {21, 8},   {23, 72},  {24, 152}, {25, 160}, {26, 232}, {29, 8},
    {31, 56}, {32, 72},  {33, 70},  {35, 112}, {36, 120}, {37, 128}, {38, 136}, {39, 68},  {40, 52},
    {41, 96}, {43, 200}, {45, 8},   {65, 16},  {66, 32},  {68, 32},  {69, 16},  {70, 40}};

static const struct entry table_3_14[ENTRIES_MAX] = {
    {5, 808}, {8, 7272}, {9, 7344}, {24, 8},   {26, 72},  {27, 152}, {28, 160}, {29, 232}, {32, 8},
    {34, 56}, {35, 80},  {36, 74},  {40, 112}, {41, 120}, {42, 128}, {43, 136}, {44, 68},  {45, 52},
    {46, 96}, {48, 208}, {51, 8},   {75, 16},  {76, 32},  {78, 32},  {79, 16},  {80, 40}};

static const struct entry table_free_threaded[ENTRIES_MAX] = {
    {5, 808},  {8, 7272}, {9, 7344}, {24, 8},  {26, 72}, {27, 152}, {28, 160},
    {29, 232}, {32, 8},   {34, 56},  {35, 80}, {36, 78}, {38, 72},  {40, 128},
    {41, 136}, {42, 144}, {43, 152}, {44, 84}, {45, 68}, {46, 112}, {48, 232},
    {49, 224}, {51, 24},  {75, 32},  {76, 48}, {78, 48}, {79, 32},  {80, 56}};

void fake_python_table(uint32_t version, bool is_free_threaded, uint64_t ret[PYTHON_OFFSETS_WORDS])
{
    const struct entry *entries = version == FAKE_PYTHON_3_13 ? table_3_13 : table_3_14;
    if (is_free_threaded)
        entries = table_free_threaded;
    memset(ret, 0, PYTHON_OFFSETS_WORDS * sizeof *ret);
    memcpy(ret, "xdebugpy", sizeof *ret);
    ret[1] = version;
    ret[2] = is_free_threaded;
    for (size_t i = 0; i < ENTRIES_MAX && entries[i].at; i++)
        ret[entries[i].at] = entries[i].offset;
}

static void take_layout(uint32_t version, struct python_layout *ret)
{
    uint64_t table[PYTHON_OFFSETS_WORDS];
    const bool is_free_threaded = version == FAKE_PYTHON_FREE_THREADED;
    if (is_free_threaded)
        version = FAKE_PYTHON_3_14;
    if (python_layout_of(version, CODE_TYPE, ret))
        return;
    fake_python_table(version, is_free_threaded, table);
    if (!python_layout_read(version, CODE_TYPE, table, ret))
        abort();
}

/* ---- its memory ---- */

static uint64_t make_state(struct fake_python *python)
{
    const struct sig_python_layout *frames = &python->layout.frames;
    const uint64_t state = fake_alloc(&python->block, SIG_INTERP_STATE_WORDS);
    set_word(python, state + frames->state.native_thread_id, FAKE_PYTHON_TID);
    set_word(python, state + frames->state.thread_id, FAKE_PYTHON_THREAD_ID);
    if (frames->state.is_frame_in_record)
        set_word(python, state + frames->state.frame, fake_alloc(&python->block, 2));
    return state;
}

void fake_python_init(struct fake_python *python, uint32_t version)
{
    fake_memory_init(&python->block);
    python->frame = 0;
    python->other_state = 0;
    take_layout(version, &python->layout);
    python->state = make_state(python);
}

void fake_python_enter_other(struct fake_python *python)
{
    python->other_state = python->state;
    python->state = make_state(python);
    python->frame = 0;
    fake_set_half(&python->block, python->state + python->layout.frames.state.status, SIG_PYTHON_CURRENT);
}

static uint64_t text_header(struct fake_python *python, uint32_t bytes, uint32_t length, uint32_t kind,
                            bool is_ascii)
{
    const uint16_t header_bytes = is_ascii ? python->layout.text.ascii_bytes : python->layout.text.wide_bytes;
    uint64_t text = fake_alloc(&python->block, (header_bytes + bytes + WORD_BYTES) / WORD_BYTES);
    set_word(python, text + python->layout.text.length, length);
    fake_set_half(&python->block, text + python->layout.text.state,
                  (kind | 1U << 3 | (uint32_t)is_ascii << 4)
                      << (python->layout.text.is_interned_a_byte ? 8 : 2));
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
    set_word(python, address + python->layout.bytes_count, count);
    memcpy(fake_at(&python->block, address + python->layout.bytes_data), bytes, count);
    return address;
}

uint64_t fake_python_code(struct fake_python *python, const char *name, uint32_t first_line,
                          const uint8_t *lines, uint32_t line_bytes)
{
    const struct sig_python_layout *layout = &python->layout.frames;
    uint64_t code = fake_alloc(&python->block, FAKE_PYTHON_CODE_BYTES / WORD_BYTES);
    set_word(python, code + layout->code.type, CODE_TYPE);
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

void fake_python_copy_code(struct fake_python *python, uint64_t code, uint64_t frame, int32_t at)
{
    const struct sig_python_layout *layout = &python->layout.frames;
    const uint64_t copies = fake_alloc(&python->block, 3), copy = fake_alloc(&python->block, 8);
    set_word(python, copies, 2);
    set_word(python, copies + WORD_BYTES, code + layout->code.instructions);
    set_word(python, copies + 2 * (uint64_t)WORD_BYTES, copy);
    set_word(python, code + layout->code.copies, copies);
    set_word(python, frame + layout->frame.instruction, copy + (uint64_t)(int64_t)at);
    fake_set_half(&python->block, frame + layout->frame.copy, 1);
}

bool fake_python_walk(struct fake_python *python, struct sig_interp_stack *stack, uint32_t capacity)
{
    static struct sig_interp_frame frames[FAKE_PYTHON_FRAMES];
    static struct sig_interp_scratch scratch;
    const struct sig_interp_thread thread = {.state =
                                                 python->other_state ? python->other_state : python->state,
                                             .others = {python->other_state ? python->state : 0},
                                             .native_id = FAKE_PYTHON_TID,
                                             .thread_id = FAKE_PYTHON_THREAD_ID};
    *stack = (struct sig_interp_stack){.frames = frames, .capacity = capacity};
    const struct sig_interp_walk walk = {&thread, &python->block.memory, &scratch, stack};
    sig_interp_begin(&walk);
    return sig_python_walk(&python->layout.frames, &walk);
}
