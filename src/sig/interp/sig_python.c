/*
 * Frames and code objects are read one by one, and each code object once if it is met again soon. How to read
 * many of them at little cost is up to the callback: they lie close together.
 */
#include "sig_python.h"

#include "sig_interp_read.h"

enum {
    WORD_BYTES = SIG_INTERP_WORD_BYTES,
    INSTRUCTIONS_MAX = 1 << 28, /* bytes of one code object */
};

static const uint64_t tag_bits =
    3; /* of a pointer to what a frame executes, since 3.14 and without the GIL */

struct walk {
    const struct sig_interp_walk *common;
    const struct sig_python_layout *layout;
    uint64_t chunk_low, chunk_high; /* of the thread's frames, as far as it is used */
};

static bool is_inside(uint64_t low, uint64_t high, uint64_t address, uint64_t bytes)
{
    return address >= low && address < high && bytes <= high - address;
}

/* The thread's chunk is not held: when Python ends, it gives back those of threads that still run in C, and
 * 3.8 their innermost frame. Nor are frames of generators: a pointer to one may be old. */
static bool is_held(const struct walk *walk, uint64_t address, uint64_t bytes)
{
    const struct sig_interp_thread *thread = walk->common->thread;
    return (walk->layout->frame.is_object && walk->common->stack->count > 0) ||
           is_inside(thread->stack_low, thread->stack_high, address, bytes);
}

/* Whether the frame holds its code. The innermost one may just be giving it back, or be made of old words. */
static bool holds_code(const struct walk *walk, uint64_t frame, uint64_t bytes)
{
    return walk->common->stack->count > 0 &&
           (is_held(walk, frame, bytes) || is_inside(walk->chunk_low, walk->chunk_high, frame, bytes));
}

/* ---- code objects ---- */

/* Its size, constants, names and exception table stand between the type and the flags. Counters that change
 * as the code runs are left out. */
uint64_t sig_python_code_check(const struct sig_python_layout *layout, const uint64_t *header)
{
    uint64_t hash = sig_interp_half(header, layout->code.first_line);
    if (sig_interp_word(header, layout->code.type) != layout->code_type)
        return 0;
    hash = sig_interp_mix(hash, sig_interp_half(header, layout->code.flags));
    if (layout->code.version)
        hash = sig_interp_mix(hash, sig_interp_half(header, layout->code.version));
    for (uint32_t i = layout->code.type / WORD_BYTES + 1; i < layout->code.flags / WORD_BYTES; i++)
        hash = sig_interp_mix(hash, header[i]);
    hash = sig_interp_mix(hash, sig_interp_word(header, layout->code.filename));
    hash = sig_interp_mix(hash, sig_interp_word(header, layout->code.name));
    hash = sig_interp_mix(hash, sig_interp_word(header, layout->code.qualname));
    hash = sig_interp_mix(hash, sig_interp_word(header, layout->code.line_table));
    return hash | 1;
}

/* 0 if there is no code object. */
static uint64_t check_of_code(const struct walk *walk, uint64_t code, bool is_held_there)
{
    struct sig_interp_scratch *scratch = walk->common->scratch;
    const size_t at = sig_interp_known_at(code);
    if (scratch->known[at].code == code)
        return scratch->known[at].check;
    if (!sig_interp_read(walk->common, scratch->state, code, walk->layout->code.bytes, is_held_there))
        return 0;
    scratch->known[at].code = code;
    scratch->known[at].check = sig_python_code_check(walk->layout, scratch->state);
    scratch->known[at].instructions = sig_interp_word(scratch->state, walk->layout->code.copies);
    return scratch->known[at].check;
}

/* ---- frames ---- */

/* A frame's words; NULL if they cannot be read. */
static const uint64_t *frame_at(const struct walk *walk, uint64_t frame)
{
    uint64_t *words = walk->common->scratch->frame;
    const uint16_t bytes = walk->layout->frame.bytes;
    return sig_interp_read(walk->common, words, frame, bytes, is_held(walk, frame, bytes)) ? words : NULL;
}

/* Where the instructions begin that the frame runs: the code's own, or those of its copy with a number. The
 * code is one that was met. 0 if the copy cannot be read. */
static uint64_t first_instruction(const struct walk *walk, uint64_t code, const uint64_t *words)
{
    const struct sig_python_layout *layout = walk->layout;
    const uint32_t number = layout->frame.copy ? sig_interp_half(words, layout->frame.copy) : 0;
    const uint64_t copies = walk->common->scratch->known[sig_interp_known_at(code)].instructions;
    uint64_t count, first;
    if (number == 0 || !layout->code.copies)
        return code + layout->code.instructions;
    return sig_interp_read(walk->common, &count, copies, sizeof count, false) && number < count &&
                   sig_interp_read(walk->common, &first, copies + (1 + (uint64_t)number) * WORD_BYTES,
                                   sizeof first, false)
               ? first
               : 0;
}

/* How far the frame's instruction is from the first one; below 0: none has begun. */
static int32_t distance_of(const struct walk *walk, uint64_t code, const uint64_t *words)
{
    const struct sig_python_layout *layout = walk->layout;
    const int64_t number = (int32_t)sig_interp_half(words, layout->frame.instruction);
    const uint64_t instruction = sig_interp_word(words, layout->frame.instruction);
    const uint64_t distance = layout->frame.is_object ? (uint64_t)(number * layout->frame.units_bytes)
                                                      : instruction - first_instruction(walk, code, words);
    return distance < INSTRUCTIONS_MAX ? (int32_t)distance : -1;
}

