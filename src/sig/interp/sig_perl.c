/*
 * Contexts, and the array that they are in, are copied by the kernel: the array may just be growing. So are
 * the innermost function and its statement, and the outermost statement. Functions further out are held by
 * their frames.
 *
 * Perl gives freed memory to the next function at once, so the address of a function says little. Its first
 * statement has the number of its part in all that was compiled, and that is in the check.
 */
#include "sig_perl.h"

#include "sig_interp_read.h"

enum {
    STATEMENT_WORDS = SIG_PERL_STATEMENT_BYTES / SIG_INTERP_WORD_BYTES,
    INTERPRETER_WORDS = 32,
    TYPE_MASK = 0xff, /* of a value's flags */
    TYPE_FUNCTION = 13,
    TYPE_FORMAT = 14,
    IS_FAKE = 0x1000000,
    IS_UNIQUE = 0x100, /* in a function's own flags: with the former one it is BEGIN or its like */
    TEXT_WORDS = 32    /* of a file's name */
};

/* A stack of contexts. */
enum {
    STACK_CONTEXTS = 8,
    STACK_PREVIOUS = 16,
    STACK_INDEX = 32, /* these two of 32 bits */
    STACK_CAPACITY = 36,
    STACK_BYTES = 40,
    CAPACITY_MAX = 1 << 24
};

/* A context. */
enum {
    CONTEXT_STATEMENT = 16,
    CONTEXT_RETURN = 48,
    CONTEXT_FUNCTION = 72,
    CONTEXT_FILE = 64, /* of evaluated code: of a file, its name */
    CONTEXT_BYTES = 104,
    CONTEXT_READ_BYTES = 80,
    CONTEXT_WORDS = CONTEXT_READ_BYTES / SIG_INTERP_WORD_BYTES
};

enum {
    IS_SORT_BLOCK = 0,
    IS_FUNCTION = 9,
    IS_FORMAT = 10,
    IS_EVALUATED = 11,
    IS_DEFER = 13,
    CONTEXT_MASK = 0xf,
    IS_CALLED_OFTEN = 0x10, /* MULTICALL: one context, and a native call for each time */
    IS_TEXT = 0x20,         /* of IS_EVALUATED, as the next one */
    IS_EVAL_BLOCK = 0xc0,   /* any of these: eval {...} or try {...} */
    IS_OF_REGEX = 0x40,     /* of IS_FUNCTION */
    IS_REGEX_BLOCK = 0x80   /* of IS_FUNCTION: it is none */
};

struct walk {
    const struct sig_interp_walk *common;
    const struct sig_perl_layout *layout;
    uint64_t interpreter;
    uint64_t op;        /* the current instruction */
    uint64_t statement; /* of what is outside of the contexts that were seen */
    uint32_t inner;     /* frames up to the last one, if it is a function of the same stack; or 0 */
};

/* ---- what a frame is ---- */

static uint64_t with_flags(uint64_t hash, unsigned flags)
{
    return hash << SIG_PERL_CHECK_SHIFT | flags;
}

/* Up to its end. */
static uint64_t mix_text(const struct sig_interp_walk *walk, uint64_t hash, uint64_t text)
{
    enum { ONES = 0x01 };
    const uint64_t low = ~(uint64_t)0 / 0xff * ONES, high = low << 7;
    for (int i = 0; i < TEXT_WORDS; i++) {
        uint64_t word;
        if (!sig_interp_read(walk, &word, text + (uint64_t)i * sizeof word, sizeof word, false))
            return hash;
        const uint64_t ends = (word - low) & ~word & high; /* the first byte that is 0 has the lowest bit */
        if (ends)
            return sig_interp_mix(hash, word & ((ends & -ends) - 1));
        hash = sig_interp_mix(hash, word);
    }
    return hash;
}

