/*
 * A profile as callgrind_annotate, KCachegrind and speedscope read it: what each function cost itself, line
 * by line, and each of its calls (callgrind_costs.h). All threads are one part. A thread is a function that
 * calls what the thread began with. Costs are written sorted by function, line and callee.
 *
 * Standard: the Callgrind Format Specification of valgrind's manual. docs/formats.md has the rules that the
 * readers add, and what is counted under recursion.
 */
#include "encode/version.h"
#include "callgrind_costs.h"
#include "formats.h"
#include "base/sort.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct callgrind_writer {
    struct callgrind_costs costs;
    struct sink *sink;
    unsigned char *has_object, *has_file; /* by number: its name has been written */
};

/* ---- writing ---- */

static void write_text(struct callgrind_writer *writer, const char *text)
{
    sink_write(writer->sink, text, strlen(text));
}

/* A name must not end its line. Readers would take a name of blanks only for a reference. */
static void write_name(struct callgrind_writer *writer, const char *name)
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

/* Writes the digits so that they end before `at`. Returns where they begin. */
static char *prepend_number(char *at, uint64_t number)
{
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return at;
}

static void write_number(struct callgrind_writer *writer, uint64_t number)
{
    char text[NUMBER_MAX_BYTES], *end = text + sizeof text, *at = prepend_number(end, number);
    sink_write(writer->sink, at, (size_t)(end - at));
}

/* "number number ...\n" */
static void write_numbers(struct callgrind_writer *writer, const uint64_t *numbers, size_t count)
{
    char text[NUMBERS_MAX * (NUMBER_MAX_BYTES + 1)], *end = text + sizeof text, *at = end;
    for (size_t i = count; i-- > 0;) {
        *--at = i + 1 == count ? '\n' : ' ';
        at = prepend_number(at, numbers[i]);
    }
    sink_write(writer->sink, at, (size_t)(end - at));
}

/* "fl=(3) main.c" the first time, "fl=(3)" from then on: speedscope refuses a second definition. */
static void write_position(struct callgrind_writer *writer, const char *key, uint32_t number,
                           const char *name, bool is_defined)
{
    write_text(writer, key);
    write_number(writer, number + 1);
    write_text(writer, is_defined ? ")\n" : ") ");
    if (!is_defined)
        write_name(writer, name);
}

/* A callee's file and object are never left out: each reader would take them from another place. */
static void write_function(struct callgrind_writer *writer, uint32_t number, bool is_callee)
{
    struct callgrind_function *function = callgrind_function_at(&writer->costs, number);
    write_position(writer, is_callee ? "cob=(" : "ob=(", function->object,
                   string_table_at(&writer->costs.objects, function->object),
                   writer->has_object[function->object]);
    write_position(writer, is_callee ? "cfi=(" : "fl=(", function->file,
                   string_table_at(&writer->costs.files, function->file), writer->has_file[function->file]);
    write_position(writer, is_callee ? "cfn=(" : "fn=(", number,
                   string_table_at(&writer->costs.names, function->name), function->is_defined);
    writer->has_object[function->object] = writer->has_file[function->file] = true;
    function->is_defined = true;
}

/* The last one, run delay, is left out where it is not known. Of another program's profile there is the
 * first. */
static int event_count(const struct callgrind_writer *writer)
{
    if (writer->costs.profile->measure)
        return 1;
    return writer->costs.profile->has_rundelay ? 5 : 4;
}

static void write_cost(struct callgrind_writer *writer, const struct callgrind_cost *cost)
{
    const struct values *values = &cost->values;
    const uint64_t line[] = {cost->line,     tree_wall_ns(values),   values->samples,
                             values->cpu_ns, tree_offcpu_ns(values), values->rundelay_ns};
    if (cost->callee) {
        /* With 0 calls callgrind_annotate would take the cost for the caller's own. */
        const uint64_t calls[] = {cost->calls ? cost->calls : 1,
                                  callgrind_function_at(&writer->costs, cost->callee - 1)->start_line};
        write_function(writer, cost->callee - 1, true);
        write_text(writer, "calls=");
        write_numbers(writer, calls, 2);
    }
    write_numbers(writer, line, 1 + event_count(writer));
}

static void write_totals(struct callgrind_writer *writer, const char *key)
{
    struct values sum = {0};
    for (uint32_t i = 0; i < writer->costs.costs.count; i++) {
        if (callgrind_cost_at(&writer->costs, i)->callee == 0)
            tree_add_values(&sum, &callgrind_cost_at(&writer->costs, i)->values);
    }
    const uint64_t numbers[] = {tree_wall_ns(&sum), sum.samples, sum.cpu_ns, tree_offcpu_ns(&sum),
                                sum.rundelay_ns};
    write_text(writer, key);
    write_numbers(writer, numbers, event_count(writer));
}

