/* Whether the library can be preloaded into a program: read from files of every kind, damaged ones too. */
/* test: not-emulated */
#include "elf/program.h"
#include "lib/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/test_program.XXXXXX";

/* A small program: headers, then the interpreter, the dynamic section and its strings. */
struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segments[3];
    char interpreter[128];
    Elf64_Dyn dynamic[4];
    char strings[64];
};

static struct image image_of(const char *interpreter, const char *library)
{
    struct image image = {
        .header = {.e_type = ET_DYN,
                   .e_machine = PROGRAM_OWN_MACHINE,
                   .e_phoff = offsetof(struct image, segments),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = interpreter ? 3 : 2},
        .segments = {{.p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = sizeof(image)},
                     {.p_type = PT_DYNAMIC, .p_offset = offsetof(struct image, dynamic)},
                     {.p_type = PT_INTERP, .p_offset = offsetof(struct image, interpreter)}},
        .dynamic = {{.d_tag = DT_NEEDED, .d_un.d_val = 1},
                    {.d_tag = DT_NEEDED, .d_un.d_val = 11},
                    {.d_tag = DT_STRTAB, .d_un.d_ptr = 0x1000 + offsetof(struct image, strings)}},
    };
    memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS64;
    strcpy(image.interpreter, interpreter ? interpreter : "");
    strcpy(image.strings + 1, "libc.so.6");
    strcpy(image.strings + 11, library);
    return image;
}

static const char *write_file(const char *name, const void *data, size_t bytes)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0755);
    assert_true(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    close(fd);
    return path;
}

static struct program examine(const char *path)
{
    struct program_loader own = program_own_loader();
    struct program program;
    program_examine(&own, AT_FDCWD, path, 0, &program);
    return program;
}

static void assert_obstacle(const char *path, const char *expected)
{
    struct program program = examine(path);
    if (expected) {
        assert_non_null(program.obstacle);
        assert_non_null(strstr(program.obstacle, expected));
    } else
        assert_null(program.obstacle);
}

static void what_runs_here_fits(void **state)
{
    assert_obstacle("/proc/self/exe", NULL);
    assert_obstacle("/bin/sh", NULL);
    assert_string_equal(examine("/bin/sh").runtime, ""); /* of ours a sanitizer would be found */
}

static void a_program_names_what_is_in_the_way(void **state)
{
    struct image image = image_of("/lib/ld-musl-x86_64.so.1", "");
    assert_obstacle(write_file("musl", &image, sizeof(image)), "musl");
    image = image_of(NULL, "");
    assert_obstacle(write_file("static", &image, sizeof(image)), NULL);
    image = image_of("/lib64/ld.so", "");
    image.header.e_machine = EM_S390;
    assert_obstacle(write_file("other", &image, sizeof(image)), "another machine");
    image.header.e_ident[EI_DATA] = ELFDATA2MSB;
    image.header.e_phoff = __builtin_bswap64(image.header.e_phoff);
    image.header.e_phnum = __builtin_bswap16(image.header.e_phnum);
    assert_obstacle(write_file("big-endian", &image, sizeof(image)), "another machine");
    image.header.e_ident[EI_CLASS] = ELFCLASS32;
    assert_obstacle(write_file("big-endian", &image, sizeof(image)), "another machine");
    image = image_of("/nowhere/ld.so", "");
    assert_obstacle(write_file("unknown", &image, sizeof(image)), NULL);
}

static void a_program_of_32_bits_does_not_fit(void **state)
{
    struct {
        Elf32_Ehdr header;
        Elf32_Phdr segment;
    } image = {.header = {.e_phoff = sizeof(Elf32_Ehdr), .e_phnum = 1}, .segment = {.p_type = PT_INTERP}};
    memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS32;
    assert_obstacle(write_file("narrow", &image, sizeof(image)), "32 bits");
    image.segment.p_type = PT_LOAD;
    assert_obstacle(write_file("narrow", &image, sizeof(image)), NULL);
}

