/*
 * One walk over each thread's tree. What a subtree took is added to a row where the row leaves the path, that
 * is at its outermost frame: so recursion counts once, and every node is visited once.
 */
#include "report.h"
#include "account/labels.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const by_words[REPORT_BY_COUNT] = {"function", "line",    "file", "module",
                                                      "thread",   "process", "label"};
static const char *const metric_words[METRIC_COUNT] = {"wall", "cpu", "offcpu", "samples"};

static bool find_word(const char *const *words, int count, const char *word, int *ret)
{
    for (*ret = 0; *ret < count; ++*ret) {
        if (strcmp(words[*ret], word) == 0)
            return true;
    }
    return false;
}

const char *report_by_word(enum report_by by)
{
    return by_words[by];
}

bool report_by_of_word(const char *word, enum report_by *ret)
{
    int found;
    bool is_word = find_word(by_words, REPORT_BY_COUNT, word, &found);
    if (is_word)
        *ret = (enum report_by)found;
    return is_word;
}

const char *report_metric_word(enum report_metric metric)
{
    return metric_words[metric];
}

bool report_metric_of_word(const char *word, enum report_metric *ret)
{
    int found;
    bool is_word = find_word(metric_words, METRIC_COUNT, word, &found);
    if (is_word)
        *ret = (enum report_metric)found;
    return is_word;
}

uint64_t report_metric(const struct wp_values *values, enum report_metric metric)
{
    return metric == METRIC_WALL     ? values->wall_ns
           : metric == METRIC_CPU    ? values->cpu_ns
           : metric == METRIC_OFFCPU ? values->offcpu_ns
                                     : values->samples;
}

/* What is known of a location before the walk. */
struct place {
    const char *path; /* of its module or region; NULL for a frame that is none's */
    bool is_focus, is_ignored, is_label_wanted;
};

/* Of a frame that is in no row: a label's where rows are functions, or a function's where they are labels. */
#define NO_ROW UINT32_MAX

struct making {
    struct report *report;
    const struct wp_profile *profile;
    const struct report_request *request;
    struct place *places;           /* by location index */
    uint32_t *row_of_frame;         /* by index into symbols->frames */
    uint32_t *on_path;              /* by row: how many frames of the path are of it */
    uint32_t focus, ignored;        /* how many of the path's locations; ignored: 1 more for a whole thread */
    uint32_t labels, labels_wanted; /* how many labels of the path */
    uint32_t no_label_row;          /* where rows are labels: of what has none; else NO_ROW */
    uint32_t pseudo_on_path[PSEUDO_KINDS];
    struct wp_values *levels; /* of the path: what was below, so far */
    uint32_t level_count, level_capacity;
    /* Of the thread that is walked: how long in each function itself, and the node that it was in longest. */
    uint64_t *in_function;
    arena_ref *node_of_function;
    uint32_t *touched; /* the functions that have any */
    uint32_t touched_count;
};

/* ---- places and rows ---- */

static const struct wp_location *location_of(const struct making *making, const struct wp_node *node)
{
    const struct wp_tree *tree = making->profile->tree;
    return tree_location_at(tree, node->location);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static const char *path_of(const struct making *making, const struct wp_location *location)
{
    const struct wp_symbols *symbols = making->profile->symbols;
    uint32_t region = symbols->region_of[location->index];
    if (region)
        return symbols->regions[region - 1].path;
    if (!location->module)
        return NULL;
    const struct wp_module *module = arena_at(making->profile->arena, location->module);
    return arena_at(making->profile->arena, module->path);
}

static bool matches(const regex_t *expression, const char *text)
{
    return text && regexec(expression, text, 0, NULL, 0) == 0;
}

static bool place_matches(const struct making *making, const struct wp_location *location,
                          const regex_t *expression)
{
    const struct wp_symbols *symbols = making->profile->symbols;
    uint32_t count;
    const struct wp_frame *frames = symbols_frames(symbols, location->index, &count);
    if (!expression)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct wp_function *function = &symbols->functions[frames[i].function];
        if (matches(expression, function->name) || matches(expression, function->file))
            return true;
    }
    return matches(expression, path_of(making, location));
}

