#include "profile.h"
#include "base/utf8.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

const struct thread_record *profile_thread(const struct profile *profile, uint32_t number)
{
    if (number == 0 || number > profile->thread_count)
        return NULL;
    arena_ref ref = profile->thread_of_number[number];
    return ref ? arena_at(profile->arena, ref) : NULL;
}

void profile_thread_name(const struct thread_record *thread, char ret[THREAD_NAME_BYTES + 1])
{
    memcpy(ret, thread->name, THREAD_NAME_BYTES);
    ret[THREAD_NAME_BYTES] = '\0';
    utf8_repair(ret);
    if (!*ret)
        strcpy(ret, "[nameless]");
}

const char *profile_code_path(const struct profile *profile, const struct location *location)
{
    uint32_t region = profile->symbols->region_of[location->index];
    if (region)
        return profile->symbols->regions[region - 1].path;
    if (!location->module)
        return "";
    const struct module *module = arena_at(profile->arena, location->module);
    return arena_at(profile->arena, module->path);
}

const struct process_record *profile_process(const struct profile *profile,
                                             const struct thread_record *thread)
{
    uint32_t process = thread ? thread->process : 0;
    bool is_known = process < profile->process_count && (thread || profile->process_count == 1);
    return is_known ? &profile->processes[process] : NULL;
}

const char *profile_command(const struct profile *profile, char ret[PROFILE_COMMAND_BYTES])
{
    const char *title =
        profile->process_count == 1 && !profile->is_merged ? profile->processes[0].title : NULL;
    const bool has_title = title && *title;
    if (has_title && strstr(profile->command, title)) /* it was read when the title was there already */
        return strcpy(ret, title);
    snprintf(ret, PROFILE_COMMAND_BYTES, has_title ? "%s (%.4095s)" : "%s%.4095s", has_title ? title : "",
             profile->command);
    return ret;
}

const char *profile_process_title(const struct profile *profile, const struct thread_record *thread,
                                  char ret[PROCESS_TITLE_BYTES])
{
    const struct process_record *process = profile->is_merged ? profile_process(profile, thread) : NULL;
    char pid[24] = "", rank[24] = "";
    *ret = '\0';
    if (!process)
        return ret;
    if (process->pid > 0)
        snprintf(pid, sizeof pid, "%s(%d)", *process->name ? " " : "", process->pid);
    if (process->rank >= 0)
        snprintf(rank, sizeof rank, "%srank %d", *process->name || *pid ? ", " : "", process->rank);
    snprintf(ret, PROCESS_TITLE_BYTES, "%.255s%s%s", process->name, pid, rank);
    utf8_repair(ret);
    return ret;
}

const char *profile_thread_title(const struct profile *profile, const struct thread_record *thread,
                                 char ret[THREAD_TITLE_BYTES])
{
    char name[THREAD_NAME_BYTES + 1] = "";
    profile_process_title(profile, thread, ret);
    if (!profile_tells_thread(profile, thread))
        return ret;
    profile_thread_name(thread, name);
    strcat(ret, *ret ? ": " : "");
    return strcat(ret, name);
}
