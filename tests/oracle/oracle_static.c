/*
 * oracle_static [-v] FILE...: every row of every FDE of ELF files, by sig_cfi_rule and by libunwind.
 *
 * libunwind lists the rows (unw_reg_states_iterate). Both then unwind the same made-up frame
 * (oracle_static_frame.h) at the first and the last address of each row, and at every address of a row
 * with an expression: the PLT's depends on it. Equal callers mean equal rules. Of libunwind that needs the
 * public interface and the search function that it exports for its ptrace library, but no internal layout;
 * that this libunwind behaves so is tried first, on a function whose rules are known. On the way: what the
 * rule cache returns does what was put in, careful reads give the same, the start of the function is right,
 * and between functions there is no rule.
 *
 * The complete evaluator of sig_unwind_slow unwinds that frame, too. It must agree in every register, so
 * that what sig_cfi_rule cannot say is only counted.
 *
 * Prints a line of counts for each file; -v adds each row that takes the complete evaluator or does not fit
 * the cache. "[vdso]" names the kernel's. Exit status 0: every row agrees; 1: not so; 77: this libunwind
 * cannot be the oracle.
 *
 * What libunwind (1.6.2) cannot judge: it does not know DW_CFA_val_offset, and takes the CFA for the caller's
 * stack pointer whatever the table says. The walk does the same, except in signal frames.
 */
#include "oracle_static_arch.h"
#include "oracle_static_frame.h"
#include "oracle_static_full.h"
#include "oracle_static_image.h"
#include "oracle_static_theirs.h"
#include "sig/cfi/sig_cfi.h"
#include "sig/sys/sig_memory.h"
#include "sig/walk/sig_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

enum { MAX_REPORTED = 20, CAREFUL_INTERVAL = 64, EXIT_SKIPPED = 77 };

/* What can be said of a row. */
enum {
    DIFFERENT = 1,
    UNSUPPORTED = 2, /* libunwind has a rule, sig_cfi_rule says that it has none */
    LOST = 4,        /* it finds the caller, but not its fp or extra register, and libunwind does */
    REFUSED = 8,     /* libunwind cannot evaluate it */
    UNCACHED = 16,
    ROOT = 32,
    SIGNAL = 64,
};

struct counts {
    uint64_t fdes, rows, addresses; /* addresses: how many of the rows' */
    uint64_t differences, unsupported, lost, refused;
    uint64_t uncached, roots, signals;
};

struct oracle {
    const char *name;
    bool is_verbose;
    bool may_copy; /* the kernel lets a process copy its own memory */
    struct theirs theirs;
    uint64_t limit; /* of the function in question: where the table's next entry starts */
    struct counts counts;
};

/* ---- comparing ---- */

/*
 * The one rule that is not what the table says: aarch64's _dl_runtime_resolve, whose CFA is 16 bytes too low
 * in it (sig_cfi.h). All else must agree.
 */
static bool is_mended(const struct sig_rule *rule, const struct outcome *ours, const struct outcome *theirs)
{
    return SIG_RA_IN_EXTRA && rule->cfa_register == SIG_DWARF_SP &&
           ours->cfa == theirs->cfa + SIG_PLT_PUSHES_BYTES && rule->ra.kind == SIG_SAVED_AT_CFA &&
           rule->ra.offset == -8 && same_value(ours->ra, theirs->ra) && same_value(ours->fp, theirs->fp) &&
           same_value(ours->extra, theirs->extra);
}

static unsigned compare_saved(struct value ours, struct value theirs)
{
    if (!ours.is_known && theirs.is_known)
        return LOST;
    return same_value(ours, theirs) ? 0 : DIFFERENT;
}

static unsigned compare_frames(const struct outcome *ours, const struct outcome *theirs)
{
    bool same_caller = ours->cfa == theirs->cfa && ours->ra.is_known && same_value(ours->ra, theirs->ra) &&
                       ours->is_signal_frame == theirs->is_signal_frame;
    return (same_caller ? 0 : DIFFERENT) | compare_saved(ours->fp, theirs->fp) |
           compare_saved(ours->extra, theirs->extra);
}

