#include "wait_graph_report.h"
#include "profile/wait_labels.h"
#include "tool/io/text.h"

#include <stdlib.h>
#include <string.h>

enum { CELL_COLUMNS = 8, NAME_COLUMNS_MAX = 28, THING_COLUMNS_MAX = 40, NAME_COLUMNS_MIN = 10 };

/* ---- order ---- */

static int compare_gains(const void *left, const void *right)
{
    const struct wait_edge *a = *(const struct wait_edge *const *)left,
                           *b = *(const struct wait_edge *const *)right;
    if (a->gain_ns != b->gain_ns)
        return a->gain_ns > b->gain_ns ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return (a > b) - (a < b);
}

const struct wait_edge **wait_graph_sorted(const struct wait_graph *graph)
{
    const struct wait_edge **ret = calloc((size_t)graph->edge_count + 1, sizeof *ret);
    for (uint32_t i = 0; ret && i < graph->edge_count; i++)
        ret[i] = &graph->edges[i];
    if (ret)
        qsort(ret, graph->edge_count, sizeof *ret, compare_gains);
    return ret;
}

/* ---- text ---- */

/* The columns of the names. */
struct widths {
    int waiter, thing, holder;
};

static int wider(int columns, const char *text, int most)
{
    const int width = text_width(text);
    return width <= columns ? columns : width < most ? width : most;
}

static struct widths widths_of(const struct wait_graph *graph, const struct wait_edge *const *edges,
                               size_t count, int columns)
{
    struct widths ret = {.waiter = 3, .thing = 9};
    for (size_t i = 0; i < count; i++) {
        ret.waiter = wider(ret.waiter, wait_graph_name(graph, edges[i]->key.waiter), NAME_COLUMNS_MAX);
        ret.thing = wider(ret.thing, wait_graph_thing(graph, edges[i]), THING_COLUMNS_MAX);
    }
    const int left = columns - 2 * CELL_COLUMNS - 6 - ret.waiter - ret.thing;
    ret.holder = !columns ? -1 : left < NAME_COLUMNS_MIN ? NAME_COLUMNS_MIN : left;
    return ret;
}

static void put_time(FILE *stream, uint64_t ns)
{
    char number[TEXT_NUMBER_BYTES];
    text_time(number, ns);
    text_put_number(stream, number, CELL_COLUMNS);
}

static void put_edge(const struct wait_graph *graph, const struct wait_edge *edge,
                     const struct widths *widths, FILE *stream)
{
    const char *holder = wait_graph_holder(graph, edge);
    put_time(stream, edge->ns);
    put_time(stream, edge->gain_ns);
    fputs("  ", stream);
    text_put_left(stream, wait_graph_name(graph, edge->key.waiter), widths->waiter, TEXT_CUT_MIDDLE);
    fputs("  ", stream);
    text_put_left(stream, wait_graph_thing(graph, edge), widths->thing, TEXT_CUT_MIDDLE);
    fputs("  ", stream);
    text_put(stream, holder ?: "-", widths->holder, TEXT_CUT_MIDDLE);
    fputc('\n', stream);
}

static void put_headings(const struct widths *widths, FILE *stream)
{
    fputc('\n', stream);
    text_put_number(stream, "WALL", CELL_COLUMNS);
    text_put_number(stream, "GAIN", CELL_COLUMNS);
    fprintf(stream, "  %-*s  %-*s  HELD BY\n", widths->waiter, "WHO", widths->thing, "WAITS FOR");
}

/* Names what is in it, and the waits within it: those of an edge between its parties. */
static void put_knot(const struct wait_graph *graph, uint32_t knot, const struct wait_edge *const *edges,
                     size_t count, const struct widths *widths, FILE *stream)
{
    uint32_t parties = 0;
    fprintf(stream, "\nknot %u: ", knot);
    for (uint32_t party = 0; party < graph->parties.count; party++) {
        if (wait_graph_party(graph, party)->knot != knot)
            continue;
        fputs(parties++ ? ", " : "", stream);
        text_put(stream, wait_graph_name(graph, party), -1, TEXT_CUT_END);
    }
    fputs(parties > 1 ? " wait for each other\n" : ": its threads wait for each other\n", stream);
    for (size_t i = 0; i < count; i++) {
        if (wait_graph_knot(graph, edges[i]) == knot)
            put_edge(graph, edges[i], widths, stream);
    }
}

void wait_graph_put_text(const struct wait_graph *graph, const struct wait_edge *const *edges, size_t count,
                         int columns, FILE *stream)
{
    char wall[TEXT_NUMBER_BYTES], waited[TEXT_NUMBER_BYTES];
    const struct widths widths = widths_of(graph, edges, count, columns);
    text_time(wall, graph->wall_ns);
    text_time(waited, graph->waited_ns);
    fprintf(stream, "%s of thread time without waits for work; %s of it waited\n", wall, waited);
    if (count == 0)
        return;
    put_headings(&widths, stream);
    for (size_t i = 0; i < count; i++)
        put_edge(graph, edges[i], &widths, stream);
    if (count < graph->edge_count)
        fprintf(stream, "and %zu more\n", (size_t)graph->edge_count - count);
    for (uint32_t knot = 1; knot <= graph->knot_count; knot++)
        put_knot(graph, knot, edges, count, &widths, stream);
    fputs("\nGAIN: an estimate of what all threads would save if nobody waited there\n", stream);
}

/* ---- JSON ---- */

static void put_json_edge(const struct wait_graph *graph, const struct wait_edge *edge, struct json *json)
{
    json_newline(json);
    json_begin_object(json);
    json_member_string(json, "waiter", wait_graph_name(graph, edge->key.waiter));
    json_member_string(json, "kind", wait_kind_words[edge->key.kind]);
    json_member_text(json, WAIT_LABEL_ON, edge->key.on ? wait_graph_thing(graph, edge) : NULL);
    json_member_text(json, WAIT_LABEL_HOLDER, wait_graph_holder(graph, edge));
    json_member_uint(json, "wall_ns", edge->ns);
    json_member_uint(json, "estimated_gain_ns", edge->gain_ns);
    json_member_uint(json, "knot", wait_graph_knot(graph, edge));
    json_end_object(json);
}

static void put_json_party(const struct wait_graph *graph, uint32_t number, struct json *json)
{
    const struct wait_party *party = wait_graph_party(graph, number);
    json_newline(json);
    json_begin_object(json);
    json_member_string(json, "name", wait_graph_name(graph, number));
    json_member_uint(json, "wall_ns", party->wall_ns);
    json_member_uint(json, "running_ns", party->running_ns);
    json_member_uint(json, "knot", party->knot);
    json_end_object(json);
}

void wait_graph_put_json(const struct wait_graph *graph, const struct wait_edge *const *edges, size_t count,
                         struct json *json)
{
    json_member_uint(json, "wall_ns", graph->wall_ns);
    json_member_uint(json, "waited_ns", graph->waited_ns);
    json_member_uint(json, "knots", graph->knot_count);
    json_member_array(json, "threads");
    for (uint32_t party = 0; party < graph->parties.count; party++)
        put_json_party(graph, party, json);
    json_end_array(json);
    json_member_array(json, "waits");
    for (size_t i = 0; i < count; i++)
        put_json_edge(graph, edges[i], json);
    json_end_array(json);
}
