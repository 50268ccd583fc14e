#include "gate.h"
#include "callers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct gate_rows gate_find(const struct diff *diff, const char *name)
{
    struct gate_rows found = {0};
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        if (strcmp(row->name, name) == 0)
            return (struct gate_rows){1, {row}};
        if (!callers_matches(row->name, name))
            continue;
        if (found.count < 2)
            found.rows[found.count] = row;
        found.count++;
    }
    return found;
}

struct gate gate_judge(const struct diff *diff, const struct diff_row *row, double limit)
{
    const struct diff_runs *runs = row ? &row->runs : &diff->runs;
    const struct spread *sides = runs->sides;
    const struct spread_mean change = diff_mean_change(runs);
    struct gate gate = {.row = row ? row->name : NULL,
                        .limit = limit,
                        .metric = diff->request.metric,
                        .before = sides[0].mean,
                        .after = sides[1].mean,
                        .run_counts = {sides[0].runs, sides[1].runs},
                        .is_certain = spread_is_above_zero(&change)};
    if (change.value != 0)
        gate.change = gate.before > 0 ? change.value / gate.before : INFINITY;
    gate.bar = gate.before > 0 ? spread_bar(&change) / gate.before : 0;
    gate.has_failed = gate.is_certain && gate.change > limit;
    return gate;
}

bool gate_is_of_one_run(const struct gate *gate)
{
    return gate->run_counts[0] == 1 && gate->run_counts[1] == 1;
}

static const char *verdict(const struct gate *gate)
{
    if (gate->has_failed)
        return "failed";
    return gate->change > gate->limit ? "passed, as it may be chance" : "passed";
}

const char *gate_text(const struct gate *gate, char ret[GATE_TEXT_BYTES])
{
    char bar[32] = "";
    if (gate->bar > 0)
        snprintf(bar, sizeof bar, gate->bar < 0.1 ? " ±%.2g%%" : " ±%.0f%%", 100 * gate->bar);
    if (isinf(gate->change))
        snprintf(ret, GATE_TEXT_BYTES, "%s is new, %.4g%% more allowed: %s",
                 report_metric_words[gate->metric], 100 * gate->limit, verdict(gate));
    else
        snprintf(ret, GATE_TEXT_BYTES, "%s %+.1f%%%s, %.4g%% allowed: %s", report_metric_words[gate->metric],
                 100 * gate->change, bar, 100 * gate->limit, verdict(gate));
    return ret;
}

/* A share as a decimal number: json_ms, too, writes millionths. */
static void member_share(struct json *json, const char *key, double share)
{
    json_key(json, key);
    if (isinf(share))
        json_null(json);
    else
        json_ms(json, llround(1e6 * share));
}

void gate_json_write(const struct gate *gate, struct json *json)
{
    json_key(json, "gate");
    json_begin_object(json);
    json_member_text(json, "on", gate->row);
    json_member_string(json, "metric", report_metric_words[gate->metric]);
    json_member_uint(json, "before", (uint64_t)llround(gate->before));
    json_member_uint(json, "after", (uint64_t)llround(gate->after));
    member_share(json, "change", gate->change);
    member_share(json, "error", gate->bar);
    member_share(json, "limit", gate->limit);
    json_key(json, "certain");
    json_bool(json, gate->is_certain);
    json_key(json, "passed");
    json_bool(json, !gate->has_failed);
    json_end_object(json);
}
