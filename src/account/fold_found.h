/*
 * What an observation claims of the time that it stands for: CPU time, run delay or blocked time, by how it
 * found the thread. fold.h has the rules.
 *
 * Called from: fold.c.
 */
#ifndef WALLPROF_FOLD_FOUND_H
#define WALLPROF_FOLD_FOUND_H

#include "fold.h"
#include "passed.h"

/* The spare root, for lack of memory, is shared by threads. Nobody would know whose claims to scale: what the
 * clocks say stands there. */
bool fold_has_shared_root(const struct tree *tree, const struct fold_thread *thread);

/* The delay clock has told so much more. Before what has passed with it is claimed. */
void fold_found_told(struct fold_thread *thread, uint64_t delay_ns);

/* A part of the time that has passed, as the last observation found the thread. */
struct values fold_as_found(const struct fold *fold, const struct fold_thread *thread,
                            const struct passed *passed, uint64_t wall_ns);

/* That was claimed. */
void fold_found_claims(struct fold_thread *thread, const struct values *claim);

#endif
