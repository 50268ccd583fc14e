/* Against the kernel: threads of this program that block, run and end. */
/* test: not-emulated tsan */
#include "lib/unit.h"
#include "proc/proc_tasks.h"
#include "sample/thread_stat.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 6 };

struct subject {
    pthread_t thread;
    pid_t tid;
    int wake[2]; /* it reads from here, a letter at a time: 's' spins until told, 'q' ends it */
    _Atomic bool spins;
    uint64_t stack_mark;
    struct thread_stat stat;
};

static void *live(void *argument)
{
    struct subject *subject = argument;
    char letter = ' ';
    subject->stack_mark = (uint64_t)(uintptr_t)&letter;
    __atomic_store_n(&subject->tid, gettid(), __ATOMIC_SEQ_CST);
    while (read(subject->wake[0], &letter, 1) == 1 && letter != 'q') {
        while (subject->spins)
            ;
    }
    return NULL;
}

static void begin(struct subject *subject)
{
    memset(subject, 0, sizeof(*subject));
    assert_int_equal(pipe(subject->wake), 0);
    assert_int_equal(pthread_create(&subject->thread, NULL, live, subject), 0);
    while (!__atomic_load_n(&subject->tid, __ATOMIC_SEQ_CST))
        usleep(1000);
}

static void say(struct subject *subject, char letter)
{
    assert_int_equal(write(subject->wake[1], &letter, 1), 1);
}

static void end(struct subject *subject)
{
    say(subject, 'q');
    pthread_join(subject->thread, NULL);
    close(subject->wake[0]);
    close(subject->wake[1]);
}

static int directory;
static struct thread_stats stats;

static void wait_until(struct subject *subject, enum thread_stat_state wanted, struct thread_stat_call *ret)
{
    while (thread_stat_call(&stats, &subject->stat, subject->tid, ret) != wanted)
        usleep(1000);
}

static int open_directory(void **state)
{
    directory = proc_tasks_open(-1);
    return directory < 0;
}

static int close_directory(void **state)
{
    return close(directory);
}

static int setup(void **state)
{
    thread_stats_init(&stats, directory, true);
    return 0;
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *listing = opendir("/proc/self/fd");
    while (readdir(listing))
        count++;
    closedir(listing);
    return count;
}

/* ---- what is read ---- */

static void a_blocked_thread_shows_its_call(void **state)
{
    struct subject subject;
    struct thread_stat_call call;
    assert_int_equal(thread_stat_find_view(directory), THREAD_STAT_VIEW_OURS);
    begin(&subject);
    wait_until(&subject, THREAD_STAT_KNOWN, &call);
    assert_int_equal(call.number, SYS_read);
    assert_int_equal(call.arguments[0], subject.wake[0]);
    assert_int_equal(call.arguments[2], 1);
    assert_true(call.sp < subject.stack_mark && call.sp > subject.stack_mark - 4096);
    assert_true(call.pc != 0);
    thread_stat_close(&stats, &subject.stat);
    end(&subject);
}

static void the_run_count_tells_whether_it_has_run(void **state)
{
    struct subject subject;
    struct thread_stat_call call;
    struct thread_stat_runs before, after;
    begin(&subject);
    wait_until(&subject, THREAD_STAT_KNOWN, &call);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(thread_stat_runs(&stats, &subject.stat, subject.tid, &before), THREAD_STAT_KNOWN);
        assert_int_equal(thread_stat_runs(&stats, &subject.stat, subject.tid, &after), THREAD_STAT_KNOWN);
        assert_int_equal(before.count, after.count);
        assert_int_equal(before.cpu_ns, after.cpu_ns);
        say(&subject, 'a');
        usleep(200);
        wait_until(&subject, THREAD_STAT_KNOWN, &call);
        assert_int_equal(thread_stat_runs(&stats, &subject.stat, subject.tid, &after), THREAD_STAT_KNOWN);
        assert_true(after.count > before.count);
        assert_true(after.cpu_ns > before.cpu_ns);
    }
    thread_stat_close(&stats, &subject.stat);
    end(&subject);
}

static void a_running_thread_is_running(void **state)
{
    struct subject subject;
    struct thread_stat_call call;
    begin(&subject);
    subject.spins = true;
    say(&subject, 's');
    wait_until(&subject, THREAD_STAT_RUNNING, &call);
    subject.spins = false;
    wait_until(&subject, THREAD_STAT_KNOWN, &call);
    thread_stat_close(&stats, &subject.stat);
    end(&subject);
}

