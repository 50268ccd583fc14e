/* Names in few columns: what is left of them. */
#include "tool/report/short_name.h"
#include "tool/io/text.h"

#include "lib/unit.h"

static void assert_short(const char *name, int columns, const char *expected)
{
    char text[SHORT_NAME_BYTES];
    assert_string_equal(short_name(name, columns, text), expected);
}

static void what_fits_stays(void **state)
{
    (void)state;
    assert_short("Journal::append(Entry const&)", 29, "Journal::append(Entry const&)");
    assert_short("Journal::append(Entry const&)", -1, "Journal::append(Entry const&)");
    assert_short("[libcrypto.so.3+0x2fa30]", 5, "[libcrypto.so.3+0x2fa30]");
}

static void arguments_go_first(void **state)
{
    (void)state;
    assert_short("Journal::append(std::vector<Entry, std::allocator<Entry> > const&)", 28, "Journal::append");
    assert_short("Journal::size() const", 15, "Journal::size");
    assert_short("work(int) [clone .part.0]", 10, "work");
    assert_short("(anonymous namespace)::flush(int, long)", 30, "(anonymous namespace)::flush");
}

static void then_what_templates_are_made_with(void **state)
{
    (void)state;
    assert_short("std::map<int, Row>::find(int const&)", 20, "std::map<>::find");
    assert_short("void serve<Request, std::function<void ()> >(Request const&)", 10, "serve<>");
    assert_short("<alloc::vec::Vec<T> as Drop>::drop", 33, "<alloc::vec::Vec<> as Drop>::drop");
}

static void then_namespaces_from_the_outermost_on(void **state)
{
    (void)state;
    assert_short("net::server::Session::handle_request(Buffer&)", 25, "Session::handle_request");
    assert_short("net::server::Session::handle_request(Buffer&)", 5, "handle_request");
    assert_short("(anonymous namespace)::flush(int, long)", 10, "flush");
}

static void operators_are_no_brackets(void **state)
{
    (void)state;
    assert_short("bank::operator<(Row const&, Row const&)", 18, "bank::operator<");
    assert_short("Compare::operator()(Row const&) const", 22, "Compare::operator()");
    assert_short("Pointer<Row>::operator->()", 22, "Pointer<>::operator->");
}

static void javascript_is_named_by_function_file_and_line(void **state)
{
    (void)state;
    assert_short("JS:*buildReport /srv/app/server.js:2:21", 80, "buildReport server.js:2");
    assert_short("LazyCompile:~ node:net:617:41", 80, "(anonymous) node:net:617");
}

static void python_is_named_by_function_and_file(void **state)
{
    (void)state;
    assert_short("py::fetch:/srv/app/shop.py", 80, "fetch shop.py");
    assert_short("py::Shop.fetch.<locals>.<genexpr>:/srv/app/shop.py", 80, "Shop.fetch.<genexpr> shop.py");
    assert_short("py::<module>:<frozen importlib._bootstrap>", 80, "<module> <frozen importlib._bootstrap>");
    assert_short("py::no_place", 80, "py::no_place");
    assert_short("fetch.<locals>.get shop.py:21", 10, "fetch.get shop.py:21");
    assert_short("<module> <frozen importlib._bootstrap>:1", 10, "<module> <frozen importlib._bootstrap>:1");
    assert_short("fetch shop.py", 10, "fetch shop.py");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_stays),
        cmocka_unit_test(arguments_go_first),
        cmocka_unit_test(then_what_templates_are_made_with),
        cmocka_unit_test(then_namespaces_from_the_outermost_on),
        cmocka_unit_test(javascript_is_named_by_function_file_and_line),
        cmocka_unit_test(python_is_named_by_function_and_file),
        cmocka_unit_test(operators_are_no_brackets),
    };
    text_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
