#include "fold_timeline.h"

/* all: what has passed since the last observation; own: the part of it that this one stands for. */
static void show(const struct fold *fold, struct fold_thread *thread, struct timeline_observation sample,
                 struct passed all, struct passed own)
{
    sample.time_ns = thread->time_ns;
    sample.cpu_ns = all.cpu_ns;
    sample.previous_wall_ns = all.wall_ns - own.wall_ns;
    sample.wall_ns = own.wall_ns;
    timeline_observe(fold->timeline, &thread->timeline, &sample);
}

void fold_show_observation(const struct fold *fold, struct fold_thread *thread,
                           const struct fold_observation *observation, bool goes_on, struct passed all,
                           struct passed own)
{
    const struct timeline_observation sample = {
        .node = thread->credited,
        .state = observation->is_unknown || observation->is_left_out ? TIMELINE_UNKNOWN
                 : observation->is_running                           ? TIMELINE_RUNNING
                 : observation->is_queued                            ? TIMELINE_QUEUED
                                                                     : TIMELINE_WAITING,
        .is_unchanged = observation->is_unchanged && goes_on,
        .until_tick = observation->until_tick,
    };
    show(fold, thread, sample, all, own);
}

void fold_show_rest(const struct fold *fold, struct fold_thread *thread, arena_ref node, enum fold_rest rest,
                    struct passed all, struct passed own)
{
    enum timeline_state state = rest == FOLD_REST_UNCHANGED ? TIMELINE_WAITING
                                : own.wall_ns > 0           ? TIMELINE_UNKNOWN
                                : thread->was_running       ? TIMELINE_RUNNING
                                : thread->was_queued        ? TIMELINE_QUEUED
                                                            : TIMELINE_WAITING;
    const struct timeline_observation sample = {
        .node = node,
        .state = state,
        .is_unchanged = rest == FOLD_REST_UNCHANGED,
        .is_rest = true,
        .until_tick = fold->timeline->tick,
    };
    show(fold, thread, sample, all, own);
}
