/* What a return address was left by: calls made by hand, of every form. */
/* test: not-aarch64 */
#include "lib/unit.h"
#include "base/arena.h"
#include "modules/modules.h"
#include "sig/code/sig_call.h"

/* Each return_X stands after a call; nothing of this is run. */
__asm__(".pushsection .text\n"
        "called: ret\n"
        "nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop\n"
        "entry_plain: jmp *slot_called(%rip)\n"
        "nop; nop; nop; nop; nop; nop\n"
        "entry_endbr: endbr64\n"
        ".byte 0xf2\n" /* bnd */
        "jmp *slot_called(%rip)\n"
        "entry_twice: jmp *slot_entry(%rip)\n"
        "nop; nop; nop; nop; nop; nop\n"
        "entry_circular: jmp *slot_circular(%rip)\n"
        "nop; nop; nop; nop; nop; nop\n"
        "nop; nop; nop; nop; nop; nop\n"
        "call called\n"
        "return_near: nop\n"
        "call *slot_called(%rip)\n"
        "return_slot: nop\n"
        "call entry_plain\n"
        "return_plain: nop\n"
        "call entry_endbr\n"
        "return_endbr: nop\n"
        "call entry_twice\n"
        "return_twice: nop\n"
        "call entry_circular\n"
        "return_circular: nop\n"
        "call *slot_nowhere(%rip)\n"
        "return_nowhere: nop\n"
        "nop; nop; nop; nop; nop\n"
        "call *%rax\n"
        "return_register: nop\n"
        "nop; nop; nop; nop; nop; nop\n"
        "call *%r12\n"
        "return_rex: nop\n"
        "nop; nop; nop; nop; nop; nop\n"
        "call *0x18(%rax)\n"
        "return_table: nop\n"
        "nop; nop; nop; nop; nop; nop\n"
        "call *0x12345(%r12, %rcx, 8)\n"
        "return_index: nop\n"
        "nop; nop; nop; nop; nop; nop\n"
        "return_none: ret\n"
        ".popsection\n"
        ".pushsection .data.rel.local, \"aw\"\n"
        ".balign 8\n"
        "slot_called: .quad called\n"
        "slot_entry: .quad entry_plain\n"
        "slot_circular: .quad entry_circular\n"
        "slot_nowhere: .quad 8\n"
        ".popsection\n");
extern const char called[], entry_circular[], return_near[], return_slot[], return_plain[], return_endbr[],
    return_twice[], return_circular[], return_nowhere[], return_register[], return_rex[], return_table[],
    return_index[], return_none[];

static struct modules modules;
static const struct sig_modules_table *table;

static int setup_group(void **state)
{
    static struct arena arena;
    if (arena_init(&arena, 1 << 20) < 0 || modules_init(&modules, &arena) < 0)
        return -1;
    table = modules_table(&modules);
    return table ? 0 : -1;
}

static uint64_t target_of(const char *return_address)
{
    return sig_call_target(table, (uint64_t)(uintptr_t)return_address);
}

static const uint64_t nothing = 0;

static void calls_name_what_they_call(void **state)
{
    const uint64_t expected = (uint64_t)(uintptr_t)called;
    assert_int_equal(target_of(return_near), expected);
    assert_int_equal(target_of(return_slot), expected);
    assert_int_equal(target_of(return_plain), expected);
    assert_int_equal(target_of(return_endbr), expected);
    assert_int_equal(target_of(return_twice), expected);
}

static void what_is_no_call_or_does_not_say_names_nothing(void **state)
{
    assert_int_equal(target_of(return_register), SIG_CALL_SOMEWHERE);
    assert_int_equal(target_of(return_rex), SIG_CALL_SOMEWHERE);
    assert_int_equal(target_of(return_table), SIG_CALL_SOMEWHERE);
    assert_int_equal(target_of(return_index), SIG_CALL_SOMEWHERE);
    assert_int_equal(target_of(return_none), nothing);
    assert_int_equal(sig_call_target(table, 0), nothing);
    assert_int_equal(sig_call_target(table, 3), nothing);
    assert_int_equal(sig_call_target(table, UINT64_MAX), nothing);
    assert_int_equal(sig_call_target(table, (uint64_t)(uintptr_t)&table), nothing);
    for (size_t i = 0; i < table->count; i++) { /* at the edges nothing outside is read */
        sig_call_target(table, table->modules[i].start_pc);
        sig_call_target(table, table->modules[i].start_pc + 5);
        sig_call_target(table, table->modules[i].end_pc);
        sig_call_target(table, table->modules[i].end_pc - 1);
    }
}

static void jumps_end(void **state)
{
    assert_int_equal(target_of(return_circular), (uint64_t)(uintptr_t)entry_circular);
    assert_int_equal(target_of(return_nowhere), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_name_what_they_call),
        cmocka_unit_test(what_is_no_call_or_does_not_say_names_nothing),
        cmocka_unit_test(jumps_end),
    };
    return cmocka_run_group_tests(tests, setup_group, NULL);
}
