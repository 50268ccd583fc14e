#include "executable.h"
#include "elf/program.h"
#include "tool/io/output_file.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/* What messages begin with: "", or for an interpreter how the file was come by. */
enum { PREFIX_BYTES = 4096 };

struct search {
    char prefix[PREFIX_BYTES];
    int level; /* of scripts */
    enum config_external external;
    struct executable *executable; /* of executable_check */
    struct refusal *refusal;
};

/* ---- finding it ---- */

/* An executable file is preferred. One that is not executable is remembered, as the reason of the failure. */
static bool search_path(const char *name, char ret[PATH_MAX])
{
    const char *path = getenv("PATH");
    struct stat status;
    *ret = '\0';
    for (const char *at = path ? path : "/bin:/usr/bin"; at; at = *at ? at + 1 : NULL) {
        char candidate[PATH_MAX];
        int length = (int)strcspn(at, ":");
        snprintf(candidate, sizeof candidate, "%.*s/%s", length ? length : 1, length ? at : ".", name);
        at += length;
        if (stat(candidate, &status) < 0 || !S_ISREG(status.st_mode))
            continue;
        bool is_executable = access(candidate, X_OK) == 0;
        if (is_executable || !*ret)
            strcpy(ret, candidate);
        if (is_executable)
            return true;
    }
    return *ret;
}

static int find(const struct search *search, const char *name, char ret[PATH_MAX])
{
    struct stat status;
    if (!strchr(name, '/') && !search_path(name, ret))
        return refuse(search->refusal, RUN_NOT_FOUND, "%s%s: command not found", search->prefix, name);
    if (strchr(name, '/'))
        snprintf(ret, PATH_MAX, "%s", name);
    if (stat(ret, &status) < 0)
        return refuse(search->refusal, RUN_NOT_FOUND, "%s%s: no such file", search->prefix, ret);
    if (S_ISDIR(status.st_mode))
        return refuse(search->refusal, RUN_NOT_EXECUTABLE, "%s%s: is a directory", search->prefix, ret);
    if (access(ret, X_OK) < 0)
        return refuse(search->refusal, RUN_NOT_EXECUTABLE, "%s%s: permission denied (not executable)",
                      search->prefix, ret);
    return 0;
}

int executable_find(const char *name, char ret[PATH_MAX], struct refusal *refusal)
{
    const struct search search = {.refusal = refusal};
    return find(&search, name, ret);
}

/* ---- programs that a preload does not reach ---- */

/* It is recorded from outside, if that may be. remedy: what to do otherwise. */
static int leave_to_outside(const struct search *search, const char *path, bool may_be, const char *why,
                            const char *remedy)
{
    if (!may_be || search->external == EXTERNAL_NEVER)
        return refuse(search->refusal, RUN_FAILED, "%s%s: %s: %s", search->prefix, path, why, remedy);
    snprintf(search->executable->out_of_reach, OUT_OF_REACH_BYTES, "%s%s: %s", search->prefix, path, why);
    return 0;
}

/* ---- rights: with AT_SECURE the loader ignores LD_PRELOAD ---- */

/* Without this right of ours the kernel would give the program no privileges, as we trace it at its start. */
static bool may_trace_privileged(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capget, &header, sets) == 0 &&
           sets[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective & CAP_TO_MASK(CAP_SYS_PTRACE);
}

/* The kernel sets it where an id changes, or where a caller other than root gains capabilities; neither
 * happens on a file system or in a process that was told so. */
static int check_rights(const struct search *search, const char *path)
{
    struct stat status;
    struct statvfs place;
    if (stat(path, &status) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
        (statvfs(path, &place) == 0 && place.f_flag & ST_NOSUID))
        return 0;
    /* without the group's right to execute the set-gid bit means mandatory locking */
    const bool sets_group = (status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
    const char *what = NULL;
    if (status.st_mode & S_ISUID && status.st_uid != getuid())
        what = "set-uid";
    else if (sets_group && status.st_gid != getgid())
        what = "set-gid";
    else if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
        what = "has file capabilities";
    if (!what)
        return 0;
    return leave_to_outside(search, path, may_trace_privileged(), what,
                            "the loader ignores LD_PRELOAD for it; profile a copy without that, as a user "
                            "who may do what it does");
}

/* ---- ELF programs ---- */

static const char *machine_name(unsigned machine, char ret[32])
{
    static const struct {
        unsigned machine;
        const char *name;
    } names[] = {{EM_X86_64, "x86_64"}, {EM_386, "i386"},    {EM_AARCH64, "aarch64"}, {EM_ARM, "arm"},
                 {EM_RISCV, "riscv"},   {EM_PPC64, "ppc64"}, {EM_S390, "s390"},       {258, "loongarch"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].machine == machine)
            return names[i].name;
    }
    snprintf(ret, 32, "machine %u", machine);
    return ret;
}

