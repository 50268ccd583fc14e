/* What is pushed: requests as servers read them, what is refused, how long is waited, what is remembered. */
#include "lib/unit.h"
#include "base/clock.h"
#include "tool/push/push_backoff.h"
#include "tool/push/push_body.h"
#include "tool/push/push_credentials.h"
#include "tool/push/push_request.h"
#include "tool/push/push_spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- bodies ---- */

static void assert_body(const struct push_body *body, const char *expected)
{
    char whole[256], piece[8];
    size_t bytes = strlen(expected);
    assert_int_equal(push_body_bytes(body), bytes);
    for (size_t step = 1; step <= sizeof piece; step++) {
        size_t at = 0, got;
        while ((got = push_body_read(body, at, piece, step)) > 0) {
            memcpy(whole + at, piece, got);
            at += got;
        }
        assert_int_equal(at, bytes);
        assert_memory_equal(whole, expected, bytes);
    }
    assert_int_equal(push_body_read(body, bytes - 1, piece, sizeof piece), 1); /* from any place */
    assert_int_equal(piece[0], expected[bytes - 1]);
}

/* RFC 4648, section 10, and all bits. */
static void test_bodies(void **state)
{
    static const struct {
        const char *profile, *expected;
    } cases[] = {{"", "<>"},
                 {"f", "<Zg==>"},
                 {"fo", "<Zm8=>"},
                 {"foo", "<Zm9v>"},
                 {"foob", "<Zm9vYg==>"},
                 {"fooba", "<Zm9vYmE=>"},
                 {"foobar", "<Zm9vYmFy>"},
                 {"\xff\xef\xbe\xfb", "</++++w==>"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct push_body body = {.before = "<",
                                 .before_bytes = 1,
                                 .after = ">",
                                 .after_bytes = 1,
                                 .profile = (const unsigned char *)cases[i].profile,
                                 .profile_bytes = strlen(cases[i].profile),
                                 .is_base64 = true};
        assert_body(&body, cases[i].expected);
        body.before_bytes = body.after_bytes = 0;
        body.is_base64 = false;
        if (body.profile_bytes > 0)
            assert_body(&body, cases[i].profile);
    }
}

/* ---- targets ---- */

static struct push_target make_target(enum push_interface interface, const char *address)
{
    struct push_target target = {.interface = interface};
    assert_int_equal(push_target_set_address(&target, address), 0);
    return target;
}

static void test_addresses(void **state)
{
    static const char *const refused[] = {"",
                                          "host",
                                          "ftp://host",
                                          "file:///etc/passwd",
                                          "http://",
                                          "http:///path",
                                          "http://:80",
                                          "http://user@host",
                                          "http://user:s3cret@host/",
                                          "http://ho st",
                                          "http://host\\x",
                                          "http://h%61st",
                                          "http://host/a?b",
                                          "http://host/a#b",
                                          "http://host/a b",
                                          "http://host/a\nb",
                                          "http://host/\xc3\xbc"};
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct push_target target = {.label_count = 0};
        assert_int_equal(push_target_set_address(&target, refused[i]), -EINVAL);
        assert_true(*target.reason);
        assert_null(strstr(target.reason, "s3cret"));
    }
    static const struct {
        const char *address;
        bool is_encrypted, is_loopback;
        uint32_t bytes;
    } taken[] = {{"https://host", true, false, 12},
                 {"HTTP://localhost:4040/", false, true, 21},
                 {"http://127.0.0.1", false, true, 16},
                 {"http://127.0.0.1.example.com", false, false, 28},
                 {"http://localhost.example.com", false, false, 28},
                 {"http://[::1]:80/a//", false, true, 17},
                 {"https://[2001:db8::1]", true, false, 21}};
    for (size_t i = 0; i < COUNT(taken); i++) {
        struct push_target target = make_target(PUSH_PARCA, taken[i].address);
        assert_int_equal(target.is_encrypted, taken[i].is_encrypted);
        assert_int_equal(target.is_loopback, taken[i].is_loopback);
        assert_int_equal(target.address_bytes, taken[i].bytes);
    }
}

