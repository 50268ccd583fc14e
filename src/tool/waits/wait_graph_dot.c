/* The wait-for graph for Graphviz. Parties are boxes, and what nobody is known to hold is an ellipse. */
#include "wait_graph_report.h"
#include "tool/io/text.h"

#include <stdio.h>

enum { WIDTH_PARTS = 8 };

/* A quoted identifier of the DOT language. */
static void put_quoted(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', stream);
        fputc((unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text, stream);
    }
    fputc('"', stream);
}

/* A thing is told from a party of that name by what stands before it. */
static void put_thing(FILE *stream, const struct wait_graph *graph, const struct wait_edge *edge)
{
    char id[LABELS_VALUE_BYTES + 8];
    snprintf(id, sizeof id, "on %s", wait_graph_thing(graph, edge));
    put_quoted(stream, id);
}

static void put_party(FILE *stream, const struct wait_graph *graph, uint32_t party, const char *indent)
{
    fputs(indent, stream);
    put_quoted(stream, wait_graph_name(graph, party));
    fputs(";\n", stream);
}

static void put_knot(FILE *stream, const struct wait_graph *graph, uint32_t knot)
{
    fprintf(stream, "  subgraph cluster_%u {\n    label=\"knot %u\"; color=red; fontcolor=red;\n", knot,
            knot);
    for (uint32_t party = 0; party < graph->parties.count; party++) {
        if (wait_graph_party(graph, party)->knot == knot)
            put_party(stream, graph, party, "    ");
    }
    fputs("  }\n", stream);
}

static void put_edge(FILE *stream, const struct wait_graph *graph, const struct wait_edge *edge)
{
    char wall[TEXT_NUMBER_BYTES], gain[TEXT_NUMBER_BYTES], label[LABELS_VALUE_BYTES + 96];
    const char *holder = wait_graph_holder(graph, edge);
    text_time(wall, edge->ns);
    text_time(gain, edge->gain_ns);
    if (!holder) {
        fputs("  ", stream);
        put_thing(stream, graph, edge);
        fputs(" [shape=ellipse, label=", stream);
        put_quoted(stream, wait_graph_thing(graph, edge));
        fputs("];\n", stream);
    }
    fputs("  ", stream);
    put_quoted(stream, wait_graph_name(graph, edge->key.waiter));
    fputs(" -> ", stream);
    if (holder)
        put_quoted(stream, holder);
    else
        put_thing(stream, graph, edge);
    snprintf(label, sizeof label, "%s%s%s, gain ~%s", holder ? wait_graph_thing(graph, edge) : "",
             holder ? ": " : "", wall, gain);
    fputs(" [label=", stream);
    put_quoted(stream, label);
    fprintf(stream, ", penwidth=%.1f%s];\n",
            1 + (graph->waited_ns ? WIDTH_PARTS * (double)edge->ns / (double)graph->waited_ns : 0),
            wait_graph_knot(graph, edge) ? ", color=red" : "");
}

void wait_graph_put_dot(const struct wait_graph *graph, const struct wait_edge *const *edges, size_t count,
                        FILE *stream)
{
    fputs("digraph waits {\n  node [shape=box];\n", stream);
    for (uint32_t knot = 1; knot <= graph->knot_count; knot++)
        put_knot(stream, graph, knot);
    for (size_t i = 0; i < count; i++)
        put_edge(stream, graph, edges[i]);
    fputs("}\n", stream);
}