/* What a frame is called in the report. */
static const char *row_name(const struct making *making, const struct wp_frame *frame, const char *path,
                            char *buffer, size_t bytes)
{
    const struct wp_function *function = &making->profile->symbols->functions[frame->function];
    switch (making->request->by) {
    case REPORT_BY_LINE:
        snprintf(buffer, bytes, frame->line ? "%s %s:%u" : "%s", function->name,
                 function->file ? function->file : "?", frame->line);
        return buffer;
    case REPORT_BY_FILE:
        if (function->file)
            return function->file;
        snprintf(buffer, bytes, *path == '[' ? "%s" : "[%s]", base_name(path));
        return buffer;
    case REPORT_BY_MODULE:
        return path;
    default:
        return function->name;
    }
}

static bool is_label_wanted(const struct making *making, const struct wp_location *location)
{
    char text[LABELS_KEY_BYTES + LABELS_VALUE_BYTES];
    const char *wanted = making->request->label, *key = tree_label_key(making->profile->arena, location);
    if (!wanted)
        return false;
    if (!strchr(wanted, '='))
        return fnmatch(wanted, key, 0) == 0;
    snprintf(text, sizeof text, "%s=%s", key, tree_label_value(making->profile->arena, location));
    return fnmatch(wanted, text, 0) == 0;
}

/* A label is no function, file or module. */
static void place_label(struct making *making, const struct wp_location *location)
{
    char name[TREE_LABEL_NAME_BYTES];
    const struct wp_symbols *symbols = making->profile->symbols;
    const struct wp_arena *arena = making->profile->arena;
    const uint32_t frame = symbols->first_frame[location->index];
    making->places[location->index].is_label_wanted = is_label_wanted(making, location);
    making->row_of_frame[frame] = NO_ROW;
    if (making->request->by != REPORT_BY_LABEL)
        return;
    snprintf(name, sizeof name, "%s=%s", tree_label_key(arena, location), tree_label_value(arena, location));
    making->row_of_frame[frame] = string_table_intern(&making->report->names, name);
}

static void place_location(struct making *making, const struct wp_location *location)
{
    if (tree_is_label(location)) {
        place_label(making, location);
        return;
    }
    static char buffer[1 << 16];
    const struct wp_symbols *symbols = making->profile->symbols;
    struct place *place = &making->places[location->index];
    place->path = path_of(making, location);
    place->is_focus = place_matches(making, location, making->request->focus);
    place->is_ignored = place_matches(making, location, making->request->ignore);
    for (uint32_t i = symbols->first_frame[location->index]; i < symbols->first_frame[location->index + 1];
         i++) {
        const struct wp_frame *frame = &symbols->frames[i];
        const char *path = place->path ? place->path : symbols->functions[frame->function].name;
        making->row_of_frame[i] = NO_ROW;
        if (making->request->by != REPORT_BY_LABEL)
            making->row_of_frame[i] = string_table_intern(
                &making->report->names, row_name(making, frame, path, buffer, sizeof buffer));
    }
}

static void place_all(struct making *making)
{
    const struct wp_tree *tree = making->profile->tree;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next)
        place_location(making, tree_location_at(tree, ref));
}

/* ---- the walk ---- */

static struct wp_values *push_level(struct making *making)
{
    if (making->level_count == making->level_capacity) {
        uint32_t capacity = making->level_capacity ? 2 * making->level_capacity : 256;
        struct wp_values *levels = realloc(making->levels, sizeof *levels * capacity);
        if (!levels)
            return NULL;
        making->levels = levels;
        making->level_capacity = capacity;
    }
    making->levels[making->level_count] = (struct wp_values){0};
    return &making->levels[making->level_count++];
}

/* The flat time of a location: its innermost frame's. */
static void add_flat(struct making *making, const struct wp_location *location, arena_ref node,
                     const struct wp_values *self)
{
    const struct wp_symbols *symbols = making->profile->symbols;
    uint32_t frame = symbols->first_frame[location->index], function = symbols->frames[frame].function;
    uint64_t longest =
        making->node_of_function[function]
            ? tree_node(making->profile->tree, making->node_of_function[function])->self.wall_ns
            : 0;
    if (making->row_of_frame[frame] != NO_ROW)
        report_add(&making->report->rows[making->row_of_frame[frame]].flat, self);
    if (making->no_label_row != NO_ROW && making->labels == 0)
        report_add(&making->report->rows[making->no_label_row].cum, self);
    if (!making->node_of_function[function])
        making->touched[making->touched_count++] = function;
    making->in_function[function] += self->wall_ns;
    if (!making->node_of_function[function] || self->wall_ns > longest)
        making->node_of_function[function] = node;
}

