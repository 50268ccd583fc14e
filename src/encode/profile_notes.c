#include "profile_notes.h"
#include "base/number_names.h"
#include "profile/wait_labels.h"
#include "version.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LOST_FILES_MAX = 4, OTHER_KEYS_MAX = 4, MESSAGE_BYTES = 400 }; /* every report shows the notes */

static const char deadlock[] = "deadlock: "; /* as waits/deadlocks.h has it */

struct notes_writer {
    const struct profile *profile;
    profile_notes_add_fn *add;
    void *context;
};

__attribute__((format(printf, 2, 3))) static void emit_note(const struct notes_writer *writer,
                                                            const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    writer->add(writer->context, text);
}

/* Why some functions of a file have no names. */
static void emit_lost_file(const struct notes_writer *writer, const struct symbols_lost_file *lost)
{
    const struct arena *arena = writer->profile->arena;
    const struct module *module = arena_at(arena, lost->module);
    const char *path = arena_at(arena, module->path);
    emit_note(writer, "%s %s%s: names from memory and debug files only", path,
              lost->error == -ESTALE   ? "was replaced while the program ran"
              : lost->error == -ENOENT ? "was deleted while the program ran"
                                       : "cannot be read: ",
              lost->error == -ESTALE || lost->error == -ENOENT ? "" : error_text(-lost->error));
}

static void emit_lost_files(const struct notes_writer *writer)
{
    const struct symbols *symbols = writer->profile->symbols;
    uint32_t count = symbols->lost_file_count;
    for (uint32_t i = 0; i < count && i < LOST_FILES_MAX; i++)
        emit_lost_file(writer, &symbols->lost_files[i]);
    if (count > LOST_FILES_MAX)
        emit_note(writer, "and %u more files", count - LOST_FILES_MAX);
}

/* The share of samples for which no thread was woken. */
static double without_signal(const struct counters *counters)
{
    uint64_t without = counters->unchanged + counters->walked;
    uint64_t all = without + counters->replies + counters->missing_replies;
    return all > 0 ? (double)without / (double)all : 0;
}

/* How a merged recording is to name this process. In a merged recording each sample says its process. */
static void emit_process(const struct notes_writer *writer)
{
    const struct process_record *process = profile_process(writer->profile, NULL);
    if (!process || !*process->name || process->pid <= 0 || writer->profile->is_merged)
        return;
    emit_note(writer, "process: %.255s, pid %d", process->name, process->pid);
    if (process->title && *process->title)
        emit_note(writer, "title: %s", process->title);
    if (*process->ending)
        emit_note(writer, "ended: %s", process->ending);
}

static void emit_interp(const struct notes_writer *writer, const struct counters *counters)
{
    if (counters->interp_stacks > 0)
        emit_note(writer,
                  "scripts: %" PRIu64 " stacks with their functions; %" PRIu64 " do not fit, %" PRIu64
                  " functions have no name",
                  counters->interp_stacks, counters->interp_misfits, counters->interp_nameless);
}

static void emit_counters(const struct notes_writer *writer)
{
    const struct profile *profile = writer->profile;
    const struct counters *counters = &profile->counters;
    emit_note(writer, "wallprof %s", WALLPROF_VERSION);
    emit_note(writer, "command: %s", profile->command);
    emit_process(writer);
    emit_note(writer,
              "%.5g ticks a second requested, %" PRIu64 " made, %" PRIu64 " missed; up to %u threads a tick",
              1e9 / (double)profile->period_ns, counters->ticks, counters->late_ticks,
              profile->threads_per_tick);
    if (counters->stopped_ns + counters->unobserved_ns > 0)
        emit_note(writer, "the process was stopped for %.3f s, and for %.3f s it could not be observed",
                  (double)counters->stopped_ns / 1e9, (double)counters->unobserved_ns / 1e9);
    if (*profile->restraint)
        writer->add(writer->context, profile->restraint);
    emit_note(writer,
              "%" PRIu64 " samples: %" PRIu64 " not whole, %" PRIu64 " without a reply; %" PRIu64
              " late signals dropped",
              counters->samples, counters->truncated, counters->missing_replies, counters->stray);
    emit_note(writer,
              "samples taken: %" PRIu64 " unchanged, %" PRIu64 " walked from outside, %" PRIu64
              " by signal, %" PRIu64 " without a reply: %.2f %% without a signal",
              counters->unchanged, counters->walked, counters->replies, counters->missing_replies,
              100 * without_signal(counters));
    if (counters->full_walks > 0)
        emit_note(writer, "unwind: %" PRIu64 " of %" PRIu64 " stacks by the full-register walk",
                  counters->full_walks, counters->samples);
    emit_interp(writer, counters);
    emit_note(
        writer,
        "the sampler itself used %.3f s of CPU, which is not in this profile; signals took about %.3f s in "
        "the program's threads, which is in it",
        (double)counters->sampler_cpu_ns / 1e9, (double)counters->handler_cpu_ns / 1e9);
}