/* The compiler's statement has the same address for all files and lines. */
static uint64_t statement_check(const struct sig_interp_walk *walk, uint64_t code, unsigned flags,
                                bool is_held)
{
    uint64_t words[STATEMENT_WORDS];
    if (!sig_interp_read(walk, words, code, sizeof words, is_held))
        return 0;
    const uint64_t file = sig_interp_word(words, SIG_PERL_STATEMENT_FILE);
    if (flags & SIG_PERL_COMPILED)
        return with_flags(mix_text(walk, file, file), flags);
    const uint64_t hash = sig_interp_mix(sig_interp_half(words, SIG_PERL_STATEMENT_LINE),
                                         sig_interp_half(words, SIG_PERL_STATEMENT_NUMBER));
    return with_flags(sig_interp_mix(hash, file), flags);
}

/* The number of the first statement, if the function begins with one. */
static uint64_t number_of(const struct sig_perl_layout *layout, const struct sig_interp_walk *walk,
                          uint64_t start, bool is_held)
{
    uint64_t words[STATEMENT_WORDS];
    if (!sig_interp_read(walk, words, start, sizeof words, is_held))
        return 0;
    const uint64_t function = sig_interp_word(words, SIG_PERL_OP_FUNCTION);
    return function == layout->nextstate || function == layout->dbstate
               ? sig_interp_half(words, SIG_PERL_STATEMENT_NUMBER)
               : 0;
}

static uint64_t function_check(const struct sig_perl_layout *layout, const struct sig_interp_walk *walk,
                               uint64_t code, unsigned flags, bool is_held)
{
    uint64_t *words = walk->scratch->state;
    if (!sig_interp_read(walk, words, code, SIG_PERL_CV_BYTES, is_held))
        return 0;
    const uint64_t body = sig_interp_word(words, SIG_PERL_CV_BODY);
    const uint32_t value_flags = sig_interp_half(words, SIG_PERL_CV_FLAGS), type = value_flags & TYPE_MASK;
    if ((type != TYPE_FUNCTION && type != TYPE_FORMAT) ||
        !sig_interp_read(walk, words, body, SIG_PERL_BODY_BYTES, is_held))
        return 0;
    const uint64_t start = sig_interp_word(words, SIG_PERL_BODY_START);
    if ((value_flags & IS_FAKE) && (sig_interp_half(words, SIG_PERL_BODY_FLAGS) & IS_UNIQUE))
        flags = SIG_PERL_BEGIN;
    uint64_t hash = sig_interp_mix(body, start);
    hash = sig_interp_mix(hash, sig_interp_word(words, SIG_PERL_BODY_NAME));
    hash = sig_interp_mix(hash, sig_interp_word(words, SIG_PERL_BODY_FILE));
    return with_flags(sig_interp_mix(hash, number_of(layout, walk, start, is_held)), flags);
}

uint64_t sig_perl_check(const struct sig_perl_layout *layout, const struct sig_interp_walk *walk,
                        uint64_t code, unsigned flags, bool is_held)
{
    const unsigned kind = flags & SIG_PERL_KIND_MASK;
    return kind == SIG_PERL_FUNCTION || kind == SIG_PERL_BEGIN
               ? function_check(layout, walk, code, flags, is_held)
               : statement_check(walk, code, flags, is_held);
}

/* Recursion meets the same functions again. */
static uint64_t check_of(const struct walk *walk, uint64_t code, unsigned flags, bool is_held)
{
    struct sig_interp_known *known = &walk->common->scratch->known[sig_interp_known_at(code)];
    if (known->code == code && known->flags == flags)
        return known->check;
    const uint64_t check = sig_perl_check(walk->layout, walk->common, code, flags, is_held);
    known->code = check ? code : 0;
    known->check = check;
    known->flags = flags;
    return check;
}

/* ---- frames ---- */

static bool is_compilers(const struct walk *walk, uint64_t statement)
{
    return statement - walk->interpreter < walk->layout->all_bytes;
}

