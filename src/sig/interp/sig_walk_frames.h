/*
 * The frames of a thread, whichever interpreter runs it: the walks of the languages, behind one function.
 *
 * Called from: the handler, on the thread itself, and the sampler, for a blocked thread. Takes no lock,
 * allocates nothing, calls nothing of the interpreter.
 */
#ifndef WALLPROF_SIG_WALK_FRAMES_H
#define WALLPROF_SIG_WALK_FRAMES_H

#include "sig_perl.h"
#include "sig_php.h"
#include "sig_python.h"

enum sig_interp_language { SIG_INTERP_PYTHON, SIG_INTERP_PHP, SIG_INTERP_PERL };

/* Where things are in the interpreter's memory: src/interp finds and checks it. */
struct sig_interp_layout {
    uint8_t language; /* enum sig_interp_language */
    union {
        struct sig_python_layout python;
        struct sig_php_layout php;
        struct sig_perl_layout perl;
    } of;
};

/*
 * Reads the frames of a thread. False if the state is not that thread's, or not any more: then the stack is
 * empty.
 */
bool sig_walk_frames(const struct sig_interp_layout *layout, const struct sig_interp_thread *thread,
                     const struct sig_interp_memory *memory, struct sig_interp_scratch *scratch,
                     struct sig_interp_stack *stack);

#endif