static unsigned compare_rule(const struct fake_frame *frame, const struct sig_rule *rule,
                             const struct outcome *theirs)
{
    struct outcome ours = step(frame, rule);
    switch (rule->kind) {
    case SIG_RULE_ROOT:
        return ROOT | (theirs->ra.is_known ? DIFFERENT : 0);
    case SIG_RULE_SIGNAL:
        return SIGNAL | compare_frames(&ours, theirs);
    case SIG_RULE_FRAME:
        return is_mended(rule, &ours, theirs) ? 0 : compare_frames(&ours, theirs);
    case SIG_RULE_UNSUPPORTED:
        return UNSUPPORTED;
    default:
        return DIFFERENT; /* SIG_RULE_NONE */
    }
}

/* The program counter and what holds it are compared as the return address. */
static bool same_registers(const struct full_outcome *ours, const struct value *theirs)
{
    struct value sp = full_value(ours, SIG_DWARF_SP);
    for (unsigned i = 0; i < SIG_DWARF_COUNT; i++) {
        bool is_compared = i != SIG_DWARF_SP && i != SIG_DWARF_RA && i != SIG_DWARF_PC;
        if (is_compared && !same_value(full_value(ours, i), theirs[i]))
            return false;
    }
    if (ours->is_mended)
        sp.value -= SIG_PLT_PUSHES_BYTES;
    return !ours->sp_is_cfa || same_value(sp, theirs[SIG_DWARF_SP]);
}

/* All columns. Of a root there is nothing to compare but that it is one. */
static unsigned compare_full(const struct oracle *oracle, const struct outcome *theirs, bool careful_reads)
{
    struct full_outcome ours = step_full(&oracle->theirs.frame, careful_reads);
    bool is_same = false;
    if (ours.result == SIG_FULL_FRAME_ROOT)
        is_same = !theirs->ra.is_known;
    else if (ours.result == SIG_FULL_FRAME_CALLER)
        is_same = theirs->ra.is_known && ours.cfa == theirs->cfa &&
                  ours.registers.pc == sig_plain_return_address(theirs->ra.value) &&
                  full_value(&ours, SIG_DWARF_RA).value == ours.registers.pc &&
                  full_value(&ours, SIG_DWARF_PC).value == ours.registers.pc &&
                  same_registers(&ours, oracle->theirs.registers);
    return is_same ? 0 : DIFFERENT;
}

static bool same_effect(const struct fake_frame *frame, const struct sig_rule *a, const struct sig_rule *b)
{
    struct outcome after_a = step(frame, a), after_b = step(frame, b);
    return a->kind == b->kind && same_outcome(&after_a, &after_b);
}

/* What the cache returns must do what was put in; that it returns nothing is a matter of speed. */
static unsigned compare_cached(const struct fake_frame *frame, const struct sig_rule *rule)
{
    struct sig_rule cached;
    sig_rules_insert(frame->pc, rule);
    if (!sig_rules_lookup(frame->pc, &cached))
        return UNCACHED;
    return same_effect(frame, rule, &cached) ? 0 : DIFFERENT;
}

/* Reads through the kernel are slow, so only now and then; and it may refuse them altogether. */
static bool is_careful_turn(const struct oracle *oracle)
{
    return oracle->may_copy && oracle->counts.addresses % CAREFUL_INTERVAL == 0;
}

static unsigned compare_careful(const struct oracle *oracle, const struct sig_rule *rule)
{
    struct sig_rule careful;
    sig_cfi_rule(&oracle->theirs.image.module, oracle->theirs.frame.pc, true, &careful);
    return same_effect(&oracle->theirs.frame, rule, &careful) ? 0 : DIFFERENT;
}

/* Asked at both ends of a function, and now and then between: functions are found through the kernel only. */
static bool is_start_turn(const struct oracle *oracle, uint64_t pc)
{
    const unw_proc_info_t *found = &oracle->theirs.found;
    return pc == found->start_ip || pc + 1 == found->end_ip || is_careful_turn(oracle);
}

/* Whether the function around pc is the one that starts there. */
static bool starts_at(const struct oracle *oracle, uint64_t pc, uint64_t start_pc)
{
    return !oracle->may_copy || sig_eh_frame_function_start(&oracle->theirs.image.module, pc) == start_pc;
}

