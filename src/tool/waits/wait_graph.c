#include "wait_graph.h"
#include "profile/wait_labels.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct making {
    struct wait_graph *graph;
    const struct profile *profile;
    const struct meaning *meaning;
    const char *const *patterns;
};

/* ---- parties ---- */

enum { NAME_BYTES = PROCESS_TITLE_BYTES + LABELS_VALUE_BYTES };

/* The pattern that a thread's name is like, or the name. */
static const char *group_of(const struct making *making, const char *name)
{
    for (const char *const *pattern = making->patterns; *pattern; pattern++) {
        if (fnmatch(*pattern, name, 0) == 0)
            return *pattern;
    }
    return name;
}

/* process: its title, "" in a profile of one. */
static uint32_t party_of(const struct making *making, const char *process, const char *name)
{
    char text[NAME_BYTES];
    snprintf(text, sizeof text, "%s%s%s", process, *process ? ": " : "", group_of(making, name));
    const uint32_t key = string_table_intern(&making->graph->texts, text);
    return intern_table_intern(&making->graph->parties, &key);
}

static uint32_t party_of_thread(const struct making *making, uint32_t number)
{
    const struct thread_record *thread = profile_thread(making->profile, number);
    char name[THREAD_NAME_BYTES + 1] = "[all threads]", process[PROCESS_TITLE_BYTES];
    profile_process_title(making->profile, thread, process);
    if (profile_tells_thread(making->profile, thread))
        profile_thread_name(thread, name);
    return party_of(making, process, name);
}

static const struct thread_record *thread_of_process(const struct profile *profile, int32_t pid)
{
    for (uint32_t number = 1; number <= profile->thread_count; number++) {
        const struct thread_record *thread = profile_thread(profile, number);
        const struct process_record *process = thread ? profile_process(profile, thread) : NULL;
        if (process && process->pid == pid)
            return thread;
    }
    return NULL;
}

/* "writer-2" is a thread of the waiter's process, "writer-2 (pid 7)" one of another. */
static uint32_t party_of_holder(const struct making *making, uint32_t waiter, const char *holder)
{
    char name[LABELS_VALUE_BYTES], process[PROCESS_TITLE_BYTES];
    const struct profile *profile = making->profile;
    const struct thread_record *thread = profile_thread(profile, waiter), *other;
    const char *at = strstr(holder, " (pid ");
    int32_t pid;
    snprintf(name, sizeof name, "%s", holder);
    if (at && profile->is_merged && sscanf(at, " (pid %d)", &pid) == 1 &&
        (other = thread_of_process(profile, pid))) {
        name[at - holder] = '\0';
        thread = other;
    }
    return party_of(making, profile_process_title(profile, thread, process), name);
}

/* ---- edges ---- */

static void add_edge(const struct making *making, uint32_t thread, uint32_t party, enum wait_kind kind,
                     const struct wait_labels *waited, uint64_t ns)
{
    struct wait_graph *graph = making->graph;
    if (ns == 0)
        return;
    const uint32_t holder = waited->holder ? 1 + party_of_holder(making, thread, waited->holder) : 0;
    const uint32_t key[] = {party, holder, kind,
                            waited->on ? string_table_intern(&graph->texts, waited->on) : 0};
    struct wait_edge *edge = intern_table_at(&graph->merging, intern_table_intern(&graph->merging, key));
    edge->ns += ns;
    graph->waited_ns += ns;
}