/* False if there is no room, or if what the frame executes is no code object. */
static bool add_frame(const struct walk *walk, uint64_t frame, const uint64_t *words, bool is_marked)
{
    const struct sig_python_layout *layout = walk->layout;
    struct sig_interp_stack *stack = walk->common->stack;
    if (stack->count == stack->capacity)
        return false;
    const uint64_t code = sig_interp_word(words, layout->frame.code) & ~tag_bits;
    const uint64_t check = check_of_code(walk, code, holds_code(walk, frame, layout->frame.bytes));
    if (check == 0)
        return false;
    stack->frames[stack->count++] = (struct sig_interp_frame){
        .code = code,
        .check = check,
        .at = distance_of(walk, code, words),
        .is_entry = layout->frame.is_object || (is_marked && !layout->frame.has_shims)};
    return true;
}

/* A shim without a frame inside it is of a native call whose frame is gone: it returns, and gives back what
 * the frame held. False if there is no room to say so. */
static bool add_shim(struct sig_interp_stack *stack)
{
    const bool has_frame = stack->count > 0 && !stack->frames[stack->count - 1].is_entry;
    if (!has_frame && stack->count == stack->capacity)
        return false;
    if (!has_frame)
        stack->frames[stack->count++] = (struct sig_interp_frame){.code = 0};
    stack->frames[stack->count - 1].is_entry = true;
    return true;
}

/* There is at most one shim for each frame, so twice the capacity is enough. */
static enum sig_interp_end walk_frames(const struct walk *walk, uint64_t frame)
{
    const struct sig_python_layout *layout = walk->layout;
    for (uint32_t left = 2 * walk->common->stack->capacity; frame != 0 && left > 0; left--) {
        const uint64_t *words = frame_at(walk, frame);
        if (!words)
            return SIG_INTERP_CUT;
        const uint64_t previous = sig_interp_word(words, layout->frame.previous);
        const bool is_marked = sig_interp_byte(words, layout->frame.mark) == layout->frame.entry_mark;
        const bool is_added = is_marked && layout->frame.has_shims ? add_shim(walk->common->stack)
                                                                   : add_frame(walk, frame, words, is_marked);
        if (!is_added)
            return SIG_INTERP_CUT;
        frame = previous;
    }
    return frame == 0 ? SIG_INTERP_WHOLE : SIG_INTERP_CUT;
}

/* ---- the thread ---- */

static bool is_its_state(const struct sig_python_layout *layout, const struct sig_interp_thread *thread,
                         const uint64_t *state)
{
    return sig_interp_word(state, layout->state.native_thread_id) == thread->native_id ||
           (thread->thread_id && sig_interp_word(state, layout->state.thread_id) == thread->thread_id);
}

/* The innermost frame; 0 without. */
static uint64_t innermost_frame(const struct walk *walk)
{
    const struct sig_python_layout *layout = walk->layout;
    uint64_t frame = sig_interp_word(walk->common->scratch->state, layout->state.frame);
    const uint64_t record = frame + layout->state.frame_in_record;
    if (layout->state.is_frame_in_record &&
        !sig_interp_read(walk->common, &frame, record, sizeof frame, is_held(walk, record, sizeof frame)))
        return 0;
    return frame;
}

/* Reads a state into the scratch. False if it is not the thread's. */
static bool read_state(const struct walk *walk, uint64_t state)
{
    const struct sig_interp_walk *common = walk->common;
    return sig_interp_read(common, common->scratch->state, state, walk->layout->state.bytes, false) &&
           is_its_state(walk->layout, common->thread, common->scratch->state);
}

/* Of the state that was read. False if frames further out are not known. */
static bool walk_state(struct walk *walk)
{
    const struct sig_interp_walk *common = walk->common;
    const struct sig_python_layout *layout = walk->layout;
    walk->chunk_low = sig_interp_word(common->scratch->state, layout->state.chunk);
    walk->chunk_high = sig_interp_word(common->scratch->state, layout->state.chunk_top);
    const uint64_t frame = innermost_frame(walk);
    if (frame != 0)
        common->stack->end = (uint8_t)walk_frames(walk, frame);
    return common->stack->end != SIG_INTERP_CUT;
}

/* The one that the thread uses; the first one if that is not known. */
static uint64_t current_state(const struct walk *walk)
{
    const struct sig_interp_thread *thread = walk->common->thread;
    const uint16_t status = walk->layout->state.status;
    for (int i = 0; i < SIG_INTERP_OTHER_STATES && thread->others[i] && status; i++) {
        if (read_state(walk, thread->others[i]) &&
            sig_interp_byte(walk->common->scratch->state, status) & SIG_PYTHON_CURRENT)
            return thread->others[i];
    }
    return thread->state;
}

bool sig_python_walk(const struct sig_python_layout *layout, const struct sig_interp_walk *common)
{
    struct walk walk = {common, layout, 0, 0};
    const struct sig_interp_thread *thread = common->thread;
    const uint64_t current = current_state(&walk);
    if (!read_state(&walk, current))
        return false;
    bool is_whole = walk_state(&walk);
    if (is_whole && current != thread->state && read_state(&walk, thread->state))
        is_whole = walk_state(&walk);
    for (int i = 0; i < SIG_INTERP_OTHER_STATES && thread->others[i] && is_whole; i++) {
        if (thread->others[i] != current && read_state(&walk, thread->others[i]))
            is_whole = walk_state(&walk);
    }
    return true;
}
