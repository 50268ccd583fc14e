/* Who is counted in a family of processes, and for how long. */
#include "lib/unit.h"
#include "sample/overhead_group.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define S UINT64_C(1000000000)

enum { MANY = OVERHEAD_GROUP_MARKS + 10 };

static void begin(struct overhead_group *group)
{
    *group = (struct overhead_group){0};
    overhead_group_begin(group);
}

static void members_count_while_they_tell(void **state)
{
    struct overhead_group first, second, third;
    begin(&first);
    assert_non_null(first.page);
    assert_int_equal(overhead_group_tell(&first, 100 * S), 1);
    overhead_group_join(&second, &first);
    overhead_group_join(&third, &second);
    assert_int_equal(overhead_group_tell(&first, 101 * S),
                     1); /* who has not told anything yet is not there yet */
    assert_int_equal(overhead_group_tell(&second, 101 * S), 2);
    assert_int_equal(overhead_group_tell(&third, 102 * S), 3);
    assert_int_equal(overhead_group_tell(&third, 103 * S), 3); /* again: it is the same one */
    overhead_group_leave(&second);
    assert_int_equal(overhead_group_tell(&third, 104 * S), 2);
    overhead_group_leave(&second);
    assert_int_equal(overhead_group_tell(&first, 104 * S), 2);
}

static void who_is_silent_counts_no_longer(void **state)
{
    struct overhead_group first, second, third;
    begin(&first);
    overhead_group_join(&second, &first);
    overhead_group_tell(&second, 100 * S);
    assert_int_equal(overhead_group_tell(&first, 100 * S + OVERHEAD_GROUP_SILENT_NS - 1), 2);
    assert_int_equal(overhead_group_tell(&first, 100 * S + OVERHEAD_GROUP_SILENT_NS), 1);
    overhead_group_join(&third, &first); /* takes the mark of the one that may have been killed */
    assert_int_equal(overhead_group_tell(&third, 100 * S + OVERHEAD_GROUP_SILENT_NS), 2);
    assert_int_equal(third.mark, second.mark);
    assert_int_equal(overhead_group_tell(&second, 101 * S + OVERHEAD_GROUP_SILENT_NS),
                     2); /* it shares the mark then */
}

static void families_do_not_know_each_other(void **state)
{
    struct overhead_group first, second;
    begin(&first);
    begin(&second);
    assert_int_equal(overhead_group_tell(&first, 100 * S), 1);
    assert_int_equal(overhead_group_tell(&second, 100 * S), 1);
}

static void a_run_is_one_family(void **state)
{
    struct overhead_group first, second, child, alone;
    int fd = memfd_create("run", MFD_CLOEXEC);
    begin(&first);
    begin(&second);
    begin(&alone);
    assert_int_equal(overhead_group_tell(&first, 100 * S), 1);
    assert_int_equal(overhead_group_share(&first, fd), 0); /* makes it as long as it must be */
    assert_int_equal(overhead_group_share(&second, fd), 0);
    assert_int_equal(overhead_group_tell(&second, 100 * S), 1);
    assert_int_equal(overhead_group_tell(&first, 101 * S), 2);
    close(fd);
    overhead_group_join(&child, &second);
    assert_int_equal(overhead_group_tell(&child, 101 * S), 3);
    assert_int_equal(overhead_group_tell(&alone, 101 * S), 1);
}

static void without_its_file_a_family_stays_as_it_is(void **state)
{
    struct overhead_group first, child;
    begin(&first);
    overhead_group_join(&child, &first);
    overhead_group_tell(&first, 100 * S);
    assert_int_equal(overhead_group_share(&first, -1), -EBADF);
    assert_int_equal(overhead_group_tell(&child, 100 * S), 2);
}

static void who_pauses_counts_again_when_it_tells(void **state)
{
    struct overhead_group first, second;
    begin(&first);
    overhead_group_join(&second, &first);
    overhead_group_pause(&second); /* it has no mark yet */
    overhead_group_tell(&first, 100 * S);
    assert_int_equal(overhead_group_tell(&second, 100 * S), 2);
    overhead_group_pause(&second);
    assert_int_equal(overhead_group_tell(&first, 101 * S), 1);
    assert_int_equal(overhead_group_tell(&second, 101 * S), 2);
}

static void more_than_there_are_marks_for(void **state)
{
    static struct overhead_group members[MANY];
    overhead_group_begin(&members[0]);
    for (int i = 1; i < MANY; i++)
        overhead_group_join(&members[i], &members[0]);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(overhead_group_tell(&members[i], 100 * S),
                         i < OVERHEAD_GROUP_MARKS ? i + 1 : OVERHEAD_GROUP_MARKS);
    overhead_group_leave(&members[MANY - 1]); /* which has none */
    overhead_group_leave(&members[7]);
    assert_int_equal(overhead_group_tell(&members[MANY - 1], 101 * S), OVERHEAD_GROUP_MARKS);
    assert_int_equal(members[MANY - 1].mark, members[6].mark + 1);
}

static void without_memory_everybody_is_alone(void **state)
{
    struct overhead_group none = {0}, child;
    overhead_group_join(&child, &none);
    assert_int_equal(overhead_group_tell(&none, 100 * S), 1);
    assert_int_equal(overhead_group_tell(&child, 100 * S), 1);
    overhead_group_leave(&child);
}

static void a_forked_process_is_seen(void **state)
{
    struct overhead_group parent, child;
    int status;
    begin(&parent);
    overhead_group_tell(&parent, 100 * S);
    pid_t pid = fork();
    if (pid == 0) {
        overhead_group_join(&child, &parent);
        _exit(overhead_group_tell(&child, 101 * S) == 2 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(overhead_group_tell(&parent, 102 * S), 2); /* it did not take leave */
    assert_int_equal(overhead_group_tell(&parent, 101 * S + OVERHEAD_GROUP_SILENT_NS), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_count_while_they_tell),
        cmocka_unit_test(who_is_silent_counts_no_longer),
        cmocka_unit_test(families_do_not_know_each_other),
        cmocka_unit_test(more_than_there_are_marks_for),
        cmocka_unit_test(a_run_is_one_family),
        cmocka_unit_test(without_its_file_a_family_stays_as_it_is),
        cmocka_unit_test(who_pauses_counts_again_when_it_tells),
        cmocka_unit_test(without_memory_everybody_is_alone),
        cmocka_unit_test(a_forked_process_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
