/*
 * The tree is walked once, with the frames from the root to the node in hand as a stack; what each function
 * and each call cost is added up on the way, and written, sorted, at the end.
 *
 * A reader takes for a function's inclusive cost the sum of the calls to it. So that this is right under
 * recursion, a sample counts for the call that entered a function first, and for none that entered it again
 * within that one; and so that it is right for a function that threads begin with, which may be called too
 * (clone3), every stack has a caller: its thread.
 */
#include "enc_callgrind.h"
#include "base/intern_table.h"
#include "base/sort.h"
#include "base/string_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What the format takes for one function: readers tell functions by all three. Numbers in the string tables;
 * 0 is not known. */
struct function {
    uint32_t object, file, name;
    uint32_t start_line;
    uint32_t active; /* its frames on the stack in hand */
    bool is_defined; /* its name has been written */
};
enum { FUNCTION_KEY_BYTES = 3 * sizeof(uint32_t) };

/* A line of a function: its own cost, or what was called there. */
struct cost {
    uint32_t function, line;
    uint32_t callee; /* 1 + function; 0: the line itself */
    uint64_t calls;
    struct wp_values values; /* of a call: inclusive */
};
enum { COST_KEY_BYTES = 3 * sizeof(uint32_t) };

/* A frame of the stack in hand. */
struct open_frame {
    uint32_t function, line;
    uint32_t depth; /* of its node */
    uint32_t call;  /* number of the cost of the call that made it, if it is not the first frame */
    bool is_outermost;
    struct wp_values inclusive;
};

struct writer {
    const struct wp_profile *profile;
    struct sink *sink;
    struct string_table objects, files, names;
    struct record_table functions, costs;
    uint32_t *function_of_frame; /* by index of struct wp_frame: 1 + function, 0 for one not met yet */
    struct open_frame *stack;
    uint32_t stack_count, stack_capacity;
    unsigned char *has_object, *has_file; /* by number: its name has been written */
    bool failed;
};

/* ---- functions ---- */

static uint32_t add_function(struct writer *writer, const char *object, const char *file, const char *name,
                             uint32_t start_line)
{
    const uint32_t key[] = {string_table_intern(&writer->objects, object),
                            string_table_intern(&writer->files, file),
                            string_table_intern(&writer->names, name)};
    uint32_t number = record_table_intern(&writer->functions, key);
    struct function *function = record_table_at(&writer->functions, number);
    if (function->start_line == 0)
        function->start_line = start_line;
    return number;
}

static const char *object_of(const struct writer *writer, const struct wp_location *location)
{
    const struct wp_symbols *symbols = writer->profile->symbols;
    uint32_t region = symbols->region_of[location->index];
    if (region)
        return symbols->regions[region - 1].path;
    if (!location->module)
        return "";
    const struct wp_module *module = arena_at(writer->profile->arena, location->module);
    return arena_at(writer->profile->arena, module->path);
}

static uint32_t function_of(struct writer *writer, const struct wp_location *location,
                            const struct wp_frame *frame)
{
    const struct wp_symbols *symbols = writer->profile->symbols;
    uint32_t *number = &writer->function_of_frame[frame - symbols->frames];
    if (*number == 0) {
        const struct wp_function *function = &symbols->functions[frame->function];
        *number = 1 + add_function(writer, object_of(writer, location), function->file ? function->file : "",
                                   function->name, function->start_line);
    }
    return *number - 1;
}

/* By its name also where labels have its id: thousands of threads would be thousands of functions. */
static uint32_t function_of_thread(struct writer *writer, uint32_t thread_number)
{
    const struct wp_thread_record *thread = profile_thread(writer->profile, thread_number);
    char name[THREAD_NAME_BYTES + 1], function[sizeof name + sizeof "[thread ]"];
    if (!profile_tells_thread(writer->profile, thread))
        return add_function(writer, "", "", "[threads]", 0);
    profile_thread_name(thread, name);
    snprintf(function, sizeof function, "[thread %s]", name);
    return add_function(writer, "", "", function, 0);
}

/* ---- adding up ---- */

static uint32_t cost_of(struct writer *writer, const struct open_frame *frame, uint32_t callee)
{
    const uint32_t key[] = {frame->function, frame->line, callee};
    return record_table_intern(&writer->costs, key);
}

static struct cost *cost_at(const struct writer *writer, uint32_t number)
{
    return record_table_at(&writer->costs, number);
}

