/*
 * Who waits for whom, for what, and how long: the wait-for graph of a profile.
 *
 * Its parties are threads: those of one name, or of names like one pattern, are one. An edge leads from who
 * waits to who holds what is waited for, or to nobody where the holder is not known or there is none, as for
 * a file. Waits for work are left out, and so is time that nobody saw.
 *
 * A knot is a strongly connected component with a wait in it: parties that wait for each other, directly or
 * by way of others.
 *
 * The gain of an edge is an estimate of the thread time that would be saved if nobody had to wait there: the
 * wait itself, and what others wait for the waiter meanwhile. Nothing says what a holder does just while
 * others wait for it. So it is taken to do then what it does all the time, but for waiting for who waits for
 * it. What is waited for it is passed on in that proportion to what it waits for itself, at most
 * WAIT_GRAPH_HOPS times. No gain is more than all that is waited.
 *
 * Called from: `wallprof waits`. Malloc.
 * Paper: Zhou, Gan, Ma, Wang, "wPerf: Generic Off-CPU Analysis to Identify Bottleneck Waiting Events" (OSDI
 * 2018): knots, and cascaded re-distribution in section 3.3.
 */
#ifndef WALLPROF_WAIT_GRAPH_H
#define WALLPROF_WAIT_GRAPH_H

#include "base/intern_table.h"
#include "base/string_table.h"
#include "tool/meaning/meaning.h"

enum { WAIT_GRAPH_HOPS = 16, WAIT_GRAPH_PATTERNS_MAX = 16 };

struct wait_party {
    uint32_t name;       /* the key: a text */
    uint32_t knot;       /* 1..knot_count; 0: in none */
    uint32_t first_edge; /* its edges stand together */
    uint32_t edge_count;
    uint64_t wall_ns, running_ns; /* without waits for work */
};

struct wait_edge {
    struct {
        uint32_t waiter; /* a party */
        uint32_t holder; /* 1 + a party; 0: nobody is known */
        uint32_t kind;   /* enum wait_kind */
        uint32_t on;     /* a text; "" if that is not known */
    } key;
    uint64_t ns, gain_ns;
};

struct wait_graph {
    struct string_table texts;
    struct intern_table parties; /* struct wait_party */
    struct intern_table merging; /* struct wait_edge, until they are sorted */
    struct wait_edge *edges;     /* owned; by waiter, and of each the longest first */
    uint32_t edge_count, knot_count;
    uint64_t wall_ns, waited_ns; /* of all parties, without waits for work */
};

/* patterns: of fnmatch(3), ended by NULL. Threads of names like one of them are a party of that name. 0 or
 * -ENOMEM; free in any case. */
int wait_graph_make(struct wait_graph *graph, const struct profile *profile, const char *const *patterns);
void wait_graph_free(struct wait_graph *graph);

static inline struct wait_party *wait_graph_party(const struct wait_graph *graph, uint32_t number)
{
    return intern_table_at(&graph->parties, number);
}

static inline const char *wait_graph_name(const struct wait_graph *graph, uint32_t party)
{
    return string_table_at(&graph->texts, wait_graph_party(graph, party)->name);
}

/* What is waited for: the thing, or only the kind. */
const char *wait_graph_thing(const struct wait_graph *graph, const struct wait_edge *edge);

/* Who holds it; NULL for nobody known. */
const char *wait_graph_holder(const struct wait_graph *graph, const struct wait_edge *edge);

/* The knot that an edge is in; 0 for none. */
uint32_t wait_graph_knot(const struct wait_graph *graph, const struct wait_edge *edge);

/* wait_graph_ways.c: find the knots and the gains of a graph whose edges are sorted. 0 or -ENOMEM. */
int wait_graph_find_knots(struct wait_graph *graph);
int wait_graph_find_gains(struct wait_graph *graph);

#endif
