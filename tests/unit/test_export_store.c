/* The names of stores that are left in place of other formats, and the message that goes with them. */
#include "export/export_store.h"
#include "base/clock.h"
#include "profile/store.h"

#include "lib/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PID = 4711 };
static const uint64_t process_utc_ns = 1000 * (uint64_t)NS_PER_S;

static char directory[] = "/tmp/wallprof-test-XXXXXX";
static int directory_fd;

static int set_up(void **state)
{
    strcpy(strrchr(directory, '-') + 1, "XXXXXX");
    directory_fd = mkdtemp(directory) ? open(directory, O_PATH | O_DIRECTORY) : -1;
    return directory_fd < 0;
}

static int tear_down(void **state)
{
    char command[64];
    close(directory_fd);
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

static void put_file(const char *name, const void *bytes, size_t count)
{
    int fd = openat(directory_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
    close(fd);
}

static void put_store(const char *name, int pid, uint64_t start_utc_ns, enum store_state store_state)
{
    struct store_header header = {.start_utc_ns = start_utc_ns};
    store_describe_build(&header);
    header.process.pid = pid;
    header.live.state = store_state;
    put_file(name, &header, sizeof header);
}

static void assert_chosen(const char *name, const char *expected)
{
    char store[NAME_MAX + 1];
    assert_int_equal(export_store_choose_name(directory_fd, name, PID, process_utc_ns, store), 0);
    assert_string_equal(store, expected);
}

static void it_is_named_after_the_requested_file(void **state)
{
    assert_chosen("app.html", "app.html.store");
    assert_chosen("callgrind.out.1", "callgrind.out.1.store");
}

static void what_is_there_stays(void **state)
{
    put_file("app.html.store", "mine", 4);
    assert_chosen("app.html", "app.html.2.store");
    assert_int_equal(symlinkat("/nonexistent", directory_fd, "app.html.2.store"), 0);
    put_store("app.html.3.store", PID + 1, process_utc_ns, STORE_WHOLE);
    put_store("app.html.4.store", PID, process_utc_ns - 2 * (uint64_t)NS_PER_S,
              STORE_WHOLE); /* had the pid before */
    put_store("app.html.5.store", PID, process_utc_ns, STORE_LIVE);
    assert_chosen("app.html", "app.html.6.store");
}

static void what_this_process_has_left_is_replaced(void **state)
{
    put_file("app.html.store", "", 0);
    put_store("app.html.2.store", PID, process_utc_ns + NS_PER_S, STORE_WHOLE);
    assert_chosen("app.html", "app.html.2.store");
}

static void a_name_may_be_too_long(void **state)
{
    char name[NAME_MAX + 1], store[NAME_MAX + 1];
    memset(name, 'a', NAME_MAX);
    name[NAME_MAX] = '\0';
    assert_int_equal(export_store_choose_name(directory_fd, name, PID, process_utc_ns, store), -ENAMETOOLONG);
    name[NAME_MAX - strlen(EXPORT_STORE_ENDING)] = '\0';
    assert_int_equal(export_store_choose_name(directory_fd, name, PID, process_utc_ns, store), 0);
    put_file(store, "mine", 4);
    assert_int_equal(export_store_choose_name(directory_fd, name, PID, process_utc_ns, store), -ENAMETOOLONG);
}

static void assert_said(const char *in, const char *store, const char *name, const char *expected)
{
    static struct log log;
    log = (struct log){.level = LOG_WARNING};
    export_store_explain(&log, in, store, name, "was not run");
    log.text[log.used_bytes] = '\0';
    assert_non_null(strstr(log.text, expected));
    assert_ptr_equal(strchr(log.text, '\n'), log.text + log.used_bytes - 1);
}

static void the_message_is_a_command_for_a_shell(void **state)
{
    assert_said("/srv", "app.html.store", "app.html",
                "only the tool writes html, and it was not run; now run: "
                "wallprof export /srv/app.html.store -o /srv/app.html\n");
    assert_said("/", "a.7.sh.folded.store", NULL,
                "writes folded, and it was not run; now run: "
                "wallprof export /a.7.sh.folded.store -o /a.7.sh.folded\n");
    assert_said("/it's $HOME", "a.json.2.store", "a.json",
                "writes firefox, and it was not run; now run: wallprof export "
                "'/it'\\''s $HOME/a.json.2.store' -o '/it'\\''s $HOME/a.json'\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_named_after_the_requested_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_there_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_this_process_has_left_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_may_be_too_long, set_up, tear_down),
        cmocka_unit_test(the_message_is_a_command_for_a_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
