/*
 * The interpreter that runs in this process: where it is, which native functions are its own, and what its
 * frames are called. There is one at most: CPython, PHP or Perl (interp_runtime.h).
 *
 * It is looked for when a library was loaded, in the program itself and in libraries of a telling name. What
 * it needs of the program is memory only, read through the kernel. So it can be there, half set up, or gone
 * at any moment, and a program without it pays a look at each new library's name.
 *
 * Called from: the sampler thread only. Handlers get copies of what they need (sig_slots.h).
 */
#ifndef WALLPROF_INTERP_H
#define WALLPROF_INTERP_H

#include "interp_runtime.h"
#include "modules/modules.h"
#include "page_reader.h"
#include "profile/tree.h"
#include "sig/interp/sig_interp.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How frames of the interpreter's program stand in a stack. */
enum interp_mode {
    INTERP_OFF,    /* not at all */
    INTERP_MERGED, /* in place of the interpreter's own functions */
    INTERP_ALL     /* beside them */
};

/* What a native function is to the interpreter. */
enum interp_role {
    INTERP_NATIVE,    /* nothing */
    INTERP_EVAL,      /* the function that runs frames */
    INTERP_MACHINERY, /* one that only leads to it */
    INTERP_GIL,       /* the function that waits for the interpreter's lock */
    INTERP_GENERATED, /* code in no module: a trampoline, if it calls the first one (python -X perf) */
    INTERP_CALLED,    /* the next frame that is a native function (interp_merge.h) */
    INTERP_SWITCHER,  /* one of a library that switches native stacks, and what they run with them */
    INTERP_MAIN,      /* the function that runs the program's own code: only with it is there such a frame */
    INTERP_NESTER     /* one that may run the rest of what called it by a native call of its own */
};

enum { INTERP_CACHE_SLOTS = 8192 };

/* What a walk from outside needs. */
struct interp_walk {
    struct sig_interp_scratch scratch;
    struct page_reader reader;
};

struct interp {
    enum interp_mode mode;
    struct tree *tree;             /* not owned */
    const struct modules *modules; /* not owned */
    arena_ref searched;            /* the newest module when it was looked for last; 0: never */
    bool is_unready;               /* one does not say its version yet: it is looked at at each tick */
    arena_ref module;              /* of the interpreter; 0: none is known */
    arena_ref switcher;            /* of the library that switches native stacks; 0: none is known */
    struct interp_runtime runtime; /* of that */
    uint64_t gil_start;       /* of the function that waits for the interpreter's lock; 0: not seen yet */
    uint32_t refused_version; /* of an interpreter that is left alone, and its language; 0: there was none */
    const struct interp_language *refused;
    struct interp_cache_slot {
        uint64_t code, check;
        uint64_t native_start;
        int32_t at;
        arena_ref location;
    } * cache; /* owned: INTERP_CACHE_SLOTS, open addressing; NULL before the first frame */
    uint32_t cached;
    struct interp_walk *walk; /* owned, for walks from outside; NULL before the first one */
    struct interp_counts {
        uint64_t stacks;   /* with frames of the interpreter */
        uint64_t misfits;  /* of them: not as many native calls as frames say */
        uint64_t nameless; /* frames without a name */
    } counts;
};

/* What is known of one thread; part of its record. Zeroed memory: nothing. */
struct interp_thread {
    uint64_t c_id;  /* the C library's id of it, written by the thread itself at its start; 0: not known */
    uint64_t state; /* the address of what the interpreter has of it, 0 if not known */
    uint64_t others[SIG_INTERP_OTHER_STATES]; /* and of what others of the process have of it, or 0 */
    uint32_t misses;                          /* how often none was found */
};

void interp_init(struct interp *interp, enum interp_mode mode, struct tree *tree,
                 const struct modules *modules);
void interp_deinit(struct interp *interp);

/* The modules have changed, or it is unready: looks for the interpreter, or whether it is still there. */
void interp_modules_changed(struct interp *interp);

static inline bool interp_is_there(const struct interp *interp)
{
    return interp->module != 0;
}

/* The tree and the modules were emptied: what refers to them is not known any more. To be followed by
 * interp_modules_changed, once there are modules again. */
void interp_forget(struct interp *interp);

/* The role of a function, by its module and start (struct location). */
enum interp_role interp_role_of(const struct interp *interp, arena_ref module, uint64_t function_start);

/* Whether functions of the module that are called by the one that runs frames are its parts: one for each
 * instruction of a script. */
static inline bool interp_has_handlers(const struct interp *interp, arena_ref module)
{
    return interp->module && interp->module == module && interp->runtime.calls_handlers;
}

/* Finds the thread's states, if they are not known; not at each call where there is none. In a process with
 * several interpreters a thread's states change, and are looked for at each call. tid: the kernel's. */
void interp_find_state(const struct interp *interp, struct interp_thread *thread, pid_t tid);

/*
 * Whether a thread may have frames that were not seen, so that the next sample must not be taken for the
 * same. CPython links a new state before it is whole: until then the states of older threads are not found.
 */
bool interp_is_unsure(const struct interp *interp, const struct interp_thread *thread);

/* What a walk wants to know of the thread. */
struct sig_interp_thread interp_whose(const struct interp_thread *thread, pid_t tid);

/* Reads the frames of a thread that stands still. A state that is not its own any more is forgotten. */
void interp_walk(struct interp *interp, struct interp_thread *thread, pid_t tid,
                 struct sig_interp_stack *stack);

/*
 * Whether a thread that waits for a futex (arguments: of the call) waits for the interpreter's lock (the
 * GIL): it does so for a limited time, and the futex lies where that lock is. Nothing else there is waited
 * for so.
 */
bool interp_is_gil(const struct interp *interp, const uint64_t arguments[6]);

/* The tid of the thread that has the lock that such a thread waits for; 0: nobody, or it is not known. */
pid_t interp_gil_holder(const struct interp *interp, const uint64_t arguments[6]);

/* A thread waits for the interpreter's lock, in this stack. The function that waits has a name in no stripped
 * interpreter, and is known by this from now on. */
void interp_note_gil(struct interp *interp, const uint64_t *addresses, size_t depth);

/* The location that stands for that function, take_gil; 0 without memory. */
arena_ref interp_gil_location(struct interp *interp);

/*
 * Of a thread in a native function of that module: the function of the program that the interpreter runs,
 * "load shop.py:11". Those of the language's own library are passed over if there is another one. False: the
 * module is not the interpreter's, or nothing has a name.
 */
bool interp_caller(struct interp *interp, const struct sig_interp_stack *stack, arena_ref module, char *ret,
                   size_t bytes);

/* The location of a frame with a code object; 0 without memory. *ret_native_start: where the native function
 * begins that the frame stands for; 0 if it is none, or not known. */
arena_ref interp_locate(struct interp *interp, const struct sig_interp_frame *frame,
                        uint64_t *ret_native_start);

#endif
