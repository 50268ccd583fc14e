/* Who has CPython's lock, in a record and states made by hand. */
#include "interp/python_gil.h"

#include "lib/unit.h"

#include <string.h>

enum { RECORD = 0x10000, GIL_AT = 0x10100, STATE = 0x20000, ID_AT = 0x98, TID = 4711 };

/* Words before the condition, and where a word of the condition is waited for. */
enum {
    CONDITION_AT = GIL_AT + 32,
    WAITED_UNTIL_2_40 = CONDITION_AT + 40,
    WAITED_SINCE_2_41 = CONDITION_AT + 32
};

static struct program {
    uint64_t gil[4];
    uint64_t state, id; /* the address of the holder's state, and what stands there */
} program;

/* Anything else is not there. */
static bool read_program(const struct sig_interp_memory *memory, void *to, uint64_t from, size_t bytes,
                         bool is_held)
{
    (void)memory;
    (void)is_held;
    if (from == GIL_AT && bytes == sizeof program.gil)
        memcpy(to, program.gil, bytes);
    else if (from == program.state + ID_AT && bytes == sizeof program.id)
        memcpy(to, &program.id, bytes);
    else
        return false;
    return true;
}

static uint64_t holder_at(uint64_t futex)
{
    const struct sig_interp_memory memory = {.read = read_program};
    const struct sig_python_layout layout = {.state = {.native_thread_id = ID_AT}};
    return python_gil_holder(&layout, &memory, futex);
}

static int set_up(void **state)
{
    (void)state;
    program = (struct program){.gil = {5000, STATE, 1, 77}, .state = STATE, .id = TID};
    return 0;
}

static void the_thread_that_took_it_last_has_it(void **state)
{
    (void)state;
    assert_int_equal(holder_at(WAITED_UNTIL_2_40), TID);
    assert_int_equal(holder_at(WAITED_UNTIL_2_40 + 4), TID);
    assert_int_equal(holder_at(WAITED_SINCE_2_41), TID);
    assert_int_equal(holder_at(WAITED_SINCE_2_41 + 4), TID);
}

static void a_lock_that_is_free_is_nobodys(void **state)
{
    (void)state;
    program.gil[2] = UINT64_C(0xdead) << 32; /* what is beside the number of 32 bits does not count */
    assert_int_equal(holder_at(WAITED_UNTIL_2_40), 0);
    program.gil[2] |= 1;
    assert_int_equal(holder_at(WAITED_UNTIL_2_40), TID);
}

static void other_words_are_no_lock(void **state)
{
    (void)state;
    program.gil[0] = 0;
    assert_int_equal(holder_at(WAITED_UNTIL_2_40), 0);
    program.gil[0] = UINT64_C(1) << 40;
    assert_int_equal(holder_at(WAITED_UNTIL_2_40), 0);
    assert_int_equal(holder_at(RECORD), 0);
}

static void a_state_that_is_none_names_nobody(void **state)
{
    (void)state;
    program.gil[1] = 0;
    assert_int_equal(holder_at(WAITED_UNTIL_2_40), 0);
    program.gil[1] = STATE + 1;
    assert_int_equal(holder_at(WAITED_UNTIL_2_40), 0);
    program.gil[1] = STATE + 8; /* not there */
    assert_int_equal(holder_at(WAITED_UNTIL_2_40), 0);
    program.gil[1] = STATE;
    program.id = UINT64_C(0x7f0012345000); /* the C library's id, before 3.11 */
    assert_int_equal(holder_at(WAITED_UNTIL_2_40), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_thread_that_took_it_last_has_it, set_up),
        cmocka_unit_test_setup(a_lock_that_is_free_is_nobodys, set_up),
        cmocka_unit_test_setup(other_words_are_no_lock, set_up),
        cmocka_unit_test_setup(a_state_that_is_none_names_nobody, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
