/*
 * The frames of a program that an interpreter runs, as a walk finds them in the interpreter's own memory.
 *
 * Whoever samples a thread reads its frames beside its native stack: the handler for its own thread, the
 * sampler for one that is blocked. What is read are numbers only. Names and lines are found later, by the
 * sampler (src/interp).
 *
 * All of the interpreter's memory may be anything at any moment: freed, half written, or hostile. So it is
 * only read through struct sig_interp_memory, and every loop is counted. What makes no sense ends the walk.
 */
#ifndef WALLPROF_SIG_INTERP_H
#define WALLPROF_SIG_INTERP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One frame. `code` and `check` together tell a code object from a later one at the same address. */
struct sig_interp_frame {
    uint64_t code;  /* the address of the code object; 0: no frame, but a native call without one */
    uint64_t check; /* a hash of what the code object said of itself */
    int32_t at;     /* Python, PHP: the instruction's distance from the first one, in bytes; Perl: the line.
                     * Below 0: not known, or none has begun */
    bool is_entry;  /* the outermost of those that one native frame of the interpreter runs */
    bool is_native; /* a native function that the interpreter calls: it has a native frame of its own */
    bool is_switch; /* frames further out have their native frames on another stack */
    bool is_main;   /* the outermost one: the program's own code, if a native call runs that (interp.h) */
};

enum sig_interp_end {
    SIG_INTERP_NONE,  /* the thread is not known to the interpreter, or runs no code of it */
    SIG_INTERP_WHOLE, /* the outermost frame was reached */
    SIG_INTERP_CUT    /* the frames further out could not be read, or did not fit */
};

/* The frames of one thread, innermost first. */
struct sig_interp_stack {
    struct sig_interp_frame *frames; /* the caller's memory */
    uint32_t capacity;
    uint32_t count;
    uint8_t end; /* enum sig_interp_end */
};

/*
 * How memory is read: exactly `bytes` bytes, or false. is_held: only the thread itself can give it back. It
 * is on the part of its own stack that it uses, or is held by a frame that does not end now.
 */
struct sig_interp_memory {
    bool (*read)(const struct sig_interp_memory *memory, void *to, uint64_t from, size_t bytes, bool is_held);
};

enum {
    SIG_INTERP_STATE_WORDS = 48,
    SIG_INTERP_FRAME_WORDS = 32,
    SIG_INTERP_KNOWN_CODES = 16, /* a power of two */
    SIG_INTERP_OTHER_STATES = 3
};

/* Whose frames are wanted. */
struct sig_interp_thread {
    uint64_t state; /* the address of what the interpreter has of the thread; Perl: of the pointer to it */
    uint64_t
        others[SIG_INTERP_OTHER_STATES]; /* what others of the process have of it, the newest first; or 0 */
    uint64_t native_id;                  /* the kernel's thread id */
    uint64_t stack_low, stack_high;      /* the part of its own stack that it uses; 0 and 0 if not known */
    uint64_t thread_id;                  /* the C library's, which survives a fork; 0 if not known */
    uint64_t instruction;                /* what may be the innermost frame's: a register; 0 if not known */
};

/* What a walk needs, and is too large for a handler's stack. The caller's memory, for one walk at a time. */
struct sig_interp_scratch {
    uint64_t state[SIG_INTERP_STATE_WORDS]; /* a copy of the thread's state, and of code objects */
    uint64_t frame[SIG_INTERP_FRAME_WORDS]; /* a copy of a frame */
    struct sig_interp_known {
        uint64_t code, check;
        uint64_t instructions; /* these three: PHP's. Where they begin, and their bytes */
        uint32_t bytes;
        bool is_native, is_nameless;
        uint32_t flags;              /* Perl's: what it is */
    } known[SIG_INTERP_KNOWN_CODES]; /* by address: recursion meets the same code again */
    uint32_t reads_left;
};

/* One walk: what all languages have. */
struct sig_interp_walk {
    const struct sig_interp_thread *thread;
    const struct sig_interp_memory *memory;
    struct sig_interp_scratch *scratch;
    struct sig_interp_stack *stack;
};

#endif