static void an_ended_thread_is_gone_by_its_descriptor(void **state)
{
    struct subject subject;
    struct thread_stat_call call;
    struct thread_stat_runs runs;
    begin(&subject);
    thread_stat_open(&stats, &subject.stat, subject.tid);
    end(&subject);
    wait_until(&subject, THREAD_STAT_GONE, &call);
    /* Whatever the tid is now: here it is given as one that lives. */
    assert_int_equal(thread_stat_runs(&stats, &subject.stat, getpid(), &runs), THREAD_STAT_GONE);
    assert_int_equal(thread_stat_call(&stats, &subject.stat, getpid(), &call), THREAD_STAT_GONE);
    thread_stat_close(&stats, &subject.stat);
    assert_int_equal(thread_stat_runs(&stats, &subject.stat, subject.tid, &runs), THREAD_STAT_GONE);
}

static void nothing_is_opened_in_the_programs_sight(void **state)
{
    struct thread_stat stat = {0};
    struct thread_stat_runs runs;
    struct thread_stat_call call;
    int before = open_descriptors();
    thread_stats_init(&stats, directory, false);
    thread_stat_open(&stats, &stat, getpid());
    assert_int_equal(thread_stat_runs(&stats, &stat, getpid(), &runs), THREAD_STAT_UNREADABLE);
    assert_int_equal(thread_stat_call(&stats, &stat, getpid(), &call), THREAD_STAT_UNREADABLE);
    assert_int_equal(open_descriptors(), before);
}

/* ---- what is kept ---- */

static void read_stat(struct subject *subject)
{
    struct thread_stat_runs runs;
    struct thread_stat_call call;
    assert_int_equal(thread_stat_runs(&stats, &subject->stat, subject->tid, &runs), THREAD_STAT_KNOWN);
    assert_int_equal(thread_stat_call(&stats, &subject->stat, subject->tid, &call), THREAD_STAT_KNOWN);
    assert_int_equal(call.number, SYS_read);
}

/* All of them wait. */
static void begin_all(struct subject subjects[THREADS])
{
    struct thread_stat_call call;
    for (int i = 0; i < THREADS; i++)
        begin(&subjects[i]);
    for (int i = 0; i < THREADS; i++)
        wait_until(&subjects[i], THREAD_STAT_KNOWN, &call);
}

static void end_all(struct subject subjects[THREADS])
{
    for (int i = 0; i < THREADS; i++) {
        thread_stat_close(&stats, &subjects[i].stat);
        end(&subjects[i]);
    }
}

static void only_the_last_used_keep_their_descriptors(void **state)
{
    struct subject subjects[THREADS];
    int before = open_descriptors();
    stats.kept_max = 6;
    begin_all(subjects);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < THREADS; i++) {
            for (int often = 0; often < 2; often++) {
                read_stat(&subjects[0]); /* used all the time: never closed */
                read_stat(&subjects[i]);
                assert_true(stats.kept <= 6);
            }
            assert_true(subjects[0].stat.schedstat && subjects[i].stat.schedstat && subjects[i].stat.syscall);
        }
    }
    thread_stat_let_go(&stats);
    assert_int_equal(open_descriptors(), before + 2 * THREADS + 6);
    for (int i = 0; i < THREADS; i++)
        thread_stat_close(&stats, &subjects[i].stat);
    assert_int_equal(stats.kept, 0);
    assert_null(stats.newest);
    assert_null(stats.oldest);
    assert_int_equal(open_descriptors(), before + 2 * THREADS);
    for (int i = 0; i < THREADS; i++)
        end(&subjects[i]);
}

/* Its record may be another thread's then. */
static void nothing_is_held_of_one_that_has_ended(void **state)
{
    struct subject subjects[THREADS];
    struct thread_stat_runs runs;
    stats.kept_max = 1;
    begin_all(subjects);
    read_stat(&subjects[0]);
    read_stat(&subjects[1]);
    thread_stat_close(&stats, &subjects[1].stat);
    end(&subjects[1]);
    assert_int_equal(thread_stat_runs(&stats, &subjects[1].stat, subjects[0].tid, &runs), THREAD_STAT_KNOWN);
    thread_stat_let_go(&stats);
    begin(&subjects[1]);
    end_all(subjects);
}

