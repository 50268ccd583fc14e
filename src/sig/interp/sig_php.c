/*
 * Functions of a request are given back at its end, and those of the next one may come to lie at the same
 * addresses, with the same pointers. So a function's check has what its name and its file's name say too.
 */
#include "sig_php.h"

#include "sig_interp_read.h"

enum {
    IS_TOP = 1 << 17, /* in the call's flags: the native call of the interpreter returns with this frame */
    TYPE_MASK = 0xff,
    TYPE_OBJECT = 8, /* of a value */
    GENERATORS_MAX = 64,
    STRING_WORDS = 8 /* of a string without a hash */
};

struct walk {
    const struct sig_interp_walk *common;
    const struct sig_php_layout *layout;
};

/* ---- functions ---- */

/* What the string says: by its own hash, or by its last words, up to its end. */
static uint64_t mix_string(const struct sig_interp_walk *walk, uint64_t hash, uint64_t string, bool is_held)
{
    uint64_t header[SIG_PHP_STRING_BYTES / SIG_INTERP_WORD_BYTES], words[STRING_WORDS] = {0};
    if (!sig_interp_read(walk, header, string, sizeof header, is_held))
        return hash;
    const uint64_t length = sig_interp_word(header, SIG_PHP_STRING_LENGTH);
    const uint64_t known = sig_interp_word(header, SIG_PHP_STRING_HASH);
    hash = sig_interp_mix(sig_interp_mix(hash, length), known);
    if (known || length == 0)
        return hash;
    const uint64_t all = (length - 1) / sizeof *words + 1, count = all < STRING_WORDS ? all : STRING_WORDS;
    const uint64_t from = string + SIG_PHP_STRING_BYTES + (all - count) * sizeof *words;
    if (!sig_interp_read(walk, words, from, count * sizeof *words, is_held))
        return hash;
    words[count - 1] &= UINT64_MAX >> (all * sizeof *words - length) * 8;
    for (uint64_t i = 0; i < count; i++)
        hash = sig_interp_mix(hash, words[i]);
    return hash;
}

uint64_t sig_php_function_check(const struct sig_php_layout *layout, const struct sig_interp_walk *walk,
                                const uint64_t *record, bool is_held)
{
    const uint8_t type = sig_interp_byte(record, 0);
    uint64_t hash = sig_interp_mix(type, sig_interp_word(record, layout->function.name));
    hash = sig_interp_mix(hash, sig_interp_word(record, layout->function.scope));
    if (type == SIG_PHP_INTERNAL)
        return sig_interp_mix(hash, sig_interp_word(record, layout->function.handler)) | 1;
    if (type != SIG_PHP_USER && type != SIG_PHP_EVAL)
        return 0;
    const uint64_t filename = sig_interp_word(record, layout->function.filename);
    hash = sig_interp_mix(hash, sig_interp_half(record, layout->function.last));
    hash = sig_interp_mix(hash, sig_interp_word(record, layout->function.opcodes));
    hash = sig_interp_mix(hash, sig_interp_word(record, layout->function.first_line)); /* and the last one */
    hash = mix_string(walk, sig_interp_mix(hash, filename), filename, is_held);
    return mix_string(walk, hash, sig_interp_word(record, layout->function.name), is_held) | 1;
}

static void know(const struct walk *walk, struct sig_interp_known *known, uint64_t function, bool is_held)
{
    const struct sig_php_layout *layout = walk->layout;
    const uint64_t *record = walk->common->scratch->state;
    const uint64_t bytes =
        (uint64_t)sig_interp_half(record, layout->function.last) * SIG_PHP_INSTRUCTION_BYTES;
    known->code = function;
    known->check = sig_php_function_check(layout, walk->common, record, is_held);
    known->instructions = sig_interp_word(record, layout->function.opcodes);
    known->bytes = bytes <= INT32_MAX ? (uint32_t)bytes : 0;
    known->is_native = sig_interp_byte(record, 0) == SIG_PHP_INTERNAL;
    known->is_nameless = sig_interp_word(record, layout->function.name) == 0;
}

/* What is known of a function; NULL if it cannot be read. Its check is 0 if it is none. */
static const struct sig_interp_known *function_at(const struct walk *walk, uint64_t function)
{
    struct sig_interp_scratch *scratch = walk->common->scratch;
    struct sig_interp_known *known = &scratch->known[sig_interp_known_at(function)];
    const bool is_held = walk->common->stack->count > 0; /* the innermost frame may be half made */
    if (known->code == function)
        return known;
    if (!sig_interp_read(walk->common, scratch->state, function, walk->layout->function.bytes, is_held))
        return NULL;
    know(walk, known, function, is_held);
    return known;
}

/* ---- frames ---- */

/* How far the instruction is from the function's first one; below 0 if it is none of the function's. */
static int32_t distance_of(const struct sig_interp_known *function, uint64_t instruction)
{
    const uint64_t distance = instruction - function->instructions;
    return distance < function->bytes && distance % SIG_PHP_INSTRUCTION_BYTES == 0 ? (int32_t)distance : -1;
}

