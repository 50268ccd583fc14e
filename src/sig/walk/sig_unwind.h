/*
 * From the registers of an interrupted thread, or of one in a system call, to the addresses of its stack.
 *
 * Called from: the signal handler, on the thread itself, and the sampler thread, for any other thread. Takes
 * no lock, allocates nothing, touches no thread-local storage. Every read is inside the thread's known stack
 * or in a page found readable; another thread's stack is read through the kernel. Steps are bounded by the
 * capacity of the result, searches for return addresses by a constant. Needs under 1.5 KiB of stack.
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
    SIG_UNWIND_ROOT,      /* the outermost frame was reached */
    SIG_UNWIND_DEPTH,     /* the result was full first */
    SIG_UNWIND_TRUNCATED, /* the next caller cannot be found: no rule, or an unreadable or corrupt stack */
    SIG_UNWIND_INEXPRESSIBLE, /* it needs a rule or a register that only sig_unwind_slow may know */
};

struct sig_unwind_request {
    const struct sig_modules_table *modules;
    uint64_t stack_low, stack_high;      /* where the thread's own stack may be, 0 and 0 if not known */
    bool use_cache;                      /* false while the cache is cleared, or modules is out of date */
    struct sig_stack_cache *stack_cache; /* of this thread; NULL without, or if use_cache is false */
    struct sig_stack_copy *copy;         /* for another thread's stack; NULL: the thread walks its own */
    bool learns; /* distances, for sig_unwind_remote; only with use_cache and without stack_cache */
    struct sig_column *rows; /* for sig_cfi_rule_in; NULL: they are on the stack */
    uint64_t *addresses;     /* result, innermost first */
    size_t capacity;
};

/*
 * Returns the number of addresses. The first is where the thread was interrupted. A caller's is its return
 * address - 1, inside the call instruction. Exact are addresses of frames that a signal interrupted, and of a
 * function that was never called, but laid on a new stack to return to. The outermost stack_cache->shared
 * frames are left out, as they are in the stack cache.
 */
size_t sig_unwind(const struct sig_unwind_request *request, const ucontext_t *context,
                  enum sig_unwind_end *ret_end);

/* Where a thread waits in a system call, by /proc/self/task/TID/syscall. */
struct sig_blocked_regs {
    uint64_t pc, sp;
    const uint64_t *arguments; /* the six of the system call; NULL if it is in none (a page fault) */
    const uint64_t *fp;        /* the frame pointer, if it is known from elsewhere; else NULL */
};

struct sig_unwind_course {
    enum sig_unwind_end end;
    size_t bytes;     /* how far it came from the stack pointer on: copy->expected_bytes of the next walk */
    bool by_distance; /* a frame pointer was found by its distance (sig_walk_fp_offset.c) */
};

/*
 * The same for another thread, over a copy of its stack (request->copy; stack_cache is NULL). The frame
 * pointer and most other registers are not known, and never guessed: a frame that needs one ends the walk
 * (SIG_UNWIND_INEXPRESSIBLE). But with use_cache, the walk goes on if the distance of the frame pointer is
 * known. What it finds then is dropped unless it comes to the root.
 *
 * The caller proves that the thread has not run since before its registers were read; else nothing holds.
 */
size_t sig_unwind_remote(const struct sig_unwind_request *request, const struct sig_blocked_regs *blocked,
                         struct sig_unwind_course *ret);

#endif
