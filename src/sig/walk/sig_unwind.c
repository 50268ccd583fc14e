/*
 * One loop: find the rule for the pc (cached, or computed from CFI), apply it, record the caller. The stack
 * pointer must grow with every step, so a cycle or garbage cannot loop. A signal stack or a coroutine only
 * changes which memory may be read.
 *
 * It takes the first way through a frame that is possible: the frame is as it was at the last walk
 * (sig_stack_cache.h); its rule is cached and ordinary (step_ordinary_frames); everything else (sig_walk.h).
 * The walk of another thread has no stack cache, reads a copy, and begins with fewer registers.
 */
#include "sig_unwind.h"
#include "sig_fp_offset_cache.h"
#include "sig_rules.h"
#include "sig/code/sig_ghc_stack.h"
#include "sig_walk.h"

enum { WORD_BYTES = SIG_STACK_WORD_BYTES };

static struct sig_stack_cache_frame stack_cache_frame(const struct sig_walk *walk)
{
    return (struct sig_stack_cache_frame){.address = sig_walk_lookup_pc(walk),
                                          .sp = walk->regs.sp,
                                          .fp = walk->regs.fp,
                                          .extra = walk->regs.extra,
                                          .fp_known = walk->fp_known,
                                          .extra_known = walk->extra_known};
}

static void report_frame(struct sig_walk *walk, const struct sig_stack_cache_frame *frame)
{
    walk->request->addresses[walk->count++] = frame->address;
    sig_stack_cache_record(&walk->stack_cache, frame);
}

/* Where an ordinary frame's caller is found, in words below the CFA. */
struct ordinary {
    uint64_t cfa;
    uint32_t ra_words, fp_words, extra_words;
};

/* The frame pointer convention. */
static const uint32_t convention_rule =
    SIG_PACKED_FP << SIG_PACKED_FORM_SHIFT | 2 << SIG_PACKED_CFA_SHIFT | 2 << SIG_PACKED_FP_SHIFT;

/* The rule of generated code that has called, which keeps that convention. */
static const uint32_t called_rule = (uint32_t)SIG_PACKED_NONE << SIG_PACKED_FORM_SHIFT;

/* Whether a rule is ordinary: CFA = register + offset, and registers saved in this frame and within the
 * window. sig_walk_step.c has the reason of each condition. */
static inline bool is_ordinary(const struct sig_walk *walk, uint32_t rule, const struct sig_regs *regs,
                               bool fp_known, bool extra_known, struct ordinary *ret)
{
    enum sig_packed_form form = sig_packed_form(rule);
    uint64_t base = form == SIG_PACKED_SP ? regs->sp : form == SIG_PACKED_FP ? regs->fp : regs->extra;
    bool base_known = form == SIG_PACKED_SP || (form == SIG_PACKED_FP ? fp_known : extra_known);
    ret->fp_words = sig_packed_fp(rule);
    ret->extra_words = sig_packed_extra(rule);
    ret->ra_words = SIG_RA_IN_EXTRA ? ret->extra_words : 1;
    ret->cfa = base + (uint64_t)sig_packed_cfa_offset(rule);
    uint64_t frame_words = (ret->cfa - regs->sp) / WORD_BYTES;
    return rule != 0 && form <= SIG_PACKED_EXTRA && base_known && !sig_packed_may_land(rule) &&
           sig_packed_knows_saved(rule) && ret->cfa > regs->sp && ret->cfa <= walk->stack.window_high &&
           regs->sp >= walk->stack.window_low && ret->cfa % WORD_BYTES == 0 && ret->ra_words != 0 &&
           ret->ra_words <= frame_words && ret->fp_words <= frame_words && ret->extra_words <= frame_words;
}

/*
 * Steps through ordinary callers with cached rules, which are nearly all, with the walk's registers in the
 * machine's. Stops before the first other frame, or one that the stack cache may have. shift: sig_stack.h.
 * by_fp: also through frames whose CFA counts from the frame pointer.
 */