static int check_elf(const struct search *search, const char *path, const struct program *program)
{
    char machine[32], own[32];
    const char *prefix = search->prefix;
    if (program->machine != PROGRAM_OWN_MACHINE || program->has_32_bits)
        return refuse(
            search->refusal, RUN_FAILED,
            "%s%s: is for %s (%d bit), libwallprof.so is for %s (64 bit): it cannot be loaded into this "
            "program; use a wallprof for that machine",
            prefix, path, machine_name(program->machine, machine), program->has_32_bits ? 32 : 64,
            machine_name(PROGRAM_OWN_MACHINE, own));
    const bool is_static = program->form == PROGRAM_STATIC && !program->obstacle &&
                           strncmp(output_file_name(path), "ld-", 3) != 0;
    int status = 0;
    if (is_static)
        status = leave_to_outside(search, path, true, "statically linked",
                                  "nothing can be preloaded into it; record it from outside "
                                  "(WALLPROF_EXTERNAL=auto), or link it without -static");
    else if (program->obstacle)
        status = leave_to_outside(search, path, true, program->obstacle,
                                  "libwallprof.so cannot be loaded into it; record it from outside "
                                  "(WALLPROF_EXTERNAL=auto), or profile one that uses this system's glibc");
    return status ? status : check_rights(search, path);
}

/* ---- scripts ---- */

static const char blanks[] = " \t";

/* The first word that is neither an option nor a variable. Quotes are not parsed: an interpreter is never
 * quoted. NULL without one. */
static char *split_name(char *string)
{
    bool is_value = false;
    for (char *word = strtok(string, blanks); word; word = strtok(NULL, blanks)) {
        bool takes_value = strcmp(word, "-u") == 0 || strcmp(word, "-C") == 0 ||
                           strcmp(word, "--unset") == 0 || strcmp(word, "--chdir") == 0;
        if (!is_value && *word != '-' && !strchr(word, '='))
            return word;
        is_value = !is_value && takes_value;
    }
    return NULL;
}

/* The program of `#!/usr/bin/env NAME` and `#!/usr/bin/env -S [options] [VARIABLE=value...] NAME arguments`.
 */
static char *env_program(char *argument)
{
    static const char long_option[] = "--split-string=";
    if (strncmp(argument, long_option, sizeof long_option - 1) == 0)
        return split_name(argument + sizeof long_option - 1);
    char *split = argument[0] == '-' && argument[1] != '-' ? strchr(argument, 'S') : NULL;
    return split ? split_name(split + 1) : *argument ? argument : NULL;
}

static int check_file(struct search *search, const char *path);

static int check_script(struct search *search, const char *path, char *interpreter)
{
    char found[PATH_MAX], text[PROGRAM_NAME_BYTES + 2];
    const char *prefix = search->prefix;
    if (search->level++ == PROGRAM_LEVELS)
        return refuse(search->refusal, RUN_NOT_EXECUTABLE, "%s%s: too many levels of interpreters", prefix,
                      path);
    if (!*interpreter)
        return refuse(search->refusal, RUN_NOT_EXECUTABLE, "%s%s: its #! line names no interpreter", prefix,
                      path);
    size_t length = strlen(prefix);
    snprintf(search->prefix + length, sizeof search->prefix - length, "%s: its interpreter ", path);
    snprintf(text, sizeof text, "%s%s", strchr(interpreter, '/') ? "" : "./", interpreter); /* no search */
    int status = find(search, text, found);
    if (status == 0 && strcmp(output_file_name(interpreter), "env") == 0) {
        const char *name = env_program(interpreter + strlen(interpreter) + 1);
        status = name ? find(search, name, found)
                      : refuse(search->refusal, RUN_NOT_EXECUTABLE, "%senv: it names no program to run",
                               search->prefix);
    }
    if (status != 0)
        return status;
    strcpy(search->executable->interpreter, found);
    return check_file(search, found);
}

static int check_file(struct search *search, const char *path)
{
    static const struct program_loader loader = {.is_of_any_version = true};
    char interpreter[PROGRAM_NAME_BYTES];
    struct program program;
    program_examine_file(&loader, AT_FDCWD, path, 0, &program, interpreter);
    switch (program.form) {
    case PROGRAM_SCRIPT:
        return check_script(search, path, interpreter);
    case PROGRAM_OTHER:
        return refuse(search->refusal, RUN_NOT_EXECUTABLE,
                      "%s%s: neither an ELF program nor a script with a #! line", search->prefix, path);
    case PROGRAM_CUT:
        return refuse(search->refusal, RUN_NOT_EXECUTABLE, "%s%s: truncated ELF file", search->prefix, path);
    case PROGRAM_UNREAD:
        return check_rights(search, path);
    default:
        return check_elf(search, path, &program);
    }
}

int executable_check(const char *path, enum config_external external, struct executable *ret,
                     struct refusal *refusal)
{
    struct search search = {.external = external, .executable = ret, .refusal = refusal};
    *ret->interpreter = *ret->out_of_reach = '\0';
    return check_file(&search, path);
}