/* A thread without such time is no party. */
static void add_node(const struct making *making, arena_ref node, uint32_t thread)
{
    static const struct wait_labels nothing = {NULL, NULL};
    const struct tree *tree = making->profile->tree;
    const struct values *self = &tree_node(tree, node)->self;
    const enum wait_kind kind = (enum wait_kind)making->meaning->nodes[tree_node_index(node)].wait;
    const bool is_left_out = kind == WAIT_IDLE || kind == WAIT_UNSEEN || kind == WAIT_STOPPED;
    const struct wait_labels waited = wait_labels_of(tree, tree, node);
    const uint64_t waited_ns = is_left_out ? 0 : self->blocked_ns;
    const uint64_t wall_ns = kind == WAIT_UNSEEN ? 0 : self->cpu_ns + self->rundelay_ns + waited_ns;
    if (wall_ns == 0)
        return;
    const uint32_t party = party_of_thread(making, thread);
    add_edge(making, thread, party, WAIT_CPU, &nothing, self->rundelay_ns);
    add_edge(making, thread, party, kind, &waited, waited_ns);
    struct wait_party *at = wait_graph_party(making->graph, party);
    at->running_ns += self->cpu_ns;
    at->wall_ns += wall_ns;
    making->graph->wall_ns += wall_ns;
}

static void add_trees(const struct making *making)
{
    const struct tree *tree = making->profile->tree;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = tree_next(tree, root, root); node; node = tree_next(tree, root, node))
            add_node(making, node, tree_node(tree, root)->thread);
    }
}

static int compare_edges(const void *left, const void *right)
{
    const struct wait_edge *a = left, *b = right;
    if (a->key.waiter != b->key.waiter)
        return a->key.waiter < b->key.waiter ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return memcmp(&a->key, &b->key, sizeof a->key);
}

static int sort_edges(struct wait_graph *graph)
{
    graph->edge_count = graph->merging.count;
    graph->edges = calloc((size_t)graph->edge_count + 1, sizeof *graph->edges);
    if (!graph->edges || graph->merging.failed || graph->parties.failed || graph->texts.failed)
        return -ENOMEM;
    for (uint32_t i = 0; i < graph->edge_count; i++)
        graph->edges[i] = *(struct wait_edge *)intern_table_at(&graph->merging, i);
    qsort(graph->edges, graph->edge_count, sizeof *graph->edges, compare_edges);
    for (uint32_t i = graph->edge_count; i-- > 0;) {
        struct wait_party *party = wait_graph_party(graph, graph->edges[i].key.waiter);
        party->first_edge = i;
        party->edge_count++;
    }
    return 0;
}

/* ---- the whole ---- */

int wait_graph_make(struct wait_graph *graph, const struct profile *profile, const char *const *patterns)
{
    struct meaning meaning;
    *graph = (struct wait_graph){.edge_count = 0};
    string_table_init(&graph->texts);
    int status = meaning_init(&meaning, profile);
    if (intern_table_init(&graph->parties, sizeof(struct wait_party), sizeof(uint32_t)) < 0 ||
        intern_table_init(&graph->merging, sizeof(struct wait_edge), sizeof((struct wait_edge){0}.key)) < 0)
        status = -ENOMEM;
    if (status == 0) {
        add_trees(&(struct making){graph, profile, &meaning, patterns});
        status = sort_edges(graph);
    }
    meaning_deinit(&meaning);
    if (status == 0)
        status = wait_graph_find_knots(graph);
    return status < 0 ? status : wait_graph_find_gains(graph);
}

void wait_graph_free(struct wait_graph *graph)
{
    free(graph->edges);
    intern_table_deinit(&graph->parties);
    intern_table_deinit(&graph->merging);
    string_table_deinit(&graph->texts);
    *graph = (struct wait_graph){.edge_count = 0};
}

const char *wait_graph_thing(const struct wait_graph *graph, const struct wait_edge *edge)
{
    return edge->key.on ? string_table_at(&graph->texts, edge->key.on) : wait_kind_words[edge->key.kind];
}

const char *wait_graph_holder(const struct wait_graph *graph, const struct wait_edge *edge)
{
    return edge->key.holder ? wait_graph_name(graph, edge->key.holder - 1) : NULL;
}

uint32_t wait_graph_knot(const struct wait_graph *graph, const struct wait_edge *edge)
{
    const uint32_t knot = wait_graph_party(graph, edge->key.waiter)->knot;
    const bool is_within = edge->key.holder && wait_graph_party(graph, edge->key.holder - 1)->knot == knot;
    return is_within ? knot : 0;
}