/* One file by itself: `wallprof run` says what is in the way, and where. */
static void a_file_has_a_form(void **state)
{
    const struct program_loader any = {.is_of_any_version = true};
    char interpreter[PROGRAM_NAME_BYTES];
    struct program program;
    struct image image = image_of("/nowhere/ld.so", "");
    const struct {
        const void *data;
        size_t bytes;
        enum program_form form;
    } rows[] = {
        {"", 0, PROGRAM_OTHER},
        {"text", 4, PROGRAM_OTHER},
        {"#!", 2, PROGRAM_OTHER},
        {"#! \n", 4, PROGRAM_SCRIPT},
        {"#! /bin/one  two 3 \t\nmore", 25, PROGRAM_SCRIPT},
        {&image, sizeof(image.header) - 1, PROGRAM_CUT},
        {&image, sizeof(image.header), PROGRAM_STATIC},
        {&image, sizeof(image), PROGRAM_DYNAMIC},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *path = write_file("form", rows[i].data, rows[i].bytes);
        program_examine_file(&any, AT_FDCWD, path, 0, &program, interpreter);
        assert_int_equal(program.form, rows[i].form);
        assert_null(program.obstacle);
        if (program.form == PROGRAM_SCRIPT) {
            bool is_named = strchr(rows[i].data, 'o');
            assert_string_equal(interpreter, is_named ? "/bin/one" : "");
            assert_string_equal(interpreter + strlen(interpreter) + 1, is_named ? "two 3" : "");
        }
    }
    image.header.e_machine = __builtin_bswap16(EM_S390); /* as it is written there */
    image.header.e_ident[EI_DATA] = ELFDATA2MSB;
    program_examine_file(&any, AT_FDCWD, write_file("s390", &image, sizeof(image)), 0, &program, interpreter);
    assert_int_equal(program.machine, EM_S390);
    program_examine_file(&any, AT_FDCWD, "/nowhere/at/all", 0, &program, interpreter);
    assert_int_equal(program.form, PROGRAM_UNREAD);
}

/* Who is not the library needs no version itself. */
static void any_version_will_do(void **state)
{
    static const char loader[] = "stable release version 2.17.";
    const struct program_loader any = {.is_of_any_version = true};
    char path[256];
    struct program program;
    strcpy(path, write_file("old", loader, sizeof(loader)));
    struct image image = image_of(path, "");
    const char *of_old = write_file("of_old", &image, sizeof(image));
    assert_obstacle(of_old, "too old");
    program_examine(&any, AT_FDCWD, of_old, 0, &program);
    assert_null(program.obstacle);
}

/* The text lies where one window ends and the next begins, too. */
static void a_loader_tells_its_version(void **state)
{
    static const struct {
        const char *text, *obstacle;
    } rows[] = {{"stable release version 2.17.\n", "too old"},
                {"stable release version 2.9.\n", "too old"},
                {"stable release version 2.999.\n", NULL},
                {"release version 2.999.\n", "another"}};
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        for (size_t at = 0; at < 3000; at += row == 2 ? 1 : 500) {
            char loader[4096] = {0}, path[256];
            strcpy(loader + at, rows[row].text);
            strcpy(path, write_file("ld.so", loader, sizeof(loader)));
            struct image image = image_of(path, "");
            assert_obstacle(write_file("program", &image, sizeof(image)), rows[row].obstacle);
        }
    }
    assert_obstacle(
        write_file("ld-2.17.so", &(struct image){.header = image_of(NULL, "").header}, sizeof(struct image)),
        "another");
}

static void a_runtime_is_found(void **state)
{
    static const char *const runtimes[] = {"libasan.so.8", "libclang_rt.asan-x86_64.so"};
    for (size_t i = 0; i < 2; i++) {
        struct image image = image_of("/nowhere/ld.so", runtimes[i]);
        assert_string_equal(examine(write_file("asan", &image, sizeof(image))).runtime, runtimes[i]);
    }
    struct image image = image_of("/nowhere/ld.so", "libubsan.so.1");
    assert_string_equal(examine(write_file("ubsan", &image, sizeof(image))).runtime, "");
}