const char *profile_notes_throttled(const struct profile *profile, char ret[PROFILE_NOTES_THROTTLED_BYTES])
{
    *ret = '\0';
    if (profile->throttled_ns > 0)
        snprintf(ret, PROFILE_NOTES_THROTTLED_BYTES,
                 "throttled %" PRIu64
                 " times by the CPU quota of its cgroup, for %.3f s of its CPUs together",
                 profile->throttled_count, (double)profile->throttled_ns / 1e9);
    return ret;
}

/* How long threads waited for a CPU, as far as that is known. */
static void emit_waiting(const struct notes_writer *writer)
{
    char throttled[PROFILE_NOTES_THROTTLED_BYTES];
    if (*profile_notes_throttled(writer->profile, throttled))
        writer->add(writer->context, throttled);
    if (!writer->profile->has_rundelay)
        emit_note(writer,
                  "waits for a CPU are part of off-CPU time: the kernel did not tell how long they were");
}

/* Deadlocks have been said, and are notes all the same. */
static bool is_deadlock(const char *line)
{
    return strncmp(line, deadlock, sizeof deadlock - 1) == 0;
}

const char *profile_notes_deadlock(const struct profile *profile, char ret[PROFILE_NOTES_DEADLOCK_BYTES])
{
    const char *found =
        profile->messages && !profile->comments ? arena_at(profile->arena, profile->messages) : "";
    for (uint32_t i = 0; profile->comments && i < profile->comment_count && !is_deadlock(found); i++)
        found = profile->comments[i];
    snprintf(ret, PROFILE_NOTES_DEADLOCK_BYTES, "%.*s", is_deadlock(found) ? (int)strcspn(found, "\n") : 0,
             found);
    return ret;
}

static void emit_messages(const struct notes_writer *writer)
{
    const arena_ref messages = writer->profile->messages;
    const char *at = messages ? arena_at(writer->profile->arena, messages) : "";
    while (*at) {
        at += strncmp(at, "wallprof: ", 10) == 0 ? 10 : 0;
        size_t bytes = strcspn(at, "\n");
        if (is_deadlock(at))
            emit_note(writer, "%.*s", (int)bytes, at);
        else
            emit_note(writer, "unread message: %.*s", (int)(bytes < MESSAGE_BYTES ? bytes : MESSAGE_BYTES),
                      at);
        at += bytes + (at[bytes] != '\0');
    }
}

static void emit_merged_threads(const struct notes_writer *writer)
{
    const struct profile *profile = writer->profile;
    uint64_t merged = 0;
    for (uint32_t number = 1; number <= profile->thread_count; number++) {
        const struct thread_record *thread = profile_thread(profile, number);
        merged += thread ? thread->merged_threads : 0;
    }
    if (merged > 0)
        emit_note(writer,
                  "memory: full, so %" PRIu64
                  " threads that had ended were merged into others of their name; a "
                  "larger WALLPROF_MEM keeps more of them apart",
                  merged);
}

/* Which keys have had more values than there is room for. */
static void emit_labels(const struct notes_writer *writer)
{
    const struct tree *tree = writer->profile->tree;
    char keys[OTHER_KEYS_MAX * LABELS_KEY_BYTES + 8] = "";
    uint32_t count = 0;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        const struct location *location = tree_location_at(tree, ref);
        if (!tree_is_label(location) || wait_label_is(tree, location) ||
            strcmp(tree_label_value(tree->arena, location), LABELS_OTHER) != 0)
            continue;
        if (count++ < OTHER_KEYS_MAX)
            sprintf(keys + strlen(keys), "%s%.*s", count > 1 ? ", " : "", LABELS_KEY_BYTES - 1,
                    tree_label_key(tree->arena, location));
    }
    if (count > 0)
        emit_note(writer, "labels: %s%s had too many values: the rest is " LABELS_OTHER, keys,
                  count > OTHER_KEYS_MAX ? ", ..." : "");
}

static void emit_timeline(const struct notes_writer *writer)
{
    const struct timeline *timeline = writer->profile->timeline;
    if (!timeline || timeline->thinned + timeline->dropped + timeline->dropped_events == 0)
        return;
    emit_note(writer,
              "timeline: full, so the oldest of it was thinned: %" PRIu64 " records merged, %" PRIu64
              " dropped, %" PRIu64 " events dropped; a larger WALLPROF_TIMELINE_MEM holds more",
              timeline->thinned, timeline->dropped, timeline->dropped_events);
}

void profile_notes_write(const struct profile *profile, profile_notes_add_fn *add, void *context)
{
    const struct notes_writer writer = {profile, add, context};
    for (uint32_t i = 0; profile->comments && i < profile->comment_count; i++)
        add(context, profile->comments[i]);
    if (profile->comments)
        return;
    emit_counters(&writer);
    emit_waiting(&writer);
    emit_messages(&writer);
    emit_merged_threads(&writer);
    emit_labels(&writer);
    emit_timeline(&writer);
    emit_lost_files(&writer);
}
