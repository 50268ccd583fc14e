/*
 * Makes the profile that a pprof file of ours was written from. To write it again makes the same bytes.
 *
 * What is not in the file stays 0: calls, and where functions and threads start. Samples with times (label
 * end_timestamp_ns) are added up for each stack, and the times are dropped.
 */
#include "pprof_building.h"
#include "pprof_measures.h"
#include "tool/io/output_file.h"
#include "base/name_pattern.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_SLACK_BYTES = 1 << 16 };

/* ---- comments ---- */

/* What follows after the beginning of a text; NULL if it begins otherwise. */
static const char *text_after(const char *text, const char *beginning)
{
    size_t bytes = strlen(beginning);
    return strncmp(text, beginning, bytes) == 0 ? text + bytes : NULL;
}

/* "0.123" after a text, in ns. */
static void read_seconds(const char *comment, const char *before, uint64_t *ret)
{
    const char *at = comment ? text_after(comment, before) : NULL;
    double seconds;
    if (at && sscanf(at, "%lf", &seconds) == 1 && seconds >= 0 && seconds < 1e9)
        *ret = (uint64_t)(seconds * 1e9 + 0.5);
}

static void read_counters(struct profile *profile, const char *comment)
{
    struct counters *counters = &profile->counters;
    sscanf(comment, "%*g ticks a second requested, %" SCNu64 " made, %" SCNu64 " missed; up to %" SCNu32,
           &counters->ticks, &counters->late_ticks, &profile->threads_per_tick);
    sscanf(comment,
           "%" SCNu64 " samples: %" SCNu64 " not whole, %" SCNu64 " without a reply; %" SCNu64
           " late signals dropped",
           &counters->samples, &counters->truncated, &counters->missing_replies, &counters->stray);
    double throttled_s;
    if (sscanf(comment, "throttled %" SCNu64 " times by the CPU quota of its cgroup, for %lf s",
               &profile->throttled_count, &throttled_s) == 2 &&
        throttled_s > 0 && throttled_s < 1e9)
        profile->throttled_ns = (uint64_t)(throttled_s * 1e9 + 0.5);
    sscanf(comment, "unwind: %" SCNu64 " of %*u stacks", &counters->full_walks);
    sscanf(comment,
           "scripts: %" SCNu64 " stacks with their functions; %" SCNu64 " do not fit, %" SCNu64 " functions",
           &counters->interp_stacks, &counters->interp_misfits, &counters->interp_nameless);
    read_seconds(comment, "the process was stopped for ", &counters->stopped_ns);
    read_seconds(strstr(comment, "and for "), "and for ", &counters->unobserved_ns);
    read_seconds(comment, "the sampler itself used ", &counters->sampler_cpu_ns);
    read_seconds(strstr(comment, "signals took about "), "signals took about ", &counters->handler_cpu_ns);
    sscanf(comment,
           "samples taken: %" SCNu64 " unchanged, %" SCNu64 " walked from outside, %" SCNu64 " by signal",
           &counters->unchanged, &counters->walked, &counters->replies);
}

/* "app, pid 1234"; a name may have anything in it. */
static void read_process(struct recording *recording, const char *comment)
{
    static const char before_pid[] = ", pid ";
    const char *end = NULL;
    for (const char *at = comment; (at = strstr(at, before_pid)); at++)
        end = at;
    if (!end)
        return;
    snprintf(recording->program, sizeof recording->program, "%.*s", (int)(end - comment), comment);
    long pid = strtol(end + strlen(before_pid), NULL, 10);
    recording->process.pid = pid > 0 && pid <= INT32_MAX ? (int32_t)pid : 0;
}

/* Where no comment names the program, it is what was mapped first. */
static void begin_process(struct recording *recording)
{
    recording->process = (struct process_record){.name = recording->program,
                                                 .rank = PROCESS_NO_RANK,
                                                 .ending = recording->ending,
                                                 .title = recording->title};
    for (arena_ref ref = recording->modules.newest; ref;) {
        const struct module *module = arena_at(&recording->arena, ref);
        if (module->is_main)
            snprintf(recording->program, sizeof recording->program, "%s",
                     output_file_name(arena_at(&recording->arena, module->path)));
        ref = module->next;
    }
}

