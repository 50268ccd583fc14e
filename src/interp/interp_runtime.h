/*
 * An interpreter in this process, as one of the languages has found it, and what a language has to know: the
 * seam between interp.c and python_*.c, php_*.c, perl_*.c.
 *
 * Called from: the sampler thread. All memory is read through the kernel.
 */
#ifndef WALLPROF_INTERP_RUNTIME_H
#define WALLPROF_INTERP_RUNTIME_H

#include "elf/elf_dynamic.h"
#include "interp_names.h"
#include "modules/modules.h"
#include "python_layout.h"
#include "sig/interp/sig_walk_frames.h"
#include "sig/sys/sig_memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

enum { INTERP_MACHINERY_MAX = 32, INTERP_NESTERS_MAX = 4, INTERP_VERSION_OLD = 1 };

enum interp_found {
    INTERP_ABSENT,
    INTERP_UNREADY, /* it has not told its version yet: to be looked at again */
    INTERP_UNKNOWN, /* of a version or kind whose memory cannot be read */
    INTERP_FOUND
};

struct interp_language;

struct interp_runtime {
    const struct interp_language *language;
    uint32_t version;             /* 3.11 is 3 << 24 | 11 << 16; INTERP_VERSION_OLD: it does not say */
    uint64_t address;             /* of its own record */
    uint64_t key_at;              /* where the key of threads' values is; 0: there is none */
    uint64_t lock_low, lock_high; /* where the interpreter's lock lies, if it has one; 0 and 0 if not */
    struct python_layout python;  /* of Python alone */
    struct sig_interp_layout frames;
    uint64_t eval_start,
        cold_start;      /* of the function that runs frames; cold_start is 0 if it is in one piece */
    bool calls_handlers; /* it runs no instruction itself: what it calls does */
    uint64_t machinery[INTERP_MACHINERY_MAX];
    uint32_t machinery_count;
    uint64_t main_start; /* of the function that runs the program's own code; 0: it is not known */
    uint64_t nesters[INTERP_NESTERS_MAX]; /* functions that run the rest of their caller (INTERP_NESTER) */
    uint32_t nester_count;
};

/* A module that may have an interpreter: its exported symbols. */
struct interp_module {
    const struct modules *modules;
    arena_ref ref;
    const char *path;
    struct elf_dynamic object;
};

struct interp_language {
    const char *name;             /* in messages: "Python" */
    const char *in_library;       /* a part of the file names of libraries that have it */
    const char *unknown;          /* what stands for a function without a name */
    const char *eval;             /* the function that runs frames */
    uint64_t eval_bytes_min;      /* one that is smaller calls a function of its own for each instruction */
    const char *const *machinery; /* functions that only lead to it; the last one is NULL */
    const char *main;             /* the function that runs the program's own code; NULL: it is never asked */

    /* Fills in all but the functions above. */
    enum interp_found (*find)(const struct interp_module *module, struct interp_runtime *ret);

    /* The address of what the interpreter has of a thread; 0 if it has none. `whose` has its ids, and gets
     * what others of the process have of it. */
    uint64_t (*find_state)(const struct interp_runtime *runtime, const struct sig_interp_memory *memory,
                           struct sig_interp_thread *whose);

    /* Whether the process has several interpreters, each of which may have something of a thread. NULL: it
     * never has, as far as that is known. */
    bool (*are_several)(const struct interp_runtime *runtime, const struct sig_interp_memory *memory);

    /* The kernel's id of the thread that has the interpreter's lock, by the word that others wait for; 0 if
     * it is not known. NULL: there is no such lock. */
    uint64_t (*find_holder)(const struct interp_runtime *runtime, const struct sig_interp_memory *memory,
                            uint64_t futex);

    /* Whether a file is of the language's own library. NULL: none is. */
    bool (*is_library)(const char *file);

    /* False if the code is not there any more, or makes no sense. */
    bool (*read_names)(const struct interp_runtime *runtime, const struct sig_interp_memory *memory,
                       const struct sig_interp_frame *frame, struct interp_names *ret);
};

extern const struct interp_language python_language, php_language, perl_language;

/* Looks for any of the languages. Only the program itself and libraries with a telling name are read. */
enum interp_found interp_runtime_find(const struct modules *modules, arena_ref module,
                                      struct interp_runtime *ret);

/* Whether the module is one that switches native stacks, each with an interpreter's frames of its own:
 * Python's greenlet. */
bool interp_runtime_is_switcher(const struct modules *modules, arena_ref module);

/* The address of an exported function or variable; 0 if there is none. For find. */
uint64_t interp_module_address(const struct interp_module *module, const char *name);

/* Whether it is the process's first thread. */
static inline bool interp_is_first_thread(const struct sig_interp_thread *whose)
{
    const pid_t subject = sig_memory_subject();
    return whose->native_id == (uint64_t)(subject ? subject : getpid());
}

#endif