static struct function *function_at(const struct writer *writer, uint32_t number)
{
    return record_table_at(&writer->functions, number);
}

static bool reserve_frame(struct writer *writer)
{
    if (writer->stack_count < writer->stack_capacity)
        return true;
    uint32_t capacity = writer->stack_capacity ? writer->stack_capacity * 2 : 256;
    writer->stack = scratch_grow(writer->stack, sizeof *writer->stack * writer->stack_capacity,
                                 sizeof *writer->stack * capacity);
    writer->stack_capacity = writer->stack ? capacity : 0;
    return writer->stack != NULL;
}

static void open_frame(struct writer *writer, uint32_t function, uint32_t line, uint32_t depth,
                       uint64_t calls)
{
    uint32_t call = 0;
    if (writer->failed || !reserve_frame(writer)) {
        writer->failed = true;
        writer->stack_count = 0;
        return;
    }
    if (writer->stack_count > 0) {
        call = cost_of(writer, &writer->stack[writer->stack_count - 1], function + 1);
        cost_at(writer, call)->calls += calls;
    }
    writer->stack[writer->stack_count++] =
        (struct open_frame){.function = function,
                            .line = line,
                            .depth = depth,
                            .call = call,
                            .is_outermost = function_at(writer, function)->active++ == 0};
}

/* All frames of nodes at least that deep: what they cost is known now. */
static void close_frames(struct writer *writer, uint32_t depth)
{
    while (writer->stack_count > 0 && writer->stack[writer->stack_count - 1].depth >= depth) {
        const struct open_frame *frame = &writer->stack[--writer->stack_count];
        function_at(writer, frame->function)->active--;
        if (writer->stack_count == 0)
            return;
        tree_add_values(&writer->stack[writer->stack_count - 1].inclusive, &frame->inclusive);
        if (frame->is_outermost)
            tree_add_values(&cost_at(writer, frame->call)->values, &frame->inclusive);
    }
}

/* To the innermost frame. */
static void add_self(struct writer *writer, const struct wp_values *values)
{
    if (writer->failed || !tree_has_weight(values))
        return;
    struct open_frame *frame = &writer->stack[writer->stack_count - 1];
    tree_add_values(&frame->inclusive, values);
    tree_add_values(&cost_at(writer, cost_of(writer, frame, 0))->values, values);
}

static void open_location(struct writer *writer, arena_ref ref, uint32_t depth, uint64_t calls)
{
    const struct wp_location *location = tree_location_at(writer->profile->tree, ref);
    uint32_t count;
    const struct wp_frame *frames = symbols_frames(writer->profile->symbols, location->index, &count);
    for (uint32_t i = count; i-- > 0;)
        open_frame(writer, function_of(writer, location, &frames[i]), frames[i].line, depth, calls);
}

/* Where there are several, each calls its threads. */
static void open_process(struct writer *writer, uint32_t thread_number)
{
    const struct wp_thread_record *thread = profile_thread(writer->profile, thread_number);
    char title[PROCESS_TITLE_BYTES], function[sizeof title + sizeof "[process ]"];
    if (!*profile_process_title(writer->profile, thread, title))
        return;
    snprintf(function, sizeof function, "[process %s]", title);
    open_frame(writer, add_function(writer, "", "", function, 0), 0, 0, 1);
}

/* A root has weight only when there was no memory for a pseudo-frame below it. */
static void add_root(struct writer *writer, const struct wp_node *root)
{
    const struct wp_tree *tree = writer->profile->tree;
    open_process(writer, root->thread);
    open_frame(writer, function_of_thread(writer, root->thread), 0, 0, 1);
    if (tree_has_weight(&root->self)) {
        open_location(writer, tree->pseudo[PSEUDO_OVERFLOW], 1, 1);
        add_self(writer, &root->self);
    }
}

static void add_tree(struct writer *writer, arena_ref root)
{
    const struct wp_tree *tree = writer->profile->tree;
    add_root(writer, tree_node(tree, root));
    for (arena_ref ref = tree_next(tree, root, root); ref; ref = tree_next(tree, root, ref)) {
        const struct wp_node *node = tree_node(tree, ref);
        close_frames(writer, node->depth);
        open_location(writer, node->location, node->depth, node->calls);
        add_self(writer, &node->self);
    }
    close_frames(writer, 0);
}

/* ---- writing ---- */

static void write_text(struct writer *writer, const char *text)
{
    sink_write(writer->sink, text, strlen(text));
}

