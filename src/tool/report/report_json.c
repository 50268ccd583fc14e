/* A report as JSON: wallprof(1) has the schema. */
#include "report_table.h"

static void json_member(struct json *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_uint(json, value);
}

void report_json_values(struct json *json, const char *key, const struct values *values)
{
    json_key(json, key);
    json_begin_object(json);
    json_member(json, "samples", values->samples);
    json_member(json, "cpu_ns", values->cpu_ns);
    json_member(json, "offcpu_ns", tree_offcpu_ns(values));
    json_member(json, "rundelay_ns", values->rundelay_ns);
    json_member(json, "wall_ns", tree_wall_ns(values));
    json_end_object(json);
}

static void json_error(struct json *json, const char *key, uint64_t error_ns)
{
    json_key(json, key);
    if (error_ns == REPORT_ERROR_UNKNOWN)
        json_null(json);
    else
        json_uint(json, error_ns);
}

void report_json_error(struct json *json, const char *key, const struct report_error *error)
{
    json_key(json, key);
    json_begin_object(json);
    json_error(json, "wall_ns", error->wall_ns);
    json_error(json, "cpu_ns", error->cpu_ns);
    json_end_object(json);
}

/* Kinds without time are left out. */
void report_json_waits(struct json *json, const uint64_t waited_ns[WAIT_KIND_COUNT])
{
    json_key(json, "waits_ns");
    json_begin_object(json);
    for (int kind = 0; kind < WAIT_KIND_COUNT; kind++) {
        if (waited_ns[kind] > 0)
            json_member(json, wait_kind_words[kind], waited_ns[kind]);
    }
    json_end_object(json);
}

void report_json_measure(struct json *json, const struct profile *profile)
{
    json_key(json, "measure");
    json_begin_object(json);
    json_member_string(json, "type", profile->measure->name);
    json_member_string(json, "unit", profile->measure->unit);
    json_end_object(json);
}

static void json_number(struct json *json, const char *key, int32_t number, bool is_known)
{
    json_key(json, key);
    if (is_known)
        json_int(json, number);
    else
        json_null(json);
}

static void json_process(struct json *json, const struct process_record *process)
{
    json_member_text(json, "name", *process->name ? process->name : NULL);
    json_number(json, "pid", process->pid, process->pid > 0);
    json_number(json, "rank", process->rank, process->rank >= 0);
}

static void json_processes(struct json *json, const struct profile *profile)
{
    json_member_array(json, "processes");
    for (uint32_t i = 0; i < profile->process_count; i++) {
        const struct process_record *process = &profile->processes[i];
        json_newline(json);
        json_begin_object(json);
        json_process(json, process);
        json_member_text(json, "ending", *process->ending ? process->ending : NULL);
        json_end_object(json);
    }
    json_end_array(json);
}

static void json_threads(struct json *json, const struct report *report)
{
    json_key(json, "threads");
    json_begin_array(json);
    for (size_t i = 0; i < report->thread_count; i++) {
        const struct report_thread *thread = &report->threads[i];
        json_newline(json);
        json_begin_object(json);
        json_member_text(json, "name", thread->has_name ? thread->name : NULL);
        if (thread->of) {
            json_member_object(json, "process");
            json_process(json, thread->of);
            json_end_object(json);
        }
        json_number(json, "tid", thread->tid, thread->tid != 0);
        json_member(json, "merged_threads", thread->merged_threads);
        report_json_values(json, "total", &thread->total);
        json_member_text(json, "mostly_in", thread->mostly_in);
        json_member_text(json, "waits_for", thread->waits_for);
        json_member(json, "mostly_ns", thread->mostly_ns);
        json_end_object(json);
    }
    json_end_array(json);
}

static void json_rows(struct json *json, const struct report_table *table)
{
    json_key(json, "rows");
    json_begin_array(json);
    for (size_t i = 0; i < table->report->row_count && i < table->lines; i++) {
        const struct report_row *row = &table->report->rows[i];
        json_newline(json);
        json_begin_object(json);
        json_member_text(json, "name", row->name);
        report_json_values(json, "flat", &row->flat);
        report_json_values(json, "cum", &row->cum);
        if (table->has_errors) {
            report_json_error(json, "flat_error", &row->flat_error);
            report_json_error(json, "cum_error", &row->cum_error);
        }
        report_json_waits(json, row->waited_ns);
        json_end_object(json);
    }
    json_end_array(json);
}

bool report_json_write(const struct report_table *table, struct json *json)
{
    const struct profile *profile = table->profile;
    const struct report *report = table->report;
    json_begin_object(json);
    json_member(json, "version", 2);
    json_member_text(json, "command", profile->command);
    json_member(json, "start_utc_ns", profile->start_utc_ns);
    json_member(json, "duration_ns", profile->duration_ns);
    json_member(json, "period_ns", profile->period_ns);
    if (profile->measure)
        report_json_measure(json, profile);
    json_member_text(json, "restraint", *profile->restraint ? profile->restraint : NULL);
    report_json_values(json, "total", &report->total);
    report_json_values(json, "selected", &report->selected);
    report_json_waits(json, report->waited_ns);
    const bool has_waits = wait_sums_json(&report->wait_sums, json, "waits");
    json_key(json, "pseudo");
    json_begin_object(json);
    for (int i = 0; i < PSEUDO_KINDS; i++)
        if (i < PSEUDO_COUNT ||
            (tree_pseudo_name((enum pseudo_frame)i) && tree_has_weight(&report->pseudo[i])))
            report_json_values(json, tree_pseudo_name((enum pseudo_frame)i), &report->pseudo[i]);
    json_end_object(json);
    json_processes(json, profile);
    json_member(json, "idle_threads", report->idle_thread_count);
    json_threads(json, report);
    json_member_text(json, "by", report_by_words[table->by]);
    json_member_text(json, "sort", report_metric_words[table->metric]);
    json_key(json, "cum");
    json_bool(json, table->by_cum);
    json_member(json, "row_count", report->row_count);
    json_rows(json, table);
    bool is_whole = (!report->has_stacks || report_json_stacks(table, json)) && has_waits;
    json_end_object(json);
    json_newline(json);
    return is_whole;
}
