/*
 * Events of the process on the timeline: libraries that were loaded and unloaded, ticks that did not happen.
 *
 * Called from: the sampler thread only, with a timeline.
 */
#ifndef WALLPROF_EVENTS_H
#define WALLPROF_EVENTS_H

#include "modules/modules.h"
#include "profile/timeline.h"

#include <stdint.h>

/* After a snapshot of the modules that found a change. The first snapshot, at the program's start, makes
 * none. */
void events_note_modules(struct timeline *timeline, const struct modules *modules, uint64_t now_ns);

/* At a tick. late_ticks: how many periods have passed without one since the recording began. */
void events_note_late(struct timeline *timeline, uint64_t late_ticks, uint64_t period_ns, uint64_t now_ns);

#endif
