/*
 * The tables that all threads of a Firefox profile share: libraries, functions, frames and stacks, numbered
 * by position; and its categories.
 *
 * A stack has one entry for each frame, inlined calls included; entries of a node's callers come before its
 * own. A category belongs to a frame, not to a sample, so what a thread was seen waiting in has its innermost
 * frame twice: as it runs, and with the kind of wait as its category.
 *
 * Called from: enc_firefox.c. Scratch memory: a sixteenth of the arena for each kind of stack a node can
 * have, and a few bytes a location, function and wait.
 */
#ifndef WALLPROF_FIREFOX_TABLES_H
#define WALLPROF_FIREFOX_TABLES_H

#include "base/json.h"
#include "profile/profile.h"
#include "base/string_table.h"

#include <stdbool.h>
#include <stdint.h>

/* The first grey one is what has none of its own; transparent is not drawn. */
enum firefox_category { CATEGORY_RUNNING, CATEGORY_OTHER, CATEGORY_IDLE, CATEGORY_WAITS };

/* How a node was seen: each is a stack of its own. */
enum firefox_stack { STACK_RUNNING, STACK_WAITING, STACK_IDLE, STACK_KIND_COUNT };

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
    uint32_t *stacks[STACK_KIND_COUNT]; /* by node: 1 + the innermost entry; of waits 1 + index into waits */
    uint32_t stack_count;               /* entries without those of waits, which come after */
    struct firefox_wait {
        arena_ref node;
        uint32_t category; /* CATEGORY_IDLE, or CATEGORY_WAITS + enum wait_kind */
    } * waits;
    uint32_t wait_count, wait_capacity;
    bool failed; /* a wait found no memory */
};

/* Where a node stands in `stacks`: nodes lie further apart than that many units of the arena. */
static inline size_t firefox_node_index(arena_ref node)
{
    return node / (sizeof(struct tree_node) / ARENA_UNIT_BYTES);
}

/* 0 or -ENOMEM; deinit in any case. */
int firefox_tables_init(struct firefox_tables *tables, const struct profile *profile);
void firefox_tables_deinit(struct firefox_tables *tables);

/* The stack of what a record tells, FIREFOX_NO_STACK at a root. */
int64_t firefox_tables_stack(struct firefox_tables *tables, const struct timeline_record *record);

/* ---- enc_firefox_tables.c: members of the profile's meta, of the profile, and its `shared`, which is to be
 * the last: it holds the strings and the stacks of waits. ---- */
void firefox_write_categories(struct json *json);
void firefox_write_libs(struct firefox_tables *tables, struct json *json);
void firefox_write_shared(struct firefox_tables *tables, struct json *json);

/* ---- firefox_stacks.c: two members of `shared`. ---- */
void firefox_write_frames(struct firefox_tables *tables, struct json *json);
void firefox_write_stacks(struct firefox_tables *tables, struct json *json);

/* ---- firefox_markers.c: a member of the profile's meta, and one of a thread. The process's markers are the
 * main thread's. ---- */
void firefox_write_marker_schemas(struct json *json);
void firefox_write_markers(struct firefox_tables *tables, struct json *json, bool is_main);

#endif
