/*
 * What a pprof file measures, and where its values go. Ours have samples, CPU time, off-CPU time, run delay
 * and wall time. Of another program's file one type is taken, and its values stand where off-CPU time would;
 * and its samples, if it counts them.
 *
 * Called from: pprof_read.c.
 */
#ifndef WALLPROF_PPROF_MEASURES_H
#define WALLPROF_PPROF_MEASURES_H

#include "pprof_file.h"

/*
 * Sets file->place_of and scale, and recording->measure for another program's file: the type of this name;
 * NULL: the one that pprof would choose. 0; -EINVAL if there is no such type, or another -errno for a file
 * with nothing to show, with the reason.
 */
int pprof_measures_choose(struct pprof_file *file, struct recording *recording, const char *name);

/* After that: whether a value is among those that are read. */
bool pprof_measures_have(const struct pprof_file *file, enum pprof_value value);

#endif
