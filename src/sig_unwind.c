/*
 * One loop: rule for the pc (cache, else computed from CFI), apply it, record the caller. The stack pointer
 * must grow with every step, so a cycle or garbage cannot loop; leaving the stack through a signal trampoline
 * (sigaltstack) or starting on a foreign one (coroutine) only changes which memory may be read.
 *
 * Three ways through a frame, the first that can: what is as it was at the last walk (the memo), callers
 * whose rule is cached and ordinary (step_ordinary_frames), everything else (step_frame and its neighbours).
 */
#include "sig_unwind.h"
#include "sig_bare.h"
#include "sig_cfi.h"
#include "sig_code.h"
#include "sig_eh_frame.h"
#include "sig_generated.h"
#include "sig_landing.h"
#include "sig_rules.h"
#include "sig_stack.h"

enum { WORD_BYTES = SIG_STACK_WORD_BYTES };

struct walk {
    const struct sig_unwind_request *request;
    struct sig_regs regs;
    struct sig_stack stack;
    bool fp_known, extra_known;
    bool fp_doubtful;    /* it may be another frame's (follow_landing) */
    bool interrupted;    /* the current frame was interrupted, not left by a call */
    bool lacks_register; /* this step needed one that is not known here */
    size_t count;        /* addresses written */
    struct sig_memo_walk memo;
};

static struct sig_memo_frame memo_frame(const struct walk *walk)
{
    return (struct sig_memo_frame){.address = walk->regs.pc - !walk->interrupted,
                                   .sp = walk->regs.sp,
                                   .fp = walk->regs.fp,
                                   .extra = walk->regs.extra,
                                   .fp_known = walk->fp_known,
                                   .extra_known = walk->extra_known};
}

static void report(struct walk *walk, const struct sig_memo_frame *frame)
{
    walk->request->addresses[walk->count++] = frame->address;
    sig_memo_record(&walk->memo, frame);
}

static bool is_known(const struct walk *walk, unsigned dwarf_register, uint64_t *ret)
{
    *ret = 0;
    if (dwarf_register == SIG_DWARF_SP)
        *ret = walk->regs.sp;
    else if (dwarf_register == SIG_DWARF_FP)
        *ret = walk->regs.fp;
    else if (dwarf_register == SIG_DWARF_EXTRA)
        *ret = walk->regs.extra;
    else
        return walk->regs.leaf && sig_leaf_register(walk->regs.leaf, dwarf_register, ret);
    return (dwarf_register != SIG_DWARF_FP || walk->fp_known) &&
           (dwarf_register != SIG_DWARF_EXTRA || walk->extra_known);
}

static bool register_value(struct walk *walk, unsigned dwarf_register, uint64_t *ret)
{
    bool found = is_known(walk, dwarf_register, ret);
    walk->lacks_register |= !found;
    return found;
}

/*
 * A function keeps registers in its own frame. The tables of gcc's realigned frames count on the frame
 * pointer up to the return, although it is popped before: then the slot lies elsewhere, and the register is
 * the caller's already.
 */
static bool is_popped(const struct walk *walk, uint64_t slot, uint64_t cfa)
{
    return slot < walk->regs.sp || slot >= cfa;
}

/* The caller's value of a register; false when it cannot be known. */
static bool saved_value(struct walk *walk, const struct sig_saved *saved, uint64_t cfa, uint64_t current,
                        bool known, uint64_t *ret)
{
    uint64_t base;
    *ret = current;
    switch (saved->kind) {
    case SIG_SAVED_SAME:
        return known;
    case SIG_SAVED_AT_CFA:
        return sig_stack_read(&walk->stack, cfa + (uint64_t)(int64_t)saved->offset, ret);
    case SIG_SAVED_AT_REGISTER:
        if (!register_value(walk, saved->dwarf_register, &base))
            return false;
        base += (uint64_t)(int64_t)saved->offset;
        return (known && is_popped(walk, base, cfa)) || sig_stack_read(&walk->stack, base, ret);
    case SIG_SAVED_IN_REGISTER:
        return register_value(walk, saved->dwarf_register, ret);
    default:
        return false;
    }
}