static inline __attribute__((always_inline)) void step_ordinary(struct sig_walk *walk, const uint64_t shift,
                                                                const bool by_fp)
{
    const struct sig_unwind_request *request = walk->request;
    const uint64_t cache_sp = sig_stack_cache_next_sp(&walk->stack_cache);
    struct sig_regs regs = walk->regs;
    bool fp_known = walk->fp_known, extra_known = walk->extra_known;
    size_t count = walk->count;
    while (count < request->capacity && regs.pc != 0) {
        struct ordinary at;
        uint32_t rule = sig_rules_lookup_packed(regs.pc - 1);
        bool by_convention = !SIG_FP_STEP_HIDES_SP && rule == called_rule;
        if (!is_ordinary(walk, by_convention ? convention_rule : rule, &regs, fp_known, extra_known, &at) ||
            (!by_fp && sig_packed_form(rule) == SIG_PACKED_FP))
            break;
        request->addresses[count++] = regs.pc - 1;
        if (walk->stack_cache.stack_cache)
            sig_stack_cache_record(&walk->stack_cache,
                                   &(struct sig_stack_cache_frame){.address = regs.pc - 1,
                                                                   .sp = regs.sp,
                                                                   .fp = regs.fp,
                                                                   .extra = regs.extra,
                                                                   .fp_known = fp_known,
                                                                   .extra_known = extra_known,
                                                                   .ra_words = (uint16_t)at.ra_words,
                                                                   .fp_words = (uint16_t)at.fp_words,
                                                                   .extra_words = (uint16_t)at.extra_words});
        const uint64_t *words = (const uint64_t *)(uintptr_t)(at.cfa + shift);
        regs.fp = at.fp_words ? words[-(int32_t)at.fp_words] : regs.fp;
        regs.extra = at.extra_words ? words[-(int32_t)at.extra_words] : by_convention ? 0 : regs.extra;
        fp_known |= at.fp_words != 0;
        extra_known = at.extra_words != 0 || (extra_known && !by_convention);
        regs.pc = sig_plain_return_address(words[-(int32_t)at.ra_words]);
        regs.sp = at.cfa;
        if (regs.sp >= cache_sp)
            break;
    }
    walk->regs = regs;
    walk->fp_known = fp_known;
    walk->extra_known = extra_known;
    walk->count = count;
}

/* Not inline, so that its variables are not on the stack while a rule is worked out. There are two, because
 * the shift would cost 0.6 ns a frame. */
__attribute__((noinline)) static void step_ordinary_frames(struct sig_walk *walk)
{
    step_ordinary(walk, 0, true);
}

/* Over a copy, or when the walk learns distances. */
__attribute__((noinline)) static void step_ordinary_frames_slowly(struct sig_walk *walk)
{
    step_ordinary(walk, walk->stack.shift, false);
}

/* By the psABI (3.4.1) the outermost frame has a frame pointer of 0; the loader's entry has no other mark.
 * Only for frames that lead nowhere, as assembly may count down in that register. */
static bool is_unmarked_root(const struct sig_walk *walk, const struct sig_rule *rule)
{
    return rule->kind == SIG_RULE_NONE && !walk->interrupted && walk->fp_known && walk->regs.fp == 0 &&
           sig_modules_find(walk->request->modules, walk->regs.pc - 1);
}

/* Steps through the frames that are as they were at the last walk. True if these are all up to the root. */
static bool step_remembered_frames(struct sig_walk *walk)
{
    struct sig_stack_cache_frame here = stack_cache_frame(walk);
    if (walk->interrupted || walk->fp_doubtful || here.sp < sig_stack_cache_next_sp(&walk->stack_cache) ||
        here.sp < walk->stack.window_low)
        return false;
    uint32_t same = sig_stack_cache_meet(&walk->stack_cache, &here, walk->stack.window_high),
             left = walk->stack_cache.left;
    const struct sig_stack_cache_frame *frames = walk->stack_cache.stack_cache->frames;
    if (same == left && same <= walk->request->capacity - walk->count)
        return same > 0;
    for (; same > 0 && walk->count < walk->request->capacity; same--) {
        const struct sig_stack_cache_frame *caller = &frames[--left - 1];
        report_frame(walk, &frames[left]);
        walk->regs = (struct sig_regs){.pc = caller->address + 1, .sp = caller->sp, .fp = caller->fp};
        walk->regs.extra = caller->extra;
        walk->fp_known = caller->fp_known;
        walk->extra_known = caller->extra_known;
    }
    return false;
}

/* Steps to the caller. A distance that is needed was learned before; one that is known may be learned now. */
static bool step_from(struct sig_walk *walk, const struct sig_rule *rule)
{
    if (walk->stack.copy && !walk->fp_known && sig_walk_counts_from_fp(rule))
        return sig_walk_step_by_fp_offset(walk, rule);
    uint64_t learning_pc = sig_walk_learning_pc(walk, rule), sp = walk->regs.sp, fp = walk->regs.fp;
    bool is_stepped = sig_walk_step(walk, rule);
    if (is_stepped && learning_pc != 0)
        sig_fp_offset_learn(learning_pc, sp, fp);
    return is_stepped;
}

/* In code that GHC may have generated, and with another stack in the frame pointer: the rest of the walk. */
static bool append_ghc_stack(struct sig_walk *walk, const struct sig_rule *rule, enum sig_unwind_end *ret_end)
{
    const struct sig_unwind_request *request = walk->request;
    bool is_elsewhere = walk->regs.fp < walk->stack.low || walk->regs.fp >= walk->stack.high, is_whole;
    if (!SIG_FP_IS_GHC_SP || rule->kind != SIG_RULE_NONE || walk->sure_count > 0 || !walk->fp_known ||
        !is_elsewhere || !sig_modules_find(request->modules, sig_walk_lookup_pc(walk)))
        return false;
    size_t count = sig_ghc_stack_walk(request->modules, walk->regs.fp, request->addresses + walk->count,
                                      request->capacity - walk->count, &is_whole);
    walk->count += count;
    if (count > 0) {
        *ret_end = is_whole ? SIG_UNWIND_ROOT : SIG_UNWIND_DEPTH;
        sig_stack_cache_give_up(&walk->stack_cache); /* it knows frames of the C stack only */
    }
    return count > 0;
}