static int32_t line_of(const struct walk *walk, uint64_t statement, bool is_held)
{
    uint64_t word;
    if (!sig_interp_read(walk->common, &word, statement + SIG_PERL_STATEMENT_LINE / 8 * 8, sizeof word,
                         is_held))
        return -1;
    const uint32_t line = (uint32_t)(word >> SIG_PERL_STATEMENT_LINE % 8 * 8);
    return line <= INT32_MAX ? (int32_t)line : -1;
}

/* function: 0 for what has none. is_held: of the frame's code. The line is read as that is. */
static bool add_frame(const struct walk *walk, enum sig_perl_kind kind, uint64_t function, bool is_entry,
                      bool is_held)
{
    struct sig_interp_stack *stack = walk->common->stack;
    const uint64_t code = function ? function : walk->statement;
    const unsigned flags =
        kind | (!function && is_compilers(walk, walk->statement) ? (unsigned)SIG_PERL_COMPILED : 0);
    const uint64_t check = stack->count < stack->capacity ? check_of(walk, code, flags, is_held) : 0;
    if (!check)
        return false;
    stack->frames[stack->count] = (struct sig_interp_frame){.code = code,
                                                            .check = check,
                                                            .at = line_of(walk, walk->statement, is_held),
                                                            .is_entry = is_entry,
                                                            .is_main = kind == SIG_PERL_MAIN && is_entry};
    stack->count++;
    return true;
}

/* Whether a context that is called natively is not being run: the call has not begun yet, or is one of many
 * and another is to come. */
static bool is_idle(const struct walk *walk, const uint64_t *context)
{
    const uint8_t type = sig_interp_byte(context, 0);
    const bool is_called_often = (type & CONTEXT_MASK) == IS_SORT_BLOCK || (type & IS_CALLED_OFTEN),
               is_before = sig_interp_word(context, CONTEXT_STATEMENT) == walk->statement;
    uint64_t op[3];
    if ((type & CONTEXT_MASK) == IS_FUNCTION && (type & IS_OF_REGEX))
        return is_before;
    if (walk->op == 0)
        return is_called_often;
    if (!sig_interp_read(walk->common, op, walk->op, sizeof op, false))
        return false;
    const uint64_t function = sig_interp_word(op, SIG_PERL_OP_FUNCTION);
    if (is_called_often)
        return function == walk->layout->sort;
    return is_before && sig_interp_word(op, SIG_PERL_OP_NEXT) == 0 &&
           (function == 0 || function == walk->layout->entersub);
}

static unsigned kind_of_evaluated(uint8_t type, bool has_file)
{
    if (type & IS_EVAL_BLOCK)
        return 0;
    if (type & IS_TEXT)
        return SIG_PERL_TEXT;
    return has_file ? SIG_PERL_MAIN : 0;
}

/* What a context is; 0 if it is no frame. */
static unsigned kind_of(const uint64_t *context)
{
    const uint8_t type = sig_interp_byte(context, 0);
    switch (type & CONTEXT_MASK) {
    case IS_FUNCTION:
        return type & IS_REGEX_BLOCK ? SIG_PERL_REGEX : SIG_PERL_FUNCTION;
    case IS_FORMAT:
        return SIG_PERL_FUNCTION;
    case IS_EVALUATED:
        return kind_of_evaluated(type, sig_interp_word(context, CONTEXT_FILE) != 0);
    case IS_SORT_BLOCK:
        return SIG_PERL_SORT;
    case IS_DEFER:
        return SIG_PERL_DEFER;
    default:
        return 0;
    }
}

static bool is_entry(const uint64_t *context, unsigned kind)
{
    return kind == SIG_PERL_SORT || kind == SIG_PERL_DEFER || sig_interp_word(context, CONTEXT_RETURN) == 0;
}

/* A block that is called natively ends with its last instruction. So what that one calls has no next
 * instruction either, and is no entry. */