/* The innermost frame's instruction is the register's, if that is one. */
static int32_t instruction_of(const struct walk *walk, const uint64_t *frame,
                              const struct sig_interp_known *function)
{
    int32_t at = -1;
    if (walk->common->stack->count == 0)
        at = distance_of(function, walk->common->thread->instruction);
    return at >= 0 ? at : distance_of(function, sig_interp_word(frame, walk->layout->frame.instruction));
}

/* The call that begins a fiber is a function in C without a name. */
static bool add_frame(const struct walk *walk, const uint64_t *words)
{
    struct sig_interp_stack *stack = walk->common->stack;
    const uint64_t code = sig_interp_word(words, walk->layout->frame.function);
    const bool is_top = (sig_interp_half(words, walk->layout->frame.call_info) & IS_TOP) != 0;
    const struct sig_interp_known *function = function_at(walk, code);
    if (!function || !function->check || stack->count == stack->capacity)
        return false;
    if (function->is_native && function->is_nameless) {
        if (stack->count > 0)
            stack->frames[stack->count - 1].is_switch = true;
        return true;
    }
    stack->frames[stack->count] =
        (struct sig_interp_frame){.code = code,
                                  .check = function->check,
                                  .at = function->is_native ? -1 : instruction_of(walk, words, function),
                                  .is_native = function->is_native,
                                  .is_entry = !function->is_native && is_top};
    stack->count++;
    return true;
}

/* A frame's words; NULL if they cannot be read. Frames are the thread's own, but for one that is half made.
 */
static const uint64_t *frame_at(const struct walk *walk, uint64_t frame)
{
    uint64_t *words = walk->common->scratch->frame;
    return sig_interp_read(walk->common, words, frame, walk->layout->frame.bytes, false) ? words : NULL;
}

/* ---- generators that wait for another one (yield from) ---- */

static uint64_t word_at(const struct walk *walk, uint64_t address)
{
    uint64_t word = 0;
    return sig_interp_read(walk->common, &word, address, sizeof word, false) ? word : 0;
}

static void reverse(struct sig_interp_frame *frames, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        const struct sig_interp_frame frame = frames[i];
        frames[i] = frames[count - 1 - i];
        frames[count - 1 - i] = frame;
    }
}

/* Between the generator that runs and who asked for its value there is one record. It leads to the outermost
 * generator, and each to the next one inside. The one that runs has no parent, and was met already. */
static bool add_generators(const struct walk *walk, uint64_t generator)
{
    struct sig_interp_stack *stack = walk->common->stack;
    const uint32_t before = stack->count;
    bool is_added = true;
    for (int left = GENERATORS_MAX; is_added && left > 0; left--) {
        const uint64_t parent = word_at(walk, generator + walk->layout->generator.parent);
        const uint64_t *words =
            parent ? frame_at(walk, word_at(walk, generator + walk->layout->generator.frame)) : NULL;
        if (!parent)
            break;
        is_added = words && add_frame(walk, words);
        if (is_added && stack->count > before)
            stack->frames[stack->count - 1].is_entry = false; /* no native call runs it now */
        generator = parent;
    }
    reverse(stack->frames + before, stack->count - before);
    return is_added;
}

/* ---- the thread ---- */

/* The generator that the record stands for, or 0: the engine has a record of its own also where it calls a
 * function of itself. */
static uint64_t generator_of(const struct walk *walk, const uint64_t *words)
{
    const uint64_t object = sig_interp_word(words, walk->layout->frame.object);
    if ((sig_interp_half(words, walk->layout->frame.call_info) & TYPE_MASK) != TYPE_OBJECT)
        return 0;
    const uint64_t class = word_at(walk, object + walk->layout->generator.object_class);
    return class && class == word_at(walk, walk->layout->generator.class_at) ? object : 0;
}

static bool add_frame_or_generators(const struct walk *walk, const uint64_t *words)
{
    if (sig_interp_word(words, walk->layout->frame.function) != 0)
        return add_frame(walk, words);
    const uint64_t generator = generator_of(walk, words);
    return !generator || add_generators(walk, generator);
}

/* Between two frames there is at most one record of the engine. */
static enum sig_interp_end walk_frames(const struct walk *walk, uint64_t frame)
{
    for (uint32_t left = 2 * walk->common->stack->capacity; frame != 0 && left > 0; left--) {
        const uint64_t *words = frame_at(walk, frame);
        if (!words)
            return SIG_INTERP_CUT;
        frame = sig_interp_word(words, walk->layout->frame.previous);
        if (!add_frame_or_generators(walk, words))
            return SIG_INTERP_CUT;
    }
    return frame == 0 ? SIG_INTERP_WHOLE : SIG_INTERP_CUT;
}

bool sig_php_walk(const struct sig_php_layout *layout, const struct sig_interp_walk *common)
{
    const struct walk walk = {common, layout};
    uint64_t frame;
    if (!sig_interp_read(common, &frame, common->thread->state + layout->current, sizeof frame, false))
        return false;
    if (frame != 0)
        common->stack->end = (uint8_t)walk_frames(&walk, frame);
    return true;
}
