/*
 * The reader of pprof files on hostile bytes: read or refused with a reason, nothing read outside; what was
 * read and written is, read and written once more, the same bytes; reports of it add up; and twice the same
 * merged has all times twice, also when it is read again.
 *
 * Input: the file, not compressed.
 */
#include "fuzz_written.h"
#include "tool/formats/formats.h"
#include "tool/merge/merge.h"
#include "tool/read/recording.h"
#include "tool/report/report.h"

#include <stdlib.h>
#include <string.h>

enum { WRITTEN_MAX_BYTES = 64 << 20 };

static void write_profile(const struct recording *recording, struct written *ret)
{
    *ret = (struct written){.max_bytes = WRITTEN_MAX_BYTES};
    writing = ret;
    FUZZ_ASSERT(formats_write(FORMAT_PPROF, &recording->profile, NULL) == 0);
}

/* ---- the promises ---- */

static void check_names(const struct recording *recording)
{
    const struct symbols *symbols = recording->profile.symbols;
    FUZZ_ASSERT(symbols->location_count == recording->tree.location_count);
    for (uint32_t i = 0; i < symbols->location_count; i++) {
        uint32_t count;
        const struct symbol_frame *frames = symbols_frames(symbols, i, &count);
        FUZZ_ASSERT(count > 0 && symbols->region_of[i] <= symbols->region_count);
        for (uint32_t frame = 0; frame < count; frame++) {
            FUZZ_ASSERT(frames[frame].function < symbols->function_count);
            const struct symbol_function *function = &symbols->functions[frames[frame].function];
            FUZZ_ASSERT(*function->name && *function->system_name);
        }
    }
}

static void check_threads(const struct recording *recording)
{
    for (uint32_t number = 1; number <= recording->profile.thread_count; number++) {
        const struct thread_record *thread = profile_thread(&recording->profile, number);
        FUZZ_ASSERT(thread && thread->number == number);
        FUZZ_ASSERT(tree_node(&recording->tree, thread->root)->thread == number);
    }
}

static void check_report(const struct recording *recording, enum report_by by, bool shows_idle)
{
    struct report report;
    struct values sum = {0};
    const struct report_request request = {.by = by, .shows_idle = shows_idle};
    FUZZ_ASSERT(report_make(&report, &recording->profile, &request) == 0);
    report_sort(&report, METRIC_WALL, true);
    for (size_t i = 0; i < report.row_count; i++) {
        const struct report_row *row = &report.rows[i];
        tree_add_values(&sum, &row->flat);
        FUZZ_ASSERT(tree_wall_ns(&row->flat) <= tree_wall_ns(&row->cum) &&
                    tree_wall_ns(&row->cum) <= tree_wall_ns(&report.total));
        FUZZ_ASSERT(i == 0 || tree_wall_ns(&row->cum) <= tree_wall_ns(&report.rows[i - 1].cum));
    }
    FUZZ_ASSERT(!shows_idle || memcmp(&sum, &report.total, sizeof sum) == 0);
    FUZZ_ASSERT(memcmp(&sum, &report.selected, sizeof sum) == 0);
    report_free(&report);
}

/* A copy of its exact size, so that ASan sees its end. */
static int read_copy(struct recording *recording, const unsigned char *bytes, size_t count)
{
    unsigned char *copy = malloc(count + !count);
    FUZZ_ASSERT(copy);
    memcpy(copy, bytes, count);
    memset(recording, 0, sizeof *recording);
    int status = recording_read_pprof(recording, copy, count, NULL);
    FUZZ_ASSERT(status == 0 || (status < 0 && *recording->reason));
    free(copy);
    return status;
}

static struct values total_of(const struct recording *recording)
{
    struct report report;
    FUZZ_ASSERT(report_make(&report, &recording->profile, &(struct report_request){0}) == 0);
    struct values total = report.total;
    report_free(&report);
    return total;
}

static void check_merge(struct recording *recording, enum label_policy labels)
{
    static struct recording again;
    struct recording *merged;
    struct written written;
    struct merge *merge = merge_begin(labels);
    struct values twice = total_of(recording);
    tree_add_values(&twice, &twice);
    FUZZ_ASSERT(merge);
    FUZZ_ASSERT(merge_add(merge, recording) == 0);
    if (merge_add(merge, recording) == 0) { /* it may be too much */
        FUZZ_ASSERT(merge_finish(merge, &merged) == 0);
        check_names(merged);
        check_threads(merged);
        struct values total = total_of(merged);
        FUZZ_ASSERT(memcmp(&twice, &total, sizeof total) == 0);
        write_profile(merged, &written);
        FUZZ_ASSERT(read_copy(&again, written.bytes, written.used) == 0);
        total = total_of(&again);
        FUZZ_ASSERT(memcmp(&twice, &total, sizeof total) == 0);
        recording_close(&again);
        free(written.bytes);
    }
    merge_release(merge);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct recording recording;
    setenv("WALLPROF_CACHE", "off", 1);
    struct written first, second;
    if (read_copy(&recording, data, size) == 0) {
        check_names(&recording);
        check_threads(&recording);
        check_report(&recording, (enum report_by)(size % REPORT_BY_COUNT), size / REPORT_BY_COUNT % 2);
        if (!recording.profile.measure)
            check_merge(&recording, (enum label_policy)(size % (LABELS_ID + 1)));
        write_profile(&recording, &first);
        recording_close(&recording);
        FUZZ_ASSERT(read_copy(&recording, first.bytes, first.used) == 0);
        write_profile(&recording, &second);
        FUZZ_ASSERT(first.used == second.used && memcmp(first.bytes, second.bytes, first.used) == 0);
        free(first.bytes);
        free(second.bytes);
    }
    recording_close(&recording);
    return 0;
}
