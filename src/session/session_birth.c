#include "session_birth.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/name_pattern.h"
#include "base/utf8.h"
#include "export/command_line.h"
#include "export/profile_path.h"
#include "proc/proc_tasks.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { ARGUMENT_BYTES = 256 };

static const uint64_t title_period_ns = NS_PER_S;

void session_birth_init(struct session_birth *birth)
{
    birth->pid = getpid();
    birth->user = geteuid();
    birth->start_ns = clock_monotonic_ns();
    birth->start_utc_ns = clock_read_ns(CLOCK_REALTIME);
}

uint32_t session_birth_cookie(const struct session_birth *birth)
{
    return (uint32_t)(birth->start_ns >> 7) ^ (uint32_t)birth->pid;
}

struct process_record session_birth_describe(const struct session_birth *birth, int32_t rank,
                                             char program[PATH_MAX])
{
    return (struct process_record){.name = profile_path_program_name(program, PATH_MAX),
                                   .pid = birth->pid,
                                   .rank = rank,
                                   .ending = "",
                                   .title = birth->title};
}

uint64_t session_birth_process_utc_ns(struct session_birth *birth, int task_directory)
{
    struct proc_task task;
    if (birth->process_utc_ns == 0)
        birth->process_utc_ns = proc_tasks_stat(task_directory, birth->pid, &task)
                                    ? birth->start_utc_ns - (birth->start_ns - task.start_ns)
                                    : birth->start_utc_ns;
    return birth->process_utc_ns;
}

/* ---- the title ---- */

/*
 * The kernel shows what lies where the arguments were. A program that had written there before we looked is
 * known by blanks in its first argument, unless these are in the program's own name.
 */
static bool is_title(const struct session_birth *birth, const char *argument, uint64_t hash)
{
    const char *file = (const char *)getauxval(AT_EXECFN);
    if (!*argument)
        return false;
    if (hash != birth->argument_hash)
        return true;
    return strchr(argument, ' ') && file && strcmp(name_last_part(argument), name_last_part(file)) != 0;
}

/* Without blanks at its end, secrets and the directories of a program's name that it begins with. */
static void describe_title(const char *argument, enum config_arguments shown,
                           char ret[PROCESS_TITLE_TEXT_BYTES])
{
    char first[ARGUMENT_BYTES];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(argument, " :"), argument);
    const char *begin = argument + (name_last_part(first) - first);
    command_line_describe(begin, strlen(begin) + 1, shown, ret, PROCESS_TITLE_TEXT_BYTES);
    for (size_t length = strlen(ret); length > 0 && ret[length - 1] == ' ';)
        ret[--length] = '\0';
    utf8_repair(ret);
}

bool session_birth_read_title(struct session_birth *birth, int task_directory, enum config_arguments shown,
                              uint64_t now_ns, bool must)
{
    char argument[ARGUMENT_BYTES], title[PROCESS_TITLE_TEXT_BYTES] = "";
    if (shown == ARGUMENTS_PROGRAM || task_directory < 0 || (!must && now_ns < birth->title_due_ns))
        return false;
    birth->title_due_ns = now_ns + title_period_ns;
    if (!proc_tasks_read(task_directory, birth->pid, "cmdline", argument, sizeof argument))
        return false;
    const uint64_t hash = hash_bytes(hash_of_nothing, argument, strlen(argument));
    if (!birth->argument_hash)
        birth->argument_hash = hash;
    if (is_title(birth, argument, hash))
        describe_title(argument, shown, title);
    if (strcmp(title, birth->title) == 0)
        return false;
    memcpy(birth->title, title, sizeof title);
    return true;
}