static void test_labels(void **state)
{
    static const char *const refused[] = {
        "a", "=b", "1=b", "a-b=c", "__a=b", "a=", "a=\n", "a=\xc3\x28", "a=\x7f", "service_name=x", "ok=2"};
    struct push_target target = make_target(PUSH_PYROSCOPE_INGEST, "http://h");
    assert_int_equal(push_target_add_label(&target, "ok=1"), 0);
    for (size_t i = 0; i < COUNT(refused); i++)
        assert_int_equal(push_target_add_label(&target, refused[i]), -EINVAL);
    assert_int_equal(target.label_count, 1);
    assert_int_equal(push_target_check(&target), 0);
    assert_int_equal(push_target_add_label(&target, "_x9=a=b{\"\\"), 0);
    assert_int_equal(push_target_check(&target), 0);
    static const char *const unfit[] = {"b=x,y", "b=}", "b= x", "b=x "};
    for (size_t i = 0; i < COUNT(unfit); i++) {
        struct push_target copy = target;
        assert_int_equal(push_target_add_label(&copy, unfit[i]), 0);
        assert_int_equal(push_target_check(&copy), -EINVAL);
        copy.interface = PUSH_PARCA;
        assert_int_equal(push_target_check(&copy), 0);
    }
    for (int i = 2; i < PUSH_LABELS_MAX; i++) {
        char text[16];
        snprintf(text, sizeof text, "l%d=x", i);
        assert_int_equal(push_target_add_label(&target, text), 0);
    }
    assert_int_equal(push_target_add_label(&target, "more=x"), -EINVAL);
}

static void test_long_labels(void **state)
{
    static char text[PUSH_LABEL_NAME_BYTES + PUSH_LABEL_VALUE_BYTES + 8];
    struct push_target target = make_target(PUSH_PARCA, "http://h");
    memset(text, 'n', PUSH_LABEL_NAME_BYTES);
    text[PUSH_LABEL_NAME_BYTES] = '=';
    memset(text + PUSH_LABEL_NAME_BYTES + 1, 'v', PUSH_LABEL_VALUE_BYTES + 1);
    assert_int_equal(push_target_add_label(&target, text), -EINVAL);
    text[PUSH_LABEL_NAME_BYTES + 1 + PUSH_LABEL_VALUE_BYTES] = '\0';
    assert_int_equal(push_target_add_label(&target, text), 0);
    text[PUSH_LABEL_NAME_BYTES] = 'n';
    text[PUSH_LABEL_NAME_BYTES + 1] = '=';
    assert_int_equal(push_target_add_label(&target, text), -EINVAL);
}

static void test_names(void **state)
{
    struct push_target target = {.label_count = 0};
    char name[8];
    assert_int_equal(push_target_set_name(&target, "a/b.c-d_9"), 0);
    assert_int_equal(push_target_set_name(&target, ""), -EINVAL);
    assert_int_equal(push_target_set_name(&target, "a{b"), -EINVAL);
    assert_int_equal(push_target_set_name(&target, "a b"), -EINVAL);
    push_target_make_name("a b{}\xff,z", name, sizeof name);
    assert_string_equal(name, "a_b____");
    push_target_make_name("", name, sizeof name);
    assert_string_equal(name, "unknown");
}

/* ---- requests ---- */

static const struct push_profile small = {.bytes = (unsigned char *)"foobar",
                                          .count = 6,
                                          .start_utc_ns = 1700000000 * (uint64_t)NS_PER_S + 5,
                                          .duration_ns = 2 * (uint64_t)NS_PER_S,
                                          .program = "my app"};

static void assert_request(const struct push_target *target, const char *url, const char *body)
{
    struct push_request request;
    assert_int_equal(push_request_init(&request, target, &small, "ID"), 0);
    assert_string_equal(request.url, url);
    assert_body(&request.body, body);
    push_request_free(&request);
}

static void test_requests(void **state)
{
    struct push_target target = make_target(PUSH_PYROSCOPE_INGEST, "http://h:1/p/");
    assert_request(&target,
                   "http://h:1/p/ingest?name=my_app%7B%7D&from=1700000000&until=1700000003&format=pprof",
                   "foobar");
    push_target_set_name(&target, "x");
    push_target_add_label(&target, "a=&?#%+ \xc3\xbc\"");
    push_target_add_label(&target, "b=1");
    assert_request(&target,
                   "http://h:1/p/ingest?name=x%7Ba%3D%26%3F%23%25%2B%20%C3%BC%22%2Cb%3D1%7D"
                   "&from=1700000000&until=1700000003&format=pprof",
                   "foobar");
    target.interface = PUSH_PYROSCOPE_PUSH;
    assert_request(
        &target, "http://h:1/p/push.v1.PusherService/Push",
        "{\"series\":[{\"labels\":[{\"name\":\"__name__\",\"value\":\"wall\"},"
        "{\"name\":\"service_name\",\"value\":\"x\"},"
        "{\"name\":\"a\",\"value\":\"\\u0026?#%+ \xc3\xbc\\\"\"},{\"name\":\"b\",\"value\":\"1\"}],"
        "\"samples\":[{\"ID\":\"ID\",\"rawProfile\":\"Zm9vYmFy\"}]}]}");
    target.interface = PUSH_PARCA;
    target.label_count = 0;
    assert_request(&target, "http://h:1/p/api/profiles/writeraw",
                   "{\"series\":[{\"labels\":{\"labels\":[{\"name\":\"__name__\",\"value\":\"wallprof\"},"
                   "{\"name\":\"service_name\",\"value\":\"x\"}]},"
                   "\"samples\":[{\"rawProfile\":\"Zm9vYmFy\"}]}]}");
}

