/* A file appears whole or not at all, and whatever goes wrong is said and leaves no file. */
/* test: tsan */
#include "base/sink.h"

#include "lib/fake_files.h"
#include "base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE_BYTES = 3 << 20 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char old_text[] = "what was there before";

static int setup(void **state)
{
    static struct fake_directory directory;
    *state = &directory;
    fake_directory_create(&directory);
    return 0;
}

static int teardown(void **state)
{
    fake_directory_remove(*state);
    return 0;
}

/* Cannot be compressed: what is written at once is too much for any buffer. */
static unsigned char *random_bytes(size_t bytes)
{
    unsigned char *data = malloc(bytes);
    struct random_state random;
    random_init(&random, 1);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)random_next(&random);
    return data;
}

static struct sink *create(int directory_fd, const char *name)
{
    int error = 1;
    struct sink *sink = sink_create(directory_fd, name, SINK_GZIP, &error);
    assert_non_null(sink);
    assert_int_equal(error, 0);
    return sink;
}

static void assert_refused(int directory_fd, const char *name, int expected)
{
    int error = 0;
    assert_null(sink_create(directory_fd, name, SINK_GZIP, &error));
    assert_int_equal(error, expected);
}

static void assert_holds(const struct fake_directory *directory, const char *name, const void *data,
                         size_t bytes)
{
    struct fake_bytes plain = fake_gunzip(fake_read(directory, name));
    assert_int_equal(plain.size, bytes);
    assert_memory_equal(plain.bytes, data, bytes);
    fake_bytes_free(&plain);
}

static void assert_is_old(const struct fake_directory *directory, const char *name)
{
    struct fake_bytes file = fake_read(directory, name);
    assert_string_equal((char *)file.bytes, old_text);
    fake_bytes_free(&file);
}

/* ---- what is written ---- */

struct pieces_case {
    size_t bytes, piece;
};

static void what_was_put_in_comes_out(void **state)
{
    static const struct pieces_case cases[] = {
        {0, 1}, {1, 1}, {1000, 1}, {65536, 65536}, {LARGE_BYTES, 12345}, {LARGE_BYTES, LARGE_BYTES}};
    struct fake_directory *directory = *state;
    unsigned char *data = random_bytes(LARGE_BYTES);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct sink *sink = create(directory->fd, "out");
        for (size_t at = 0; at < cases[i].bytes; at += cases[i].piece) {
            size_t left = cases[i].bytes - at;
            sink_write(sink, data + at, left < cases[i].piece ? left : cases[i].piece);
        }
        sink_write(sink, data, 0);
        assert_int_equal(sink_commit(sink), 0);
        assert_holds(directory, "out", data, cases[i].bytes);
        assert_int_equal(fake_directory_entries(directory, false), 1);
    }
    free(data);
}

static void plain_bytes_come_out_as_they_went_in(void **state)
{
    static const size_t pieces[] = {0, 1, 65535, 1, 65536, 65537, 3, LARGE_BYTES, 10};
    struct fake_directory *directory = *state;
    unsigned char *data = random_bytes(2 * LARGE_BYTES);
    size_t bytes = 0;
    int error;
    struct sink *sink = sink_create(directory->fd, "out", SINK_PLAIN, &error);
    assert_non_null(sink);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; bytes += pieces[i++])
        sink_write(sink, data + bytes, pieces[i]);
    assert_true(bytes <= 2 * LARGE_BYTES);
    assert_int_equal(sink_commit(sink), 0);
    struct fake_bytes found = fake_read(directory, "out");
    assert_int_equal(found.size, bytes);
    assert_memory_equal(found.bytes, data, bytes);
    fake_bytes_free(&found);
    free(data);
}

static void text_is_compressed(void **state)
{
    struct fake_directory *directory = *state;
    static unsigned char zeros[1 << 20];
    struct sink *sink = create(directory->fd, "out");
    sink_write(sink, zeros, sizeof(zeros));
    assert_int_equal(sink_commit(sink), 0);
    struct fake_bytes file = fake_read(directory, "out");
    assert_in_range(file.size, 18, sizeof(zeros) / 100);
    assert_memory_equal(file.bytes, "\x1f\x8b\x08", 3);
    fake_bytes_free(&file);
    assert_holds(directory, "out", zeros, sizeof(zeros));
}

