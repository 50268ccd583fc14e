/*
 * From an interrupted thread's registers to the addresses of its stack; or from what the kernel tells of a
 * thread that waits in a system call.
 *
 * Called from: the signal handler, on the thread itself, and the sampler thread, of any other thread. Takes
 * no lock, allocates nothing, touches no thread-local storage; every read is inside the thread's known stack
 * or in a page found readable first, and of another thread's stack made through the kernel; steps are bounded
 * by the capacity of the result, and the words searched for return addresses by a constant. Needs under 1.5
 * KiB of stack.
 */
#ifndef WALLPROF_SIG_UNWIND_H
#define WALLPROF_SIG_UNWIND_H

#include "sig/sys/sig_arch.h"
#include "sig/cfi/sig_cfi.h"
#include "sig_stack_cache.h"
#include "sig/ground/sig_modules.h"
#include "sig/ground/sig_stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sig_unwind_end {
    SIG_UNWIND_ROOT,          /* the outermost frame was reached */
    SIG_UNWIND_DEPTH,         /* the result was full first */
    SIG_UNWIND_TRUNCATED,     /* no way to the next caller: no rule, an unreadable or corrupt stack */
    SIG_UNWIND_INEXPRESSIBLE, /* a rule that is not of sig_cfi.h's forms, or a register that is not carried:
                                 sig_unwind_slow may know the way */
};

struct sig_unwind_request {
    const struct sig_modules_table *modules;
    uint64_t stack_low, stack_high; /* where the thread's own stack may be, 0 and 0 when not known */
    bool use_cache;                 /* false while the cache is being cleared, or modules is out of date */
    struct sig_stack_cache *stack_cache; /* of this thread; NULL without, and when use_cache is false */
    struct sig_stack_copy *copy;         /* for sig_unwind_remote; NULL for the thread's own walk */
    bool learns; /* distances, for sig_unwind_remote's sake; with use_cache, without stack_cache */
    struct sig_column *rows; /* scratch of sig_cfi_rule_in; NULL: it is taken from the stack */
    uint64_t *addresses;     /* result, innermost first */
    size_t capacity;
};

/*
 * Returns the number of addresses. The first is where the thread was interrupted; a caller's is its return
 * address - 1, inside the call instruction; a frame below a signal trampoline was interrupted too and is
 * exact, and so is a function that nothing called and a stack was only made to return to. With a stack cache
 * the outermost stack_cache->shared frames are left out: they stand in the stack cache already.
 */
size_t sig_unwind(const struct sig_unwind_request *request, const ucontext_t *context,
                  enum sig_unwind_end *ret_end);

/* Where a thread waits in a system call, as /proc/self/task/TID/syscall has it. */
struct sig_blocked_regs {
    uint64_t pc, sp;
    const uint64_t *arguments; /* the six of the system call; NULL when it is in none (a page fault) */
    const uint64_t *fp;        /* the frame pointer, where it is known from elsewhere; else NULL */
};

/* How such a walk went. */
struct sig_unwind_course {
    enum sig_unwind_end end;
    size_t bytes; /* how far it has come from the stack pointer on: copy->expected_bytes of the next one */
    bool by_distance; /* a frame pointer was found by a distance that was learned (sig_fp_offset_cache.h) */
};

/*
 * The same of another thread, over a copy of its stack (request->copy; stack_cache is NULL). The frame
 * pointer and most other registers are not known, and never guessed: a frame that needs one ends the walk
 * (SIG_UNWIND_INEXPRESSIBLE). But with use_cache, where a distance is known of the frame pointer, the walk
 * goes on with it; what it finds so counts only if it comes to the root, and is dropped otherwise.
 *
 * What has been found holds if the thread has not run since before its place was read, which the caller must
 * find out; otherwise it may be anything.
 */
size_t sig_unwind_remote(const struct sig_unwind_request *request, const struct sig_blocked_regs *place,
                         struct sig_unwind_course *ret);

#endif