static void a_script_is_its_interpreter(void **state)
{
    char line[300];
    struct image image = image_of("/lib/ld-musl-x86_64.so.1", "");
    const char *form[] = {"#!%s", "#! \t%s -x y\n", "#!%s\nmore", "#!%s\t"};
    for (size_t i = 0; i < 4; i++) {
        snprintf(line, sizeof(line), form[i], write_file("musl", &image, sizeof(image)));
        assert_obstacle(write_file("script", line, strlen(line)), "musl");
    }
    strcpy(line, "script");
    for (int level = 2; level < 8; level++) { /* the kernel follows five */
        char name[16], next[600];
        snprintf(next, sizeof(next), "#!%s/%s\n", directory, line);
        snprintf(name, sizeof(name), "level%d", level);
        assert_obstacle(write_file(name, next, strlen(next)), level <= 5 ? "musl" : NULL);
        strcpy(line, name);
    }
    snprintf(line, sizeof(line), "#!%s/itself", directory);
    assert_obstacle(write_file("itself", line, strlen(line)), NULL);
    memset(line, 'a', sizeof(line));
    memcpy(line, "#!/", 3);
    assert_obstacle(write_file("long", line, sizeof(line)), NULL);
}

static void a_descriptor_need_not_be_readable(void **state)
{
    struct program_loader own = program_own_loader();
    struct program program;
    struct image image = image_of("/lib/ld-musl-x86_64.so.1", "");
    const char *path = write_file("musl", &image, sizeof(image));
    for (int i = 0; i < 2; i++) {
        int fd = open(path, i ? O_PATH : O_RDONLY);
        program_examine(&own, fd, "", AT_EMPTY_PATH, &program);
        assert_non_null(program.obstacle);
        close(fd);
    }
    int fd = open(directory, O_PATH);
    program_examine(&own, fd, "musl", 0, &program);
    assert_non_null(program.obstacle);
    close(fd);
}

/* Its owner may not, others may; root may what somebody may. */
static void who_may_not_execute_finds_another(void **state)
{
    enum { NOBODY = 65534 };
    const char *path = write_file("others", "", 0);
    bool is_root = geteuid() == 0;
    assert_int_equal(chmod(path, 0611), 0);
    assert_int_equal(chmod(directory, 0711), 0);
    assert_int_equal(program_can_execute(path, true), is_root);
    if (is_root) {
        assert_int_equal(chown(path, NOBODY, (gid_t)-1), 0);
        assert_int_equal(seteuid(NOBODY), 0);
        bool can_execute = program_can_execute(path, true);
        assert_int_equal(seteuid(0), 0);
        assert_false(can_execute);
    }
    assert_int_equal(chmod(path, 0100), 0);
    assert_true(program_can_execute(path, true));
    assert_true(program_can_execute(path, false));
    assert_false(program_can_execute(directory, true));
}

static void what_cannot_be_read_has_no_obstacle(void **state)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/fifo", directory);
    assert_int_equal(mkfifo(path, 0755), 0);
    assert_obstacle(path, NULL); /* and is not opened, which would wait */
    assert_obstacle("", NULL);
    assert_obstacle(directory, NULL);
    assert_obstacle((const char *)8, NULL);
    assert_obstacle("/nowhere/at/all", NULL);
}

static void a_damaged_file_does_no_harm(void **state)
{
    struct image whole = image_of("/lib/ld-musl-x86_64.so.1", "libasan.so.8");
    for (size_t bytes = 0; bytes < sizeof(whole); bytes++)
        examine(write_file("cut", &whole, bytes));
    for (size_t at = 0; at < sizeof(whole); at += 2) {
        struct image image = whole;
        memset((char *)&image + at, 0xff, 8 < sizeof(image) - at ? 8 : sizeof(image) - at);
        examine(write_file("damaged", &image, sizeof(image)));
    }
}

static int make_directory(void **state)
{
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_runs_here_fits),
        cmocka_unit_test(a_program_names_what_is_in_the_way),
        cmocka_unit_test(a_program_of_32_bits_does_not_fit),
        cmocka_unit_test(a_file_has_a_form),
        cmocka_unit_test(any_version_will_do),
        cmocka_unit_test(a_loader_tells_its_version),
        cmocka_unit_test(a_runtime_is_found),
        cmocka_unit_test(a_script_is_its_interpreter),
        cmocka_unit_test(a_descriptor_need_not_be_readable),
        cmocka_unit_test(who_may_not_execute_finds_another),
        cmocka_unit_test(what_cannot_be_read_has_no_obstacle),
        cmocka_unit_test(a_damaged_file_does_no_harm),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