static void the_file_appears_only_when_complete(void **state)
{
    struct fake_directory *directory = *state;
    struct stat status;
    fake_write(directory, "out", old_text);
    struct sink *sink = create(directory->fd, "out"), *fresh = create(directory->fd, "new");
    sink_write(sink, "new", 3);
    assert_is_old(directory, "out");
    assert_int_equal(fstatat(directory->fd, "new", &status, 0), -1);
    assert_int_equal(sink_commit(sink), 0);
    assert_int_equal(sink_commit(fresh), 0);
    assert_holds(directory, "out", "new", 3);
    assert_holds(directory, "new", "", 0);
    assert_int_equal(fake_directory_entries(directory, false), 2);
}

static void two_at_once_do_not_meet(void **state)
{
    struct fake_directory *directory = *state;
    struct sink *first = create(directory->fd, "out"), *second = create(directory->fd, "out");
    sink_write(first, "first", 5);
    sink_write(second, "second", 6);
    assert_int_equal(sink_commit(second), 0);
    assert_holds(directory, "out", "second", 6);
    assert_int_equal(sink_commit(first), 0);
    assert_holds(directory, "out", "first", 5);
    assert_int_equal(fake_directory_entries(directory, false), 1);
}

static void paths_from_the_working_directory_are_fine(void **state)
{
    struct fake_directory *directory = *state;
    char before[PATH_MAX];
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(directory->path), 0);
    struct sink *sink = create(AT_FDCWD, "out");
    int status = sink_commit(sink);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(status, 0);
    assert_holds(directory, "out", "", 0);
}

static void the_file_is_its_owners(void **state)
{
    struct fake_directory *directory = *state;
    struct stat status;
    assert_int_equal(sink_commit(create(directory->fd, "out")), 0);
    assert_int_equal(fstatat(directory->fd, "out", &status, 0), 0);
    assert_true(S_ISREG(status.st_mode));
    assert_int_equal(status.st_mode & 077, 0);
}

/* ---- what is no regular file ---- */

struct fifo {
    const struct fake_directory *directory;
    struct fake_bytes content;
    pthread_t disturbed; /* gets signals after every read, when is_disturbing */
    bool is_disturbing;
};

static void do_nothing(int number)
{
    (void)number;
}

static void *read_fifo(void *argument)
{
    struct fifo *fifo = argument;
    int fd = openat(fifo->directory->fd, "fifo", O_RDONLY | O_CLOEXEC);
    ssize_t got = 1;
    fifo->content = (struct fake_bytes){malloc(2 * LARGE_BYTES), 0};
    if (fifo->is_disturbing)
        fcntl(fd, F_SETPIPE_SZ, 4096); /* every write is larger */
    while (got > 0 && fifo->content.size + 5000 <= 2 * LARGE_BYTES) {
        got = read(fd, fifo->content.bytes + fifo->content.size, 5000);
        fifo->content.size += got > 0 ? (size_t)got : 0;
        for (int i = 0; fifo->is_disturbing && i < 2; i++) { /* twice: the second finds the pipe full */
            pthread_kill(fifo->disturbed, SIGUSR1);
            usleep(100);
        }
    }
    close(fd);
    return NULL;
}

static void assert_fifo(const struct fake_directory *directory, bool is_disturbing)
{
    struct fifo fifo = {.directory = directory, .disturbed = pthread_self(), .is_disturbing = is_disturbing};
    struct stat status;
    pthread_t reader;
    unsigned char *data = random_bytes(LARGE_BYTES);
    assert_int_equal(mkfifoat(directory->fd, "fifo", 0600), 0);
    assert_int_equal(pthread_create(&reader, NULL, read_fifo, &fifo), 0);
    struct sink *sink = create(directory->fd, "fifo");
    sink_write(sink, data, LARGE_BYTES);
    assert_int_equal(sink_commit(sink), 0);
    pthread_join(reader, NULL);
    struct fake_bytes plain = fake_gunzip(fifo.content);
    assert_int_equal(plain.size, LARGE_BYTES);
    assert_memory_equal(plain.bytes, data, LARGE_BYTES);
    fake_bytes_free(&plain);
    free(data);
    assert_int_equal(fstatat(directory->fd, "fifo", &status, 0), 0);
    assert_true(S_ISFIFO(status.st_mode));
    assert_int_equal(fake_directory_entries(directory, false), 1);
}