static void report(struct oracle *oracle, const char *what, uint64_t pc, const struct sig_rule *rule)
{
    static const char *const kinds[] = {"none", "frame", "signal", "root", "unsupported"};
    static const char *const names[] = {"ra", "fp", "extra"};
    const struct sig_saved *saved[] = {&rule->ra, &rule->fp, &rule->extra};
    bool is_difference = strcmp(what, "differs") == 0;
    if (is_difference ? oracle->counts.differences > MAX_REPORTED : !oracle->is_verbose)
        return;
    printf("%s: 0x%" PRIx64 " %s: %s, CFA %sr%u%+d", oracle->name, pc - oracle->theirs.image.bias, what,
           kinds[rule->kind], rule->cfa_deref ? "*" : "", rule->cfa_register, rule->cfa_offset);
    for (int i = 0; i < 3; i++)
        printf(", %s %u:r%u%+d", names[i], saved[i]->kind, saved[i]->dwarf_register, saved[i]->offset);
    printf("\n");
}

static void report_result(struct oracle *oracle, unsigned result, const struct sig_rule *rule)
{
    if (result & DIFFERENT) {
        oracle->counts.differences++;
        report(oracle, "differs", oracle->theirs.frame.pc, rule);
    } else if (result & (UNSUPPORTED | LOST))
        report(oracle, "takes the complete evaluator", oracle->theirs.frame.pc, rule);
    else if (result & REFUSED)
        report(oracle, "is refused by libunwind", oracle->theirs.frame.pc, rule);
    else if (result & UNCACHED)
        report(oracle, "does not fit the cache", oracle->theirs.frame.pc, rule);
}

static unsigned compare_at(struct oracle *oracle, void *row, uint64_t pc)
{
    struct outcome theirs;
    struct sig_rule rule;
    unsigned result = REFUSED;
    oracle->counts.addresses++;
    sig_cfi_rule(&oracle->theirs.image.module, pc, false, &rule);
    if (step_theirs(&oracle->theirs, row, pc, &theirs))
        result = compare_rule(&oracle->theirs.frame, &rule, &theirs) |
                 compare_full(oracle, &theirs, is_careful_turn(oracle));
    if (!(result & UNSUPPORTED))
        result |= compare_cached(&oracle->theirs.frame, &rule);
    if (is_careful_turn(oracle))
        result |= compare_careful(oracle, &rule);
    if (is_start_turn(oracle, pc) && !starts_at(oracle, pc, oracle->theirs.found.start_ip))
        result |= DIFFERENT;
    report_result(oracle, result, &rule);
    return result;
}

static void count_row(struct counts *counts, unsigned result)
{
    counts->rows++;
    counts->unsupported += (result & UNSUPPORTED) != 0;
    counts->lost += (result & LOST) != 0;
    counts->refused += (result & REFUSED) != 0;
    counts->uncached += (result & UNCACHED) != 0;
    counts->roots += (result & ROOT) != 0;
    counts->signals += (result & SIGNAL) != 0;
}

/* unw_reg_states_callback: a row for start <= pc < end. */
static int on_row(void *arg, void *row, size_t row_bytes, unw_word_t start, unw_word_t end)
{
    struct oracle *oracle = (struct oracle *)arg;
    (void)row_bytes;
    end = end < oracle->limit ? end : oracle->limit;
    if (start >= end)
        return 0;
    unsigned result = compare_at(oracle, row, start);
    bool everywhere = oracle->theirs.has_expression;
    for (uint64_t pc = everywhere ? start + 1 : end - 1; pc > start && pc < end; pc++)
        result |= compare_at(oracle, row, pc);
    count_row(&oracle->counts, result);
    return 0;
}

/* Where no function is there must be no rule. */
static void compare_gap(struct oracle *oracle, uint64_t pc)
{
    struct sig_rule rule;
    sig_cfi_rule(&oracle->theirs.image.module, pc, false, &rule);
    if (rule.kind == SIG_RULE_NONE && starts_at(oracle, pc, 0))
        return;
    oracle->counts.differences++;
    report(oracle, "differs", pc, &rule);
}

static void compare_function(struct oracle *oracle, uint64_t index)
{
    bool is_last = index + 1 == oracle->theirs.image.table_count;
    uint64_t start = image_entry_start(&oracle->theirs.image, index);
    oracle->limit = is_last ? UINT64_MAX : image_entry_start(&oracle->theirs.image, index + 1);
    oracle->counts.fdes++;
    if (start == oracle->limit)
        return; /* of two entries for one address the last one counts, for libunwind too */
    int status = iterate(&oracle->theirs, start, on_row, oracle);
    const unw_proc_info_t *found = &oracle->theirs.found;
    bool is_empty = found->start_ip == start && found->end_ip == start; /* libunwind has an error for it */
    if (status < 0 && !is_empty) {
        oracle->counts.refused++;
        printf("%s: 0x%" PRIx64 ": libunwind says %s\n", oracle->name, start - oracle->theirs.image.bias,
               unw_strerror(status));
    } else if (found->end_ip < oracle->limit)
        compare_gap(oracle, found->end_ip);
}

