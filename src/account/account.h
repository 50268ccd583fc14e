/*
 * Samples become time in the profile: one call takes a thread's sample from addresses to nodes.
 *
 * The outer frames that a stack shares with the thread's last one come from its stack cache (stack_cache.h).
 * Addresses become locations (locate.h), and the thread's labels go before them (labels.h). The time goes to
 * the node of that path (fold.h).
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_ACCOUNT_H
#define WALLPROF_ACCOUNT_H

#include "fold.h"
#include "interp/interp.h"
#include "labels.h"
#include "locate.h"
#include "modules/modules.h"
#include "stack_cache.h"
#include "thread_annotations.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct account {
    struct fold fold;
    struct locate locate;
    struct stack_caches stack_caches;
    const struct label_table *labels;
    arena_ref *path;       /* scratch: the locations of one stack, and of its labels */
    uint32_t *inner;       /* scratch: its locate_stack.inner */
    struct interp *interp; /* not owned; NULL: there is none */
    struct interp_paths {  /* scratch, from the first stack with an interpreter's frames on */
        arena_ref *merged, *frames;
        uint8_t *roles, *marks;
        uint64_t *native_starts;
        size_t capacity; /* of merged: twice that of the path, as all of them have room for */
    } interp_paths;
    uint64_t *whole; /* scratch: its addresses, when the shared frames must be folded again */
    size_t path_capacity;
};

/* A stack: of a thread's reply, or walked from outside. */
struct account_stack {
    const uint64_t *addresses; /* innermost first */
    uint32_t depth;
    bool is_truncated; /* the root was not reached */
    bool is_cached;    /* addresses are only the new inner frames; the thread's stack cache has the others */
    uint32_t labels;   /* the number of the thread's label stack then */
    struct modules_moment moment;
    const struct sig_interp_stack *interp; /* the frames that an interpreter runs in it; NULL: none */
};

struct account_options {
    struct timeline *timeline;        /* not owned; may be NULL */
    const struct label_table *labels; /* not owned */
    struct interp *interp;            /* not owned; may be NULL */
    uint64_t period_ns;               /* between ticks */
    uint32_t depth;                   /* of the deepest stack */
    size_t cache_bytes;               /* for the stack caches of all threads */
};

/* *account is zeroed memory. tree and modules are not owned. 0 or -ENOMEM; deinit is due in both cases. */
int account_init(struct account *account, struct tree *tree, const struct modules *modules,
                 const struct account_options *options);
void account_deinit(struct account *account);

/*
 * Accounts for a sample of a thread. cache: the thread's stack cache; *cache is NULL without one, and may get
 * one here. stack: read unless the observation is unchanged, unknown or left out; the modules must have been
 * refreshed since it was there. The observation's path, base, depth and label_count are filled in here.
 */
void account_sample(struct account *account, struct fold_thread *thread, struct stack_cache **cache,
                    const struct account_stack *stack, struct fold_observation *observation);

/* The node of a thread's stack, which is no sample: no time goes there. stack: as above, but not is_cached. 0
 * where there is no room. */
arena_ref account_find_node(struct account *account, const struct fold_thread *thread,
                            const struct account_stack *stack);

/* The modules have changed, and with them what addresses mean. The timeline gets events for the changes. */
void account_modules_changed(struct account *account, uint64_t now_ns);

/* At a tick: the timeline gets an event if periods have passed without one. late_ticks: how many so far. */
void account_note_late(struct account *account, uint64_t late_ticks, uint64_t now_ns);

#endif