static void a_fifo_is_written_as_it_is(void **state)
{
    assert_fifo(*state, false);
}

/* Signals of the program cut writes short or interrupt them: what is left is written then. */
static void a_write_cut_short_goes_on(void **state)
{
    const struct sigaction handled = {.sa_handler = do_nothing};
    struct sigaction before;
    sigaction(SIGUSR1, &handled, &before);
    assert_fifo(*state, true);
    sigaction(SIGUSR1, &before, NULL);
}

static int open_dev(void)
{
    int fd = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void the_null_device_takes_all_and_stays(void **state)
{
    int dev = open_dev();
    struct stat status;
    struct sink *sink = create(dev, "null");
    sink_write(sink, "gone", 4);
    assert_int_equal(sink_commit(sink), 0);
    assert_int_equal(fstatat(dev, "null", &status, 0), 0);
    assert_true(S_ISCHR(status.st_mode));
    close(dev);
}

static void a_full_device_is_reported(void **state)
{
    static const size_t sizes[] = {0, 10, LARGE_BYTES};
    unsigned char *data = random_bytes(LARGE_BYTES);
    struct stat status;
    int dev = open_dev();
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct sink *sink = create(dev, "full");
        sink_write(sink, data, sizes[i]);
        sink_write(sink, data, sizes[i]); /* after the error: nothing happens */
        assert_int_equal(sink_commit(sink), -ENOSPC);
    }
    assert_int_equal(fstatat(dev, "full", &status, 0), 0);
    assert_true(S_ISCHR(status.st_mode));
    close(dev);
    free(data);
}

/* ---- what goes wrong ---- */

static void a_target_that_cannot_be_is_refused(void **state)
{
    struct fake_directory *directory = *state;
    char too_long[NAME_MAX + 2];
    memset(too_long, 'x', sizeof(too_long));
    too_long[sizeof(too_long) - 1] = '\0';
    assert_int_equal(mkdirat(directory->fd, "directory", 0700), 0);
    fake_write(directory, "file", "");
    int file = openat(directory->fd, "file", O_RDONLY | O_CLOEXEC);
    assert_refused(directory->fd, "directory", -EISDIR);
    assert_refused(directory->fd, too_long, -ENAMETOOLONG);
    assert_refused(file, "out", -ENOTDIR);
    assert_refused(1 << 20, "out", -EBADF);
    close(file);
    assert_int_equal(fake_directory_entries(directory, false), 2);
    too_long[NAME_MAX] = '\0'; /* the longest name there is */
    assert_int_equal(sink_commit(create(directory->fd, too_long)), 0);
    assert_holds(directory, too_long, "", 0);
}

static void a_directory_that_is_gone_is_reported(void **state)
{
    struct fake_directory gone;
    fake_directory_create(&gone);
    assert_int_equal(rmdir(gone.path), 0);
    assert_refused(gone.fd, "out", -ENOENT);
    assert_true(sink_check(gone.fd, "out") < 0); /* which error it is, is the file system's choice */
    close(gone.fd);
}

static void a_directory_that_takes_the_name_meanwhile_is_reported(void **state)
{
    struct fake_directory *directory = *state;
    struct sink *sink = create(directory->fd, "out");
    sink_write(sink, "text", 4);
    assert_int_equal(mkdirat(directory->fd, "out", 0700), 0);
    assert_int_equal(sink_commit(sink), -EISDIR);
    assert_int_equal(fake_directory_entries(directory, false), 1);
}

/* Writes under a limit on the size of files. What commit says;
 * assertions wait until the limit is off again. */
