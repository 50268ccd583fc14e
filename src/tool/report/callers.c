#include "callers.h"
#include "report_title.h"
#include "short_name.h"
#include "tool/io/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* In place of a function's number. */
#define NO_FUNCTION UINT32_MAX

struct finding_callers {
    const struct profile *profile;
    struct callers *callers;
    bool *is_wanted;       /* by function */
    uint32_t *row_of;      /* by function: the number of its name */
    struct values *around; /* by row: of its calls of what is wanted */
    struct values *inside; /* by row: of what is wanted calling it */
};

bool callers_matches(const char *name, const char *wanted)
{
    char text[SHORT_NAME_BYTES];
    return strcmp(name, wanted) == 0 || strcmp(short_name(name, text_width(wanted), text), wanted) == 0;
}

/* What a stack says: the functions around the outermost wanted one and inside the innermost. False: it has
 * none that is wanted. */
static bool look_outwards(const struct finding_callers *finding, arena_ref node, uint32_t *ret_caller,
                          uint32_t *ret_callee)
{
    const struct tree *tree = finding->profile->tree;
    const struct symbols *symbols = finding->profile->symbols;
    uint32_t last = NO_FUNCTION;
    bool is_in = false, was_wanted = false;
    *ret_caller = *ret_callee = NO_FUNCTION;
    for (; tree_node(tree, node)->parent; node = tree_node(tree, node)->parent) {
        const struct location *location = tree_location_at(tree, tree_node(tree, node)->location);
        uint32_t count, i;
        const struct symbol_frame *frames = symbols_frames(symbols, location->index, &count);
        for (i = 0; i < count && !tree_is_label(location); i++) {
            const uint32_t function = frames[i].function;
            if (!is_in && finding->is_wanted[function])
                *ret_callee = last;
            if (was_wanted)
                *ret_caller = function;
            was_wanted = finding->is_wanted[function];
            is_in |= was_wanted;
            last = function;
        }
    }
    if (was_wanted)
        *ret_caller = NO_FUNCTION;
    return is_in;
}

static uint32_t row_of(const struct finding_callers *finding, uint32_t function)
{
    return function == NO_FUNCTION ? 0 : finding->row_of[function];
}

static void look_at_node(struct finding_callers *finding, const struct values *values, arena_ref node)
{
    uint32_t caller, callee;
    tree_add_values(&finding->callers->whole, values);
    if (!tree_has_weight(values) || !look_outwards(finding, node, &caller, &callee))
        return;
    tree_add_values(&finding->callers->in, values);
    tree_add_values(&finding->around[row_of(finding, caller)], values);
    tree_add_values(&finding->inside[row_of(finding, callee)], values);
}

static void look_at_all(struct finding_callers *finding, const struct meaning *meaning, bool shows_idle)
{
    const struct tree *tree = finding->profile->tree;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        tree_add_values(&finding->callers->whole, &tree_node(tree, root)->self);
        for (arena_ref node = tree_next(tree, root, root); node; node = tree_next(tree, root, node)) {
            const struct values shown =
                shows_idle ? tree_node(tree, node)->self : meaning_shown(meaning, tree, node);
            look_at_node(finding, &shown, node);
        }
    }
}

/* ---- rows ---- */

static int compare_rows(const void *left, const void *right)
{
    const struct callers_row *a = left, *b = right;
    int order = (tree_wall_ns(&a->values) < tree_wall_ns(&b->values)) -
                (tree_wall_ns(&a->values) > tree_wall_ns(&b->values));
    return order ? order : strcmp(a->name, b->name);
}

/* False without memory. */
static bool make_rows(const struct string_table *names, const struct values *values, struct callers_row **ret,
                      size_t *ret_count)
{
    const uint32_t count = string_table_count(names);
    *ret = calloc((size_t)count + 1, sizeof **ret);
    for (uint32_t i = 0; *ret && i < count; i++) {
        if (tree_has_weight(&values[i]))
            (*ret)[(*ret_count)++] = (struct callers_row){string_table_at(names, i), values[i]};
    }
    if (*ret)
        qsort(*ret, *ret_count, sizeof **ret, compare_rows);
    return *ret;
}

/* Number 0 is "". */
static bool name_functions(struct finding_callers *finding, const char *wanted)
{
    const struct symbols *symbols = finding->profile->symbols;
    string_table_intern(&finding->callers->names, "");
    for (uint32_t i = 0; i < symbols->function_count; i++) {
        char title[REPORT_TITLE_BYTES];
        const char *name = symbols->functions[i].name;
        finding->is_wanted[i] = callers_matches(name, wanted) ||
                                callers_matches(report_title(&symbols->functions[i], true, title), wanted);
        finding->callers->is_known |= finding->is_wanted[i];
        finding->row_of[i] = string_table_intern(&finding->callers->names, name);
    }
    const size_t rows = (size_t)string_table_count(&finding->callers->names) + 1;
    finding->around = calloc(rows, sizeof *finding->around);
    finding->inside = calloc(rows, sizeof *finding->inside);
    return !finding->callers->names.failed && finding->around && finding->inside;
}

int callers_find(struct callers *callers, const struct profile *profile, const char *wanted, bool shows_idle)
{
    const size_t functions = (size_t)profile->symbols->function_count + 1;
    struct finding_callers finding = {.profile = profile, .callers = callers};
    struct meaning meaning;
    *callers = (struct callers){.is_known = false};
    string_table_init(&callers->names);
    finding.is_wanted = calloc(functions, sizeof *finding.is_wanted);
    finding.row_of = calloc(functions, sizeof *finding.row_of);
    bool is_made = meaning_init(&meaning, profile) == 0 && finding.is_wanted && finding.row_of &&
                   name_functions(&finding, wanted);
    if (is_made) {
        look_at_all(&finding, &meaning, shows_idle);
        is_made = make_rows(&callers->names, finding.around, &callers->callers, &callers->caller_count) &&
                  make_rows(&callers->names, finding.inside, &callers->callees, &callers->callee_count);
    }
    meaning_deinit(&meaning);
    free(finding.is_wanted);
    free(finding.row_of);
    free(finding.around);
    free(finding.inside);
    if (!is_made)
        callers_free(callers);
    return is_made ? 0 : -ENOMEM;
}

void callers_free(struct callers *callers)
{
    free(callers->callers);
    free(callers->callees);
    string_table_deinit(&callers->names);
    *callers = (struct callers){.is_known = false};
}
