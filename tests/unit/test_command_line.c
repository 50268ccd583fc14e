/* What is shown of a command line: never what follows a word for a secret, and everything else as it was. */
#include "lib/unit.h"
#include "export/command_line.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ARGUMENTS_MAX = 8, TEXT_BYTES = 512 };

struct example {
    const char *arguments[ARGUMENTS_MAX];
    const char *redacted;
};

static const struct example examples[] = {
    {{"app"}, "app"},
    {{"./app", "-v", "in file", ""}, "./app -v in file"},
    {{"app", "line\nnext\x01"}, "app line next "},
    /* after = in an argument */
    {{"app", "--password=x", "-v"}, "app --password=*** -v"},
    {{"app", "--db-PassWord=x"}, "app --db-PassWord=***"},
    {{"env", "API_KEY=x y=z", "make"}, "env API_KEY=*** make"},
    {{"app", "--dsn=host=a;password=b;c=d"}, "app --dsn=host=a;password=***"},
    {{"app", "--password=", "-v"}, "app --password= -v"},
    {{"app", "--user=me", "--jobs=2"}, "app --user=me --jobs=2"},
    /* after a colon or a blank */
    {{"curl", "-H", "X-Api-Key: x y"}, "curl -H X-Api-Key: ***"},
    {{"curl", "-H", "Authorization: Bearer x"}, "curl -H Authorization: ***"},
    {{"sh", "-c", "run --token x -v; ls"}, "sh -c run --token ***"},
    {{"app", "{\"secret\":\"x\"}"}, "app {\"secret\":***"},
    /* the next argument */
    {{"app", "--password", "x", "-v"}, "app --password *** -v"},
    {{"app", "-passphrase", "x"}, "app -passphrase ***"},
    {{"app", "--access-token", "-x"}, "app --access-token ***"},
    {{"app", "--ask-password", "--token", "x", "y"}, "app --ask-password *** *** y"},
    {{"mysqladmin", "password", "x"}, "mysqladmin password ***"},
    {{"make", "keyboard", "all"}, "make keyboard all"},
    {{"app", "--token"}, "app --token"},
    /* addresses */
    {{"psql", "postgres://me:x@host/db"}, "psql postgres://me:***@host/db"},
    {{"git", "clone", "--url=https://me:x:y@z@host:80/a"}, "git clone --url=https://me:***@host:80/a"},
    {{"git", "clone", "https://x@github.com/a"}, "git clone https://***@github.com/a"},
    {{"git", "clone", "ssh://git@github.com/a"}, "git clone ssh://git@github.com/a"},
    {{"openssl", "-passin", "pass:x"}, "openssl -passin ***"},
    {{"app", "--pass=x", "--pwd", "y"}, "app --pass=*** --pwd ***"},
    {{"curl", "-H", "Cookie: sid=x"}, "curl -H Cookie: ***"},
    {{"curl", "https://host/a?X-Amz-Signature=x"}, "curl https://host/a?X-Amz-Signature=***"},
    {{"app", "a://b:c@d e://f:g@h"}, "app a://b:***@d e://f:***@h"},
    {{"app", "redis://:x@host"}, "app redis://:***@host"},
    {{"ssh", "ssh://me@host:22/a"}, "ssh ssh://me@host:22/a"},
    {{"curl", "http://host:80/"}, "curl http://host:80/"},
    {{"curl", "http://a:b@c/?token=x"}, "curl http://a:***@c/?token=***"},
    {{"app", "jdbc:oracle:thin:me/x@host:1521"}, "app jdbc:oracle:thin:me/***"},
    {{"app", "jdbc:oracle:thin:@//host:1521/a"}, "app jdbc:oracle:thin:@//host:1521/a"},
    /* percent-encoded */
    {{"curl", "https://host/?a%3Fpassword%3Dx"}, "curl https://host/?a%3Fpassword%3D***"},
    {{"curl", "-d", "token%3ax"}, "curl -d token%3a***"},
    /* a name and a secret */
    {{"/usr/bin/curl", "-u", "me:x y", "-v"}, "/usr/bin/curl -u me:*** -v"},
    {{"curl", "-sSu", "me:x", "-uyou:x"}, "curl -sSu me:*** -uyou:***"},
    {{"curl", "-u", "me", "http://host:80/"}, "curl -u me http://host:80/"},
    {{"timeout", "9", "curl", "--proxy-user", "me:x"}, "timeout 9 curl --proxy-user me:***"},
    {{"sh", "-c", "curl -u me:x a; ls"}, "sh -c curl -u me:***"},
    {{"app", "--user=me:x", "--auth", "me:x"}, "app --user=me:*** --auth me:***"},
    {{"docker", "run", "--user=1000:100", "-u", "me:users"}, "docker run --user=1000:100 -u me:users"},
    {{"pip", "install", "--user", "https://host:80/a"}, "pip install --user https://host:80/a"},
    {{"systemd-run", "--user", "--unit=a:b"}, "systemd-run --user --unit=a:b"},
    {{"rsync", "-u", "host:/a", "b"}, "rsync -u host:/a b"},
    {{"git", "log", "--author", "me:you"}, "git log --author me:you"},
    {{"smbclient", "-U", "me%x", "//h/s"}, "smbclient -U me%*** //h/s"},
    {{"sqlplus", "-s", "me/x@host", "@a/b"}, "sqlplus -s me/*** @a/b"},
    {{"sqlplus", "/", "as", "sysdba"}, "sqlplus / as sysdba"},
    /* options of a letter */
    {{"sshpass", "-p", "x", "ssh", "-p", "22"}, "sshpass -p *** ssh -p ***"},
    {{"sshpass", "-px", "ssh", "h"}, "sshpass -p*** ssh h"},
    {{"mysqldump", "-u", "root", "-px", "db"}, "mysqldump -u root -p*** db"},
    {{"mysql", "-p", "db", "-P3306"}, "mysql -p db -P3306"},
    {{"redis-cli", "-a", "x", "get", "a"}, "redis-cli -a *** get a"},
    {{"sh", "-c", "mysql -uroot -px db"}, "sh -c mysql -uroot -p***"},
    /* words in other forms */
    {{"env", "AWS_SECRET_ACCESS_KEY=x", "a"}, "env AWS_SECRET_ACCESS_KEY=*** a"},
    {{"kubectl", "--from-literal=password=x"}, "kubectl --from-literal=password=***"},
    /* not told from others */
    {{"app", "-p", "8080"}, "app -p 8080"},
    {{"mkdir", "-p", "a/b@c"}, "mkdir -p a/b@c"},
};

