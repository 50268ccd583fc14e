/*
 * What the files of the sampler share:
 *
 *     sampler.c           its life, modules, and a tick
 *     sampler_threads.c   threads that come and go
 *     sampler_spans.c     when it is stopped, goes on, and begins anew
 *     sampler_store.c     what it keeps in a file
 *     sampler_end.c       the recording's end, or a moment like it
 */
#ifndef WALLPROF_SAMPLER_INTERNAL_H
#define WALLPROF_SAMPLER_INTERNAL_H

#include "sampler.h"

/* A live thread is recorded from then on: it has a root in the tree, and is scheduled. Its recorded_number
 * is set. */
void sampler_record(struct sampler *sampler, struct thread *thread, uint64_t start_ns, uint64_t start_cpu_ns);

/* Of that only the schedule, and the timeline. */
void sampler_schedule(struct sampler *sampler, struct thread *thread, uint64_t start_ns);

/* Threads that have come, replies, threads that have left. While stopped nothing of it is recorded. */
void sampler_gather(struct sampler *sampler, uint64_t now_ns);

/* When a scan for threads that no hook has seen is due: those that came are adopted, those that went ended.
 */
void sampler_scan_threads(struct sampler *sampler, uint64_t now_ns);
void sampler_adopt_strangers(struct sampler *sampler);

/* Begins the threads that have arrived; ends those on a list of threads that have left, or one of them. */
void sampler_begin_arrived(struct sampler *sampler);
void sampler_end_left(struct sampler *sampler, struct thread *left);
void sampler_end_thread(struct sampler *sampler, struct thread *thread, uint64_t end_ns, uint64_t end_cpu_ns,
                        enum fold_rest rest);

/* Writes a thread's end to its record. */
void sampler_record_end(struct sampler *sampler, const struct thread *thread, uint64_t end_ns);

/* What becomes of the time after its last observation, as of end_ns. */
enum fold_rest sampler_rest_of(const struct thread *thread, uint64_t end_ns);

/* Closes the sampler's view of /proc in a table of descriptors that is the program's too: the program may
 * close it, or find its own descriptors numbered otherwise. */
void sampler_close_directory(struct sampler *sampler);

/* A snapshot of the modules, and the table made of it for the handlers. */
void sampler_refresh_modules(struct sampler *sampler);
void sampler_publish_modules(struct sampler *sampler);

#endif
