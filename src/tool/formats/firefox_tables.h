/*
 * The tables that all threads of a Firefox profile share: libraries, functions, frames and stacks, numbered
 * by position; and its categories.
 *
 * A stack has one entry for each frame, inlined calls included. The entries of a node's callers come before
 * its own. Its frames have the categories of their paths (firefox_paths.h). A sample of another category has
 * one frame more, which stands for that: "(lock)". So readers see a sample's category, and no path has two.
 *
 * Called from: enc_firefox.c, and its parts among themselves. Memory: about 20 bytes for each node, and a few
 * for each location, function, frame and path.
 */
#ifndef WALLPROF_FIREFOX_TABLES_H
#define WALLPROF_FIREFOX_TABLES_H

#include "base/intern_table.h"
#include "base/json.h"
#include "base/string_table.h"
#include "firefox_categories.h"
#include "firefox_paths.h"
#include "profile/profile.h"
#include "tool/meaning/intervals.h"

#include <stdbool.h>
#include <stdint.h>

enum { FIREFOX_NO_STACK = -1 };

#if defined(__x86_64__)
#define FIREFOX_ARCH "x86_64"
#else
#define FIREFOX_ARCH "aarch64"
#endif

struct firefox_tables {
    const struct profile *profile;
    struct string_table strings, files;
    arena_ref *locations; /* by index */
    arena_ref *libs;      /* modules, the program's own first */
    uint32_t lib_count;
    uint32_t *lib_of_function;    /* 1 + index into libs, 0 without */
    uint64_t *start_of_function;  /* in its library; valid with a native symbol */
    uint32_t *symbol_of_function; /* 1 + index into symbols, 0 without */
    uint32_t *symbols;            /* functions whose place in their library is known */
    uint32_t symbol_count;
    struct meaning meaning;
    struct firefox_paths paths;
    uint32_t *stacks;           /* by tree_node_index: 1 + the innermost entry, of a wait label that of its
                                   leaf; 0 for a root */
    uint32_t stack_count;       /* entries of nodes; those of states come after these */
    struct intern_table states; /* struct firefox_state_stack: a node's stack, and a state's frame in it */
    struct intern_table frames; /* struct firefox_frame */
};

struct firefox_state_stack {
    arena_ref node;
    uint32_t category;
};

/* A frame of a location, the innermost one being 0, with a category; or that of a state, without a location.
 */
struct firefox_frame {
    uint32_t location; /* 1 + its index; 0 for a state's */
    uint32_t inlined;
    uint32_t category;
};

/* 0 or -ENOMEM; deinit in any case. */
int firefox_tables_init(struct firefox_tables *tables, const struct profile *profile);
void firefox_tables_deinit(struct firefox_tables *tables);

/* The stack of a record; FIREFOX_NO_STACK at a root. */
int64_t firefox_tables_stack(struct firefox_tables *tables, const struct timeline_record *record);

/* The innermost entry of a node; FIREFOX_NO_STACK of a root. */
static inline int64_t firefox_stack_of(const struct firefox_tables *tables, arena_ref node)
{
    return (int64_t)tables->stacks[tree_node_index(node)] - 1;
}

/* Whether a table found no memory for all of it. */
static inline bool firefox_tables_failed(const struct firefox_tables *tables)
{
    return tables->strings.failed || tables->files.failed || tables->states.failed || tables->frames.failed;
}

static inline const struct module *firefox_module_at(const struct firefox_tables *tables, arena_ref ref)
{
    return arena_at(tables->profile->arena, ref);
}

static inline const struct location *firefox_location_of(const struct firefox_tables *tables, arena_ref node)
{
    const struct tree *tree = tables->profile->tree;
    return tree_location_at(tree, tree_node(tree, node)->location);
}

/* Times in the file count from the start of the recording. */
static inline int64_t firefox_since_start(const struct profile *profile, uint64_t monotonic_ns)
{
    return (int64_t)(monotonic_ns - profile->timeline->start_ns);
}

/* ---- enc_firefox_tables.c: a member of the profile, and its `shared`. That one has to be the last: it holds
 * the strings and the stacks of states. Functions that stand for a category come after those of the profile,
 * in the order of the categories. ---- */
void firefox_write_libs(struct firefox_tables *tables, struct json *json);
void firefox_write_shared(struct firefox_tables *tables, struct json *json);

/* A column of `count` equal cells. */
void firefox_write_nulls(struct json *json, const char *key, uint64_t count);
void firefox_write_same(struct json *json, const char *key, uint64_t count, uint64_t value);

/* Ends a table, which is an object of columns and a length. */
void firefox_end_table(struct json *json, uint64_t length);

static inline void firefox_index_or_null(struct json *json, uint32_t index_plus_one)
{
    if (index_plus_one)
        json_uint(json, index_plus_one - 1);
    else
        json_null(json);
}

/* ---- firefox_stacks.c: two members of `shared`, stacks first, as they number the frames. ---- */
void firefox_write_frames(struct firefox_tables *tables, struct json *json);
void firefox_write_stacks(struct firefox_tables *tables, struct json *json);

/* ---- firefox_markers.c: a member of the profile's meta, and one of a thread, with its intervals. The
 * process's markers are the main thread's. ---- */
void firefox_write_marker_schemas(struct json *json);
void firefox_write_markers(struct firefox_tables *tables, struct json *json,
                           const struct interval_list *intervals, bool is_main);

#endif