static int commit_limited(const struct fake_directory *directory, const unsigned char *data)
{
    struct rlimit before, limited;
    int error, status = 1;
    getrlimit(RLIMIT_FSIZE, &before);
    limited = (struct rlimit){100000, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limited);
    struct sink *sink = sink_create(directory->fd, "out", SINK_GZIP, &error);
    if (sink) {
        sink_write(sink, data, LARGE_BYTES);
        status = sink_commit(sink);
    }
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    return status;
}

static void a_failure_leaves_the_old_file_and_nothing_else(void **state)
{
    struct fake_directory *directory = *state;
    unsigned char *data = random_bytes(LARGE_BYTES);
    assert_int_equal(commit_limited(directory, data), -EFBIG);
    assert_int_equal(fake_directory_entries(directory, false), 0);
    fake_write(directory, "out", old_text);
    assert_int_equal(commit_limited(directory, data), -EFBIG);
    assert_is_old(directory, "out");
    assert_int_equal(fake_directory_entries(directory, false), 1);
    free(data);
}

/* ---- sink_check ---- */

static void what_has_failed_leaves_the_old_file(void **state)
{
    struct fake_directory *directory = *state;
    fake_write(directory, "out", old_text);
    struct sink *sink = create(directory->fd, "out");
    sink_write(sink, "half of it", 10);
    sink_fail(sink, -ENODATA);
    sink_fail(sink, -EIO);
    sink_write(sink, "more", 4);
    assert_int_equal(sink_commit(sink), -ENODATA);
    assert_is_old(directory, "out");
}

static void a_check_says_what_writing_would(void **state)
{
    struct fake_directory *directory = *state;
    char too_long[NAME_MAX + 2];
    int dev = open_dev();
    memset(too_long, 'x', sizeof(too_long));
    too_long[sizeof(too_long) - 1] = '\0';
    assert_int_equal(mkdirat(directory->fd, "directory", 0700), 0);
    assert_int_equal(mkfifoat(directory->fd, "fifo", 0600), 0);
    fake_write(directory, "out", old_text);
    int file = openat(directory->fd, "out", O_RDONLY | O_CLOEXEC);
    assert_int_equal(sink_check(directory->fd, "new"), 0);
    assert_int_equal(sink_check(directory->fd, "out"), 0);
    assert_int_equal(sink_check(directory->fd, "fifo"), 0); /* without waiting for a reader */
    assert_int_equal(sink_check(dev, "null"), 0);
    assert_int_equal(sink_check(directory->fd, "directory"), -EISDIR);
    assert_int_equal(sink_check(directory->fd, too_long), -ENAMETOOLONG);
    assert_int_equal(sink_check(file, "new"), -ENOTDIR);
    assert_int_equal(sink_check(1 << 20, "new"), -EBADF);
    close(file);
    close(dev);
    assert_is_old(directory, "out");
    assert_int_equal(fake_directory_entries(directory, false), 3);
}

/* With no descriptor left, the one that was kept becomes the file. */
static void a_spare_is_written_when_there_is_no_other(void **state)
{
    struct fake_directory *directory = *state;
    struct rlimit before, none;
    int error;
    getrlimit(RLIMIT_NOFILE, &before);
    none = (struct rlimit){0, before.rlim_max};
    fake_write(directory, "out", old_text);
    int spare = sink_spare(directory->fd, "out");
    assert_true(spare >= 0);
    setrlimit(RLIMIT_NOFILE, &none);
    struct sink *sink = sink_create_with(spare, directory->fd, "out", SINK_GZIP, &error);
    if (sink)
        sink_write(sink, "spare", 5);
    int status = sink ? sink_commit(sink) : error;
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(status, 0);
    assert_holds(directory, "out", "spare", 5);
    assert_int_equal(fake_directory_entries(directory, false), 1);
    assert_int_equal(fcntl(spare, F_GETFD), -1);
}

static void a_spare_that_is_not_needed_is_closed(void **state)
{
    struct fake_directory *directory = *state;
    int error, spare = sink_spare(directory->fd, "out");
    struct sink *sink = sink_create_with(spare, directory->fd, "out", SINK_GZIP, &error);
    assert_int_equal(fcntl(spare, F_GETFD), -1);
    assert_int_equal(sink_commit(sink), 0);
    assert_int_equal(fake_directory_entries(directory, false), 1);
}

