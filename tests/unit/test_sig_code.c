/* aarch64 only: code without unwind tables that is known by its instructions, at each of them. */
/* test: not-x86_64 */
#include "lib/unit.h"
#include "lib/arch.h"
#include "sig/code/sig_code.h"

#include <string.h>
#include <sys/mman.h>

enum { BTI = 0xd503245f, PUSH = 0xa9bf7bf0, ADRP = 0xb0000010, LDR = 0xf9400e11, ADD = 0x91006210 };
enum { AUTIA = 0xd503219f, BR = 0xd61f0220, BR_X16 = 0xd61f0200, NOP = 0xd503201f, RET = 0xd65f03c0 };

/* How the caller is found from an instruction. */
enum expected {
    NONE,
    LEAF,   /* nothing is on the stack */
    PUSHED, /* x16 and x30 are */
    SIGNAL
};

struct line {
    uint32_t code;
    enum expected expected;
};

static struct sig_rule rule_at(const uint32_t *code, size_t words, uint64_t lookup_pc, bool careful)
{
    struct sig_module module = {.start_pc = (uint64_t)(uintptr_t)code,
                                .end_pc = (uint64_t)(uintptr_t)(code + words)};
    struct sig_rule rule;
    sig_code_rule(&module, lookup_pc, careful, &rule);
    return rule;
}

static enum expected found(const struct sig_rule *rule)
{
    if (rule->kind == SIG_RULE_NONE)
        return NONE;
    if (rule->kind == SIG_RULE_SIGNAL)
        return SIGNAL;
    assert_int_equal(rule->kind, SIG_RULE_FRAME);
    assert_int_equal(rule->cfa_register, SIG_DWARF_SP);
    assert_int_equal(rule->fp.kind, SIG_SAVED_SAME);
    assert_int_equal(rule->ra.kind, rule->extra.kind);
    assert_int_equal(rule->cfa_offset, rule->ra.kind == SIG_SAVED_SAME ? 0 : 16);
    assert_int_equal(rule->ra.offset, rule->ra.kind == SIG_SAVED_SAME ? 0 : -8);
    return rule->ra.kind == SIG_SAVED_SAME ? LEAF : PUSHED;
}

static void assert_lines(const struct line *lines, size_t count)
{
    uint32_t code[32];
    for (size_t i = 0; i < count; i++)
        code[i] = lines[i].code;
    for (size_t i = 0; i < count; i++) {
        uint64_t pc = (uint64_t)(uintptr_t)&code[i];
        struct sig_rule direct = rule_at(code, count, pc, false);
        if (found(&direct) != lines[i].expected)
            fail_msg("instruction %zu: %d, not %d", i, found(&direct), lines[i].expected);
        struct sig_rule careful = rule_at(code, count, pc, true);
        if (kernel_copies_memory())
            assert_int_equal(found(&careful), lines[i].expected);
        /* Nothing returns into a stub; to a trampoline's first instruction signal handlers do. */
        struct sig_rule returned = rule_at(code, count, pc - 1, false);
        bool is_entry = lines[i].expected == SIGNAL && (i == 0 || lines[i - 1].expected != SIGNAL);
        if (lines[i].expected != SIGNAL || is_entry)
            assert_int_equal(found(&returned), is_entry ? SIGNAL : NONE);
    }
}

#define ASSERT_LINES(...)                                                                                    \
    assert_lines((const struct line[]){__VA_ARGS__},                                                         \
                 sizeof((const struct line[]){__VA_ARGS__}) / sizeof(struct line))

