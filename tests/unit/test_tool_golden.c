/*
 * The small profile in every format, byte for byte as it lies in tests/golden: written from memory, and once
 * more after it was read from the golden store. The reader of stores is so held to a file that an earlier
 * build has written.
 *
 * Who changes a format on purpose runs `make golden`, looks at what `git diff --text tests/golden` shows, and
 * commits the files with the change. The store's file has the version of its layout in its name: who changes
 * the layout raises STORE_VERSION.
 *
 * Not compared: compression, wallprof's own version (VERSION in its place), and of HTML what stands around
 * the data, which is only held to be the page that was built.
 */
#include "encode/version.h"
#include "tool/formats/formats.h"
#include "tool/read/recording.h"
#include "profile/store.h"

#include "lib/fake_files.h"
#include "lib/page_numbers.h"
#include "lib/small_profile.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN_NAME   "wallprof " WALLPROF_VERSION
#define ANY_NAME   "wallprof VERSION"
#define DIRECTORY  "tests/golden/"
#define RENEW_NAME "WALLPROF_RENEW_GOLDEN" /* =1: the files are written anew and not compared */

/* html_page.S */
extern const char html_page_before[], html_page_before_end[], html_page_after[], html_page_after_end[];

static const char *const files[FORMAT_COUNT] = {
    [FORMAT_PPROF] = DIRECTORY "small.pb",
    [FORMAT_CALLGRIND] = DIRECTORY "small.callgrind",
    [FORMAT_FOLDED] = DIRECTORY "small.folded",
    [FORMAT_HTML] = DIRECTORY "small.html.json",
    [FORMAT_PERFETTO] = DIRECTORY "small.perfetto.json",
    [FORMAT_FIREFOX] = DIRECTORY "small.firefox.json",
    [FORMAT_STORE] = DIRECTORY "small.store",
};

struct fixture {
    struct fake_directory directory;
    struct small_profile small;
    struct recording recording; /* the golden store, read */
    char store_path[PATH_MAX];
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    memset(&fixture, 0, sizeof fixture);
    fake_directory_create(&fixture.directory);
    small_profile_create(&fixture.small);
    fixture.small.profile.timeline = &fixture.small.timeline;
    fixture.small.profile.has_timed_samples = true;
    snprintf(fixture.store_path, sizeof fixture.store_path, "%s.%d", files[FORMAT_STORE], STORE_VERSION);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    small_profile_destroy(&fixture->small);
    fake_directory_remove(&fixture->directory);
    return 0;
}

static bool is_renewing(void)
{
    return getenv(RENEW_NAME) != NULL;
}

/* ---- what is compared ---- */

static void replace(struct fake_bytes *file, size_t at, size_t bytes, const char *with)
{
    const size_t end = at + bytes, length = strlen(with);
    struct fake_bytes replaced = {malloc(at + length + file->size - end + 1), at + length + file->size - end};
    memcpy(replaced.bytes, file->bytes, at);
    memcpy(replaced.bytes + at, with, length);
    memcpy(replaced.bytes + at + length, file->bytes + end, file->size - end + 1);
    fake_bytes_free(file);
    *file = replaced;
}

/* Whatever it is; a string of pprof has its length in front of it. */
static void hide_version(struct fake_bytes *file, bool has_lengths)
{
    const unsigned char *found;
    while ((found = memmem(file->bytes, file->size, OWN_NAME, sizeof OWN_NAME - 1))) {
        size_t at = (size_t)(found - file->bytes);
        if (has_lengths) {
            assert_int_equal(file->bytes[at - 1], sizeof OWN_NAME - 1);
            file->bytes[at - 1] = sizeof ANY_NAME - 1;
        }
        replace(file, at, sizeof OWN_NAME - 1, ANY_NAME);
    }
}

/* What stands between the two pieces of the page, with its numbers as text. */
static void cut_page(struct fake_bytes *file)
{
    const size_t before = (size_t)(html_page_before_end - html_page_before);
    const size_t after = (size_t)(html_page_after_end - html_page_after);
    assert_true(file->size > before + after);
    assert_memory_equal(file->bytes, html_page_before, before);
    assert_memory_equal(file->bytes + file->size - after, html_page_after, after);
    file->bytes[file->size - after] = '\0';
    char *shown = page_numbers_shown((const char *)file->bytes + before);
    assert_non_null(shown);
    fake_bytes_free(file);
    *file = (struct fake_bytes){(unsigned char *)shown, strlen(shown)};
}

static struct fake_bytes written(const struct fixture *fixture, enum file_format format,
                                 const struct profile *profile)
{
    int error;
    struct sink *sink = sink_create(fixture->directory.fd, "out", SINK_PLAIN, &error);
    assert_non_null(sink);
    assert_int_equal(formats_write(format, profile, sink), 0);
    assert_int_equal(sink_commit(sink), 0);
    struct fake_bytes file = fake_read(&fixture->directory, "out");
    if (format == FORMAT_HTML)
        cut_page(&file);
    hide_version(&file, format == FORMAT_PPROF);
    return file;
}

/* ---- golden files ---- */

static const char *path_of(const struct fixture *fixture, enum file_format format)
{
    return format == FORMAT_STORE ? fixture->store_path : files[format];
}

static void renew(const char *path, const struct fake_bytes *file)
{
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_int_equal(fwrite(file->bytes, 1, file->size, stream), file->size);
    assert_int_equal(fclose(stream), 0);
}

static void assert_golden(const char *path, const struct fake_bytes *file)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail_msg("there is no %s: `make golden` writes it", path);
    struct fake_bytes golden = fake_read_fd(fd);
    close(fd);
    size_t at = 0, both = file->size < golden.size ? file->size : golden.size;
    while (at < both && file->bytes[at] == golden.bytes[at])
        at++;
    if (at < both || file->size != golden.size)
        fail_msg("%s differs from byte %zu on (%zu bytes now, %zu then)", path, at, file->size, golden.size);
    fake_bytes_free(&golden);
}

static void every_format_is_as_it_was(void **state)
{
    struct fixture *fixture = *state;
    for (int format = 0; format < FORMAT_COUNT; format++) {
        struct fake_bytes file = written(fixture, format, &fixture->small.profile);
        if (is_renewing())
            renew(path_of(fixture, format), &file);
        assert_golden(path_of(fixture, format), &file);
        fake_bytes_free(&file);
    }
}

static void the_golden_store_is_read_and_written_the_same(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(recording_open(&fixture->recording, fixture->store_path), 0);
    for (int format = 0; format < FORMAT_COUNT; format++) {
        struct fake_bytes file = written(fixture, format, &fixture->recording.profile);
        assert_golden(path_of(fixture, format), &file);
        fake_bytes_free(&file);
    }
    recording_close(&fixture->recording);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(every_format_is_as_it_was),
        TEST(the_golden_store_is_read_and_written_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
