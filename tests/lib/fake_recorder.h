/*
 * A recording that is kept in a file while it is made, by the engine itself but without a process to record:
 * threads, stacks and times are as a test says.
 *
 * Stacks are text as in fake_stacks.h: "ab1c" is c below b, at its call site 1, below a.
 */
#ifndef WALLPROF_FAKE_RECORDER_H
#define WALLPROF_FAKE_RECORDER_H

#include "fake_stacks.h"
#include "sample/sampler.h"

enum { FAKE_PERIOD_NS = 1000, FAKE_START_NS = 1000000 };

struct fake_recorder {
    struct sampler sampler;
    struct threads threads;
    arena_ref module;
    int fd; /* of the file */
};

arena_ref fake_recorder_module(struct fake_recorder *recorder, const char *path);
void fake_recorder_init(struct fake_recorder *recorder, size_t arena_bytes, size_t timeline_bytes);
void fake_recorder_deinit(struct fake_recorder *recorder);

/* 0 or -errno, as sampler_keep. */
int fake_recorder_keep(struct fake_recorder *recorder, const char *path, uint64_t time_ns);

/* As sampler.c begins a thread; shared: as if there were no memory for a tree of its own.
 * Times are after FAKE_START_NS. */
struct thread *fake_recorder_begin(struct fake_recorder *recorder, uint64_t time_ns, bool is_shared);

/* What an observation of that stack puts into the tree, without what follows it (fake_recorder_observe). */
void fake_recorder_fold(struct fake_recorder *recorder, struct thread *thread, uint64_t time_ns,
                        uint64_t until_ns, uint64_t cpu_ns, bool is_running, const char *stack);
void fake_recorder_observe(struct fake_recorder *recorder, struct thread *thread, uint64_t time_ns,
                           uint64_t until_ns, uint64_t cpu_ns, bool is_running, const char *stack);

/* As sampler.c ends a thread. */
void fake_recorder_end(struct fake_recorder *recorder, struct thread *thread, uint64_t time_ns,
                       uint64_t cpu_ns);

/* A tick has come, and its work is done. */
void fake_recorder_tick(struct fake_recorder *recorder, uint64_t time_ns);

#endif
