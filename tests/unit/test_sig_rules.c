/* The rule cache: what goes in comes out, for that pc and for no other; what does not fit is not kept. */
/* test: tsan */
#include "lib/unit.h"
#include "lib/fake_cfi.h"
#include "sig/sys/sig_arch.h"
#include "sig/walk/sig_rules.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void assert_same_saved(const struct sig_saved *a, const struct sig_saved *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->offset, b->offset);
}

static void assert_kept(uint64_t pc, const struct sig_rule *rule)
{
    struct sig_rule found;
    sig_rules_insert(pc, rule);
    assert_true(sig_rules_lookup(pc, &found));
    assert_int_equal(found.kind, rule->kind);
    assert_int_equal(found.cfa_register, rule->cfa_register);
    assert_int_equal(found.cfa_deref, rule->cfa_deref);
    assert_int_equal(found.cfa_offset, rule->cfa_offset);
    assert_int_equal(found.cfa_offset_after, rule->cfa_offset_after);
    assert_int_equal(found.may_land, rule->may_land);
    assert_int_equal(found.starts_here, rule->starts_here);
    assert_int_equal(found.not_called, rule->not_called);
    assert_same_saved(&found.ra, &rule->ra);
    assert_same_saved(&found.fp, &rule->fp);
    assert_same_saved(&found.extra, &rule->extra);
}

static void assert_not_kept(uint64_t pc, const struct sig_rule *rule)
{
    struct sig_rule found;
    sig_rules_insert(pc, rule);
    assert_false(sig_rules_lookup(pc, &found));
}

static void test_every_form_comes_back(void **state)
{
    static const uint8_t bases[] = {SIG_DWARF_SP, SIG_DWARF_FP, SIG_DWARF_EXTRA};
    uint64_t pc = 0x7f1234560000;
    sig_rules_clear();
    for (size_t i = 0; i < sizeof(bases); i++) {
        for (int32_t offset = -16384; offset <= 16376; offset += 8) {
            struct sig_rule rule = frame_rule(bases[i], offset, -16);
            if (!SIG_RA_IN_EXTRA && bases[i] == SIG_DWARF_SP && offset == 0)
                continue;
            assert_kept(pc++, &rule);
        }
    }
    for (int32_t saved = -8; saved >= -496; saved -= 8) {
        struct sig_rule rule = frame_rule(SIG_DWARF_SP, 512, saved);
        rule.extra = rule.fp;
        if (SIG_RA_IN_EXTRA)
            rule.ra = rule.extra;
        rule.fp.kind = SIG_SAVED_UNKNOWN;
        rule.fp.offset = 0;
        assert_kept(pc++, &rule);
    }
    struct sig_rule deref = frame_rule(SIG_DWARF_FP, -8, -16);
    deref.cfa_deref = true;
    assert_kept(pc++, &deref);
    deref = frame_rule(SIG_DWARF_SP, 152, -24);
    deref.cfa_deref = true;
    deref.cfa_offset_after = 8;
    assert_kept(pc++, &deref);
    struct sig_rule landing = frame_rule(SIG_DWARF_FP, 16, -16);
    landing.may_land = SIG_DECODES_CALLS;
    assert_kept(pc++, &landing);
    struct sig_rule root = {.kind = SIG_RULE_ROOT, .starts_here = true};
    assert_kept(pc++, &root);
    struct sig_rule not_called = {.kind = SIG_RULE_NONE, .not_called = true};
    assert_kept(pc++, &not_called);
    for (unsigned kind = SIG_RULE_NONE; kind <= SIG_RULE_ROOT; kind++) {
        struct sig_rule rule = {.kind = (uint8_t)kind};
        if (kind != SIG_RULE_FRAME)
            assert_kept(pc++, &rule);
    }
}

/* Where calls leave the return address in a register: leaves, and frame records anywhere in the frame. */
static void test_link_register_forms(void **state)
{
    uint64_t pc = 0x7f1234560000;
    if (!SIG_RA_IN_EXTRA)
        skip();
    sig_rules_clear();
    struct sig_rule leaf = {.kind = SIG_RULE_FRAME, .cfa_register = SIG_DWARF_SP};
    assert_kept(pc++, &leaf);
    assert_kept(0, &leaf); /* and yet it is no empty entry */
    for (int32_t words = 1; words <= 4096; words++) {
        struct sig_rule rule = frame_rule(SIG_DWARF_SP, 16376, -8 * words);
        rule.ra.offset = rule.extra.offset = rule.fp.offset + 8;
        if (words < 4096)
            assert_kept(pc++, &rule);
        else
            assert_not_kept(pc++, &rule);
    }
    struct sig_rule apart = frame_rule(SIG_DWARF_SP, 512, -16);
    apart.ra.offset = apart.extra.offset = -496;
    assert_kept(pc++, &apart);
    apart.fp = (struct sig_saved){.kind = SIG_SAVED_SAME};
    assert_kept(pc++, &apart);
}

