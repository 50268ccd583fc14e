/*
 * Samples become time in the profile: the one call that takes a sample of a thread from addresses to nodes.
 *
 * What happens to a stack: its shared outer frames are completed from the thread's last one (stack_cache.h),
 * its addresses become locations (locate.h), the thread's labels go before them (labels.h), and its time goes
 * onto the nodes of that path (fold.h).
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_ACCOUNT_H
#define WALLPROF_ACCOUNT_H

#include "events.h"
#include "fold.h"
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
    arena_ref *path; /* scratch: one stack's locations, and its labels' */
    uint32_t *inner; /* and its locate_stack.inner */
    uint64_t *whole; /* and its addresses, when shared ones must be folded again */
    size_t path_capacity;
};

/* What belongs to one thread. */
struct account_thread {
    struct fold_thread *fold;
    struct stack_cache **stack_cache; /* of its last stack; *stack_cache is NULL without */
};

/* A stack, as a thread has replied it or as it was walked from outside. */
struct account_stack {
    const uint64_t *addresses; /* innermost first */
    uint32_t depth;
    bool is_truncated; /* the root was not reached */
    bool is_cached;    /* the thread's stack cache has all of it, addresses only what has changed */
    uint32_t labels;   /* the number of the thread's label stack then */
    struct modules_moment moment;
};

struct account_options {
    struct timeline *timeline;        /* not owned; may be NULL */
    const struct label_table *labels; /* not owned */
    uint64_t period_ns;               /* between ticks */
    uint32_t depth;                   /* of the deepest stack */
    size_t cache_bytes;               /* for the stack caches of all threads */
};

/* *account is zeroed memory. tree and modules are not owned. 0 or -ENOMEM; deinit is due in both cases. */
int account_init(struct account *account, struct tree *tree, const struct modules *modules,
                 const struct account_options *options);
void account_deinit(struct account *account);

/*
 * Takes a sample into the account of its thread. stack: NULL for an observation without one (unchanged,
 * unknown, left out). The path, base, depth and label_count of the observation are filled in here. modules
 * must have been refreshed since the stack was there.
 */
void account_sample(struct account *account, const struct account_thread *thread,
                    const struct account_stack *stack, struct fold_observation *observation);

/* The modules have changed: an address may mean something else now. */
void account_modules_changed(struct account *account, uint64_t now_ns);

#endif
