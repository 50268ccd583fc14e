/* Names are what c++filt and rustfilt say, bounded, with what follows the mangled name kept. */
#include "lib/unit.h"
#include "tool/debug/demangle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[DEMANGLED_MAX_BYTES];

static void assert_name(const char *name, const char *expected)
{
    size_t bytes = demangle(name, text);
    assert_string_equal(bytes ? text : "", expected);
    assert_int_equal(bytes, strlen(expected));
}

static void cxx_names_are_short_and_have_parameters(void **state)
{
    assert_name("_Z3foov", "foo()");
    assert_name("_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size() const");
    assert_name("_Z5printSs", "print(std::string)");
    assert_name("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const");
}

static void rust_names_lose_their_hashes(void **state)
{
    assert_name(
        "_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$LT$$LP$$RP$$GT$..$u7b$$u7b$closure$u7d$$u7d$"
        "$GT$17h0123456789abcdefE",
        "core::ptr::drop_in_place<std::rt::lang_start<()>::{{closure}}>");
    assert_name("_ZN3std2io5stdio6_print17h1a2b3c4d5e6f7a8bE", "std::io::stdio::_print");
    assert_name("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
    assert_name("_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>");
}

static void suffixes_are_kept(void **state)
{
    assert_name("_Z3foov@plt", "foo()@plt");
    assert_name("_ZSt4cout@@GLIBCXX_3.4", "std::cout@@GLIBCXX_3.4");
    assert_name("_Z3foov.part.0", "foo() [clone .part.0]");
    assert_name("_Z3fooi.isra.0.cold", "foo(int) [clone .isra.0] [clone .cold]");
    assert_name("_ZN3std2io5stdio6_print17h1a2b3c4d5e6f7a8bE.llvm.12345", "std::io::stdio::_print");
}

static void other_names_are_left_alone(void **state)
{
    assert_name("main", "");
    assert_name("", "");
    assert_name("_Z", "");
    assert_name("_R", "");
    assert_name("_Z_not_mangled", "");
    assert_name("i", ""); /* a type, not a function */
    assert_name("malloc@plt", "");
}

/* Each parameter is twice the one before it: the substitutions S0_, S1_, ... are the parameters so far. */
static void endless_names_are_given_up(void **state)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[1000] = "_Z1f1AIiiE";
    for (int i = 0; i < 35; i++) {
        char level[64];
        snprintf(level, sizeof level, "S_IS%c_S%c_E", digits[i], digits[i]);
        strcat(name, level);
        if (i == 0)
            assert_name(name, "f(A<int, int>, A<A<int, int>, A<int, int> >)");
    }
    assert_int_equal(demangle(name, text), 0);
    char *longest = calloc(1, 10000);
    assert_non_null(longest);
    strcpy(longest, "_Z9000");
    memset(longest + 6, 'a', 9000);
    assert_int_equal(demangle(longest, text), 0);
    free(longest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cxx_names_are_short_and_have_parameters),
        cmocka_unit_test(rust_names_lose_their_hashes),
        cmocka_unit_test(suffixes_are_kept),
        cmocka_unit_test(other_names_are_left_alone),
        cmocka_unit_test(endless_names_are_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