static bool is_selected(const struct making *making)
{
    return (!making->request->focus || making->focus) && (!making->request->label || making->labels_wanted) &&
           !making->ignored;
}

/* Steps onto a location's frames, or off them: `subtotal` is what was below. */
static void enter(struct making *making, const struct wp_location *location)
{
    const struct wp_symbols *symbols = making->profile->symbols;
    making->focus += making->places[location->index].is_focus;
    making->ignored += making->places[location->index].is_ignored;
    making->labels += tree_is_label(location);
    making->labels_wanted += making->places[location->index].is_label_wanted;
    if (location->pseudo)
        making->pseudo_on_path[location->pseudo - 1]++;
    for (uint32_t i = symbols->first_frame[location->index]; i < symbols->first_frame[location->index + 1];
         i++) {
        if (making->row_of_frame[i] != NO_ROW)
            making->on_path[making->row_of_frame[i]]++;
    }
}

static void leave(struct making *making, const struct wp_location *location, const struct wp_values *subtotal)
{
    const struct wp_symbols *symbols = making->profile->symbols;
    making->focus -= making->places[location->index].is_focus;
    making->ignored -= making->places[location->index].is_ignored;
    making->labels -= tree_is_label(location);
    making->labels_wanted -= making->places[location->index].is_label_wanted;
    if (location->pseudo && --making->pseudo_on_path[location->pseudo - 1] == 0)
        report_add(&making->report->pseudo[location->pseudo - 1], subtotal);
    for (uint32_t i = symbols->first_frame[location->index]; i < symbols->first_frame[location->index + 1];
         i++) {
        if (making->row_of_frame[i] != NO_ROW && --making->on_path[making->row_of_frame[i]] == 0)
            report_add(&making->report->rows[making->row_of_frame[i]].cum, subtotal);
    }
}

/* A root has time of its own only where there was no memory for a frame below it. */
static const struct wp_location *place_of_node(const struct making *making, const struct wp_node *node)
{
    const struct wp_tree *tree = making->profile->tree;
    return node->parent ? location_of(making, node) : tree_location_at(tree, tree->pseudo[PSEUDO_OVERFLOW]);
}

static bool enter_node(struct making *making, arena_ref ref)
{
    const struct wp_node *node = tree_node(making->profile->tree, ref);
    const struct wp_location *location = place_of_node(making, node);
    struct wp_values *below = push_level(making);
    if (!below)
        return false;
    if (node->parent)
        enter(making, location);
    report_add(&making->report->total, &node->self);
    if (!is_selected(making) || !report_is_any(&node->self))
        return true;
    *below = node->self;
    add_flat(making, location, ref, &node->self);
    if (!node->parent) {
        enter(making, location);
        leave(making, location, &node->self);
    }
    return true;
}

static void leave_node(struct making *making, arena_ref ref)
{
    const struct wp_node *node = tree_node(making->profile->tree, ref);
    const struct wp_values subtotal = making->levels[--making->level_count];
    if (!node->parent)
        return;
    leave(making, location_of(making, node), &subtotal);
    report_add(&making->levels[making->level_count - 1], &subtotal);
}

/* Adds up a root's tree; what the filters leave of it is in *ret. */
static bool walk(struct making *making, arena_ref root, struct wp_values *ret)
{
    const struct wp_tree *tree = making->profile->tree;
    arena_ref node = root;
    making->level_count = 0;
    for (;;) {
        if (!enter_node(making, node))
            return false;
        arena_ref next = tree_node(tree, node)->first_child;
        while (!next) {
            *ret = making->levels[0];
            leave_node(making, node);
            if (node == root)
                return true;
            next = tree_node(tree, node)->next_sibling;
            node = tree_node(tree, node)->parent;
        }
        node = next;
    }
}

/* ---- threads ---- */

static const char *function_name(const struct making *making, const struct wp_location *location)
{
    const struct wp_symbols *symbols = making->profile->symbols;
    return symbols->functions[symbols->frames[symbols->first_frame[location->index]].function].name;
}

/* Waiting is in the C library mostly: who called that says more. */
static const char *caller_in_another_module(const struct making *making, arena_ref ref)
{
    const struct wp_tree *tree = making->profile->tree;
    const struct wp_node *node = tree_node(tree, ref);
    if (!node->parent || location_of(making, node)->pseudo)
        return NULL;
    const char *path = making->places[location_of(making, node)->index].path;
    while (tree_node(tree, node->parent)->parent) {
        node = tree_node(tree, node->parent);
        const struct wp_location *location = location_of(making, node);
        const char *other = making->places[location->index].path;
        if (path && other && strcmp(path, other) != 0)
            return function_name(making, location);
    }
    return NULL;
}