static bool is_block(const uint64_t *context, unsigned kind)
{
    return kind == SIG_PERL_SORT || kind == SIG_PERL_DEFER ||
           (kind != 0 && (sig_interp_byte(context, 0) & CONTEXT_MASK) == IS_FUNCTION &&
            (sig_interp_byte(context, 0) & IS_OF_REGEX));
}

static bool add_context(struct walk *walk, const uint64_t *context, bool is_innermost)
{
    struct sig_interp_stack *stack = walk->common->stack;
    const unsigned kind = kind_of(context);
    const bool is_outermost = kind && is_entry(context, kind);
    if (!kind)
        return true;
    if (is_block(context, kind) && walk->inner > 0)
        stack->frames[walk->inner - 1].is_entry = false;
    const bool is_held = stack->count > 0; /* the innermost frame may be half made */
    const uint64_t function = kind == SIG_PERL_FUNCTION ? sig_interp_word(context, CONTEXT_FUNCTION) : 0;
    if (!(is_innermost && is_outermost && is_idle(walk, context)) &&
        ((kind == SIG_PERL_FUNCTION && !function) ||
         !add_frame(walk, (enum sig_perl_kind)kind, function, is_outermost, is_held)))
        return false;
    walk->statement = sig_interp_word(context, CONTEXT_STATEMENT);
    walk->inner = is_block(context, kind) ? 0 : stack->count;
    return true;
}

/* ---- the thread ---- */

/* The contexts of one stack, the innermost first. */
static bool add_contexts(struct walk *walk, const uint64_t *stack, bool is_innermost)
{
    const uint64_t contexts = sig_interp_word(stack, STACK_CONTEXTS);
    const int32_t last = (int32_t)sig_interp_half(stack, STACK_INDEX),
                  capacity = (int32_t)sig_interp_half(stack, STACK_CAPACITY);
    uint64_t *words = walk->common->scratch->frame;
    walk->inner = 0;
    if (last < -1 || last > capacity || capacity > CAPACITY_MAX)
        return false;
    for (int32_t i = last; i >= 0; i--) {
        if (!sig_interp_read(walk->common, words, contexts + (uint64_t)i * CONTEXT_BYTES, CONTEXT_READ_BYTES,
                             false) ||
            !add_context(walk, words, is_innermost && i == last))
            return false;
    }
    return true;
}

/* The outermost statement of a thread that another one has made is that one's: perl_clone() copies the
 * address only, and evaluated text is given back while the thread runs. So it is held by nobody here. */
static enum sig_interp_end walk_stacks(struct walk *walk, uint64_t stack)
{
    uint64_t words[STACK_BYTES / SIG_INTERP_WORD_BYTES];
    for (bool is_innermost = true; stack; is_innermost = false) {
        if (!sig_interp_read(walk->common, words, stack, sizeof words, false) ||
            !add_contexts(walk, words, is_innermost))
            return SIG_INTERP_CUT;
        stack = sig_interp_word(words, STACK_PREVIOUS);
    }
    return add_frame(walk, SIG_PERL_MAIN, 0, true, false) ? SIG_INTERP_WHOLE : SIG_INTERP_CUT;
}

bool sig_perl_walk(const struct sig_perl_layout *layout, const struct sig_interp_walk *common)
{
    struct walk walk = {.common = common, .layout = layout};
    uint64_t words[INTERPRETER_WORDS];
    if (!sig_interp_read(common, &walk.interpreter, common->thread->state, sizeof walk.interpreter, false))
        return false;
    if (!sig_interp_read(common, words, walk.interpreter, layout->bytes, false))
        return true;
    walk.op = sig_interp_word(words, SIG_PERL_OP);
    walk.statement = sig_interp_word(words, layout->statement);
    const uint64_t stack = sig_interp_word(words, layout->stack);
    if (stack && walk.statement)
        common->stack->end = (uint8_t)walk_stacks(&walk, stack);
    return true;
}