/* Steps from one frame by its rule. False at the end of the walk; *ret_end is set unless that is the root. */
static bool step_one(struct sig_walk *walk, enum sig_unwind_end *ret_end)
{
    struct sig_rule rule;
    struct sig_stack_cache_frame here = stack_cache_frame(walk);
    walk->lacks_register = false;
    bool is_code = sig_walk_find_rule(walk, here.address, &rule);
    here.address += is_code && rule.starts_here;
    if (is_code)
        report_frame(walk, &here);
    if (is_code && rule.kind == SIG_RULE_ROOT)
        return false;
    if (is_code && append_ghc_stack(walk, &rule, ret_end))
        return false;
    if (is_code && step_from(walk, &rule))
        return true;
    if (is_code && is_unmarked_root(walk, &rule))
        sig_stack_cache_give_up(&walk->stack_cache); /* the frame alone does not tell that it leads nowhere */
    else
        *ret_end = rule.kind == SIG_RULE_UNSUPPORTED || walk->lacks_register ? SIG_UNWIND_INEXPRESSIBLE
                                                                             : SIG_UNWIND_TRUNCATED;
    return false;
}

/* Returns how many frames are left out because they are shared with the last walk. */
static uint32_t walk_frames(struct sig_walk *walk, enum sig_unwind_end *ret_end)
{
    const bool is_slow = walk->stack.copy || walk->request->learns;
    *ret_end = SIG_UNWIND_ROOT;
    while (walk->count < walk->request->capacity) {
        size_t before = walk->count;
        if (walk->stack_cache.left > 0 && step_remembered_frames(walk))
            return walk->stack_cache.left;
        if (walk->request->use_cache && !walk->interrupted && !walk->fp_doubtful)
            is_slow ? step_ordinary_frames_slowly(walk) : step_ordinary_frames(walk);
        if (walk->count == before && !step_one(walk, ret_end))
            return 0;
        if (walk->regs.pc == 0 && !walk->interrupted) {
            sig_stack_cache_give_up(&walk->stack_cache); /* a word of the stack ends it, not the frame */
            if (walk->sure_count > 0)
                *ret_end = SIG_UNWIND_TRUNCATED; /* that word may be the wrong one */
            return 0;
        }
    }
    *ret_end = SIG_UNWIND_DEPTH;
    return 0;
}

/* How far the walk has come from sp on, or 0 if it is on another stack. */
static size_t bytes_from(const struct sig_walk *walk, uint64_t sp)
{
    uint64_t bytes = walk->regs.sp - sp;
    return bytes <= walk->request->copy->capacity_bytes ? (size_t)bytes : 0;
}

size_t sig_unwind_remote(const struct sig_unwind_request *request, const struct sig_blocked_regs *blocked,
                         struct sig_unwind_course *ret)
{
    struct sig_walk walk = {
        .request = request,
        .arguments = blocked->arguments,
        .regs = {.pc = blocked->pc, .sp = blocked->sp, .fp = blocked->fp ? *blocked->fp : 0},
        .fp_known = blocked->fp != NULL,
        .stack = {.low = request->stack_low, .high = request->stack_high, .copy = request->copy},
        .interrupted = true};
    sig_stack_begin(&walk.stack, blocked->sp);
    walk_frames(&walk, &ret->end);
    ret->bytes = bytes_from(&walk, blocked->sp);
    ret->by_distance = walk.sure_count > 0 && ret->end == SIG_UNWIND_ROOT;
    if (walk.sure_count == 0 || ret->by_distance)
        return walk.count;
    ret->end = SIG_UNWIND_INEXPRESSIBLE;
    return walk.sure_count;
}

size_t sig_unwind(const struct sig_unwind_request *request, const ucontext_t *context,
                  enum sig_unwind_end *ret_end)
{
    struct sig_walk walk = {
        .request = request,
        .stack = {.low = request->stack_low, .high = request->stack_high, .copy = request->copy},
        .fp_known = true,
        .extra_known = true,
        .interrupted = true};
    sig_regs_from_context(&walk.regs, context);
    sig_stack_begin(&walk.stack, walk.regs.sp);
    sig_stack_cache_begin(&walk.stack_cache, request->stack_cache,
                          request->modules ? request->modules->generation : 0);
    uint32_t shared = walk_frames(&walk, ret_end);
    if (*ret_end == SIG_UNWIND_ROOT)
        sig_stack_cache_end(&walk.stack_cache, shared);
    else
        sig_stack_cache_give_up(&walk.stack_cache);
    return walk.count;
}