/* ---- the oracle itself ---- */

__asm__(KNOWN_FUNCTION);
enum { KNOWN_RULES = sizeof(known_rules) / sizeof(known_rules[0]) };

struct known_check {
    struct theirs *theirs;
    unsigned rows, right, wrong;
};

/* The right rule compares as equal, and every other one does not. */
static int on_known_row(void *arg, void *row, size_t row_bytes, unw_word_t start, unw_word_t end)
{
    struct known_check *check = (struct known_check *)arg;
    struct outcome caller;
    (void)row_bytes;
    if (check->rows == KNOWN_RULES || end != start + SIG_CODE_ALIGN ||
        !step_theirs(check->theirs, row, start, &caller) ||
        check->theirs->has_expression != known_rules[check->rows].cfa_deref)
        return -UNW_EINVAL;
    for (unsigned i = 0; i < KNOWN_RULES; i++) {
        bool is_same = !(compare_rule(&check->theirs->frame, &known_rules[i], &caller) & ~(unsigned)ROOT);
        check->right += is_same && i == check->rows;
        check->wrong += is_same && i != check->rows;
    }
    check->rows++;
    return 0;
}

/* Whether libunwind, its interface as used here, and the comparison do what they are taken to do. */
static bool oracle_is_sound(struct theirs *theirs)
{
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));
    struct known_check check = {.theirs = theirs};
    if (!image_of_memory(__ehdr_start, &theirs->image))
        return false;
    int status = iterate(theirs, (uint64_t)(uintptr_t)oracle_known_function, on_known_row, &check);
    return status >= 0 && check.rows == KNOWN_RULES && check.right == KNOWN_RULES && check.wrong == 0;
}

static bool may_copy(void)
{
    uint64_t from = 1, to;
    return sig_memory_copy(&to, (uint64_t)(uintptr_t)&from, sizeof(to));
}

/* ---- files ---- */

static void print_header(void)
{
    static const char *const columns[] = {"FDEs", "rows",    "addresses", "differ", "unsupp.",
                                          "lost", "refused", "uncached",  "roots",  "signal"};
    printf("%-24s", "file");
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        printf(" %9s", columns[i]);
    printf("\n");
}

static void print_counts(const char *name, const struct counts *counts)
{
    const uint64_t columns[] = {counts->fdes,        counts->rows,   counts->addresses, counts->differences,
                                counts->unsupported, counts->lost,   counts->refused,   counts->uncached,
                                counts->roots,       counts->signals};
    printf("%-24s", name);
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        printf(" %9" PRIu64, columns[i]);
    printf("\n");
    fflush(stdout);
}

static bool map(const char *path, struct image *ret)
{
    return strcmp(path, "[vdso]") == 0 ? image_of_memory((const void *)getauxval(AT_SYSINFO_EHDR), ret)
                                       : image_map_file(path, ret);
}

/* Whether every row was judged, and well. */
static bool judge_file(struct oracle *oracle, const char *path)
{
    const char *slash = strrchr(path, '/');
    const struct counts *counts = &oracle->counts;
    oracle->name = slash ? slash + 1 : path;
    oracle->counts = (struct counts){.fdes = 0};
    if (!map(path, &oracle->theirs.image)) {
        printf("%s: cannot be mapped, or has no search table\n", path);
        return false;
    }
    sig_rules_clear(); /* the file before may have been at this address */
    for (uint64_t i = 0; i < oracle->theirs.image.table_count; i++)
        compare_function(oracle, i);
    image_unmap(&oracle->theirs.image);
    print_counts(oracle->name, counts);
    return counts->rows > 0 && counts->differences + counts->refused == 0;
}

int main(int argc, char **argv)
{
    static struct oracle oracle;
    bool all_good = true;
    oracle.is_verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    oracle.may_copy = may_copy();
    if (!theirs_init(&oracle.theirs) || !oracle_is_sound(&oracle.theirs)) {
        printf("this libunwind does not give the rules of a function for which they are known\n");
        return EXIT_SKIPPED;
    }
    print_header();
    for (int i = 1 + oracle.is_verbose; i < argc; i++)
        all_good &= judge_file(&oracle, argv[i]);
    return all_good ? 0 : 1;
}
