/* Names of files and what is written into them. */
#include "encode/format.h"

#include "lib/unit.h"

#include <errno.h>

struct name_case {
    const char *name;
    enum file_format format;
    enum sink_coding coding;
};

static void a_name_says_its_format(void **state)
{
    static const struct name_case cases[] = {
        {"app.pb.gz", FORMAT_PPROF, SINK_GZIP},
        {"app.pb", FORMAT_PPROF, SINK_PLAIN},
        {"app", FORMAT_PPROF, SINK_GZIP},
        {"", FORMAT_PPROF, SINK_GZIP},
        {".pb", FORMAT_PPROF, SINK_GZIP}, /* a name, not an ending */
        {"app.html", FORMAT_HTML, SINK_PLAIN},
        {"app.store", FORMAT_STORE, SINK_PLAIN},
        {"app.store.gz", FORMAT_PPROF, SINK_GZIP},
        {"app.pb.gz.bak", FORMAT_PPROF, SINK_GZIP},
        {"app.callgrind", FORMAT_CALLGRIND, SINK_PLAIN},
        {"callgrind.out.app.1234", FORMAT_CALLGRIND, SINK_PLAIN}, /* what KCachegrind looks for */
        {"callgrind.out.app.pb.gz", FORMAT_PPROF, SINK_GZIP},
        {"callgrind.outside", FORMAT_PPROF, SINK_GZIP},
        {"my.callgrind.out.1", FORMAT_PPROF, SINK_GZIP},
        {"app.folded", FORMAT_FOLDED, SINK_PLAIN},
        {"app.collapsed", FORMAT_FOLDED, SINK_PLAIN},
        {"app.json", FORMAT_FIREFOX, SINK_PLAIN},
        {"app.json.gz", FORMAT_FIREFOX, SINK_GZIP},
        {"app.perfetto.json", FORMAT_PERFETTO, SINK_PLAIN},
        {"app.perfetto.json.gz", FORMAT_PERFETTO, SINK_GZIP},
        {"perfetto.json", FORMAT_FIREFOX, SINK_PLAIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(format_of_name(cases[i].name), cases[i].format);
        assert_int_equal(format_coding(cases[i].format, cases[i].name), cases[i].coding);
    }
}

static void only_some_need_a_timeline(void **state)
{
    assert_false(format_needs_timeline(FORMAT_PPROF));
    assert_true(format_needs_timeline(FORMAT_FIREFOX));
    assert_true(format_needs_timeline(FORMAT_PERFETTO));
    assert_false(format_needs_timeline(FORMAT_HTML));
    assert_true(format_shows_timeline(FORMAT_HTML));
    assert_true(format_shows_timeline(FORMAT_FIREFOX));
    assert_false(format_shows_timeline(FORMAT_PPROF));
}

static void the_library_writes_two_of_them(void **state)
{
    for (int i = 0; i < FORMAT_COUNT; i++) {
        bool is_own = i == FORMAT_PPROF || i == FORMAT_STORE;
        assert_int_equal(format_needs_tool(i), !is_own);
        if (!is_own)
            assert_int_equal(format_write(i, NULL, NULL), -ENOTSUP);
    }
}

static void every_format_has_a_word(void **state)
{
    enum file_format format;
    for (int i = 0; i < FORMAT_COUNT; i++) {
        assert_int_equal(format_of_word(format_word(i), &format), 0);
        assert_int_equal(format, i);
    }
    assert_int_equal(format_of_word("", &format), -EINVAL);
    assert_int_equal(format_of_word("pprof ", &format), -EINVAL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_says_its_format),
        cmocka_unit_test(only_some_need_a_timeline),
        cmocka_unit_test(the_library_writes_two_of_them),
        cmocka_unit_test(every_format_has_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
