/*
 * A mapped store as a kill would leave it after each single instruction that stores to it.
 *
 * The file's memory is write-protected: each instruction that stores there faults, is let through alone (the
 * trap flag), and the check, in the handler, reads the file as somebody else would after a SIGKILL.
 */
#ifndef WALLPROF_WATCHED_STORES_H
#define WALLPROF_WATCHED_STORES_H

#include "account/mapped_store.h"

typedef void watched_stores_fn(void *context);

/* False on a machine where this cannot be done. */
bool watch_stores(const struct mapped_store *store, watched_stores_fn *check, void *context);

/* Returns how many instructions there were. */
unsigned watch_no_more(void);

#endif
