/*
 * A finished profile made by hand: modules, functions, locations, threads and nodes exactly as a test says
 * them.
 *
 * Named from outside: no file is read for it, so names may be anything.
 */
#ifndef WALLPROF_FAKE_PROFILE_H
#define WALLPROF_FAKE_PROFILE_H

#include "profile/profile.h"

enum { FAKE_PROFILE_THREADS = 64, FAKE_PROFILE_REGIONS = 4 };

struct fake_profile {
    struct arena arena;
    struct tree tree;
    struct module_list modules;
    struct symbols symbols;
    struct code_region regions[FAKE_PROFILE_REGIONS];
    struct profile profile;
    arena_ref thread_of_number[FAKE_PROFILE_THREADS + 1];
    arena_ref newest_thread; /* struct thread_record */
    uint32_t frame_count;
};

uint32_t fake_profile_function(struct fake_profile *fake, const char *name, const char *file,
                               uint32_t start_line);

/* An address of its own, in a module or, with 0, in none. */
arena_ref fake_profile_location(struct fake_profile *fake, arena_ref module,
                                const struct symbol_frame *frames, uint32_t count);

/* One function at one line. */
arena_ref fake_profile_plain(struct fake_profile *fake, arena_ref module, const char *name);

/* A label of samples, or of a wait (profile/wait_labels.h). */
arena_ref fake_profile_label(struct fake_profile *fake, const char *key, const char *value);
arena_ref fake_profile_module(struct fake_profile *fake, const char *path);

/* Memory outside all modules, for the locations in none that are made from now on. */
void fake_profile_region(struct fake_profile *fake, const char *path);

/* Returns the thread's root; without a name, one of a thread that has no record. */
arena_ref fake_profile_thread(struct fake_profile *fake, int32_t tid, const char *name);
arena_ref fake_profile_node(struct fake_profile *fake, arena_ref parent, arena_ref location);
void fake_profile_weigh(struct fake_profile *fake, arena_ref node, uint64_t samples, uint64_t cpu_ns,
                        uint64_t blocked_ns);
void fake_profile_init(struct fake_profile *fake, size_t arena_bytes);
void fake_profile_deinit(struct fake_profile *fake);

#endif