static void test_what_does_not_fit_is_not_kept(void **state)
{
    sig_rules_clear();
    struct sig_rule rule = frame_rule(SIG_DWARF_SP, 16384, 0);
    assert_not_kept(1, &rule); /* beyond 12 bits */
    rule = frame_rule(SIG_DWARF_SP, 12, 0);
    assert_not_kept(2, &rule); /* not a multiple of 8 */
    rule = frame_rule(SIG_DWARF_SP, 16, -504);
    assert_not_kept(3, &rule);
    rule = frame_rule(10, 0, 0);
    assert_not_kept(4, &rule); /* another base register */
    rule = frame_rule(SIG_DWARF_SP, 16, 0);
    rule.ra.offset = SIG_RA_IN_EXTRA ? -504 : -16;
    assert_not_kept(5, &rule);
    rule.ra = (struct sig_saved){.kind = SIG_SAVED_IN_REGISTER, .dwarf_register = 5};
    assert_not_kept(6, &rule);
    rule = frame_rule(SIG_DWARF_SP, 0, 0);
    if (!SIG_RA_IN_EXTRA)
        assert_not_kept(0, &rule); /* would look like an empty entry */
    rule = (struct sig_rule){.kind = SIG_RULE_UNSUPPORTED};
    assert_not_kept(7, &rule);
    rule = frame_rule(SIG_DWARF_SP, 16, 0);
    assert_not_kept((uint64_t)1 << 47, &rule);
}

/* Each pc gets a rule that tells which pc it is; whatever is found must be the right one,
 * however many collide. */
static void test_no_pc_gets_the_rule_of_another(void **state)
{
    uint32_t found_count = 0;
    sig_rules_clear();
    for (uint64_t i = 0; i < 200000; i++) {
        uint64_t pc = 0x555555554000 + i * 7919 % 500000 * 3;
        struct sig_rule rule = frame_rule(SIG_DWARF_FP, (int32_t)(pc % 2000) * 8, 0), found;
        sig_rules_insert(pc, &rule);
        uint64_t other = 0x555555554000 + i * 104729 % 1500000;
        if (!sig_rules_lookup(other, &found))
            continue;
        found_count++;
        assert_int_equal(found.cfa_offset, (int32_t)(other % 2000) * 8);
    }
    assert_true(found_count > 100);
}

/* Half as many pcs as there are entries, spaced evenly or at random: few push one another out. */
static void test_half_full_nearly_all_are_found(void **state)
{
    enum { PCS = 4096 };
    for (uint64_t spacing = 0; spacing <= 4096; spacing = spacing ? 2 * spacing : 5) {
        struct sig_rule rule = frame_rule(SIG_DWARF_FP, 16, -16), found;
        uint32_t found_count = 0;
        uint64_t pcs[PCS], pc = 0x555555554000;
        sig_rules_clear();
        srand(9);
        for (uint32_t i = 0; i < PCS; i++) {
            pc += spacing ? spacing : 1 + (uint64_t)rand() % 200;
            pcs[i] = pc;
            sig_rules_insert(pc, &rule);
        }
        for (uint32_t i = 0; i < PCS; i++)
            found_count += sig_rules_lookup(pcs[i], &found);
        assert_true(found_count > PCS - PCS / 20);
    }
}

static void *hammer(void *argument)
{
    uint64_t seed = (uint64_t)(uintptr_t)argument;
    for (uint32_t i = 0; i < 300000; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        uint64_t pc = 0x400000 + (seed >> 40) % 20000;
        struct sig_rule rule = frame_rule(SIG_DWARF_FP, (int32_t)(pc % 2000) * 8, 0), found;
        if (sig_rules_lookup(pc, &found) && found.cfa_offset != rule.cfa_offset)
            return (void *)1;
        sig_rules_insert(pc, &rule);
    }
    return NULL;
}

static void test_threads_do_not_tear(void **state)
{
    pthread_t threads[4];
    sig_rules_clear();
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)(i + 1)), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

static void test_clear_forgets(void **state)
{
    struct sig_rule rule = frame_rule(SIG_DWARF_SP, 16, 0), found;
    sig_rules_insert(0x1234, &rule);
    sig_rules_clear();
    assert_false(sig_rules_lookup(0x1234, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form_comes_back),
        cmocka_unit_test(test_link_register_forms),
        cmocka_unit_test(test_what_does_not_fit_is_not_kept),
        cmocka_unit_test(test_no_pc_gets_the_rule_of_another),
        cmocka_unit_test(test_half_full_nearly_all_are_found),
        cmocka_unit_test(test_threads_do_not_tear),
        cmocka_unit_test(test_clear_forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