/* And forgets what it was in. */
static void find_mostly_in(struct making *making, struct report_thread *thread)
{
    const struct wp_symbols *symbols = making->profile->symbols;
    arena_ref node = 0;
    for (uint32_t i = 0; i < making->touched_count; i++) {
        uint32_t function = making->touched[i];
        if (making->in_function[function] > thread->mostly_ns) {
            thread->mostly_ns = making->in_function[function];
            thread->mostly_in = symbols->functions[function].name;
            node = making->node_of_function[function];
        }
        making->in_function[function] = 0;
        making->node_of_function[function] = 0;
    }
    making->touched_count = 0;
    thread->called_from = node ? caller_in_another_module(making, node) : NULL;
}

/* By what it is called, or by its number; nobody's is 0. */
static bool is_called(const char *wanted, const char *name, int32_t number)
{
    char text[16];
    snprintf(text, sizeof text, "%d", number);
    return !wanted || fnmatch(wanted, name, 0) == 0 || (number && strcmp(wanted, text) == 0);
}

static bool is_wanted(const struct making *making, const struct report_thread *thread)
{
    const char *process = making->request->process;
    int32_t pid = thread->of ? thread->of->pid : 0;
    return is_called(making->request->thread, thread->name, thread->tid) &&
           (is_called(process, thread->process, pid) ||
            (thread->of && fnmatch(process, thread->of->name, 0) == 0));
}

/* Without labels a profile does not tell its threads apart; with them, what has none found no room for one.
 */
static struct report_thread thread_of(const struct making *making, const struct wp_node *root)
{
    struct report_thread thread = {.tid = 0};
    const struct wp_thread_record *record = profile_thread(making->profile, root->thread);
    enum wp_labels labels = making->profile->labels;
    thread.has_name = profile_tells_thread(making->profile, record);
    thread.of = making->profile->is_merged ? profile_process(making->profile, record) : NULL;
    profile_process_title(making->profile, record, thread.process);
    if (thread.has_name)
        profile_thread_name(record, thread.name);
    else
        strcpy(thread.name, labels == LABELS_NONE ? "[all threads]" : "[no thread]");
    if (thread.has_name && labels == LABELS_ID)
        thread.tid = record->tid;
    return thread;
}

/* The walk of one thread, and what it says of the thread. */
static bool add_thread(struct making *making, arena_ref root)
{
    struct report *report = making->report;
    struct report_thread *thread = &report->threads[report->thread_count];
    *thread = thread_of(making, tree_node(making->profile->tree, root));
    making->ignored = !is_wanted(making, thread);
    if (!walk(making, root, &thread->total))
        return false;
    find_mostly_in(making, thread);
    report_add(&report->selected, &thread->total);
    report->thread_count += report_is_any(&thread->total);
    return true;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b); /* largest first */
}

static int compare_threads(const void *left, const void *right)
{
    const struct report_thread *a = left, *b = right;
    int order = compare_numbers(a->total.wall_ns, b->total.wall_ns);
    if (order == 0)
        order = strcmp(a->process, b->process);
    if (order == 0)
        order = strcmp(a->name, b->name);
    return order ? order : (a->tid > b->tid) - (a->tid < b->tid);
}

static bool add_threads(struct making *making)
{
    const struct wp_tree *tree = making->profile->tree;
    struct report *report = making->report;
    size_t count = 0;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling)
        count++;
    report->threads = calloc(count + 1, sizeof *report->threads);
    if (!report->threads)
        return false;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        if (!add_thread(making, root))
            return false;
    }
    qsort(report->threads, report->thread_count, sizeof *report->threads, compare_threads);
    return true;
}

/* ---- the whole ---- */

static bool make_tables(struct making *making)
{
    const struct wp_symbols *symbols = making->profile->symbols;
    making->places = calloc((size_t)symbols->location_count + 1, sizeof *making->places);
    making->row_of_frame =
        calloc((size_t)symbols->first_frame[symbols->location_count] + 1, sizeof *making->row_of_frame);
    making->in_function = calloc((size_t)symbols->function_count + 1, sizeof *making->in_function);
    making->node_of_function = calloc((size_t)symbols->function_count + 1, sizeof *making->node_of_function);
    making->touched = calloc((size_t)symbols->function_count + 1, sizeof *making->touched);
    return making->places && making->row_of_frame && making->in_function && making->node_of_function &&
           making->touched;
}

