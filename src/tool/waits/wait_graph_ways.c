/*
 * Knots are found as Tarjan has it: one search, depth first, in which each party gets a number, and the least
 * number that can be reached from it. Gains are found hop by hop: what is waited for a holder flows on along
 * its own edges.
 *
 * Paper: Tarjan, "Depth-first search and linear graph algorithms" (SIAM J. Comput. 1, 1972), section 4.
 */
#include "wait_graph.h"
#include "base/smaller.h"

#include <errno.h>
#include <stdlib.h>

/* ---- knots ---- */

struct searched_party {
    uint32_t number; /* 1.. in order of visit; 0: not yet */
    uint32_t least;  /* of those that are reached and belong to no component yet */
    uint32_t next_edge;
    uint32_t above; /* 1 + the party that the search came from */
    bool is_open;   /* on the stack: its component is not known yet */
};

struct search {
    struct wait_graph *graph;
    struct searched_party *parties; /* owned */
    uint32_t *open;                 /* owned; a stack of parties */
    uint32_t open_count, visited;
};

static void visit(struct search *search, uint32_t party, uint32_t above)
{
    search->visited++;
    search->parties[party] =
        (struct searched_party){.number = search->visited,
                                .least = search->visited,
                                .next_edge = wait_graph_party(search->graph, party)->first_edge,
                                .above = above,
                                .is_open = true};
    search->open[search->open_count++] = party;
}

static bool waits_for_itself(const struct wait_graph *graph, uint32_t party)
{
    const struct wait_party *at = wait_graph_party(graph, party);
    for (uint32_t i = at->first_edge; i < at->first_edge + at->edge_count; i++) {
        if (graph->edges[i].key.holder == 1 + party)
            return true;
    }
    return false;
}

/* A party that reaches none before it is the first of its component: all on the stack from it on. */
static void close_component(struct search *search, uint32_t first)
{
    struct wait_graph *graph = search->graph;
    const bool is_knot = search->open[search->open_count - 1] != first || waits_for_itself(graph, first);
    graph->knot_count += is_knot;
    for (uint32_t party = UINT32_MAX; party != first;) {
        party = search->open[--search->open_count];
        search->parties[party].is_open = false;
        wait_graph_party(graph, party)->knot = is_knot ? graph->knot_count : 0;
    }
}

static void reach(struct search *search, uint32_t party, uint32_t least)
{
    struct searched_party *at = &search->parties[party];
    at->least = least < at->least ? least : at->least;
}

/* One step from a party: along its next edge, or back. Returns 1 + the party to go on from; 0 at the end. */
static uint32_t step(struct search *search, uint32_t party)
{
    const struct wait_graph *graph = search->graph;
    const struct wait_party *at = wait_graph_party(graph, party);
    struct searched_party *searched = &search->parties[party];
    if (searched->next_edge < at->first_edge + at->edge_count) {
        const uint32_t holder = graph->edges[searched->next_edge++].key.holder;
        if (holder && !search->parties[holder - 1].number) {
            visit(search, holder - 1, 1 + party);
            return holder;
        }
        if (holder && search->parties[holder - 1].is_open)
            reach(search, party, search->parties[holder - 1].number);
        return 1 + party;
    }
    if (searched->least == searched->number)
        close_component(search, party);
    if (searched->above)
        reach(search, searched->above - 1, searched->least);
    return searched->above;
}

int wait_graph_find_knots(struct wait_graph *graph)
{
    const uint32_t count = graph->parties.count;
    struct search search = {.graph = graph};
    search.parties = calloc((size_t)count + 1, sizeof *search.parties);
    search.open = calloc((size_t)count + 1, sizeof *search.open);
    const bool has_memory = search.parties && search.open;
    for (uint32_t party = 0; has_memory && party < count; party++) {
        if (search.parties[party].number)
            continue;
        visit(&search, party, 0);
        for (uint32_t at = 1 + party; at;)
            at = step(&search, at - 1);
    }
    free(search.parties);
    free(search.open);
    return has_memory ? 0 : -ENOMEM;
}

/* ---- gains ---- */

/* What a party does while it is waited for by another one: all but waiting for that one. */
static uint64_t time_without(const struct wait_graph *graph, uint32_t party, uint32_t other)
{
    const struct wait_party *at = wait_graph_party(graph, party);
    uint64_t ns = at->wall_ns;
    for (uint32_t i = at->first_edge; i < at->first_edge + at->edge_count; i++)
        ns -= graph->edges[i].key.holder == 1 + other ? graph->edges[i].ns : 0;
    return ns;
}

/* Passes what flows along an edge on to the edges of its holder. */
static void pass_on(const struct wait_graph *graph, const struct wait_edge *edge, double flow, double *ret)
{
    if (!edge->key.holder || flow <= 0)
        return;
    const uint32_t holder = edge->key.holder - 1, waiter = edge->key.waiter;
    const struct wait_party *at = wait_graph_party(graph, holder);
    const uint64_t whole_ns = time_without(graph, holder, waiter);
    for (uint32_t i = at->first_edge; whole_ns && i < at->first_edge + at->edge_count; i++) {
        if (graph->edges[i].key.holder != 1 + waiter)
            ret[i] += flow * (double)graph->edges[i].ns / (double)whole_ns;
    }
}

int wait_graph_find_gains(struct wait_graph *graph)
{
    const size_t count = (size_t)graph->edge_count + 1;
    double *flows = calloc(count, sizeof *flows), *next = calloc(count, sizeof *next),
           *gains = calloc(count, sizeof *gains);
    const bool has_memory = flows && next && gains;
    for (uint32_t i = 0; has_memory && i < graph->edge_count; i++)
        gains[i] = flows[i] = (double)graph->edges[i].ns;
    for (int hop = 0; has_memory && hop < WAIT_GRAPH_HOPS; hop++) {
        for (uint32_t i = 0; i < graph->edge_count; i++)
            pass_on(graph, &graph->edges[i], flows[i], next);
        for (uint32_t i = 0; i < graph->edge_count; i++) {
            flows[i] = next[i];
            gains[i] += next[i];
            next[i] = 0;
        }
    }
    for (uint32_t i = 0; has_memory && i < graph->edge_count; i++)
        graph->edges[i].gain_ns = smaller((uint64_t)(gains[i] + 0.5), graph->waited_ns);
    free(flows);
    free(next);
    free(gains);
    return has_memory ? 0 : -ENOMEM;
}
