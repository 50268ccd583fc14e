#include "diff_forms.h"
#include "report_table.h"

static const char *const presence_words[] = {[DIFF_BOTH] = "both", [DIFF_NEW] = "new", [DIFF_GONE] = "gone"};

static void json_changes(struct json *json, const char *key, const struct values values[2])
{
    static const char *const keys[METRIC_COUNT] = {"wall_ns", "cpu_ns", "offcpu_ns", "rundelay_ns",
                                                   "samples"};
    json_key(json, key);
    json_begin_object(json);
    for (int metric = 0; metric < METRIC_COUNT; metric++) {
        json_key(json, keys[metric]);
        json_int(json, diff_change(values, (enum report_metric)metric));
    }
    json_end_object(json);
}

static void json_sides(struct json *json, const char *key, const struct values values[2])
{
    json_key(json, key);
    json_begin_object(json);
    report_json_values(json, "before", &values[0]);
    report_json_values(json, "after", &values[1]);
    json_changes(json, "change", values);
    json_end_object(json);
}

static void json_errors(struct json *json, const struct diff *diff, const struct diff_row *row)
{
    const struct report_error flat = diff_error(row->flat_error), cum = diff_error(row->cum_error);
    if (!diff->has_errors)
        return;
    report_json_error(json, "flat_error", &flat);
    report_json_error(json, "cum_error", &cum);
}

static void json_rows(struct json *json, const struct diff *diff, const char *key,
                      const struct diff_row *rows, size_t count)
{
    json_key(json, key);
    json_begin_array(json);
    for (size_t i = 0; i < count; i++) {
        json_newline(json);
        json_begin_object(json);
        json_key(json, "name");
        json_string(json, rows[i].name);
        json_key(json, "presence");
        json_string(json, presence_words[rows[i].presence]);
        json_sides(json, "flat", rows[i].flat);
        json_sides(json, "cum", rows[i].cum);
        json_errors(json, diff, &rows[i]);
        json_end_object(json);
    }
    json_end_array(json);
}

static void json_runs(struct json *json, const struct diff *diff)
{
    json_member_array(json, "runs");
    for (int side = 0; side < 2; side++)
        json_uint(json, diff->sides[side].run_count);
    json_end_array(json);
    json_key(json, "in_turns");
    json_bool(json, diff->is_in_turns);
}

void diff_json_write(const struct diff *diff, size_t lines, const struct gate *gate, struct json *json)
{
    static const char *const scales[] = {
        [DIFF_AS_MEASURED] = "none", [DIFF_SHARES] = "shares", [DIFF_WORK] = "work"};
    json_begin_object(json);
    json_member_uint(json, "version", 2);
    json_runs(json, diff);
    json_member_string(json, "scaled_by", scales[diff->request.scale]);
    if (gate)
        gate_json_write(gate, json);
    json_sides(json, "total", diff->total);
    json_rows(json, diff, "threads", diff->threads, diff->thread_count);
    json_member_string(json, "by", report_by_words[diff->request.by]);
    json_member_string(json, "sort", report_metric_words[diff->request.metric]);
    json_member_uint(json, "row_count", diff->row_count);
    json_rows(json, diff, "rows", diff->rows, diff->row_count < lines ? diff->row_count : lines);
    json_end_object(json);
    json_newline(json);
}