/* Rows are numbered as their names are. */
static bool make_rows(struct making *making)
{
    struct report *report = making->report;
    making->no_label_row =
        making->request->by == REPORT_BY_LABEL ? string_table_intern(&report->names, "[no label]") : NO_ROW;
    place_all(making);
    report->row_count = string_table_count(&report->names);
    report->rows = calloc(report->row_count + 1, sizeof *report->rows);
    making->on_path = calloc(report->row_count + 1, sizeof *making->on_path);
    return report->rows && making->on_path && !report->names.failed;
}

/* Names do not move any more; rows without anything in them go. Of a label all of its time is its own. */
static void finish_rows(struct report *report, enum report_by by)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->row_count; i++) {
        if (by == REPORT_BY_LABEL)
            report->rows[i].flat = report->rows[i].cum;
        if (!report_is_any(&report->rows[i].cum))
            continue;
        report->rows[kept] = report->rows[i];
        report->rows[kept++].name = string_table_at(&report->names, (uint32_t)i);
    }
    report->row_count = kept;
}

const char *report_thread_name(const struct report_thread *thread, char ret[REPORT_THREAD_NAME_BYTES])
{
    char tid[24] = "";
    if (thread->tid)
        snprintf(tid, sizeof tid, " (%d)", thread->tid);
    snprintf(ret, REPORT_THREAD_NAME_BYTES, "%s%s%s%s", thread->process, *thread->process ? ": " : "",
             thread->name, tid);
    return ret;
}

/* Threads of one name and id are one row, or those of one process. */
static bool make_thread_rows(struct report *report, enum report_by by)
{
    char name[REPORT_THREAD_NAME_BYTES];
    struct report_row *rows = calloc(report->thread_count + 2, sizeof *rows);
    free(report->rows);
    report->rows = rows;
    report->row_count = 0;
    string_table_deinit(&report->names);
    string_table_init(&report->names);
    for (size_t i = 0; rows && i < report->thread_count; i++) {
        const struct report_thread *thread = &report->threads[i];
        const char *process = *thread->process ? thread->process : "[all processes]";
        uint32_t row = string_table_intern(
            &report->names, by == REPORT_BY_PROCESS ? process : report_thread_name(thread, name));
        report_add(&rows[row].flat, &report->threads[i].total);
        report_add(&rows[row].cum, &report->threads[i].total);
    }
    report->row_count = string_table_count(&report->names);
    return rows && !report->names.failed;
}

static void release_tables(struct making *making)
{
    free(making->places);
    free(making->row_of_frame);
    free(making->on_path);
    free(making->levels);
    free(making->in_function);
    free(making->node_of_function);
    free(making->touched);
}

int report_make(struct report *report, const struct wp_profile *profile, const struct report_request *request)
{
    struct making making = {.report = report, .profile = profile, .request = request};
    *report = (struct report){.row_count = 0};
    string_table_init(&report->names);
    bool is_made = make_tables(&making) && make_rows(&making) && add_threads(&making);
    if (is_made && (request->by == REPORT_BY_THREAD || request->by == REPORT_BY_PROCESS))
        is_made = make_thread_rows(report, request->by);
    release_tables(&making);
    if (!is_made) {
        report_free(report);
        return -ENOMEM;
    }
    finish_rows(report, request->by);
    return 0;
}

void report_free(struct report *report)
{
    free(report->rows);
    free(report->threads);
    string_table_deinit(&report->names);
    *report = (struct report){.row_count = 0};
}

/* ---- order ---- */

struct sorting {
    enum report_metric metric;
    bool by_cum;
};

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct report_row *a = left, *b = right;
    const struct sorting *sorting = context;
    int flat =
        compare_numbers(report_metric(&a->flat, sorting->metric), report_metric(&b->flat, sorting->metric));
    int cum =
        compare_numbers(report_metric(&a->cum, sorting->metric), report_metric(&b->cum, sorting->metric));
    int order = sorting->by_cum ? cum : flat;
    if (order == 0)
        order = sorting->by_cum ? flat : cum;
    return order ? order : strcmp(a->name, b->name);
}

void report_sort(struct report *report, enum report_metric metric, bool by_cum)
{
    struct sorting sorting = {metric, by_cum};
    qsort_r(report->rows, report->row_count, sizeof *report->rows, compare_rows, &sorting);
}