static void test_ids(void **state)
{
    char first[PUSH_ID_BYTES], second[PUSH_ID_BYTES];
    push_request_new_id(first);
    push_request_new_id(second);
    assert_string_not_equal(first, second);
    assert_int_equal(strlen(first), PUSH_ID_BYTES - 1);
    assert_int_equal(first[14], '4');
    assert_non_null(strchr("89ab", first[19]));
}

/* ---- waiting ---- */

static void assert_between(uint64_t wait_ns, uint64_t low_s, uint64_t high_s)
{
    assert_in_range(wait_ns, low_s * NS_PER_S / 2, high_s * NS_PER_S);
}

static void test_backoff(void **state)
{
    struct push_backoff backoff;
    bool differs = false;
    for (uint64_t seed = 0; seed < 100; seed++) {
        push_backoff_init(&backoff, seed);
        uint64_t first_ns = push_backoff_ns(&backoff, 0);
        differs |= first_ns != NS_PER_S;
        assert_between(first_ns, 1, 1);
        for (uint64_t whole_s = 2; whole_s < PUSH_WAIT_MAX_S; whole_s *= 2)
            assert_between(push_backoff_ns(&backoff, 0), whole_s, whole_s);
        for (int i = 0; i < 100; i++)
            assert_between(push_backoff_ns(&backoff, 0), PUSH_WAIT_MAX_S, PUSH_WAIT_MAX_S);
        backoff.failures = 0;
        assert_between(push_backoff_ns(&backoff, 0), 1, 1);
    }
    assert_true(differs);
    assert_true(push_backoff_ns(&backoff, 77) == 77 * (uint64_t)NS_PER_S);
    assert_true(push_backoff_ns(&backoff, UINT64_MAX) == PUSH_RETRY_AFTER_MAX_S * (uint64_t)NS_PER_S);
}

/* ---- credentials ---- */

static int read_credentials(const char *text, mode_t mode, struct push_credentials *ret)
{
    char path[] = "/tmp/wallprof-push-XXXXXX", reason[PUSH_REASON_BYTES] = "";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    int status = push_credentials_from_file(ret, path, reason);
    unlink(path);
    assert_true(status == 0 || *reason);
    assert_null(strstr(reason, "s3cret"));
    return status;
}

static void test_credentials_file(void **state)
{
    static const char *const refused[] = {"",
                                          "s3cret",
                                          "token=",
                                          "secret=s3cret",
                                          "user=me",
                                          "password=s3cret",
                                          "token=s3cret\nuser=me\npassword=x",
                                          "user=a:b\npassword=s3cret",
                                          "token=s3\x01cret"};
    static struct push_credentials credentials;
    for (size_t i = 0; i < COUNT(refused); i++) {
        assert_int_equal(read_credentials(refused[i], 0600, &credentials), -EINVAL);
        assert_false(push_credentials_are_there(&credentials));
    }
    assert_int_equal(read_credentials("# a = b\n\n  token\t=  s3cret = 1 \r\n", 0400, &credentials), 0);
    assert_string_equal(credentials.token, "s3cret = 1");
    assert_int_equal(read_credentials("token=s3cret", 0640, &credentials), -EINVAL);
    assert_int_equal(read_credentials("token=s3cret", 0602, &credentials), -EINVAL);
    assert_int_equal(read_credentials("user=me\npassword=s3cret", 0600, &credentials), 0);
    assert_true(push_credentials_shown(&credentials, "it was s3cret!"));
    assert_true(push_credentials_shown(&credentials, "Basic bWU6czNjcmV0"));
    assert_false(push_credentials_shown(&credentials, "me"));
    push_credentials_wipe(&credentials);
    assert_false(push_credentials_shown(&credentials, "it was s3cret!"));
}

static void test_credentials_environment(void **state)
{
    static char token[] = "WALLPROF_PUSH_TOKEN=s3cret";
    static struct push_credentials credentials;
    char reason[PUSH_REASON_BYTES];
    putenv(token);
    assert_int_equal(push_credentials_from_environment(&credentials, reason), 0);
    assert_string_equal(credentials.token, "s3cret");
    assert_null(getenv("WALLPROF_PUSH_TOKEN"));
    assert_int_equal(token[sizeof token - 2], 0); /* wiped where it was */
    setenv("WALLPROF_PUSH_USER", "me", 1);
    assert_int_equal(push_credentials_from_environment(&credentials, reason), -EINVAL);
    assert_int_equal(push_credentials_from_environment(&credentials, reason), 0);
    assert_false(push_credentials_are_there(&credentials));
}

