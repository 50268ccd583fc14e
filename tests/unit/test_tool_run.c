/* What `wallprof run` makes of a command line, what it refuses and in which words, and what it says at the
 * end. */
#include "config/config.h"
#include "elf/program.h"
#include "tool/run/executable.h"
#include "tool/run/outputs.h"
#include "tool/run/run_directory.h"
#include "tool/run/run_files.h"
#include "tool/run/run_options.h"

#include "lib/unit.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORDS_MAX = 24 };

static char directory[] = "/tmp/test_tool_run.XXXXXX";
static struct run_options options;
static struct refusal refusal;

/* ---- the command line ---- */

/* Reads words that are separated by blanks; "" stands for none. */
static int read_words(const char *line)
{
    static char text[512], *words[WORDS_MAX];
    int count = 1;
    words[0] = "wallprof-run";
    strcpy(text, line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        assert_true(count + 1 < WORDS_MAX);
        words[count++] = strcmp(word, "''") == 0 ? "" : word;
    }
    words[count] = NULL;
    refusal.status = 0;
    while (options.variable_count > 0)
        free(options.variables[--options.variable_count]);
    return run_options_read(&options, words, &refusal);
}

static void options_end_where_the_program_begins(void **state)
{
    static const struct {
        const char *line, *program, *argument;
    } rows[] = {
        {"app", "app", NULL},         {"--quiet app --top", "app", "--top"},
        {"--hz 5 app", "app", NULL},  {"--hz=5 app --hz", "app", "--hz"},
        {"-- -odd -o", "-odd", "-o"}, {"-o x -- --", "--", NULL},
        {"-ox app", "app", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(read_words(rows[i].line), 0);
        assert_int_equal(options.wish, RUN_PROGRAM);
        assert_string_equal(options.program[0], rows[i].program);
        if (rows[i].argument)
            assert_string_equal(options.program[1], rows[i].argument);
        else
            assert_null(options.program[1]);
    }
}

static void an_option_is_a_variable(void **state)
{
    read_words("--hz 7 --timeline-mem=2M --hz=8 --interval-dump 1h app");
    assert_int_equal(options.variable_count, 3);
    assert_string_equal(options.variables[0], "WALLPROF_HZ=8");
    assert_string_equal(options.variables[1], "WALLPROF_TIMELINE_MEM=2M");
    assert_string_equal(options.variables[2], "WALLPROF_INTERVAL_DUMP=1h");
    assert_null(options.variables[3]);
}

static void some_options_are_the_commands_own(void **state)
{
    read_words("-o a.html --out=b,c.html -od --format html --format pprof,folded --store off --top --merge "
               "--quiet --external --runtime-names off app");
    assert_string_equal(options.outs, "a.html,b,c.html,d");
    assert_string_equal(options.formats, "html,pprof,folded");
    assert_string_equal(options.store, "off");
    assert_true(options.shows_top && options.merges && options.is_quiet && options.leaves_names);
    assert_true(options.is_external);
    assert_int_equal(options.variable_count, 0);
    read_words("app");
    assert_string_equal(options.outs, "");
    assert_null(options.store);
    assert_false(options.shows_top || options.merges || options.is_quiet || options.leaves_names);
    assert_false(options.is_external);
    assert_int_equal(read_words("--runtime-names auto app"), 0);
    assert_false(options.leaves_names);
    assert_int_equal(read_words("--runtime-names=on app"), 125);
    assert_string_equal(refusal.text, "--runtime-names on: it is auto or off");
}

static void help_needs_no_program(void **state)
{
    static const struct {
        const char *line;
        enum run_wish wish;
    } rows[] = {{"--help", RUN_HELP},
                {"-h", RUN_HELP},
                {"--quiet --help-all -x", RUN_HELP_ALL},
                {"--version", RUN_VERSION}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(read_words(rows[i].line), 0);
        assert_int_equal(options.wish, rows[i].wish);
    }
}

static void a_wrong_command_line_is_refused(void **state)
{
    static const struct {
        const char *line, *said;
    } rows[] = {
        {"", "no program given (see wallprof-run --help)"},
        {"--quiet --", "no program given (see wallprof-run --help)"},
        {"-x app", "unknown option -x (see wallprof-run --help)"},
        {"--frequency=5 app", "unknown option --frequency=5 (see wallprof-run --help)"},
        {"--hz", "option --hz needs a value"},
        {"--hz= app", "option --hz needs a value"},
        {"-o", "option --out needs a value"},
        {"--store '' app", "option --store needs a value"},
        {"--out - app",
         "--out -: it is written by other processes than this, which have no such stream; name a file"},
        {"-o /dev/stdout app", "--out /dev/stdout: it is written by other processes than this, which have no "
                               "such stream; name a file"},
        {"-o a -o b.html app",
         "--out a: of several outputs each but the last must say its format by its ending"},
        {"--hz 0 app", "WALLPROF_HZ=0 is not a whole number from 1 to 10000"},
        {"--labels all app", "WALLPROF_LABELS=all is not none, name or id"},
        {"--delay soon app", "WALLPROF_DELAY=soon is not a time (500ms, 30s, 10m, 1h)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(read_words(rows[i].line), RUN_FAILED);
        assert_string_equal(refusal.text, rows[i].said);
    }
}

/* ---- where profiles go ---- */

static void choose(const char *line, int status, const char *expected)
{
    static struct config config;
    unsetenv("WALLPROF_OUT");
    assert_int_equal(read_words(line), 0);
    assert_int_equal(outputs_choose(&options, &config, &refusal), status);
    assert_string_equal(status ? refusal.text : getenv("WALLPROF_OUT"), expected);
}

/* In a directory whose name has what is special in a list of patterns. */
static void names_are_absolute(void **state)
{
    char below[64];
    snprintf(below, sizeof below, "%s/a%%b.pb,c", directory);
    assert_true(mkdir(below, 0700) == 0 && chdir(below) == 0);
#define BELOW "%s/a%%%%b.pb%%,c/"
    static const struct {
        const char *line, *expected;
    } rows[] = {
        {"app", BELOW},
        {"-o x.pb.gz app", BELOW "x.pb.gz"},
        {"-o %p.html -o y,z app", BELOW "%p.html," BELOW "y,z"},
        {"--format html,store app", BELOW "wallprof.%p.html," BELOW "wallprof.%p.store"},
        {"-o x.json.gz --format callgrind,firefox app", BELOW "x.callgrind," BELOW "x.json.gz"},
        {"-o /tmp/x%,y.pb.gz app", "/tmp/x%,y.pb.gz"},
        {"-o /dev/null app", "/dev/null"},
        {"-o x.12 app", BELOW "x.12"},
        {"-o nowhere.%n/x.pb.gz app", BELOW "nowhere.%n/x.pb.gz"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char expected[512] = "";
        for (const char *at = rows[i].expected; *at; at++) {
            if (strncmp(at, BELOW, strlen(BELOW)) == 0) {
                snprintf(expected + strlen(expected), sizeof expected - strlen(expected), BELOW, directory);
                at += strlen(BELOW) - 1;
            } else
                strncat(expected, at, 1);
        }
        choose(rows[i].line, 0, expected);
    }
    assert_int_equal(chdir(directory), 0);
}

static void what_cannot_be_written_is_refused(void **state)
{
    static const struct {
        const char *line, *said;
    } rows[] = {
        {"-o x.svg app", "--out x.svg: no format has this ending (.pb.gz, .callgrind, .folded, .html, "
                         ".perfetto.json.gz, .json.gz and .store "
                         "are known); use one of these"},
        {"-o nowhere/x.pb.gz app", "the directory of nowhere/x.pb.gz: No such file or directory; make it, "
                                   "or name another file with --out"},
        {"--format svg app",
         "there is no format svg (pprof, callgrind, folded, html, perfetto, firefox and store are)"},
        {"-o a.html,b --format pprof app",
         "--format is for one --out; the endings of several say their formats"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        choose(rows[i].line, RUN_FAILED, rows[i].said);
}

/* ---- the program ---- */

static void write_file(const char *name, const void *data, size_t bytes, mode_t mode)
{
    unlink(name);
    int fd = open(name, O_CREAT | O_WRONLY, 0700);
    assert_true(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes && fchmod(fd, mode) == 0);
    close(fd);
}

static void write_script(const char *name, const char *line)
{
    write_file(name, line, strlen(line), 0755);
}

struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    char interpreter[64];
};

static void write_image(const char *name, unsigned machine, unsigned char bits, const char *interpreter)
{
    struct image image = {.header = {.e_ident = ELFMAG, .e_machine = (uint16_t)machine},
                          .segment = {.p_type = PT_INTERP, .p_offset = offsetof(struct image, interpreter)}};
    image.header.e_ident[EI_CLASS] = bits;
    image.header.e_ident[EI_DATA] = ELFDATA2LSB;
    image.header.e_phoff = offsetof(struct image, segment);
    image.header.e_phnum = interpreter ? 1 : 0;
    strcpy(image.interpreter, interpreter ? interpreter : "");
    write_file(name, &image, sizeof image, 0755);
}

static struct executable executable;

static void assert_refused(const char *name, int status, const char *said)
{
    char path[PATH_MAX];
    refusal = (struct refusal){.status = 0};
    int found = executable_find(name, path, &refusal);
    if (found == 0)
        found = executable_check(path, EXTERNAL_NEVER, &executable, &refusal);
    assert_int_equal(found, status);
    assert_string_equal(refusal.text, said);
}

static void a_program_that_cannot_be_executed_is_refused(void **state)
{
    write_file("plain", "text", 4, 0644);
    write_file("text", "text", 4, 0755);
    write_file("short", ELFMAG, SELFMAG, 0755);
    setenv("PATH", "nowhere::/bin", 1);
    assert_refused("no-such-program", 127, "no-such-program: command not found");
    assert_refused("./no-such-file", 127, "./no-such-file: no such file");
    assert_refused("/tmp", 126, "/tmp: is a directory");
    assert_refused("plain", 126, "./plain: permission denied (not executable)");
    assert_refused("text", 126, "./text: neither an ELF program nor a script with a #! line");
    assert_refused("./short", 126, "./short: truncated ELF file");
    assert_refused("sh", 0, "");
}

static void a_program_that_cannot_be_profiled_is_refused(void **state)
{
    const unsigned other = PROGRAM_OWN_MACHINE == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
    const char *own_name = PROGRAM_OWN_MACHINE == EM_X86_64 ? "x86_64" : "aarch64";
    const char *other_name = PROGRAM_OWN_MACHINE == EM_X86_64 ? "aarch64" : "x86_64";
    char said[256];
    write_image("dynamic", PROGRAM_OWN_MACHINE, ELFCLASS64, "/lib64/ld.so");
    write_image("static", PROGRAM_OWN_MACHINE, ELFCLASS64, NULL);
    write_image("musl", PROGRAM_OWN_MACHINE, ELFCLASS64, "/lib/ld-musl-x86_64.so.1");
    write_image("other", other, ELFCLASS64, "/lib64/ld.so");
    write_image("narrow", EM_386, ELFCLASS32, NULL);
    write_image("strange", 999, ELFCLASS64, NULL);
    write_image("ld-linux.so", PROGRAM_OWN_MACHINE, ELFCLASS64, NULL);
    assert_refused("./dynamic", 0, "");
    assert_refused("./ld-linux.so", 0, "");
    assert_refused("./static", 125,
                   "./static: statically linked: nothing can be preloaded into it; record it from outside "
                   "(WALLPROF_EXTERNAL=auto), or link it without -static");
    assert_refused(
        "./musl", 125,
        "./musl: its C library is musl: libwallprof.so cannot be loaded into it; record it from outside "
        "(WALLPROF_EXTERNAL=auto), or profile one that uses this system's glibc");
    const struct {
        const char *file, *machine;
        int bits;
    } rows[] = {{"./other", other_name, 64}, {"./narrow", "i386", 32}, {"./strange", "machine 999", 64}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(said, sizeof said,
                 "%s: is for %s (%d bit), libwallprof.so is for %s (64 bit): it cannot be loaded into this "
                 "program; "
                 "use a wallprof for that machine",
                 rows[i].file, rows[i].machine, rows[i].bits, own_name);
        assert_refused(rows[i].file, 125, said);
    }
}

static void rights_are_refused(void **state)
{
    char said[256];
    write_image("private", PROGRAM_OWN_MACHINE, ELFCLASS64, "/lib64/ld.so");
    assert_int_equal(chmod("private", 04755), 0);
    assert_refused("./private", 0, ""); /* to ourselves */
    if (getuid() != 0 || chown("private", 65534, 65534) < 0)
        return;
    static const struct {
        mode_t mode;
        const char *what;
    } rows[] = {{04755, "set-uid"}, {02755, "set-gid"}, {02745, NULL}, {0755, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(chmod("private", rows[i].mode), 0);
        snprintf(
            said, sizeof said,
            "./private: %s: the loader ignores LD_PRELOAD for it; profile a copy without that, as a user who "
            "may do what it does",
            rows[i].what ? rows[i].what : "");
        assert_refused("./private", rows[i].what ? 125 : 0, rows[i].what ? said : "");
    }
}

static void a_script_is_followed(void **state)
{
    static const char is_static[] =
        "statically linked: nothing can be preloaded into it; record it from outside "
        "(WALLPROF_EXTERNAL=auto), or link it without -static";
    char line[256], said[512];
    static const char *const forms[] = {"#!%s/static", "#! \t%s/static -x y\n"};
    write_image("static", PROGRAM_OWN_MACHINE, ELFCLASS64, NULL);
    for (size_t i = 0; i < 2; i++) {
        snprintf(line, sizeof line, forms[i], directory);
        write_script("one", line);
        snprintf(said, sizeof said, "./one: its interpreter %s/static: %s", directory, is_static);
        assert_refused("./one", 125, said);
    }
    snprintf(line, sizeof line, "#!%s/one\n", directory);
    write_script("two", line);
    snprintf(said, sizeof said, "./two: its interpreter %s/one: its interpreter %s/static: %s", directory,
             directory, is_static);
    assert_refused("./two", 125, said);
    setenv("PATH", directory, 1);
    static const char *const envs[] = {"#!/usr/bin/env static\n", "#!/usr/bin/env -S -u X A=1 static -v",
                                       "#!/usr/bin/env -vS static",
                                       "#!/usr/bin/env --split-string=-i static\n"};
    snprintf(said, sizeof said, "./env: its interpreter %s/static: %s", directory, is_static);
    for (size_t i = 0; i < 4; i++) {
        write_script("env", envs[i]);
        assert_refused("./env", 125, said);
    }
    write_script("script", "#! \n");
    assert_refused("./script", 126, "./script: its #! line names no interpreter");
    write_script("script", "#!/usr/bin/env\n");
    assert_refused("./script", 126, "./script: its interpreter env: it names no program to run");
    write_script("script", "#!/usr/bin/env nothing\n");
    assert_refused("./script", 127, "./script: its interpreter nothing: command not found");
    write_script("script", "#!/no/such x\n");
    assert_refused("./script", 127, "./script: its interpreter /no/such: no such file");
    write_script("loop", "#!loop\n");
    assert_int_equal(executable_check("./loop", EXTERNAL_NEVER, &executable, &refusal), 126);
    assert_non_null(strstr(refusal.text, "./loop: too many levels of interpreters"));
}

static void the_interpreter_of_a_script_is_known(void **state)
{
    assert_int_equal(executable_check("/bin/sh", EXTERNAL_NEVER, &executable, &refusal), 0);
    assert_string_equal(executable.interpreter, "");
    setenv("PATH", "/bin", 1);
    write_script("inner", "#!/bin/sh\n");
    write_script("outer", "#!./inner\n");
    assert_int_equal(executable_check("./outer", EXTERNAL_NEVER, &executable, &refusal), 0);
    assert_string_equal(executable.interpreter, "/bin/sh");
    write_script("outer", "#!/usr/bin/env sh\n");
    assert_int_equal(executable_check("./outer", EXTERNAL_NEVER, &executable, &refusal), 0);
    assert_string_equal(executable.interpreter, "/bin/sh");
}

static void assert_outside(const char *path, enum config_external external, const char *why)
{
    refusal = (struct refusal){.status = 0};
    assert_int_equal(executable_check(path, external, &executable, &refusal), 0);
    assert_string_equal(executable.out_of_reach, why);
    assert_string_equal(refusal.text, "");
}

static void what_a_preload_cannot_reach_is_left_to_outside(void **state)
{
    char line[PATH_MAX], why[2 * PATH_MAX];
    write_image("static", PROGRAM_OWN_MACHINE, ELFCLASS64, NULL);
    write_image("musl", PROGRAM_OWN_MACHINE, ELFCLASS64, "/lib/ld-musl-x86_64.so.1");
    write_image("uclibc", PROGRAM_OWN_MACHINE, ELFCLASS64, "/lib/ld-uClibc.so.0");
    write_image("bionic", PROGRAM_OWN_MACHINE, ELFCLASS64, "/system/bin/linker64");
    write_image("dynamic", PROGRAM_OWN_MACHINE, ELFCLASS64, "/lib64/ld.so");
    write_image("narrow", EM_386, ELFCLASS32, NULL);
    assert_outside("./static", EXTERNAL_AUTO, "./static: statically linked");
    assert_outside("./static", EXTERNAL_ALWAYS, "./static: statically linked");
    assert_outside("./musl", EXTERNAL_AUTO, "./musl: its C library is musl");
    assert_outside("./uclibc", EXTERNAL_AUTO, "./uclibc: its C library is uClibc");
    assert_outside("./bionic", EXTERNAL_AUTO, "./bionic: its C library is Android's");
    assert_outside("./dynamic", EXTERNAL_AUTO, "");
    assert_outside("./dynamic", EXTERNAL_ALWAYS, "");
    assert_int_equal(executable_check("./narrow", EXTERNAL_ALWAYS, &executable, &refusal), 125);
    snprintf(line, sizeof line, "#!%s/static\n", directory);
    write_script("one", line);
    snprintf(why, sizeof why, "./one: its interpreter %s/static: statically linked", directory);
    assert_outside("./one", EXTERNAL_AUTO, why);
}

/* Who may not trace a set-uid program would take its rights from it. */
static void a_program_with_other_rights_needs_a_tracer_with_rights(void **state)
{
    write_image("private", PROGRAM_OWN_MACHINE, ELFCLASS64, NULL);
    if (getuid() != 0 || chown("private", 65534, 65534) < 0 || chmod("private", 04755) < 0)
        skip();
    assert_outside("./private", EXTERNAL_AUTO, "./private: set-uid");
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct before[_LINUX_CAPABILITY_U32S_3], sets[_LINUX_CAPABILITY_U32S_3];
    assert_int_equal(syscall(SYS_capget, &header, before), 0);
    memcpy(sets, before, sizeof sets);
    sets[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective &= ~CAP_TO_MASK(CAP_SYS_PTRACE);
    assert_int_equal(syscall(SYS_capset, &header, sets), 0);
    assert_int_equal(executable_check("./private", EXTERNAL_ALWAYS, &executable, &refusal), 125);
    assert_non_null(strstr(refusal.text, "./private: set-uid: the loader ignores LD_PRELOAD for it"));
    assert_int_equal(syscall(SYS_capset, &header, before), 0);
}

/* ---- the end ---- */

static void assert_said(const char *lines, bool is_counted, const char *expected)
{
    struct run_files files = {.hidden = "/hidden.store"};
    char *text;
    size_t bytes;
    FILE *input = fmemopen((char *)lines, strlen(lines), "r"), *output = open_memstream(&text, &bytes);
    run_files_add(&files, input, 7);
    run_files_say(&files, is_counted, ": SIGTERM ended the program", output);
    fclose(input);
    fclose(output);
    assert_string_equal(text, expected);
    free(text);
    free(files.files);
    tdestroy(files.seen, free);
}

static void the_end_says_where_the_profiles_are(void **state)
{
    assert_said("\n", false, "wallprof: no profile was written: SIGTERM ended the program\n");
    assert_said(
        "8 also /a b.html\n7 written /x.store\n7 also /x.folded\n7 also /hidden.store\n7 written /x.store\n",
        false,
        "wallprof: profile in /x.store -- look at it with: wallprof top /x.store\n"
        "wallprof: and in /x.folded -- load it at https://www.speedscope.app\n");
    assert_said("written: /x.callgrind\nalso: /y.json\nanother: /1.pb.gz\nalso: /1.html\n", false,
                "wallprof: profile in /x.callgrind -- look at it with: callgrind_annotate --inclusive=yes "
                "/x.callgrind\n"
                "wallprof: and in /y.json -- load it at https://profiler.firefox.com\n"
                "wallprof: and of another process in /1.pb.gz\n");
    assert_said("8 written /d/1\n9 written /d/2\n7 written /it's\n8 written /d/1\n", false,
                "wallprof: profile in '/it'\\''s' -- look at it with: wallprof top '/it'\\''s'\n"
                "wallprof: and of 2 other processes in /d\n");
    assert_said("written: /x.html\ngoing on: 1\n", false,
                "wallprof: profile in /x.html -- open it in a browser\n"
                "wallprof: 1 process goes on; its profile is written when it ends\n");
    assert_said("going on: 2\nwritten: /x.html\n", false,
                "wallprof: profile in /x.html -- open it in a browser\n"
                "wallprof: 2 processes go on; each one's profile is written when it ends\n");
    assert_said("8 written /1.html\nnonsense\n7 nonsense\n", false,
                "wallprof: profile in /1.html -- open it in a browser\n");
    assert_said("7 written /bin/cat\n7 written /bin/sh\n8 written /bin/ls\n7 written /bin/nowhere\n", true,
                "wallprof: 3 profiles, the last in /bin/sh -- look at it with: wallprof top /bin/sh\n");
}

static int make_directory(void **state)
{
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int remove_directory(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "/bin/rm -rf %s", directory);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_end_where_the_program_begins),
        cmocka_unit_test(an_option_is_a_variable),
        cmocka_unit_test(some_options_are_the_commands_own),
        cmocka_unit_test(help_needs_no_program),
        cmocka_unit_test(a_wrong_command_line_is_refused),
        cmocka_unit_test(names_are_absolute),
        cmocka_unit_test(what_cannot_be_written_is_refused),
        cmocka_unit_test(a_program_that_cannot_be_executed_is_refused),
        cmocka_unit_test(a_program_that_cannot_be_profiled_is_refused),
        cmocka_unit_test(rights_are_refused),
        cmocka_unit_test(a_script_is_followed),
        cmocka_unit_test(the_interpreter_of_a_script_is_known),
        cmocka_unit_test(what_a_preload_cannot_reach_is_left_to_outside),
        cmocka_unit_test(a_program_with_other_rights_needs_a_tracer_with_rights),
        cmocka_unit_test(the_end_says_where_the_profiles_are),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
