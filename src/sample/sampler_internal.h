/*
 * What the files of the sampler share:
 *
 *     sampler.c         a tick, and the recording's end
 *     sampler_spans.c   when it is stopped, goes on, and begins anew
 */
#ifndef WALLPROF_SAMPLER_PARTS_H
#define WALLPROF_SAMPLER_PARTS_H

#include "sampler.h"

/* A live thread is recorded from then on: it has a place in the tree, and is scheduled. Its recorded_number
 * is set. */
void sampler_record(struct wp_sampler *sampler, struct wp_thread *thread, uint64_t start_ns,
                    uint64_t start_cpu_ns);

/* Of that only the schedule, and the timeline. */
void sampler_schedule(struct wp_sampler *sampler, struct wp_thread *thread, uint64_t start_ns);

/* What has come, what was answered, what has left. While stopped nothing of it is recorded. */
void sampler_gather(struct wp_sampler *sampler, uint64_t now_ns);
void sampler_take_census(struct wp_sampler *sampler, uint64_t now_ns);

/* The loader's look, and its table for the handlers. */
void sampler_refresh_modules(struct wp_sampler *sampler);
void sampler_publish_modules(struct wp_sampler *sampler);

#endif