/* Nothing has failed then, so errno says nothing. */
static void a_fifo_has_no_spare(void **state)
{
    struct fake_directory *directory = *state;
    assert_int_equal(mkfifoat(directory->fd, "fifo", 0600), 0);
    errno = 0;
    assert_int_equal(sink_spare(directory->fd, "fifo"), -EEXIST);
}

/* Who may do everything may write everywhere: for this the test becomes nobody for a moment. */
static void a_directory_that_may_not_be_written_is_reported(void **state)
{
    struct fake_directory *directory = *state;
    int error = 0, check = 0, check_fifo = 0;
    uid_t before = geteuid();
    assert_int_equal(mkfifoat(directory->fd, "fifo", 0444), 0);
    assert_int_equal(fchmod(directory->fd, 0555), 0);
    if (before == 0 && seteuid(65534) < 0)
        skip();
    struct sink *sink = sink_create(directory->fd, "out", SINK_GZIP, &error);
    check = sink_check(directory->fd, "out");
    check_fifo = sink_check(directory->fd, "fifo");
    assert_int_equal(seteuid(before), 0);
    assert_int_equal(fchmod(directory->fd, 0755), 0);
    assert_null(sink);
    assert_int_equal(error, -EACCES);
    assert_int_equal(check, -EACCES);
    assert_int_equal(check_fifo, -EACCES);
}

/* /dev/stdout of a program that has closed its own must not become a file. */
static void a_link_to_a_descriptor_is_not_replaced(void **state)
{
    const struct fake_directory *directory = *state;
    struct stat status;
    assert_int_equal(symlinkat("/proc/self/fd/1000000", directory->fd, "closed"), 0);
    assert_true(sink_is_special(directory->fd, "closed"));
    assert_refused(directory->fd, "closed", -ENOENT);
    assert_int_equal(fstatat(directory->fd, "closed", &status, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISLNK(status.st_mode));
}

/* Where the file system has files without a name. */
static void a_process_that_is_killed_leaves_nothing(void **state)
{
    const struct fake_directory *directory = *state;
    int status = 0, fd = openat(directory->fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    bool can_link = fd >= 0 && linkat(fd, "", directory->fd, "linked", AT_EMPTY_PATH) == 0;
    close(fd);
    if (!can_link)
        skip();
    unlinkat(directory->fd, "linked", 0);
    pid_t child = fork();
    if (child == 0) {
        int error;
        struct sink *sink = sink_create(directory->fd, "profile", SINK_PLAIN, &error);
        unsigned char *data = random_bytes(LARGE_BYTES);
        sink_write(sink, data, LARGE_BYTES);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(fake_directory_entries(directory, true), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_was_put_in_comes_out),
        TEST(a_link_to_a_descriptor_is_not_replaced),
        TEST(plain_bytes_come_out_as_they_went_in),
        TEST(text_is_compressed),
        TEST(a_process_that_is_killed_leaves_nothing),
        TEST(the_file_appears_only_when_complete),
        TEST(two_at_once_do_not_meet),
        TEST(paths_from_the_working_directory_are_fine),
        TEST(the_file_is_its_owners),
        TEST(a_fifo_is_written_as_it_is),
        TEST(a_write_cut_short_goes_on),
        TEST(the_null_device_takes_all_and_stays),
        TEST(a_full_device_is_reported),
        TEST(a_target_that_cannot_be_is_refused),
        TEST(a_directory_that_is_gone_is_reported),
        TEST(a_directory_that_takes_the_name_meanwhile_is_reported),
        TEST(a_failure_leaves_the_old_file_and_nothing_else),
        TEST(what_has_failed_leaves_the_old_file),
        TEST(a_check_says_what_writing_would),
        TEST(a_spare_is_written_when_there_is_no_other),
        TEST(a_spare_that_is_not_needed_is_closed),
        TEST(a_fifo_has_no_spare),
        TEST(a_directory_that_may_not_be_written_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
