/* Who has the other end of a pipe, as children that keep ends of it make it. */
#include "lib/unit.h"
#include "waits/other_ends.h"
#include "waits/told_apart.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static struct other_ends ends;
static int tasks, pipe_ends[2];

static const uint64_t start_ns = 1000 * (uint64_t)NS_PER_S;

static int setup(void **state)
{
    ends = (struct other_ends){0};
    tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return tasks < 0 || pipe(pipe_ends) != 0;
}

static int teardown(void **state)
{
    other_ends_deinit(&ends);
    close(tasks);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return 0;
}

/* A child that keeps one end, or both (-1), until it is ended. */
static pid_t begin_child(const char *name, int kept)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_NAME, name);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (kept >= 0)
            close(pipe_ends[1 - kept]);
        (void)!write(ready[1], "", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void close_end(int end)
{
    close(pipe_ends[end]);
    pipe_ends[end] = -1;
}

/* What the pipe is called by its reader (0) or its writer (1); "" if it is not known. */
static const char *name_at(int end, uint64_t now_ns)
{
    static char name[OTHER_END_BYTES], link[64];
    struct stat status;
    assert_int_equal(fstat(pipe_ends[end], &status), 0);
    snprintf(link, sizeof link, "pipe:[%lu]", (unsigned long)status.st_ino);
    const struct near_end near = {tasks, getpid(), pipe_ends[end], link, status.st_ino};
    *name = '\0';
    const bool is_known = other_ends_pipe(&ends, &near, now_ns, name);
    assert_int_equal(is_known, *name != '\0');
    return name;
}

static void assert_name(int end, uint64_t now_ns, const char *format, pid_t pid)
{
    char expected[OTHER_END_BYTES];
    snprintf(expected, sizeof expected, format, (int)pid);
    assert_string_equal(name_at(end, now_ns), expected);
}

static void a_pipe_is_called_by_who_has_its_other_end(void **state)
{
    const pid_t child = begin_child("maker", 1);
    close_end(1);
    assert_name(0, start_ns, "pipe from maker (pid %d)", child);
    end_child(child);
    assert_name(0, start_ns + (uint64_t)NS_PER_S * 3600, "pipe from maker (pid %d)", child);
}

/* And is looked for again, as a child closes soon what it does not need. */
static void an_end_that_this_process_has_too_is_not_the_childs_alone(void **state)
{
    const pid_t child = begin_child("maker", -1);
    assert_name(0, start_ns, "pipe from maker (pid %d) and others", child);
    assert_name(1, start_ns, "pipe to maker (pid %d) and others", child);
    close_end(1);
    assert_name(0, start_ns + NS_PER_S - 1, "pipe from maker (pid %d) and others", child);
    assert_name(0, start_ns + NS_PER_S, "pipe from maker (pid %d)", child);
    end_child(child);
}

static void several_that_have_an_end_are_the_first_and_others(void **state)
{
    const pid_t first = begin_child("maker", 1), second = begin_child("maker", 1);
    close_end(1);
    const char *name = name_at(0, start_ns);
    assert_int_equal(strncmp(name, "pipe from maker (pid ", 21), 0);
    assert_int_equal(strcmp(name + strlen(name) - 12, ") and others"), 0);
    assert_true(ends.again_ns == UINT64_MAX);
    end_child(first);
    end_child(second);
}

static void who_is_too_many_has_no_pid(void **state)
{
    for (int i = 0; i <= TOLD_APART_MAX; i++) {
        assert_true(i == 0 || pipe(pipe_ends) == 0);
        const pid_t child = begin_child("maker", 1);
        close_end(1);
        ends.credit = (struct reading_credit){0};
        assert_name(0, start_ns, i < TOLD_APART_MAX ? "pipe from maker (pid %d)" : "pipe from maker", child);
        end_child(child);
        close_end(0);
    }
}

/* It may be read or written: nothing is said of the other end. */
static void a_descriptor_that_can_do_both_has_no_other_end(void **state)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", pipe_ends[0]);
    const int both = open(path, O_RDWR | O_CLOEXEC);
    assert_true(both >= 0);
    close_end(0);
    pipe_ends[0] = both;
    assert_string_equal(name_at(0, start_ns), "");
    assert_true(ends.again_ns == UINT64_MAX);
    assert_null(ends.memory);
}

/* ---- when it is looked for ---- */

static void what_may_change_is_looked_for_ever_more_rarely(void **state)
{
    static const uint64_t later_s[] = {1, 2, 4, 8, 8, 8};
    uint64_t now_ns = start_ns;
    for (size_t i = 0; i < sizeof later_s / sizeof *later_s; i++) {
        ends.credit = (struct reading_credit){0};
        name_at(0, now_ns);
        assert_int_equal(ends.again_ns, now_ns + later_s[i] * NS_PER_S);
        name_at(0, now_ns + 1); /* too early */
        assert_int_equal(ends.again_ns, now_ns + later_s[i] * NS_PER_S);
        now_ns = ends.again_ns;
    }
}