/* The arguments as the kernel shows them, each with its NUL. Returns the bytes. */
static size_t join(const struct example *example, char ret[TEXT_BYTES])
{
    size_t bytes = 0;
    for (size_t i = 0; i < ARGUMENTS_MAX && example->arguments[i]; i++) {
        strcpy(ret + bytes, example->arguments[i]);
        bytes += strlen(example->arguments[i]) + 1;
    }
    return bytes;
}

static void secrets_are_masked_and_nothing_else(void **state)
{
    char arguments[TEXT_BYTES], shown[TEXT_BYTES];
    (void)state;
    for (size_t i = 0; i < COUNT(examples); i++) {
        size_t bytes = join(&examples[i], arguments);
        command_line_describe(arguments, bytes, ARGUMENTS_REDACTED, shown, sizeof shown);
        assert_string_equal(shown, examples[i].redacted);
    }
}

static void all_or_only_the_program_is_shown(void **state)
{
    static const char arguments[] = "app\0--password=x\0--token\0y\0a://b:c@d";
    char shown[TEXT_BYTES];
    (void)state;
    command_line_describe(arguments, sizeof arguments, ARGUMENTS_ALL, shown, sizeof shown);
    assert_string_equal(shown, "app --password=x --token y a://b:c@d");
    command_line_describe(arguments, sizeof arguments, ARGUMENTS_PROGRAM, shown, sizeof shown);
    assert_string_equal(shown, "app");
    command_line_describe(arguments, 0, ARGUMENTS_ALL, shown, sizeof shown);
    assert_string_equal(shown, "");
    command_line_describe("app: ada's\0\0\0", 13, ARGUMENTS_PROGRAM, shown, sizeof shown);
    assert_string_equal(shown, "app");
    command_line_describe("app: ada's\0\0\0", 13, ARGUMENTS_ALL, shown, sizeof shown);
    assert_string_equal(shown, "app: ada's");
}

/* Wherever the memory ends: no secret, and nothing after the end. */
static void what_is_cut_off_shows_no_more(void **state)
{
    static const char arguments[] = "app\0--token\0x1\0a://b:x2@d\0key=x3",
                      whole[] = "app --token *** a://b:***@d key=***";
    char shown[sizeof whole + 1];
    (void)state;
    for (size_t bytes = 1; bytes <= sizeof arguments; bytes++) {
        for (size_t capacity = 1; capacity <= sizeof whole; capacity++) {
            memset(shown, '!', sizeof shown);
            command_line_describe(arguments, bytes, ARGUMENTS_REDACTED, shown, capacity);
            assert_true(strlen(shown) < capacity);
            assert_null(strchr(shown, 'x'));
            assert_memory_equal(shown, whole, strlen(shown));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_masked_and_nothing_else),
        cmocka_unit_test(all_or_only_the_program_is_shown),
        cmocka_unit_test(what_is_cut_off_shows_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
