/*
 * What the dynamic loader has mapped now, object by object.
 *
 * dl_iterate_phdr is called here and nowhere else. It takes the lock of the loader's list, so no handler may
 * call it. Called from: the sampler thread; loader_read also from a thread that probes the lock after a fork
 * (session_child.c), and loader_unloaded from the dlclose hook.
 */
#ifndef WALLPROF_LOADER_H
#define WALLPROF_LOADER_H

#include "sig/ground/sig_modules.h"
#include "sig/ground/sig_unloads.h"

#include <stdint.h>

struct module;

/* The loader's state. Equal counts mean the same objects. */
struct loader_state {
    uint64_t loads, unloads;          /* objects so far, by the loader's own counts */
    struct sig_unloads before, after; /* just before and just after the counts were read */
};

/* How the loader's list is read. */
enum loader_reading {
    LOADER_WITH_LOCK,
    LOADER_WITHOUT_LOCK, /* the thread that holds it is gone (after fork), so nobody can load or unload */
    LOADER_PROGRAM_ONLY, /* also without its lock: the first object, which stays */
};

/* Reads the counts, in 22 ns. */
void loader_read(enum loader_reading reading, struct loader_state *ret);

/* _dl_find_object, or NULL where the C library has none: for sig_modules_use_loader. */
sig_find_object_fn *loader_find_object(void);

/* Objects unloaded so far; any thread. */
uint64_t loader_unloaded(void);

/*
 * Calls `segment` for every executable segment of every object, in the loader's order. ret: the state of that
 * moment. The record is filled except for what modules.c sets. name is the loader's own, "" for the program.
 * Nothing is unmapped meanwhile.
 */
typedef void loader_segment_fn(void *context, const struct module *segment, const char *name);
void loader_visit(enum loader_reading reading, loader_segment_fn *segment, void *context,
                  struct loader_state *ret);

/*
 * The same for one object, by its program headers: of a target's too, whose memory is then copied. *object
 * has what is known of it besides. Afterwards it has the bounds of the object.
 */
struct dl_phdr_info;
void loader_visit_object(const struct dl_phdr_info *info, struct module *object, loader_segment_fn *visit,
                         void *context);

#endif