/* A line ends where it ends, and a name without a letter would be taken for none. */
static void write_name(struct writer *writer, const char *name)
{
    const char *at = name;
    while (*at == ' ')
        at++;
    if (!*at)
        name = "???";
    for (; *name; name++)
        sink_write(writer->sink, (unsigned char)*name < ' ' || *name == 0x7f ? "?" : name, 1);
    write_text(writer, "\n");
}

enum { NUMBER_MAX_BYTES = 20, NUMBERS_MAX = 5 };

/* In front of what is there: digits come last first. Returns where it begins. */
static char *prepend_number(char *at, uint64_t number)
{
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return at;
}

static void write_number(struct writer *writer, uint64_t number)
{
    char text[NUMBER_MAX_BYTES], *end = text + sizeof text, *at = prepend_number(end, number);
    sink_write(writer->sink, at, (size_t)(end - at));
}

/* "number number ...\n" */
static void write_numbers(struct writer *writer, const uint64_t *numbers, size_t count)
{
    char text[NUMBERS_MAX * (NUMBER_MAX_BYTES + 1)], *end = text + sizeof text, *at = end;
    for (size_t i = count; i-- > 0;) {
        *--at = i + 1 == count ? '\n' : ' ';
        at = prepend_number(at, numbers[i]);
    }
    sink_write(writer->sink, at, (size_t)(end - at));
}

/* "fl=(3) main.c" the first time, "fl=(3)" from then on: speedscope refuses a second definition. */
static void write_position(struct writer *writer, const char *key, uint32_t number, const char *name,
                           bool is_defined)
{
    write_text(writer, key);
    write_number(writer, number + 1);
    write_text(writer, is_defined ? ")\n" : ") ");
    if (!is_defined)
        write_name(writer, name);
}

/* Readers take a missing file or object of a callee each from another place: none is left out. */
static void write_function(struct writer *writer, uint32_t number, bool is_callee)
{
    struct function *function = function_at(writer, number);
    write_position(writer, is_callee ? "cob=(" : "ob=(", function->object,
                   string_table_at(&writer->objects, function->object), writer->has_object[function->object]);
    write_position(writer, is_callee ? "cfi=(" : "fl=(", function->file,
                   string_table_at(&writer->files, function->file), writer->has_file[function->file]);
    write_position(writer, is_callee ? "cfn=(" : "fn=(", number,
                   string_table_at(&writer->names, function->name), function->is_defined);
    writer->has_object[function->object] = writer->has_file[function->file] = true;
    function->is_defined = true;
}

static void write_cost(struct writer *writer, const struct cost *cost)
{
    const struct wp_values *values = &cost->values;
    const uint64_t line[] = {cost->line, values->wall_ns, values->samples, values->cpu_ns, values->offcpu_ns};
    if (cost->callee) {
        /* Of no calls callgrind_annotate would take the cost for the caller's own. */
        const uint64_t calls[] = {cost->calls ? cost->calls : 1,
                                  function_at(writer, cost->callee - 1)->start_line};
        write_function(writer, cost->callee - 1, true);
        write_text(writer, "calls=");
        write_numbers(writer, calls, 2);
    }
    write_numbers(writer, line, 5);
}

static void write_totals(struct writer *writer, const char *key)
{
    struct wp_values sum = {0};
    for (uint32_t i = 0; i < writer->costs.count; i++) {
        if (cost_at(writer, i)->callee == 0)
            tree_add_values(&sum, &cost_at(writer, i)->values);
    }
    const uint64_t numbers[] = {sum.wall_ns, sum.samples, sum.cpu_ns, sum.offcpu_ns};
    write_text(writer, key);
    write_numbers(writer, numbers, 4);
}

static void write_header(struct writer *writer)
{
    write_text(writer, "# callgrind format\n"
                       "version: 1\n"
                       "creator: wallprof " WALLPROF_VERSION "\n");
    if (*writer->profile->command) {
        write_text(writer, "cmd: ");
        write_name(writer, writer->profile->command);
    }
    write_text(writer, "positions: line\n"
                       "event: wall : Wall time (ns)\n"
                       "event: samples : Samples\n"
                       "event: cpu : CPU time (ns)\n"
                       "event: offcpu : Time off the CPU (ns)\n"
                       "events: wall samples cpu offcpu\n");
    write_totals(writer, "summary: ");
}

/* ---- order ---- */

