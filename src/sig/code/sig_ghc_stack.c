#include "sig_ghc_stack.h"
#include "sig/ground/sig_stack.h"
#include "sig/sys/sig_memory.h"

enum { WORD_BYTES = SIG_STACK_WORD_BYTES, PIECE_WORDS = 32, PIECE_BYTES = PIECE_WORDS * WORD_BYTES };

/* Arguments that a function has on the stack before the first frame; frames that nobody else's words can be;
 * pieces of a stack, and words of a frame, at most. */
enum { ARGUMENTS_MAX = 8, SURE_COUNT = 16, PIECES_MAX = 1024, FRAME_WORDS_MAX = 65536 };

/* Kinds of frames that code returns to. Others are on stacks of threads that do not run. */
enum { RET_SMALL = 30, RET_BIG, UPDATE_FRAME = 33, CATCH_FRAME, UNDERFLOW_FRAME, STOP_FRAME };
enum { ATOMICALLY_FRAME = 55, CATCH_STM_FRAME = 57 };

/* The description ends where the code begins. Of a small frame the layout's lowest bits are its size, of a
 * big one the lower half is how far away that stands. */
enum { LAYOUT_BYTES = 16, KIND_BYTES = 8, SMALL_SIZE_MASK = 63 };

/* Where the next piece's stack pointer stands in it. */
enum { PIECE_SP_AT_BYTES = 16 };

struct ghc_walk {
    const struct sig_modules_table *modules;
    struct sig_stack tables; /* descriptions, which are read in place */
    uint64_t copied_at, copied[PIECE_WORDS];
};

struct ghc_frame {
    uint64_t returns_to, words;
    uint32_t kind;
};

static bool read_word(struct ghc_walk *walk, uint64_t at, uint64_t *ret)
{
    uint64_t piece_at = at & ~(uint64_t)(PIECE_BYTES - 1); /* never across a page */
    if (at % WORD_BYTES != 0)
        return false;
    if (piece_at != walk->copied_at) {
        walk->copied_at = 0;
        if (!sig_memory_copy(walk->copied, piece_at, PIECE_BYTES))
            return false;
        walk->copied_at = piece_at;
    }
    *ret = walk->copied[(at - piece_at) / WORD_BYTES];
    return true;
}

static bool read_size(struct ghc_walk *walk, uint64_t layout, struct ghc_frame *frame)
{
    uint64_t size = layout & SMALL_SIZE_MASK;
    if (frame->kind == RET_BIG &&
        !sig_stack_read(&walk->tables, frame->returns_to + (uint64_t)(int64_t)(int32_t)layout, &size))
        return false;
    frame->words = 1 + size;
    return size < FRAME_WORDS_MAX;
}

static bool is_frame_kind(uint32_t kind)
{
    return kind == RET_SMALL || kind == RET_BIG || (kind >= UPDATE_FRAME && kind <= STOP_FRAME) ||
           (kind >= ATOMICALLY_FRAME && kind <= CATCH_STM_FRAME);
}

/* Only of modules that are never unmapped are the descriptions read. */
static bool read_frame(struct ghc_walk *walk, uint64_t at, struct ghc_frame *ret)
{
    uint64_t layout, kind;
    if (!read_word(walk, at, &ret->returns_to))
        return false;
    const uint64_t code = ret->returns_to;
    const struct sig_module *module = sig_modules_find(walk->modules, code);
    if (!module || !module->is_permanent || code - module->start_pc < LAYOUT_BYTES ||
        !sig_stack_read(&walk->tables, code - LAYOUT_BYTES, &layout) ||
        !sig_stack_read(&walk->tables, code - KIND_BYTES, &kind))
        return false;
    ret->kind = (uint32_t)kind;
    return is_frame_kind(ret->kind) && read_size(walk, layout, ret);
}

/* From the last frame of a piece to the first of the next. */
static bool enter_next_piece(struct ghc_walk *walk, uint64_t *at)
{
    uint64_t piece;
    return read_word(walk, *at + WORD_BYTES, &piece) && read_word(walk, piece + PIECE_SP_AT_BYTES, at);
}

size_t sig_ghc_stack_walk(const struct sig_modules_table *modules, uint64_t sp, uint64_t *addresses,
                          size_t capacity, bool *ret_is_whole)
{
    struct ghc_walk walk; /* not all of it is zeroed, which might call memset */
    struct ghc_frame frame;
    size_t count = 0;
    unsigned pieces = 0;
    uint64_t at = sp;
    walk.modules = modules;
    walk.tables = (struct sig_stack){0};
    walk.copied_at = 0;
    *ret_is_whole = false;
    for (int i = 0; i < ARGUMENTS_MAX && !read_frame(&walk, at, &frame); i++)
        at += WORD_BYTES;
    while (count < capacity) {
        if (!read_frame(&walk, at, &frame))
            return 0;
        if (frame.kind == UNDERFLOW_FRAME) {
            if (++pieces > PIECES_MAX || !enter_next_piece(&walk, &at))
                return 0;
            continue;
        }
        addresses[count++] = frame.returns_to;
        *ret_is_whole = frame.kind == STOP_FRAME;
        if (*ret_is_whole)
            return count;
        at += frame.words * WORD_BYTES;
    }
    return count >= SURE_COUNT ? count : 0;
}
