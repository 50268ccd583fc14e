#include "python_layout.h"

enum {
    WORD_BYTES = 8,
    OFFSET_MAX = 1 << 16,
    VERSION_3_8 = 0x0308,
    VERSION_3_9,
    VERSION_3_10,
    VERSION_3_11,
    VERSION_3_12,
    VERSION_3_13
};

/* Thread states have no id of the kernel's, and the C library's stands for it: no thread has one so small.
 * Both bounds of the chunk of frames are one word, as there is none. */
static const struct python_layout layout_3_10 = {
    .frames =
        {
            .state = {.thread_id = 176,
                      .native_thread_id = 176,
                      .chunk = 176,
                      .chunk_top = 176,
                      .bytes = 184,
                      .frame = 24},
            .frame = {.code = 32,
                      .previous = 24,
                      .instruction = 96,
                      .is_object = true,
                      .units_bytes = 2,
                      .bytes = 104},
            .code = {.filename = 104,
                     .name = 112,
                     .qualname = 112,
                     .line_table = 120,
                     .first_line = 40,
                     .flags = 36,
                     .bytes = 128},
        },
    .interpreters_head = 32,
    .interpreter_next = 0,
    .threads_head = 8,
    .thread_next = 8,
    .text = {.length = 16, .state = 32, .ascii_bytes = 48, .wide_bytes = 72},
    .lines = PYTHON_LINES_3_10,
    .bytes_data = 32,
};

static const struct python_layout layout_3_11 = {
    .frames =
        {
            .state = {.thread_id = 152,
                      .native_thread_id = 160,
                      .chunk = 296,
                      .chunk_top = 304,
                      .bytes = 312,
                      .frame = 56,
                      .is_frame_in_record = true,
                      .frame_in_record = 8},
            .frame =
                {.code = 32, .previous = 48, .instruction = 56, .mark = 68, .entry_mark = 1, .bytes = 72},
            .code = {.filename = 112,
                     .name = 120,
                     .qualname = 128,
                     .line_table = 136,
                     .first_line = 72,
                     .flags = 48,
                     .instructions = 184,
                     .bytes = 144},
        },
    .interpreters_head = 40,
    .interpreter_next = 0,
    .threads_head = 16,
    .thread_next = 8,
    .text = {.length = 16, .state = 32, .ascii_bytes = 48, .wide_bytes = 72},
    .bytes_data = 32,
};

static const struct python_layout layout_3_12 = {
    .frames =
        {
            .state = {.thread_id = 136,
                      .native_thread_id = 144,
                      .chunk = 232,
                      .chunk_top = 240,
                      .bytes = 248,
                      .frame = 56,
                      .is_frame_in_record = true,
                      .frame_in_record = 0},
            .frame = {.code = 0,
                      .previous = 8,
                      .instruction = 56,
                      .mark = 70,
                      .entry_mark = 3,
                      .has_shims = true,
                      .bytes = 72},
            .code = {.version = 92,
                     .filename = 112,
                     .name = 120,
                     .qualname = 128,
                     .line_table = 136,
                     .first_line = 68,
                     .flags = 48,
                     .instructions = 192,
                     .bytes = 144},
        },
    .interpreters_head = 40,
    .interpreter_next = 0,
    .threads_head = 72,
    .thread_next = 8,
    .text = {.length = 16, .state = 32, .ascii_bytes = 40, .wide_bytes = 56},
    .bytes_data = 32,
};

bool python_layout_of(uint32_t version, uint64_t code_type, struct python_layout *ret)
{
    switch (version >> PYTHON_VERSION_MINOR_SHIFT) {
    case VERSION_3_8:
    case VERSION_3_9:
        *ret = layout_3_10;
        ret->frames.frame.instruction = 104;
        ret->frames.frame.units_bytes = 1;
        ret->frames.frame.bytes = 112;
        ret->lines = PYTHON_LINES_BEFORE_310;
        break;
    case VERSION_3_10:
        *ret = layout_3_10;
        break;
    case VERSION_3_11:
        *ret = layout_3_11;
        break;
    case VERSION_3_12:
        *ret = layout_3_12;
        break;
    default:
        return false;
    }
    ret->frames.code_type = code_type;
    return true;
}

/* ---- the table of 3.13 ---- */

/* The words of the table that are used. */
enum {
    TABLE_COOKIE,
    TABLE_VERSION,
    TABLE_FREE_THREADED,
    TABLE_INTERPRETERS_HEAD = 5,
    TABLE_INTERPRETER_NEXT = 8,
    TABLE_THREADS_HEAD,
    TABLE_THREAD_NEXT = 21,
    TABLE_CURRENT_FRAME = 23,
    TABLE_THREAD_ID,
    TABLE_NATIVE_THREAD_ID,
    TABLE_CHUNK,
    TABLE_FRAME_PREVIOUS = 29,
    TABLE_FRAME_EXECUTABLE,
    TABLE_FRAME_INSTRUCTION,
    TABLE_FRAME_LOCALS,
    TABLE_FRAME_OWNER,
    TABLE_CODE_FILENAME = 35,
    TABLE_CODE_NAME,
    TABLE_CODE_QUALNAME,
    TABLE_CODE_LINES,
    TABLE_CODE_FIRST_LINE,
    TABLE_CODE_INSTRUCTIONS = 43,
    TABLE_BYTES_DATA = 66,
    TABLE_TEXT_STATE = 68,
    TABLE_TEXT_LENGTH,
    TABLE_TEXT_ASCII_BYTES
};

