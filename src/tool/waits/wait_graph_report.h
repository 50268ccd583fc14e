/*
 * The wait-for graph (wait_graph.h) as text, for Graphviz and as JSON.
 *
 * Called from: `wallprof waits`, after text_init. The edges to show, the best first: wait_graph_sorted.
 */
#ifndef WALLPROF_WAIT_GRAPH_REPORT_H
#define WALLPROF_WAIT_GRAPH_REPORT_H

#include "base/json.h"
#include "wait_graph.h"

#include <stddef.h>
#include <stdio.h>

/* All edges by gain, the largest first, in malloc'd memory. NULL without memory. */
const struct wait_edge **wait_graph_sorted(const struct wait_graph *graph);

/* columns: of the terminal; 0: names are not cut. */
void wait_graph_put_text(const struct wait_graph *graph, const struct wait_edge *const *edges, size_t count,
                         int columns, FILE *stream);
void wait_graph_put_dot(const struct wait_graph *graph, const struct wait_edge *const *edges, size_t count,
                        FILE *stream);

/* Members of the object that is being written: wallprof(1) has the schema. */
void wait_graph_put_json(const struct wait_graph *graph, const struct wait_edge *const *edges, size_t count,
                         struct json *json);

#endif