static void what_is_not_paid_for_waits_a_second(void **state)
{
    const pid_t child = begin_child("maker", 1);
    close_end(1);
    ends.credit.paid_until_ns = start_ns;
    assert_string_equal(name_at(0, start_ns), "");
    assert_int_equal(ends.again_ns, start_ns + NS_PER_S);
    assert_name(0, ends.again_ns, "pipe from maker (pid %d)", child);
    assert_true(ends.again_ns == UINT64_MAX);
    assert_true(ends.credit.paid_until_ns > start_ns);
    end_child(child);
}

/* ---- what is not shown ---- */

static void become_nobody(bool keeps_rights)
{
    if (prctl(PR_SET_KEEPCAPS, keeps_rights) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0)
        _exit(1);
}

/* A child that has both ends, and maybe more rights than who asks. Its descriptors are listed all the same.
 */
static void begin_other(bool keeps_rights)
{
    int ready[2];
    char byte;
    if (pipe(ready) != 0 || fork() != 0) {
        close(ready[1]);
        (void)!read(ready[0], &byte, 1);
        return;
    }
    prctl(PR_SET_NAME, "other");
    become_nobody(keeps_rights);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)!write(ready[1], "", 1);
    for (;;)
        pause();
}

/* Between this process and the one that asks is one that has no ends. */
static void ask_as_nobody(bool keeps_rights, int report)
{
    int status = 1;
    begin_other(keeps_rights);
    become_nobody(false);
    int closed[2];
    char byte;
    if (pipe(closed) != 0)
        _exit(1);
    const pid_t child = fork();
    if (child == 0) {
        close(closed[1]);
        (void)!read(closed[0], &byte, 1);
        tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const char *name = name_at(0, start_ns);
        _exit(write(report, name, strlen(name) + 1) < 0);
    }
    close_end(0);
    close_end(1);
    close(closed[1]);
    waitpid(child, &status, 0);
    _exit(status);
}

static void assert_name_for_nobody(bool keeps_rights, const char *prefix)
{
    char name[OTHER_END_BYTES];
    int report[2], status;
    assert_int_equal(pipe(report), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        ask_as_nobody(keeps_rights, report[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(read(report[0], name, sizeof name) > 0);
    close(report[0]);
    close(report[1]);
    name[strlen(prefix) < strlen(name) && *prefix ? strlen(prefix) : strlen(name)] = '\0';
    assert_string_equal(name, prefix);
}

/* The program may change its root, and have no /proc there. */
static void another_root_hides_nobody(void **state)
{
    char name[OTHER_END_BYTES], expected[OTHER_END_BYTES], root[] = "/tmp/test_other_ends.XXXXXX";
    int report[2];
    assert_non_null(mkdtemp(root));
    assert_int_equal(pipe(report), 0);
    const pid_t other = begin_child("maker", 1);
    close_end(1);
    const pid_t asking = fork();
    assert_true(asking >= 0);
    if (asking == 0) {
        tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (geteuid() == 0 && chroot(root) != 0)
            _exit(1);
        const char *text = name_at(0, start_ns);
        _exit(write(report[1], text, strlen(text) + 1) < 0);
    }
    assert_true(read(report[0], name, sizeof name) > 0);
    waitpid(asking, NULL, 0);
    rmdir(root);
    snprintf(expected, sizeof expected, "pipe from maker (pid %d)", (int)other);
    assert_string_equal(name, expected);
    end_child(other);
    close(report[0]);
    close(report[1]);
}

/* Only root can become somebody else. */
static void a_link_that_cannot_be_read_may_be_that_of_an_end(void **state)
{
    if (geteuid() != 0)
        return;
    assert_name_for_nobody(false, "pipe from other (pid ");
    assert_name_for_nobody(true, "");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_pipe_is_called_by_who_has_its_other_end, setup, teardown),
        cmocka_unit_test_setup_teardown(an_end_that_this_process_has_too_is_not_the_childs_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(several_that_have_an_end_are_the_first_and_others, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_too_many_has_no_pid, setup, teardown),
        cmocka_unit_test_setup_teardown(a_descriptor_that_can_do_both_has_no_other_end, setup, teardown),
        cmocka_unit_test_setup_teardown(what_may_change_is_looked_for_ever_more_rarely, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_paid_for_waits_a_second, setup, teardown),
        cmocka_unit_test_setup_teardown(another_root_hides_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(a_link_that_cannot_be_read_may_be_that_of_an_end, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