/* Those that are read more rarely than all others together: what is kept stays kept. Both files of a thread
 * are one reading. */
static void who_is_read_rarely_displaces_nobody(void **state)
{
    struct subject subjects[THREADS];
    struct thread_stat_runs runs;
    int before = open_descriptors();
    stats.kept_max = 2;
    for (int i = 0; i < THREADS; i++)
        begin(&subjects[i]);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(thread_stat_runs(&stats, &subjects[i].stat, subjects[i].tid, &runs),
                             THREAD_STAT_KNOWN);
            assert_int_equal(!subjects[i].stat.schedstat, i >= 2);
        }
    }
    assert_int_equal(stats.kept, 2);
    assert_int_equal(open_descriptors(), before + 2 * THREADS + 3); /* the last one may be read again */
    read_stat(&subjects[THREADS / 2]);
    assert_int_equal(stats.kept, 2);
    assert_true(subjects[0].stat.schedstat && subjects[1].stat.schedstat);
    assert_int_equal(open_descriptors(), before + 2 * THREADS + 4);
    thread_stat_let_go(&stats);
    assert_int_equal(open_descriptors(), before + 2 * THREADS + 2);
    end_all(subjects);
}

/* So twice as many threads keep what they need when they do not run. */
static void one_descriptor_is_enough_for_one_that_does_not_run(void **state)
{
    struct subject subjects[THREADS];
    struct thread_stat_runs runs;
    int kept[THREADS];
    stats.kept_max = THREADS;
    begin_all(subjects);
    for (int i = 0; i < THREADS; i++)
        read_stat(&subjects[i]);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(thread_stat_runs(&stats, &subjects[i].stat, subjects[i].tid, &runs),
                             THREAD_STAT_KNOWN);
            assert_true(round < 2 || subjects[i].stat.schedstat == kept[i]);
            kept[i] = subjects[i].stat.schedstat;
        }
    }
    assert_int_equal(stats.kept, THREADS);
    end_all(subjects);
}

static void fewer_are_kept_when_descriptors_run_out(void **state)
{
    struct subject subjects[THREADS];
    struct rlimit limit, lower;
    begin_all(subjects);
    assert_int_equal(stats.kept, THREADS);
    for (int i = 0; i < THREADS; i++)
        thread_stat_close(&stats, &subjects[i].stat);
    getrlimit(RLIMIT_NOFILE, &limit);
    lower = limit;
    lower.rlim_cur = (rlim_t)subjects[THREADS - 1].wake[1] + 1 + 5;
    setrlimit(RLIMIT_NOFILE, &lower);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < THREADS; i++)
            read_stat(&subjects[i]);
    }
    setrlimit(RLIMIT_NOFILE, &limit);
    assert_in_range(stats.kept, 1, 5);
    end_all(subjects);
}

static void a_dropped_descriptor_is_nobodys(void **state)
{
    struct subject subject;
    struct thread_stat_call call;
    begin(&subject);
    wait_until(&subject, THREAD_STAT_KNOWN, &call);
    int kept = subject.stat.syscall;
    thread_stats_drop_all(&stats);
    thread_stat_close(&stats, &subject.stat);
    assert_int_equal(close(kept), 0); /* still open: it was no longer ours to close */
    assert_int_equal(thread_stat_call(&stats, &subject.stat, subject.tid, &call), THREAD_STAT_UNREADABLE);
    end(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_blocked_thread_shows_its_call, setup),
        cmocka_unit_test_setup(the_run_count_tells_whether_it_has_run, setup),
        cmocka_unit_test_setup(a_running_thread_is_running, setup),
        cmocka_unit_test_setup(an_ended_thread_is_gone_by_its_descriptor, setup),
        cmocka_unit_test_setup(nothing_is_opened_in_the_programs_sight, setup),
        cmocka_unit_test_setup(only_the_last_used_keep_their_descriptors, setup),
        cmocka_unit_test_setup(nothing_is_held_of_one_that_has_ended, setup),
        cmocka_unit_test_setup(who_is_read_rarely_displaces_nobody, setup),
        cmocka_unit_test_setup(one_descriptor_is_enough_for_one_that_does_not_run, setup),
        cmocka_unit_test_setup(fewer_are_kept_when_descriptors_run_out, setup),
        cmocka_unit_test_setup(a_dropped_descriptor_is_nobodys, setup),
    };
    return cmocka_run_group_tests(tests, open_directory, close_directory);
}