static const uint64_t table_cookie = 0x7970677562656478U; /* "xdebugpy" */

static void take_frames(const uint64_t *table, struct sig_python_layout *ret)
{
    ret->state.thread_id = (uint16_t)table[TABLE_THREAD_ID];
    ret->state.native_thread_id = (uint16_t)table[TABLE_NATIVE_THREAD_ID];
    ret->state.frame = (uint16_t)table[TABLE_CURRENT_FRAME];
    ret->state.chunk = (uint16_t)table[TABLE_CHUNK];
    ret->state.chunk_top = (uint16_t)(ret->state.chunk + WORD_BYTES);
    ret->state.bytes = (uint16_t)(ret->state.chunk_top + WORD_BYTES);
    ret->state.is_frame_in_record = false;
    ret->frame.code = (uint16_t)table[TABLE_FRAME_EXECUTABLE];
    ret->frame.previous = (uint16_t)table[TABLE_FRAME_PREVIOUS];
    ret->frame.instruction = (uint16_t)table[TABLE_FRAME_INSTRUCTION];
    ret->frame.mark = (uint16_t)table[TABLE_FRAME_OWNER];
    ret->frame.bytes = (uint16_t)table[TABLE_FRAME_LOCALS];
    ret->code.filename = (uint16_t)table[TABLE_CODE_FILENAME];
    ret->code.name = (uint16_t)table[TABLE_CODE_NAME];
    ret->code.qualname = (uint16_t)table[TABLE_CODE_QUALNAME];
    ret->code.line_table = (uint16_t)table[TABLE_CODE_LINES];
    ret->code.first_line = (uint16_t)table[TABLE_CODE_FIRST_LINE];
    ret->code.instructions = (uint16_t)table[TABLE_CODE_INSTRUCTIONS];
    ret->code.bytes = (uint16_t)(ret->code.line_table + WORD_BYTES);
}

static bool is_word_in(uint16_t offset, size_t bytes)
{
    return offset % WORD_BYTES == 0 && offset + (size_t)WORD_BYTES <= bytes;
}

/* What sig_python_walk relies on. */
static bool makes_sense(const struct sig_python_layout *layout)
{
    enum {
        STATE_BYTES = SIG_INTERP_STATE_WORDS * WORD_BYTES,
        FRAME_BYTES_MAX = SIG_INTERP_FRAME_WORDS * WORD_BYTES
    };
    const size_t state_bytes = layout->state.bytes;
    const size_t frame_bytes = layout->frame.bytes, code_bytes = layout->code.bytes;
    return state_bytes <= STATE_BYTES && is_word_in(layout->state.thread_id, state_bytes) &&
           is_word_in(layout->state.native_thread_id, state_bytes) &&
           is_word_in(layout->state.frame, state_bytes) && is_word_in(layout->state.chunk, state_bytes) &&
           is_word_in(layout->state.chunk_top, state_bytes) && frame_bytes % WORD_BYTES == 0 &&
           frame_bytes <= FRAME_BYTES_MAX && is_word_in(layout->frame.code, frame_bytes) &&
           is_word_in(layout->frame.previous, frame_bytes) &&
           is_word_in(layout->frame.instruction, frame_bytes) && layout->frame.mark < frame_bytes &&
           code_bytes <= STATE_BYTES && is_word_in(layout->code.filename, code_bytes) &&
           is_word_in(layout->code.name, code_bytes) && is_word_in(layout->code.qualname, code_bytes) &&
           is_word_in(layout->code.line_table, code_bytes) && layout->code.first_line % 4 == 0 &&
           layout->code.first_line < code_bytes;
}

/* Offsets of 16 bits would be cut off. Those in the interpreter's state are larger. */
static bool are_small(const uint64_t *table)
{
    for (int i = TABLE_THREAD_NEXT; i <= TABLE_TEXT_ASCII_BYTES; i++) {
        if (table[i] >= OFFSET_MAX)
            return false;
    }
    return table[TABLE_INTERPRETERS_HEAD] < UINT32_MAX && table[TABLE_INTERPRETER_NEXT] < UINT32_MAX &&
           table[TABLE_THREADS_HEAD] < UINT32_MAX;
}

bool python_layout_read(uint32_t version, uint64_t code_type, const uint64_t table[PYTHON_OFFSETS_WORDS],
                        struct python_layout *ret)
{
    if (version >> PYTHON_VERSION_MINOR_SHIFT != VERSION_3_13 || table[TABLE_COOKIE] != table_cookie ||
        table[TABLE_VERSION] != version || table[TABLE_FREE_THREADED] != 0 || !are_small(table))
        return false;
    *ret = layout_3_12; /* what the table lacks is as it was: flags, shims, wide characters */
    take_frames(table, &ret->frames);
    ret->frames.code_type = code_type;
    ret->interpreters_head = (uint32_t)table[TABLE_INTERPRETERS_HEAD];
    ret->interpreter_next = (uint32_t)table[TABLE_INTERPRETER_NEXT];
    ret->threads_head = (uint32_t)table[TABLE_THREADS_HEAD];
    ret->thread_next = (uint32_t)table[TABLE_THREAD_NEXT];
    ret->text.length = (uint16_t)table[TABLE_TEXT_LENGTH];
    ret->text.state = (uint16_t)table[TABLE_TEXT_STATE];
    ret->text.ascii_bytes = (uint16_t)table[TABLE_TEXT_ASCII_BYTES];
    ret->bytes_data = (uint16_t)table[TABLE_BYTES_DATA];
    return makes_sense(&ret->frames);
}
