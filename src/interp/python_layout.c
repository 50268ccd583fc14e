#include "python_layout.h"

enum {
    WORD_BYTES = 8,
    HALF_BYTES = 4,
    OFFSET_MAX = 1 << 16,
    VERSION_3_8 = 0x0308,
    VERSION_3_9,
    VERSION_3_10,
    VERSION_3_11,
    VERSION_3_12,
    VERSION_3_13,
    VERSION_3_14
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
            .code = {.type = 8,
                     .filename = 104,
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
    .bytes_count = 16,
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
            .code = {.type = 8,
                     .filename = 112,
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
    .bytes_count = 16,
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
                      .frame_in_record = 0,
                      .status = 24},
            .frame = {.code = 0,
                      .previous = 8,
                      .instruction = 56,
                      .mark = 70,
                      .entry_mark = 3,
                      .has_shims = true,
                      .bytes = 72},
            .code = {.type = 8,
                     .version = 92,
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
    .bytes_count = 16,
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

/* ---- the table of 3.13 and later ---- */

/* The entries that are used, and where they stand in the table, in words. */
enum entry {
    INTERPRETERS_HEAD,
    INTERPRETER_NEXT,
    THREADS_HEAD,
    THREAD_NEXT,
    CURRENT_FRAME,
    THREAD_ID,
    NATIVE_THREAD_ID,
    CHUNK,
    STATUS,
    FRAME_PREVIOUS,
    FRAME_EXECUTABLE,
    FRAME_INSTRUCTION,
    FRAME_LOCALS,
    FRAME_OWNER,
    FRAME_COPY, /* of the code's instructions, since 3.14: 0 in a build with the GIL */
    CODE_FILENAME,
    CODE_NAME,
    CODE_QUALNAME,
    CODE_LINES,
    CODE_FIRST_LINE,
    CODE_ARGUMENTS,
    CODE_LOCALS,
    CODE_INSTRUCTIONS,
    CODE_COPIES,
    OBJECT_TYPE,
    BYTES_COUNT,
    BYTES_DATA,
    TEXT_STATE,
    TEXT_LENGTH,
    TEXT_ASCII_BYTES,
    ENTRIES
};

static const uint8_t words_3_13[ENTRIES] = {
    [INTERPRETERS_HEAD] = 5, [INTERPRETER_NEXT] = 8,   [THREADS_HEAD] = 9,      [THREAD_NEXT] = 21,
    [CURRENT_FRAME] = 23,    [THREAD_ID] = 24,         [NATIVE_THREAD_ID] = 25, [CHUNK] = 26,
    [STATUS] = 27,           [FRAME_PREVIOUS] = 29,    [FRAME_EXECUTABLE] = 30, [FRAME_INSTRUCTION] = 31,
    [FRAME_LOCALS] = 32,     [FRAME_OWNER] = 33,       [CODE_FILENAME] = 35,    [CODE_NAME] = 36,
    [CODE_QUALNAME] = 37,    [CODE_LINES] = 38,        [CODE_FIRST_LINE] = 39,  [CODE_ARGUMENTS] = 40,
    [CODE_LOCALS] = 41,      [CODE_INSTRUCTIONS] = 43, [OBJECT_TYPE] = 45,      [BYTES_COUNT] = 65,
    [BYTES_DATA] = 66,       [TEXT_STATE] = 68,        [TEXT_LENGTH] = 69,      [TEXT_ASCII_BYTES] = 70,
};

static const uint8_t words_3_14[ENTRIES] = {
    [INTERPRETERS_HEAD] = 5, [INTERPRETER_NEXT] = 8,  [THREADS_HEAD] = 9,       [THREAD_NEXT] = 24,
    [CURRENT_FRAME] = 26,    [THREAD_ID] = 27,        [NATIVE_THREAD_ID] = 28,  [CHUNK] = 29,
    [STATUS] = 30,           [FRAME_PREVIOUS] = 32,   [FRAME_EXECUTABLE] = 33,  [FRAME_INSTRUCTION] = 34,
    [FRAME_LOCALS] = 35,     [FRAME_OWNER] = 36,      [FRAME_COPY] = 38,        [CODE_FILENAME] = 40,
    [CODE_NAME] = 41,        [CODE_QUALNAME] = 42,    [CODE_LINES] = 43,        [CODE_FIRST_LINE] = 44,
    [CODE_ARGUMENTS] = 45,   [CODE_LOCALS] = 46,      [CODE_INSTRUCTIONS] = 48, [CODE_COPIES] = 49,
    [OBJECT_TYPE] = 51,      [BYTES_COUNT] = 75,      [BYTES_DATA] = 76,        [TEXT_STATE] = 78,
    [TEXT_LENGTH] = 79,      [TEXT_ASCII_BYTES] = 80,
};

/* The words that stand at the same place in every version. */
enum { TABLE_COOKIE, TABLE_VERSION, TABLE_FREE_THREADED };

static const uint64_t table_cookie = 0x7970677562656478U; /* "xdebugpy" */

static const uint8_t *words_of(uint32_t version)
{
    switch (version >> PYTHON_VERSION_MINOR_SHIFT) {
    case VERSION_3_13:
        return words_3_13;
    case VERSION_3_14:
        return words_3_14;
    default:
        return NULL;
    }
}

/* An entry that the version does not have is 0. */
static void take_entries(const uint8_t words[ENTRIES], const uint64_t *table, uint64_t ret[ENTRIES])
{
    for (int i = 0; i < ENTRIES; i++)
        ret[i] = words[i] ? table[words[i]] : 0;
}

static void take_code(const uint64_t *entries, struct sig_python_layout *ret)
{
    ret->code.type = (uint16_t)entries[OBJECT_TYPE];
    ret->code.filename = (uint16_t)entries[CODE_FILENAME];
    ret->code.name = (uint16_t)entries[CODE_NAME];
    ret->code.qualname = (uint16_t)entries[CODE_QUALNAME];
    ret->code.line_table = (uint16_t)entries[CODE_LINES];
    ret->code.first_line = (uint16_t)entries[CODE_FIRST_LINE];
    ret->code.instructions = (uint16_t)entries[CODE_INSTRUCTIONS];
    ret->code.copies = (uint16_t)entries[CODE_COPIES];
    /* The table does not have these two: they stand before what it has. */
    ret->code.flags = (uint16_t)(entries[CODE_ARGUMENTS] - HALF_BYTES);
    ret->code.version = (uint16_t)(entries[CODE_LOCALS] - HALF_BYTES);
    const uint16_t last = ret->code.copies ? ret->code.copies : ret->code.line_table;
    ret->code.bytes = (uint16_t)(last + WORD_BYTES);
}

static void take_frames(const uint64_t *entries, struct sig_python_layout *ret)
{
    ret->state.thread_id = (uint16_t)entries[THREAD_ID];
    ret->state.native_thread_id = (uint16_t)entries[NATIVE_THREAD_ID];
    ret->state.frame = (uint16_t)entries[CURRENT_FRAME];
    ret->state.chunk = (uint16_t)entries[CHUNK];
    ret->state.chunk_top = (uint16_t)(ret->state.chunk + WORD_BYTES);
    ret->state.bytes = (uint16_t)(ret->state.chunk_top + WORD_BYTES);
    ret->state.is_frame_in_record = false;
    ret->state.status = (uint16_t)entries[STATUS];
    ret->frame.code = (uint16_t)entries[FRAME_EXECUTABLE];
    ret->frame.previous = (uint16_t)entries[FRAME_PREVIOUS];
    ret->frame.instruction = (uint16_t)entries[FRAME_INSTRUCTION];
    ret->frame.copy = (uint16_t)entries[FRAME_COPY];
    ret->frame.mark = (uint16_t)entries[FRAME_OWNER];
    ret->frame.bytes = (uint16_t)entries[FRAME_LOCALS];
}

static void take_texts(const uint64_t *entries, bool is_free_threaded, bool is_3_13,
                       struct python_layout *ret)
{
    ret->text.length = (uint16_t)entries[TEXT_LENGTH];
    ret->text.state = (uint16_t)entries[TEXT_STATE];
    ret->text.ascii_bytes = (uint16_t)entries[TEXT_ASCII_BYTES];
    ret->text.wide_bytes = (uint16_t)(ret->text.ascii_bytes + 2 * WORD_BYTES);
    ret->text.is_interned_a_byte = is_free_threaded && !is_3_13;
    ret->bytes_count = (uint16_t)entries[BYTES_COUNT];
    ret->bytes_data = (uint16_t)entries[BYTES_DATA];
}

static bool is_word_in(uint16_t offset, size_t bytes)
{
    return offset % WORD_BYTES == 0 && offset + (size_t)WORD_BYTES <= bytes;
}

static bool is_half_in(uint16_t offset, size_t bytes)
{
    return offset % HALF_BYTES == 0 && offset + (size_t)HALF_BYTES <= bytes;
}

/* What sig_python_walk relies on. */
enum {
    STATE_BYTES_MAX = SIG_INTERP_STATE_WORDS * WORD_BYTES,
    FRAME_BYTES_MAX = SIG_INTERP_FRAME_WORDS * WORD_BYTES
};

static bool does_state_make_sense(const struct sig_python_layout *layout)
{
    const size_t bytes = layout->state.bytes;
    return bytes <= STATE_BYTES_MAX && is_word_in(layout->state.thread_id, bytes) &&
           is_word_in(layout->state.native_thread_id, bytes) && is_word_in(layout->state.frame, bytes) &&
           is_half_in(layout->state.status, bytes) && is_word_in(layout->state.chunk, bytes) &&
           is_word_in(layout->state.chunk_top, bytes);
}

static bool do_frames_make_sense(const struct sig_python_layout *layout)
{
    const size_t bytes = layout->frame.bytes;
    return bytes % WORD_BYTES == 0 && bytes <= FRAME_BYTES_MAX && is_word_in(layout->frame.code, bytes) &&
           is_word_in(layout->frame.previous, bytes) && is_word_in(layout->frame.instruction, bytes) &&
           is_half_in(layout->frame.copy, bytes) && layout->frame.mark < bytes;
}

static bool does_code_make_sense(const struct sig_python_layout *layout)
{
    const size_t bytes = layout->code.bytes;
    return bytes <= STATE_BYTES_MAX && is_word_in(layout->code.type, bytes) &&
           is_word_in(layout->code.filename, bytes) && is_word_in(layout->code.name, bytes) &&
           is_word_in(layout->code.qualname, bytes) && is_word_in(layout->code.line_table, bytes) &&
           is_word_in(layout->code.copies, bytes) && is_half_in(layout->code.first_line, bytes) &&
           is_half_in(layout->code.flags, bytes) && is_half_in(layout->code.version, bytes);
}

/* Offsets of 16 bits would be cut off. Those in the interpreter's state are larger. */
static bool are_small(const uint64_t entries[ENTRIES])
{
    for (int i = THREAD_NEXT; i < ENTRIES; i++) {
        if (entries[i] >= OFFSET_MAX)
            return false;
    }
    return entries[INTERPRETERS_HEAD] < UINT32_MAX && entries[INTERPRETER_NEXT] < UINT32_MAX &&
           entries[THREADS_HEAD] < UINT32_MAX;
}

bool python_layout_read(uint32_t version, uint64_t code_type, const uint64_t table[PYTHON_OFFSETS_WORDS],
                        struct python_layout *ret)
{
    const uint8_t *words = words_of(version);
    uint64_t entries[ENTRIES];
    if (!words || table[TABLE_COOKIE] != table_cookie || table[TABLE_VERSION] != version ||
        table[TABLE_FREE_THREADED] > 1)
        return false;
    take_entries(words, table, entries);
    if (!are_small(entries))
        return false;
    *ret = layout_3_12; /* what the table lacks is as it was: the mark of a shim */
    ret->is_free_threaded = table[TABLE_FREE_THREADED] == 1;
    take_frames(entries, &ret->frames);
    take_code(entries, &ret->frames);
    take_texts(entries, ret->is_free_threaded, words == words_3_13, ret);
    ret->frames.code_type = code_type;
    ret->interpreters_head = (uint32_t)entries[INTERPRETERS_HEAD];
    ret->interpreter_next = (uint32_t)entries[INTERPRETER_NEXT];
    ret->threads_head = (uint32_t)entries[THREADS_HEAD];
    ret->thread_next = (uint32_t)entries[THREAD_NEXT];
    return does_state_make_sense(&ret->frames) && do_frames_make_sense(&ret->frames) &&
           does_code_make_sense(&ret->frames);
}