static bool compute_cfa(struct walk *walk, const struct sig_rule *rule, uint64_t *ret)
{
    uint64_t base;
    if (!register_value(walk, rule->cfa_register, &base))
        return false;
    *ret = base + (uint64_t)(int64_t)rule->cfa_offset;
    if (!rule->cfa_deref)
        return true;
    bool is_read = sig_stack_read(&walk->stack, *ret, ret);
    *ret += (uint64_t)(int64_t)rule->cfa_offset_after;
    return is_read;
}

/* See sig_landing.h. Until the frame pointer has been read from another frame, it may be the handler's. */
static void follow_landing(struct walk *walk, uint64_t lookup_pc, struct sig_regs *caller)
{
    uint64_t sp;
    bool was_called =
        sig_landing_was_called(walk->request->modules, &walk->stack, lookup_pc, caller->pc, caller->sp, &sp);
    walk->fp_doubtful = was_called || sp == 0;
    if (!walk->fp_doubtful)
        caller->sp = sp;
}

static bool step_frame(struct walk *walk, const struct sig_rule *rule)
{
    struct sig_regs caller = {.leaf = NULL};
    uint64_t cfa;
    /* Only an interrupted function can have taken its return address off the stack already (vfork). */
    uint64_t lowest_cfa = walk->regs.sp + (walk->regs.leaf ? 0 : 1);
    bool ra_in_register = SIG_RA_IN_EXTRA && walk->regs.leaf; /* a call has overwritten it further out */
    uint64_t lookup_pc = walk->regs.pc - !walk->interrupted;
    if (!compute_cfa(walk, rule, &cfa))
        return false;
    if (walk->fp_doubtful && rule->cfa_register == SIG_DWARF_FP && !rule->cfa_deref)
        cfa = sig_landing_thrower_cfa(walk->request->modules, &walk->stack, lookup_pc, walk->regs.sp, cfa);
    if (cfa < lowest_cfa || !saved_value(walk, &rule->ra, cfa, walk->regs.extra, ra_in_register, &caller.pc))
        return false;
    caller.pc = sig_plain_return_address(caller.pc);
    bool fp_known = saved_value(walk, &rule->fp, cfa, walk->regs.fp, walk->fp_known, &caller.fp);
    walk->extra_known =
        saved_value(walk, &rule->extra, cfa, walk->regs.extra, walk->extra_known, &caller.extra);
    walk->fp_known = fp_known;
    walk->fp_doubtful = walk->fp_doubtful && rule->fp.kind == SIG_SAVED_SAME;
    caller.sp = cfa;
    if (rule->may_land)
        follow_landing(walk, lookup_pc, &caller);
    walk->regs = caller;
    walk->interrupted = false;
    return true;
}

/* Linux puts a ucontext near the stack pointer the trampoline sees; the walk goes on where the handler
 * interrupted. */
static bool step_signal_frame(struct walk *walk)
{
    uint64_t frame = walk->regs.sp + SIG_UCONTEXT_OFFSET, ignored;
    uint64_t last_word = frame + SIG_UCONTEXT_BYTES - WORD_BYTES; /* in the same page or the next */
    if (!sig_stack_read(&walk->stack, frame, &ignored) || !sig_stack_read(&walk->stack, last_word, &ignored))
        return false;
    sig_regs_from_context(&walk->regs, (const ucontext_t *)(uintptr_t)frame);
    walk->fp_known = walk->extra_known = true;
    walk->fp_doubtful = false;
    walk->interrupted = true;
    sig_stack_enter(&walk->stack, walk->regs.sp);
    return true;
}