/* A cost among those of its function. */
struct place {
    uint32_t line, callee, number;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->callee < y->callee ? -1 : x->callee > y->callee;
}

/* By function: places[ends[function - 1]], places[0] for the first, up to places[ends[function]]. */
static void distribute(const struct writer *writer, struct place *places, uint32_t *ends)
{
    uint32_t begin = 0;
    for (uint32_t i = 0; i < writer->costs.count; i++)
        ends[cost_at(writer, i)->function]++;
    for (uint32_t function = 0; function < writer->functions.count; function++) {
        uint32_t count = ends[function];
        ends[function] = begin; /* moves to the end as places are taken */
        begin += count;
    }
    for (uint32_t i = 0; i < writer->costs.count; i++) {
        const struct cost *cost = cost_at(writer, i);
        places[ends[cost->function]++] = (struct place){cost->line, cost->callee, i};
    }
}

/* A path that was never weighed may have left one. */
static bool is_empty(const struct cost *cost)
{
    return cost->calls == 0 && !tree_has_weight(&cost->values);
}

static void write_costs_of(struct writer *writer, uint32_t function, struct place *places, uint32_t count)
{
    bool has_begun = false;
    sort_records(places, count, sizeof *places, compare_places);
    for (uint32_t i = 0; i < count; i++) {
        const struct cost *cost = cost_at(writer, places[i].number);
        if (is_empty(cost))
            continue;
        if (!has_begun) {
            write_text(writer, "\n");
            write_function(writer, function, false);
        }
        has_begun = true;
        write_cost(writer, cost);
    }
}

static int write_costs(struct writer *writer)
{
    size_t places_bytes = sizeof(struct place) * writer->costs.count;
    size_t ends_bytes = sizeof(uint32_t) * writer->functions.count;
    struct place *places = scratch_alloc(places_bytes);
    uint32_t *ends = scratch_alloc(ends_bytes);
    if (places && ends) {
        distribute(writer, places, ends);
        for (uint32_t i = 0, begin = 0; i < writer->functions.count; begin = ends[i++])
            write_costs_of(writer, i, places + begin, ends[i] - begin);
    }
    int status = places && ends ? 0 : -ENOMEM;
    scratch_free(places, places_bytes);
    scratch_free(ends, ends_bytes);
    return status;
}

static bool has_failed(const struct writer *writer)
{
    return writer->failed || writer->functions.failed || writer->costs.failed || writer->objects.failed ||
           writer->files.failed || writer->names.failed;
}

static int write_all(struct writer *writer)
{
    const struct wp_tree *tree = writer->profile->tree;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling)
        add_tree(writer, root);
    writer->has_object = scratch_alloc(string_table_count(&writer->objects));
    writer->has_file = scratch_alloc(string_table_count(&writer->files));
    if (has_failed(writer) || !writer->has_object || !writer->has_file)
        return -ENOMEM;
    write_header(writer);
    int status = write_costs(writer);
    write_text(writer, "\n");
    write_totals(writer, "totals: ");
    return status;
}

static size_t frame_bytes(const struct wp_symbols *symbols)
{
    return sizeof(uint32_t) * symbols->first_frame[symbols->location_count];
}

static int begin(struct writer *writer)
{
    string_table_init(&writer->objects);
    string_table_init(&writer->files);
    string_table_init(&writer->names);
    int status = record_table_init(&writer->functions, sizeof(struct function), FUNCTION_KEY_BYTES);
    if (status == 0)
        status = record_table_init(&writer->costs, sizeof(struct cost), COST_KEY_BYTES);
    writer->function_of_frame = scratch_alloc(frame_bytes(writer->profile->symbols));
    return status < 0 ? status : writer->function_of_frame ? 0 : -ENOMEM;
}

int enc_callgrind_write(const struct wp_profile *profile, struct sink *sink)
{
    struct writer writer = {.profile = profile, .sink = sink};
    int status = begin(&writer);
    if (status == 0)
        status = write_all(&writer);
    scratch_free(writer.has_object, string_table_count(&writer.objects));
    scratch_free(writer.has_file, string_table_count(&writer.files));
    scratch_free(writer.stack, sizeof *writer.stack * writer.stack_capacity);
    scratch_free(writer.function_of_frame, frame_bytes(profile->symbols));
    record_table_deinit(&writer.costs);
    record_table_deinit(&writer.functions);
    string_table_deinit(&writer.names);
    string_table_deinit(&writer.files);
    string_table_deinit(&writer.objects);
    return status;
}
