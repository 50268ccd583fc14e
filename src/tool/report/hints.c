#include "hints.h"
#include "base/name_pattern.h"
#include "profile/wait_labels.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_PARTS = 20, FILES_MAX = 256, WAY_BYTES = 160 };

static void add_hint(struct hints *hints, const char *text)
{
    for (size_t i = 0; i < hints->count; i++) {
        if (strcmp(hints->texts[i], text) == 0)
            return;
    }
    if (hints->count < HINTS_MAX)
        snprintf(hints->texts[hints->count++], HINT_BYTES, "%s", text);
}

static const char *main_program(const struct profile *profile)
{
    for (arena_ref ref = profile->modules->newest; ref;) {
        const struct module *module = arena_at(profile->arena, ref);
        if (module->is_main)
            return name_last_part(arena_at(profile->arena, module->path));
        ref = module->next;
    }
    return "";
}

/* How a runtime is told to write the names of the code that it compiles (docs/names.md): words, and what
 * follows them. */
struct way_to_names {
    const char *pattern, *words, *settings[4];
};

static const struct way_to_names *way_to_names(const char *program)
{
    static const struct way_to_names ways[] = {
        {"node*", "start node with", {"--perf-basic-prof", "--interpreted-frames-native-stack"}},
        {"java",
         "start java (17 or newer) with",
         {"-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"}},
        {"python3.1[2-9]", "start Python with", {"-X perf"}},
        {"dotnet", "set", {"DOTNET_PerfMapEnabled=1"}},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (fnmatch(ways[i].pattern, program, 0) == 0)
            return &ways[i];
    }
    return NULL;
}

/* Those that are not on the command line. Returns whether there are any. has_some: the first one was set,
 * wherever, as some code has names. */
static bool write_missing(const struct way_to_names *way, const char *command, bool has_some,
                          char ret[WAY_BYTES])
{
    int used = snprintf(ret, WAY_BYTES, "%s", way->words);
    bool is_any = false;
    for (int i = has_some; way->settings[i]; i++) {
        if (strstr(command, way->settings[i]))
            continue;
        used += snprintf(ret + used, WAY_BYTES - (size_t)used, " %s", way->settings[i]);
        is_any = true;
    }
    if (has_some)
        snprintf(ret + used, WAY_BYTES - (size_t)used, " too");
    return is_any;
}

/* Time of their own of the files whose functions have no names. */
struct unnamed {
    struct {
        const char *path;
        uint64_t wall_ns;
    } files[FILES_MAX];
    size_t count;
};

static void add_file(struct unnamed *unnamed, const char *path, uint64_t wall_ns)
{
    size_t at = 0;
    while (at < unnamed->count && strcmp(unnamed->files[at].path, path) != 0)
        at++;
    if (at == FILES_MAX)
        return;
    if (at == unnamed->count)
        unnamed->files[unnamed->count++].path = path;
    unnamed->files[at].wall_ns += wall_ns;
}

static bool has_name(const struct profile *profile, const struct location *location)
{
    const struct symbols *symbols = profile->symbols;
    const uint32_t function = symbols->frames[symbols->first_frame[location->index]].function;
    return location->pseudo || symbols->functions[function].is_symbol;
}

static void add_node(struct unnamed *unnamed, const struct profile *profile, arena_ref ref)
{
    const struct tree *tree = profile->tree;
    const struct tree_node *node = tree_node(tree, ref);
    const struct location *location =
        tree_location_at(tree, tree_node(tree, wait_label_leaf(tree, tree, ref))->location);
    if (!location->module || tree_wall_ns(&node->self) == 0 || has_name(profile, location))
        return;
    const struct module *module = arena_at(profile->arena, location->module);
    add_file(unnamed, arena_at(profile->arena, module->path), tree_wall_ns(&node->self));
}

static bool is_compiled_at_run_time(const struct location *location)
{
    return !location->module && !location->pseudo;
}

/* Whether the innermost frame of code that was compiled at run time has no name. */
static bool is_in_nameless_code(const struct profile *profile, const struct tree_node *node)
{
    for (; node->location; node = tree_node(profile->tree, node->parent)) {
        const struct location *location = tree_location_at(profile->tree, node->location);
        if (is_compiled_at_run_time(location))
            return !has_name(profile, location);
    }
    return false;
}

static bool has_named_code(const struct profile *profile)
{
    const struct tree *tree = profile->tree;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        const struct location *location = tree_location_at(tree, ref);
        if (is_compiled_at_run_time(location) && has_name(profile, location))
            return true;
    }
    return false;
}

static uint64_t time_in_nameless_code(const struct profile *profile)
{
    const struct tree *tree = profile->tree;
    uint64_t wall_ns = 0;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref at = tree_next(tree, root, root); at; at = tree_next(tree, root, at)) {
            const struct tree_node *node = tree_node(tree, at);
            if (tree_wall_ns(&node->self) > 0 && is_in_nameless_code(profile, node))
                wall_ns += tree_wall_ns(&node->self);
        }
    }
    return wall_ns;
}

static void find_unnamed(struct unnamed *unnamed, const struct profile *profile)
{
    const struct tree *tree = profile->tree;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = tree_next(tree, root, root); node; node = tree_next(tree, root, node))
            add_node(unnamed, profile, node);
    }
}

static uint64_t least_time(const struct report *report)
{
    return tree_wall_ns(&report->selected) / LEAST_PARTS + 1;
}

bool hints_of_code(const struct report *report, const struct profile *profile, char ret[HINT_BYTES])
{
    char command[PROFILE_COMMAND_BYTES],
        what[WAY_BYTES] = "it needs a list /tmp/perf-PID.map, which some runtimes write on demand";
    const char *program = main_program(profile);
    if (time_in_nameless_code(profile) < least_time(report))
        return false;
    const bool has_some = has_named_code(profile);
    const struct way_to_names *way = way_to_names(program);
    if (way && !write_missing(way, profile_command(profile, command), has_some, what))
        return false;
    snprintf(ret, HINT_BYTES, "%she code that %.40s compiled has no names: %s.", has_some ? "Some of t" : "T",
             program, what);
    return true;
}

bool hints_of_children(const struct report *report, const struct profile *profile, char ret[HINT_BYTES])
{
    static const char child[] = "child ";
    struct wait_thing longest;
    if (profile->is_merged || wait_sums_things(&report->wait_sums, &longest, 1) == 0 || !longest.on ||
        strncmp(longest.on, child, strlen(child)) != 0 || longest.ns < tree_wall_ns(&report->selected) / 2)
        return false;
    snprintf(ret, HINT_BYTES, "It waited for %.60s. To record what that did too: wallprof run --merge.",
             longest.on);
    return true;
}

void hints_make(struct hints *hints, const struct report *report, const struct profile *profile)
{
    struct unnamed unnamed = {.count = 0};
    char text[HINT_BYTES];
    hints->count = 0;
    find_unnamed(&unnamed, profile);
    if (hints_of_code(report, profile, text))
        add_hint(hints, text);
    if (hints_of_children(report, profile, text))
        add_hint(hints, text);
    for (size_t i = 0; i < unnamed.count; i++) {
        if (unnamed.files[i].wall_ns < least_time(report))
            continue;
        snprintf(text, sizeof text,
                 "Functions of %s have no names: install its debug package (-dbg, -dbgsym), or set "
                 "DEBUGINFOD_URLS.",
                 name_last_part(unnamed.files[i].path));
        add_hint(hints, text);
    }
}