/* The frame pointer convention, if it looks kept. */
static bool step_frame_pointer(struct walk *walk)
{
    uint64_t fp, saved_fp, ra;
    if (!register_value(walk, SIG_DWARF_FP, &fp) || fp < walk->regs.sp ||
        !sig_stack_read(&walk->stack, fp, &saved_fp) || !sig_stack_read(&walk->stack, fp + WORD_BYTES, &ra))
        return false;
    walk->regs =
        (struct sig_regs){.pc = sig_plain_return_address(ra), .sp = fp + 2 * WORD_BYTES, .fp = saved_fp};
    walk->extra_known = false;
    walk->interrupted = false;
    return true;
}

/* Where an ordinary frame's caller is found: words below its CFA. */
struct ordinary {
    uint64_t cfa;
    uint32_t ra_words, fp_words, extra_words;
};

/* What the frame pointer convention is, as a rule. */
static const uint32_t convention_rule =
    SIG_PACKED_FP << SIG_PACKED_FORM_SHIFT | 2 << SIG_PACKED_CFA_SHIFT | 2 << SIG_PACKED_FP_SHIFT;

/*
 * Whether a rule is ordinary: CFA = register + offset, registers saved in this frame and within what is
 * readable for certain. step_frame says what each condition is for.
 */
static inline bool is_ordinary(const struct walk *walk, uint32_t rule, const struct sig_regs *regs,
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
 * Not inline, so that what it has on the stack is not there while a rule is worked out.
 *
 * Ordinary callers whose rules are cached are nearly all there are, and are stepped through with the
 * registers in registers. Stops, having changed nothing, at the first frame that is anything else, or that
 * the memo may know.
 */
__attribute__((noinline)) static void step_ordinary_frames(struct walk *walk)
{
    const struct sig_unwind_request *request = walk->request;
    const uint64_t memo_sp = sig_memo_next_sp(&walk->memo);
    struct sig_regs regs = walk->regs;
    bool fp_known = walk->fp_known, extra_known = walk->extra_known;
    size_t count = walk->count;
    while (count < request->capacity && regs.pc != 0) {
        struct ordinary at;
        uint32_t rule = sig_rules_lookup_packed(regs.pc - 1);
        bool by_convention = !SIG_FP_STEP_HIDES_SP && sig_packed_form(rule) == SIG_PACKED_NONE;
        if (!is_ordinary(walk, by_convention ? convention_rule : rule, &regs, fp_known, extra_known, &at))
            break;
        request->addresses[count++] = regs.pc - 1;
        if (walk->memo.memo)
            sig_memo_record(&walk->memo, &(struct sig_memo_frame){.address = regs.pc - 1,
                                                                  .sp = regs.sp,
                                                                  .fp = regs.fp,
                                                                  .extra = regs.extra,
                                                                  .fp_known = fp_known,
                                                                  .extra_known = extra_known,
                                                                  .ra_words = (uint16_t)at.ra_words,
                                                                  .fp_words = (uint16_t)at.fp_words,
                                                                  .extra_words = (uint16_t)at.extra_words});
        const uint64_t *words = (const uint64_t *)(uintptr_t)at.cfa;
        regs.fp = at.fp_words ? words[-(int32_t)at.fp_words] : regs.fp;
        regs.extra = at.extra_words ? words[-(int32_t)at.extra_words] : by_convention ? 0 : regs.extra;
        fp_known |= at.fp_words != 0;
        extra_known = at.extra_words != 0 || (extra_known && !by_convention);
        regs.pc = sig_plain_return_address(words[-(int32_t)at.ra_words]);
        regs.sp = at.cfa;
        if (regs.sp >= memo_sp)
            break;
    }
    walk->regs = regs;
    walk->fp_known = fp_known;
    walk->extra_known = extra_known;
    walk->count = count;
}

/*
 * Code in no module is generated code, if it is code at all and not some word of the stack taken for a return
 * address. Asked once for each address: what is cached has been found to be code.
 */
static bool is_plausible(const struct walk *walk)
{
    return walk->interrupted || sig_generated_follows_call(walk->regs.pc);
}

/*
 * Nothing lies before a return address that could have called, but it is the first of a function: somebody
 * laid it there for the stack's first function to return to, as makecontext does.
 */
static bool is_made_up(const struct walk *walk, const struct sig_module *module)
{
    struct sig_cie cie;
    struct sig_fde fde;
    uint64_t pc = walk->regs.pc;
    return !walk->interrupted && pc < module->end_pc &&
           sig_eh_frame_find(module, pc, !module->is_permanent, &cie, &fde) && fde.start_pc == pc;
}

static void compute_rule(const struct sig_unwind_request *request, const struct sig_module *module,
                         uint64_t lookup_pc, bool careful_reads, struct sig_rule *ret)
{
    if (request->rows)
        sig_cfi_rule_in(request->rows, module, lookup_pc, careful_reads, ret);
    else
        sig_cfi_rule(module, lookup_pc, careful_reads, ret);
}

/* The table is some microseconds old, or more where the sampler had to wait: a library may have come since.
 */
static __attribute__((noinline)) void find_new_rule(const struct sig_unwind_request *request,
                                                    uint64_t lookup_pc, struct sig_rule *ret)
{
    struct sig_module found;
    if (sig_modules_ask_loader(lookup_pc, &found))
        compute_rule(request, &found, lookup_pc, true, ret);
}

/* What stands for those who returned is none of a thread that was interrupted here. */
static bool find_cached_rule(const struct walk *walk, uint64_t lookup_pc, struct sig_rule *ret)
{
    return walk->request->use_cache && sig_rules_lookup(lookup_pc, ret) &&
           !(walk->interrupted && ret->starts_here);
}

/*
 * Code without a rule is not kept if it is in a module, which step_ordinary_frames would take for generated
 * code; nor if a thread was interrupted there, which does not prove that it can be returned to right behind.
 */
static bool is_to_be_kept(const struct walk *walk, const struct sig_module *module,
                          const struct sig_rule *rule)
{
    return walk->request->use_cache && (rule->kind != SIG_RULE_NONE || (!module && !walk->interrupted));
}

/* False when nothing can be executed at this address. */
static bool find_rule(const struct walk *walk, uint64_t lookup_pc, struct sig_rule *ret)
{
    const struct sig_unwind_request *request = walk->request;
    if (find_cached_rule(walk, lookup_pc, ret))
        return true;
    const struct sig_module *module = sig_modules_find(request->modules, lookup_pc);
    *ret = (struct sig_rule){.kind = SIG_RULE_NONE};
    if (module)
        compute_rule(request, module, lookup_pc, !module->is_permanent, ret);
    if (SIG_CODE_TELLS_RULES && ret->kind == SIG_RULE_NONE)
        sig_code_rule(module, lookup_pc, module && !module->is_permanent, ret);
    if (ret->kind == SIG_RULE_NONE && (!module || !module->is_permanent))
        find_new_rule(request, lookup_pc, ret);
    if (module && ret->kind == SIG_RULE_NONE && is_made_up(walk, module))
        *ret = (struct sig_rule){.kind = SIG_RULE_ROOT, .starts_here = true};
    if (!module && ret->kind == SIG_RULE_NONE && !is_plausible(walk))
        return false;
    if (is_to_be_kept(walk, module, ret))
        sig_rules_insert(lookup_pc, ret);
    return true;
}

/*
 * After a step by frame pointer, on machines where that leaves only a lower bound of sp. The bound is all
 * that further steps of this kind need, and CFAs relative to the frame pointer: they must only grow. A caller
 * whose CFA is relative to sp needs sp itself. As it has a frame record (fp points at it, and its table says
 * where in the frame the two words lie), the CFA follows from fp, and sp from the CFA. If it has none, sp
 * stays unknown: an odd value, relative to which no word is ever read, so the walk ends there.
 */
static void settle_sp(struct walk *walk)
{
    struct sig_rule rule;
    if (!find_rule(walk, walk->regs.pc - 1, &rule))
        return;
    bool needs_sp = rule.kind == SIG_RULE_SIGNAL ||
                    (rule.kind == SIG_RULE_FRAME && (rule.cfa_register == SIG_DWARF_SP || rule.cfa_deref));
    if (!needs_sp)
        return;
    bool has_record = rule.kind == SIG_RULE_FRAME && !rule.cfa_deref && rule.fp.kind == SIG_SAVED_AT_CFA &&
                      rule.ra.kind == SIG_SAVED_AT_CFA && rule.ra.offset == rule.fp.offset + WORD_BYTES;
    uint64_t cfa = walk->regs.fp - (uint64_t)(int64_t)rule.fp.offset;
    uint64_t sp = cfa - (uint64_t)(int64_t)rule.cfa_offset;
    walk->regs.sp = has_record && sp >= walk->regs.sp ? sp : walk->regs.sp | 1;
}

/*
 * Before a frame pointer is set up, or after it was taken down; or where there is none, by the epilogue that
 * the code comes to. Of a function that has called another only the latter.
 */
static bool step_by_code(struct walk *walk)
{
    int words = sig_generated_words_on_return_address(walk->regs.pc);
    bool in_register = SIG_RA_IN_EXTRA && words == 0;
    uint64_t at = walk->regs.sp + (uint64_t)words * WORD_BYTES, ra = walk->regs.extra;
    if (words < 0 || (words == 0 && !walk->interrupted) ||
        (!in_register && !sig_stack_read(&walk->stack, at, &ra)))
        return false;
    ra = sig_plain_return_address(ra);
    if (!sig_generated_follows_call(ra))
        return false;
    walk->regs.pc = ra;
    walk->regs.sp = in_register ? at : at + WORD_BYTES;
    walk->regs.leaf = NULL;
    walk->interrupted = false;
    return true;
}

/* Assembly in a module. Unless the return address is on top, registers have been pushed, and used for
 * anything.
 */
static bool step_by_call(struct walk *walk, const struct sig_module *module)
{
    struct sig_bare bare;
    uint64_t ra, fp = walk->regs.fp;
    sig_bare_around(&bare, walk->request->modules, module, walk->regs.pc - !walk->interrupted);
    bool keeps_frame = walk->fp_known && fp >= walk->regs.sp && sig_bare_keeps_frame(&bare, &walk->stack, fp);
    if (keeps_frame)
        return false;
    int words = sig_bare_words_on_return_address(&bare, &walk->stack, walk->regs.sp, &ra);
    if (words < 0)
        return false;
    walk->fp_doubtful |= words > 0;
    walk->extra_known &= words == 0;
    walk->regs.pc = ra;
    walk->regs.sp += (uint64_t)(words + 1) * WORD_BYTES;
    walk->regs.leaf = NULL;
    walk->interrupted = false;
    return true;
}

/* Where there is no unwind information. */
static bool step_without_rule(struct walk *walk)
{
    const struct sig_module *module =
        sig_modules_find(walk->request->modules, walk->regs.pc - !walk->interrupted);
    bool is_bare = SIG_DECODES_CALLS && module;
    bool is_stepped = is_bare && step_by_call(walk, module);
    if (!is_stepped && !step_by_code(walk) && !step_frame_pointer(walk))
        return false;
    if (SIG_FP_STEP_HIDES_SP)
        settle_sp(walk);
    return true;
}

static bool step(struct walk *walk, const struct sig_rule *rule)
{
    switch (rule->kind) {
    case SIG_RULE_FRAME:
        return step_frame(walk, rule);
    case SIG_RULE_SIGNAL:
        return step_signal_frame(walk);
    case SIG_RULE_NONE:
        return step_without_rule(walk);
    default:
        return false;
    }
}

/* By the psABI (3.4.1) the outermost frame has a frame pointer of 0: the loader's entry has no other mark. */
static bool is_unmarked_root(const struct walk *walk, const struct sig_rule *rule)
{
    return rule->kind == SIG_RULE_NONE && !walk->interrupted && walk->fp_known && walk->regs.fp == 0 &&
           sig_modules_find(walk->request->modules, walk->regs.pc - 1);
}

/* The frames that are as they were at the last walk. True when these are all that is left. */
static bool step_remembered_frames(struct walk *walk)
{
    struct sig_memo_frame here = memo_frame(walk);
    if (walk->interrupted || walk->fp_doubtful || here.sp < sig_memo_next_sp(&walk->memo) ||
        here.sp < walk->stack.window_low)
        return false;
    uint32_t same = sig_memo_meet(&walk->memo, &here, walk->stack.window_high), left = walk->memo.left;
    const struct sig_memo_frame *frames = walk->memo.memo->frames;
    if (same == left && same <= walk->request->capacity - walk->count)
        return same > 0;
    for (; same > 0 && walk->count < walk->request->capacity; same--) {
        const struct sig_memo_frame *caller = &frames[--left - 1];
        report(walk, &frames[left]);
        walk->regs = (struct sig_regs){.pc = caller->address + 1, .sp = caller->sp, .fp = caller->fp};
        walk->regs.extra = caller->extra;
        walk->fp_known = caller->fp_known;
        walk->extra_known = caller->extra_known;
    }
    return false;
}

/* One frame by its rule. False at the end of the walk, which is the root unless *ret_end says otherwise. */
static bool step_one(struct walk *walk, enum sig_unwind_end *ret_end)
{
    struct sig_rule rule;
    struct sig_memo_frame here = memo_frame(walk);
    bool is_code = find_rule(walk, here.address, &rule);
    walk->lacks_register = false;
    here.address += is_code && rule.starts_here;
    if (is_code)
        report(walk, &here);
    if (is_code && (rule.kind == SIG_RULE_ROOT || is_unmarked_root(walk, &rule)))
        return false;
    bool is_stepped = is_code && step(walk, &rule);
    if (!is_stepped)
        *ret_end = rule.kind == SIG_RULE_UNSUPPORTED || walk->lacks_register ? SIG_UNWIND_INEXPRESSIBLE
                                                                             : SIG_UNWIND_TRUNCATED;
    return is_stepped;
}

/* Up to the end; returns how many frames are left out because they are shared with the last walk. */
static uint32_t go(struct walk *walk, enum sig_unwind_end *ret_end)
{
    *ret_end = SIG_UNWIND_ROOT;
    while (walk->count < walk->request->capacity) {
        size_t before = walk->count;
        if (walk->memo.left > 0 && step_remembered_frames(walk))
            return walk->memo.left;
        if (walk->request->use_cache && !walk->interrupted && !walk->fp_doubtful)
            step_ordinary_frames(walk);
        if (walk->count == before && !step_one(walk, ret_end))
            return 0;
        if (walk->regs.pc == 0 && !walk->interrupted) {
            sig_memo_give_up(&walk->memo); /* not a property of the last frame, but of a word of the stack */
            return 0;
        }
    }
    *ret_end = SIG_UNWIND_DEPTH;
    return 0;
}

size_t sig_unwind(const struct sig_unwind_request *request, const ucontext_t *context,
                  enum sig_unwind_end *ret_end)
{
    struct walk walk = {.request = request,
                        .stack = {.low = request->stack_low, .high = request->stack_high},
                        .fp_known = true,
                        .extra_known = true,
                        .interrupted = true};
    sig_regs_from_context(&walk.regs, context);
    sig_stack_begin(&walk.stack, walk.regs.sp);
    sig_memo_begin(&walk.memo, request->memo, request->modules ? request->modules->generation : 0);
    uint32_t shared = go(&walk, ret_end);
    if (*ret_end == SIG_UNWIND_ROOT)
        sig_memo_end(&walk.memo, shared);
    else
        sig_memo_give_up(&walk.memo);
    return walk.count;
}