static void linkage_tables_are_leaves(void **state)
{
    ASSERT_LINES({NOP, NONE}, {PUSH, LEAF}, {ADRP, PUSHED}, {LDR, PUSHED}, {ADD, PUSHED}, {BR, PUSHED},
                 {NOP, NONE}, {NOP, NONE}, {ADRP, LEAF}, {LDR, LEAF}, {ADD, LEAF}, {BR, LEAF}, {ADRP, LEAF},
                 {LDR, LEAF}, {ADD, LEAF}, {BR, LEAF});
    ASSERT_LINES({BTI, LEAF}, {PUSH, LEAF}, {ADRP, PUSHED}, {LDR, PUSHED}, {ADD, PUSHED}, {BR, PUSHED},
                 {NOP, NONE}, {BTI, LEAF}, {ADRP, LEAF}, {LDR, LEAF}, {ADD, LEAF}, {AUTIA, LEAF}, {BR, LEAF},
                 {NOP, NONE});
}

static void veneers_are_leaves(void **state)
{
    ASSERT_LINES({RET, NONE}, {ADRP, LEAF}, {ADD, LEAF}, {BR_X16, LEAF}, {RET, NONE});
}

static void other_code_is_not_known(void **state)
{
    ASSERT_LINES({BTI, NONE}, {RET, NONE}, {0x90000011, NONE}, {0xf9400e10, NONE}, {0xd61f0240, NONE},
                 {PUSH, NONE}, {RET, NONE}, {0, NONE});
}

static void trampolines_are_known(void **state)
{
    uint32_t trampoline[2];
    memcpy(trampoline, trampoline_code, sizeof(trampoline));
    ASSERT_LINES({NOP, NONE}, {trampoline[0], SIGNAL}, {trampoline[1], SIGNAL}, {NOP, NONE});
    ASSERT_LINES({trampoline[1], NONE}, {NOP, NONE}, {trampoline[0], NONE});
}

/* Outside of all modules: a trampoline is, stubs are not, and what cannot be read is nothing. */
static void outside_of_modules(void **state)
{
    const size_t page = 65536; /* or a fraction of it */
    struct sig_rule rule;
    char *block = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    munmap(block + page, page);
    uint64_t end = (uint64_t)(uintptr_t)(block + page);
    memcpy(block + page - 8, trampoline_code, sizeof(trampoline_code));
    sig_code_rule(NULL, end - 8, false, &rule);
    assert_int_equal(rule.kind, SIG_RULE_SIGNAL);
    sig_code_rule(NULL, end - 9, false, &rule);
    assert_int_equal(rule.kind, SIG_RULE_SIGNAL);
    sig_code_rule(NULL, end - 4, true, &rule);
    assert_int_equal(rule.kind, SIG_RULE_SIGNAL);
    sig_code_rule(NULL, end, false, &rule);
    assert_int_equal(rule.kind, SIG_RULE_NONE);
    memcpy(block, &(uint32_t){ADRP}, 4);
    sig_code_rule(NULL, (uint64_t)(uintptr_t)block, false, &rule);
    assert_int_equal(rule.kind, SIG_RULE_NONE);
    sig_code_rule(NULL, 0, false, &rule);
    assert_int_equal(rule.kind, SIG_RULE_NONE);
    sig_code_rule(NULL, UINT64_MAX, false, &rule);
    assert_int_equal(rule.kind, SIG_RULE_NONE);
    munmap(block, page);
}

/* Code that may be executed only. */
static void unreadable_code_is_not_known(void **state)
{
    const size_t bytes = 65536;
    struct sig_rule rule;
    char *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    memcpy(block, &(uint32_t){ADRP}, 4);
    rule = rule_at((const uint32_t *)(void *)block, bytes / 4, (uint64_t)(uintptr_t)block, false);
    assert_int_equal(found(&rule), LEAF);
    mprotect(block, bytes, PROT_NONE); /* an emulated processor reads what it may execute */
    rule = rule_at((const uint32_t *)(void *)block, bytes / 4, (uint64_t)(uintptr_t)block, false);
    assert_int_equal(found(&rule), NONE);
    munmap(block, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linkage_tables_are_leaves), cmocka_unit_test(veneers_are_leaves),
        cmocka_unit_test(other_code_is_not_known),   cmocka_unit_test(trampolines_are_known),
        cmocka_unit_test(outside_of_modules),        cmocka_unit_test(unreadable_code_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
