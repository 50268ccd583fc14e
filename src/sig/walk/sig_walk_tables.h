/*
 * What walks may rely on: the table of modules, and whether the caches of rules and offsets hold.
 *
 * The sampler publishes a table. Handlers that use it count themselves in flight, so the sampler knows when
 * it may clear the caches and reuse the memory of the table before.
 */
#ifndef WALLPROF_SIG_WALK_TABLES_H
#define WALLPROF_SIG_WALK_TABLES_H

#include "sig/ground/sig_modules.h"
#include "sig/ground/sig_unloads.h"
#include "sig_unwind.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Sampler: from now on walks find this table. Returns true when no handler uses the one before, and the
 * caches are cleared. Waits for handlers in flight at most until the deadline (CLOCK_MONOTONIC). If false,
 * call it again with the same table before anything else. ended: of sig_unloads_read(), from before the
 * snapshot that the table was made from. Once more calls have ended, walks do not use the caches.
 */
bool sig_walk_tables_publish(const struct sig_modules_table *table, uint32_t ended, uint64_t deadline_ns);

/* Sampler: a new snapshot is as the published table says, although dlclose was called meanwhile. */
void sig_walk_tables_confirm(uint32_t ended);

/* Handler, around a walk: sets the request's modules and use_cache, which hold until leave. Returns the
 * unloads as of then. */
struct sig_unloads sig_walk_tables_enter(struct sig_unwind_request *request);
void sig_walk_tables_leave(void);

/* The same in the sampler, which alone replaces the table and clears the caches: it need not leave. */
struct sig_unloads sig_walk_tables_use(struct sig_unwind_request *request);

/* In the child of fork, first thing: there is no table, and no handler is in flight. */
void sig_walk_tables_forget_parent(void);

#endif
