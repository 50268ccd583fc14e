#include "profile_notes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LOST_FILES_MAX = 4 }; /* every report shows the notes */

struct notes_writer {
    const struct profile *profile;
    profile_notes_add_fn *add;
    void *context;
};

static void emit_note(const struct notes_writer *writer, const char *text)
{
    writer->add(writer->context, text);
}

/* Why some of its functions have no names. */
static void emit_lost_file(const struct notes_writer *writer, const struct symbols_lost_file *lost)
{
    char text[512];
    const struct arena *arena = writer->profile->arena;
    const struct module *module = arena_at(arena, lost->module);
    const char *path = arena_at(arena, module->path);
    snprintf(text, sizeof text, "%s %s%s: names from memory and debug files only", path,
             lost->error == -ESTALE   ? "was replaced while the program ran"
             : lost->error == -ENOENT ? "was deleted while the program ran"
                                      : "cannot be read: ",
             lost->error == -ESTALE || lost->error == -ENOENT ? "" : strerrordesc_np(-lost->error));
    emit_note(writer, text);
}

static void emit_lost_files(const struct notes_writer *writer)
{
    char text[64];
    const struct symbols *symbols = writer->profile->symbols;
    uint32_t count = symbols->lost_file_count;
    for (uint32_t i = 0; i < count && i < LOST_FILES_MAX; i++)
        emit_lost_file(writer, &symbols->lost_files[i]);
    snprintf(text, sizeof text, "and %u more files", count > LOST_FILES_MAX ? count - LOST_FILES_MAX : 0);
    if (count > LOST_FILES_MAX)
        emit_note(writer, text);
}

/* The share of samples that no thread was woken for. */
static double without_signal(const struct counters *counters)
{
    uint64_t without = counters->unchanged + counters->walked;
    uint64_t all = without + counters->replies + counters->missing_replies;
    return all > 0 ? (double)without / (double)all : 0;
}

/* Which one a merged recording is to call it; of a merged one each sample says it. */
static void emit_process(const struct notes_writer *writer)
{
    char text[512];
    const struct process_record *process = profile_process(writer->profile, NULL);
    if (!process || !*process->name || process->pid <= 0 || writer->profile->is_merged)
        return;
    snprintf(text, sizeof text, "process: %.255s, pid %d", process->name, process->pid);
    emit_note(writer, text);
    snprintf(text, sizeof text, "ended: %s", process->ending);
    if (*process->ending)
        emit_note(writer, text);
}

static void emit_counters(const struct notes_writer *writer)
{
    const struct profile *profile = writer->profile;
    const struct counters *counters = &profile->counters;
    char text[512];
    emit_note(writer, "wallprof " WALLPROF_VERSION);
    snprintf(text, sizeof(text), "command: %s", profile->command);
    emit_note(writer, text);
    emit_process(writer);
    snprintf(text, sizeof(text),
             "%.5g ticks a second asked, %" PRIu64 " made, %" PRIu64 " missed; up to %u threads a tick",
             1e9 / (double)profile->period_ns, counters->ticks, counters->late_ticks,
             profile->threads_per_tick);
    emit_note(writer, text);
    if (*profile->restraint)
        emit_note(writer, profile->restraint);
    snprintf(text, sizeof(text),
             "%" PRIu64 " samples: %" PRIu64 " not whole, %" PRIu64 " unanswered; %" PRIu64
             " late signals dropped",
             counters->samples, counters->truncated, counters->missing_replies, counters->stray);
    emit_note(writer, text);
    snprintf(text, sizeof(text),
             "looks: %" PRIu64 " unchanged, %" PRIu64 " walked from outside, %" PRIu64 " by signal, %" PRIu64
             " without an answer: %.2f %% without a signal",
             counters->unchanged, counters->walked, counters->replies, counters->missing_replies,
             100 * without_signal(counters));
    emit_note(writer, text);
    if (counters->full_walks > 0) {
        snprintf(text, sizeof(text), "unwind: %" PRIu64 " of %" PRIu64 " stacks by the full-register walk",
                 counters->full_walks, counters->samples);
        emit_note(writer, text);
    }
    snprintf(
        text, sizeof(text),
        "the sampler itself used %.3f s of CPU, which is not in this profile; signals took about %.3f s in "
        "the program's threads, which is",
        (double)counters->sampler_cpu_ns / 1e9, (double)counters->handler_cpu_ns / 1e9);
    emit_note(writer, text);
}

static void emit_timeline(const struct notes_writer *writer)
{
    char text[256];
    const struct timeline *timeline = writer->profile->timeline;
    if (!timeline || timeline->thinned + timeline->dropped + timeline->dropped_events == 0)
        return;
    snprintf(text, sizeof(text),
             "timeline: full, so the oldest of it was thinned: %" PRIu64 " records merged, %" PRIu64
             " dropped, %" PRIu64 " events dropped; a larger WALLPROF_TIMELINE_MEM holds more",
             timeline->thinned, timeline->dropped, timeline->dropped_events);
    emit_note(writer, text);
}

void profile_notes_write(const struct profile *profile, profile_notes_add_fn *add, void *context)
{
    const struct notes_writer writer = {profile, add, context};
    for (uint32_t i = 0; profile->comments && i < profile->comment_count; i++)
        add(context, profile->comments[i]);
    if (profile->comments)
        return;
    emit_counters(&writer);
    emit_timeline(&writer);
    emit_lost_files(&writer);
}