/* What another program measures. */
static void write_measure(struct callgrind_writer *writer, const struct profile_measure *measure)
{
    char text[160];
    snprintf(text, sizeof text, "event: value : %.64s (%.64s)", measure->name, measure->unit);
    write_name(writer, text);
    write_text(writer, "events: value\n");
}

static void write_events(struct callgrind_writer *writer)
{
    write_text(writer, "event: wall : Wall time (ns)\n"
                       "event: samples : Samples\n"
                       "event: cpu : CPU time (ns)\n"
                       "event: offcpu : Time off the CPU (ns)\n");
    write_text(writer, writer->costs.profile->has_rundelay ? "event: rundelay : Time waiting for a CPU (ns)\n"
                                                             "events: wall samples cpu offcpu rundelay\n"
                                                           : "events: wall samples cpu offcpu\n");
}

static void write_header(struct callgrind_writer *writer)
{
    write_text(writer, "# callgrind format\n"
                       "version: 1\n"
                       "creator: wallprof " WALLPROF_VERSION "\n");
    if (*writer->costs.profile->command) {
        write_text(writer, "cmd: ");
        write_name(writer, writer->costs.profile->command);
    }
    write_text(writer, "positions: line\n");
    if (writer->costs.profile->measure)
        write_measure(writer, writer->costs.profile->measure);
    else
        write_events(writer);
    write_totals(writer, "summary: ");
}

/* ---- order ---- */

/* What the costs of a function are sorted by, and the number of the cost. */
struct cost_order {
    uint32_t line, callee, number;
};

static int compare_cost_orders(const void *a, const void *b)
{
    const struct cost_order *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->callee < y->callee ? -1 : x->callee > y->callee;
}

/* Puts costs of one function together: from orders[ends[function - 1]] (the first: orders[0]) up to, and
 * without, orders[ends[function]]. */
static void distribute(const struct callgrind_writer *writer, struct cost_order *orders, uint32_t *ends)
{
    uint32_t begin = 0;
    for (uint32_t i = 0; i < writer->costs.costs.count; i++)
        ends[callgrind_cost_at(&writer->costs, i)->function]++;
    for (uint32_t function = 0; function < writer->costs.functions.count; function++) {
        uint32_t count = ends[function];
        ends[function] = begin; /* moves to the end as the costs are filled in */
        begin += count;
    }
    for (uint32_t i = 0; i < writer->costs.costs.count; i++) {
        const struct callgrind_cost *cost = callgrind_cost_at(&writer->costs, i);
        orders[ends[cost->function]++] = (struct cost_order){cost->line, cost->callee, i};
    }
}

/* So is the cost on a path that no sample was counted for. */
static bool is_empty(const struct callgrind_cost *cost)
{
    return cost->calls == 0 && !tree_has_weight(&cost->values);
}

static void write_costs_of(struct callgrind_writer *writer, uint32_t function, struct cost_order *orders,
                           uint32_t count)
{
    bool has_begun = false;
    sort_records(orders, count, sizeof *orders, compare_cost_orders);
    for (uint32_t i = 0; i < count; i++) {
        const struct callgrind_cost *cost = callgrind_cost_at(&writer->costs, orders[i].number);
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

static int write_costs(struct callgrind_writer *writer)
{
    size_t orders_bytes = sizeof(struct cost_order) * writer->costs.costs.count;
    size_t ends_bytes = sizeof(uint32_t) * writer->costs.functions.count;
    struct cost_order *orders = scratch_alloc(orders_bytes);
    uint32_t *ends = scratch_alloc(ends_bytes);
    if (orders && ends) {
        distribute(writer, orders, ends);
        for (uint32_t i = 0, begin = 0; i < writer->costs.functions.count; begin = ends[i++])
            write_costs_of(writer, i, orders + begin, ends[i] - begin);
    }
    int status = orders && ends ? 0 : -ENOMEM;
    scratch_free(orders, orders_bytes);
    scratch_free(ends, ends_bytes);
    return status;
}

static int write_all(struct callgrind_writer *writer)
{
    const struct tree *tree = writer->costs.profile->tree;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling)
        callgrind_costs_add_tree(&writer->costs, root);
    writer->has_object = scratch_alloc(string_table_count(&writer->costs.objects));
    writer->has_file = scratch_alloc(string_table_count(&writer->costs.files));
    if (callgrind_costs_have_failed(&writer->costs) || !writer->has_object || !writer->has_file)
        return -ENOMEM;
    write_header(writer);
    int status = write_costs(writer);
    write_text(writer, "\n");
    write_totals(writer, "totals: ");
    return status;
}

int enc_callgrind_write(const struct profile *profile, struct sink *sink)
{
    struct callgrind_writer writer = {.sink = sink};
    int status = callgrind_costs_init(&writer.costs, profile);
    if (status == 0)
        status = write_all(&writer);
    scratch_free(writer.has_object, string_table_count(&writer.costs.objects));
    scratch_free(writer.has_file, string_table_count(&writer.costs.files));
    callgrind_costs_deinit(&writer.costs);
    return status;
}