/* Comments are written again as they are. What else uses the profile gets its facts from them here. */
static void take_comments(struct building *building)
{
    struct recording *recording = building->recording;
    struct profile *profile = &recording->profile;
    begin_process(recording);
    for (uint32_t i = 0; i < building->file->comment_count; i++) {
        const char *comment = building->file->comments[i];
        const char *command = text_after(comment, "command: "), *ending = text_after(comment, "ended: ");
        const char *process = text_after(comment, "process: "), *title = text_after(comment, "title: ");
        if (command)
            snprintf(recording->command, sizeof recording->command, "%s", command);
        else if (text_after(comment, "restrained to "))
            snprintf(recording->restraint, sizeof recording->restraint, "%s", comment);
        else if (process)
            read_process(recording, process);
        else if (title)
            snprintf(recording->title, sizeof recording->title, "%s", title);
        else if (ending)
            snprintf(recording->ending, sizeof recording->ending, "%s", ending);
        else if (sscanf(comment, "merged: %" SCNu32 " recordings", &recording->merged_count) != 1)
            read_counters(profile, comment);
    }
    if (building->is_foreign && !*recording->command && building->file->mapping_count > 0)
        snprintf(recording->command, sizeof recording->command, "%s",
                 name_last_part(building->file->mappings[0].path));
    building->names->comments = building->file->comments;
    building->file->comments = NULL;
    profile->comments = building->names->comments;
    profile->has_rundelay = !building->is_foreign && pprof_measures_have(building->file, PPROF_RUNDELAY);
    profile->comment_count = building->file->comment_count;
    profile->command = recording->command;
    profile->restraint = recording->restraint;
}

/* ---- memory ---- */

/* As much as everything can take, and the arena's reserve (arena.h) on top, so that it never fills up. */
static size_t arena_bytes(const struct pprof_file *file)
{
    size_t bytes = (sizeof(struct tree_node) + ARENA_UNIT_BYTES) * (file->stack_ids + file->sample_count);
    bytes += sizeof(struct location) * (size_t)file->location_count;
    bytes += (sizeof(struct thread_record) + sizeof(struct tree_node)) * (size_t)file->sample_count;
    bytes += (sizeof(struct tree_node) + sizeof(struct location) + LABELS_KEY_BYTES + LABELS_VALUE_BYTES) *
             file->label_count;
    for (uint32_t i = 0; i < file->mapping_count; i++)
        bytes += sizeof(struct module) + strlen(file->mappings[i].path) + 1 + ARENA_UNIT_BYTES;
    return bytes + bytes / 8 + ARENA_SLACK_BYTES;
}

static bool make_tables(struct building *building)
{
    const struct pprof_file *file = building->file;
    building->module_of = calloc((size_t)file->mapping_count + 1, sizeof *building->module_of);
    building->region_of = calloc((size_t)file->mapping_count + 1, sizeof *building->region_of);
    building->location_of = calloc((size_t)file->location_count + 1, sizeof *building->location_of);
    return building->module_of && building->region_of && building->location_of;
}

static void release_tables(struct building *building)
{
    free(building->module_of);
    free(building->region_of);
    free(building->location_of);
    intern_table_deinit(&building->threads);
    intern_table_deinit(&building->processes);
    free(building->path);
}

/* After a failure recording_close releases what was made. */
static int make_recording(struct building *building)
{
    struct recording *recording = building->recording;
    const struct pprof_file *file = building->file;
    int status = arena_init(&recording->arena, arena_bytes(file));
    if (status == 0)
        status = tree_init(&recording->tree, &recording->arena);
    recording->modules.arena = &recording->arena;
    recording->profile = (struct profile){.arena = &recording->arena,
                                          .tree = &recording->tree,
                                          .modules = &recording->modules,
                                          .labels = LABELS_NONE,
                                          .start_utc_ns = file->time_ns,
                                          .duration_ns = file->duration_ns,
                                          .period_ns = file->period,
                                          .measure = building->is_foreign ? &recording->measure : NULL};
    if (status < 0 || !make_tables(building) || !pprof_names_make(building))
        return recording_no_memory(recording);
    recording->profile.symbols = recording->symbols;
    return 0;
}

static int build_recording(struct building *building)
{
    int status = make_recording(building);
    if (status == 0)
        status = pprof_names_add(building);
    if (status < 0)
        return status;
    building->names->text = building->file->text; /* names and comments lead into it */
    building->file->text = NULL;
    take_comments(building);
    return pprof_samples_add(building);
}

int recording_read_pprof(struct recording *recording, const unsigned char *bytes, size_t count,
                         const char *measure)
{
    struct pprof_file file;
    struct building building = {.recording = recording, .file = &file};
    int status = pprof_file_read(&file, bytes, count, recording);
    if (status < 0)
        return status;
    status = pprof_measures_choose(&file, recording, measure);
    building.is_foreign = recording->measure.name != NULL;
    if (status == 0 && !building.is_foreign && file.period == 0)
        status = recording_refuse(recording, -EBADMSG, "it does not say how often was looked");
    if (status == 0)
        status = build_recording(&building);
    release_tables(&building);
    pprof_file_free(&file);
    return status;
}