/* ---- the spool ---- */

static char directory[64];

static int setup(void **state)
{
    strcpy(directory, "/tmp/wallprof-spool-XXXXXX");
    assert_non_null(mkdtemp(directory));
    return 0;
}

static int teardown(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

static void put_file(const char *name, int bytes, int changed_s)
{
    char path[512];
    const struct timespec times[2] = {{.tv_sec = changed_s}, {.tv_sec = changed_s}};
    snprintf(path, sizeof path, "%s/%s", directory, name);
    unlink(path);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    fprintf(stream, "%*s", bytes, "");
    fclose(stream);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static struct push_spool open_spool(void)
{
    struct push_spool spool;
    assert_int_equal(push_spool_open(&spool, directory, "*.gz"), 0);
    assert_int_equal(push_spool_scan(&spool), 0);
    return spool;
}

static void assert_first(struct push_spool *spool, const char *name)
{
    struct push_file *file;
    assert_int_equal(push_spool_scan(spool), 0);
    file = push_spool_first(spool);
    if (!name)
        assert_null(file);
    else
        assert_string_equal(file ? file->name : "none", name);
}

static void finish_first(struct push_spool *spool, const char *name)
{
    assert_first(spool, name);
    assert_int_equal(push_spool_finish(spool, push_spool_first(spool)), 0);
}

static void test_order(void **state)
{
    put_file("a.10.gz", 1, 5);
    put_file("a.9.gz", 1, 5);
    put_file("z.gz", 1, 4);
    put_file("other", 1, 1);
    put_file(".hidden.gz", 1, 1);
    put_file("line\n.gz", 1, 1);
    struct push_spool spool = open_spool(), second;
    assert_int_equal(symlinkat("z.gz", spool.directory_fd, "link.gz"), 0);
    assert_int_equal(mkdirat(spool.directory_fd, "d.gz", 0700), 0);
    assert_int_equal(push_spool_open(&second, directory, "*"), -EWOULDBLOCK);
    finish_first(&spool, "z.gz");
    finish_first(&spool, "a.9.gz");
    put_file("b.gz", 1, 2);
    finish_first(&spool, "b.gz");
    finish_first(&spool, "a.10.gz");
    assert_first(&spool, NULL);
    push_spool_close(&spool);
}

static void test_memory(void **state)
{
    put_file("a.gz", 1, 1);
    put_file("b b.gz", 1, 2);
    put_file("c.gz", 1, 3);
    struct push_spool spool = open_spool();
    finish_first(&spool, "a.gz");
    finish_first(&spool, "b b.gz");
    push_spool_close(&spool);
    spool = open_spool();
    assert_first(&spool, "c.gz");
    put_file("b b.gz", 1, 4); /* another file of that name */
    finish_first(&spool, "c.gz");
    assert_first(&spool, "b b.gz");
    put_file("a.gz", 2, 1);
    assert_first(&spool, "a.gz");
    push_spool_close(&spool);
    put_file(".wallprof-push", 20, 1); /* nonsense */
    spool = open_spool();
    assert_int_equal(spool.files.count, 3);
    assert_first(&spool, "a.gz");
    push_spool_close(&spool);
}

static void test_surplus(void **state)
{
    for (int i = 1; i <= 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d.gz", i);
        put_file(name, 10, i);
    }
    struct push_spool spool = open_spool();
    assert_null(push_spool_surplus(&spool, 5, 50));
    assert_string_equal(push_spool_surplus(&spool, 4, 50)->name, "1.gz");
    push_spool_finish(&spool, push_spool_surplus(&spool, 4, 50));
    assert_null(push_spool_surplus(&spool, 4, 50));
    assert_string_equal(push_spool_surplus(&spool, 4, 39)->name, "2.gz");
    push_spool_finish(&spool, push_spool_surplus(&spool, 4, 39));
    assert_null(push_spool_surplus(&spool, 4, 39));
    put_file("3.gz", 11, 3); /* changed meanwhile: not the one that was sent */
    push_spool_remove(&spool, push_spool_first(&spool));
    assert_first(&spool, "3.gz");
    push_spool_remove(&spool, push_spool_first(&spool));
    assert_first(&spool, "4.gz");
    push_spool_close(&spool);
}

static void test_no_directory(void **state)
{
    struct push_spool spool;
    assert_int_equal(push_spool_open(&spool, "/nonexistent", "*"), -ENOENT);
    spool = open_spool();
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(push_spool_scan(&spool), -ENOENT);
    push_spool_close(&spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_long_labels),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_credentials_file),
        cmocka_unit_test(test_credentials_environment),
        cmocka_unit_test_setup_teardown(test_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_surplus, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_directory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
