/*
 * The tables that all threads of a Firefox profile share: libraries, functions, frames and stacks, numbered
 * by position; and its categories.
 *
 * A stack has one entry for each frame, inlined calls included. The entries of a node's callers come before
 * its own. A category belongs to a frame, not to a sample. So the innermost frame of a stack in which a
 * thread was seen waiting is there twice: as it runs, and with the kind of wait as its category.
 *
 * Called from: enc_firefox.c, and its parts among themselves. Scratch memory: a sixteenth of the arena for
 * each kind of stack that a node can have, and a few bytes for each location, function and wait.
 */
#ifndef WALLPROF_FIREFOX_TABLES_H
#define WALLPROF_FIREFOX_TABLES_H

#include "tool/meaning/wait_kind.h"
#include "base/json.h"
#include "profile/profile.h"
#include "base/string_table.h"

#include <stdbool.h>
#include <stdint.h>

/* Readers take the first grey category for what has none of its own. A transparent one is not drawn. */
enum firefox_category {
    CATEGORY_RUNNING,
    CATEGORY_OTHER,
    CATEGORY_IDLE,
    CATEGORY_WAITS,
    CATEGORY_QUEUED = CATEGORY_WAITS + WAIT_CPU
};

/* How a thread was seen at a node: each is a stack of its own. */
enum firefox_stack { STACK_RUNNING, STACK_WAITING, STACK_IDLE, STACK_QUEUED, STACK_KIND_COUNT };

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
    uint32_t *stacks[STACK_KIND_COUNT]; /* by tree_node_index: 1 + the innermost entry; of waits 1 + index */
    uint32_t stack_count;               /* entries; those of waits come after these */
    struct firefox_wait {
        arena_ref node;
        uint32_t category; /* CATEGORY_IDLE, or CATEGORY_WAITS + enum wait_kind */
    } * waits;
    uint32_t wait_count;
    size_t wait_bytes; /* that it has room for */
    bool failed;       /* a wait found no memory */
};

/* 0 or -ENOMEM; deinit in any case. */
int firefox_tables_init(struct firefox_tables *tables, const struct profile *profile);
void firefox_tables_deinit(struct firefox_tables *tables);

/* The stack of a record; FIREFOX_NO_STACK at a root, and for a wait without memory. */
int64_t firefox_tables_stack(struct firefox_tables *tables, const struct timeline_record *record);

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

/* ---- enc_firefox_tables.c: a member of the profile's meta, one of the profile, and its `shared`. That one
 * has to be the last: it holds the strings and the stacks of waits. ---- */
void firefox_write_categories(struct json *json);
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

/* ---- firefox_stacks.c: two members of `shared`. ---- */
void firefox_write_frames(struct firefox_tables *tables, struct json *json);
void firefox_write_stacks(struct firefox_tables *tables, struct json *json);

/* ---- firefox_markers.c: a member of the profile's meta, and one of a thread. The process's markers are the
 * main thread's. ---- */
void firefox_write_marker_schemas(struct json *json);
void firefox_write_markers(struct firefox_tables *tables, struct json *json, bool is_main);

#endif
