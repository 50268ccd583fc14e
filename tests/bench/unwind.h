/* The parts of the program that times walks in a signal handler; see unwind.c. */
#ifndef BENCH_UNWIND_H
#define BENCH_UNWIND_H

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

enum {
    CHAIN_FUNCTIONS = 160,
    CHAIN_SITES = 24, /* places in each that call the next: 3,840 in all */
    CHAIN_END = CHAIN_FUNCTIONS,
    WALK_CAPACITY = 512,
};

/* One step of a way down: the function that is entered, and from which of its places it calls the next. */
struct hop {
    uint8_t function, site;
};

/* Goes down the way, whose last hop is CHAIN_END, and calls nothing there but at_bottom, in line. */
typedef void descend_fn(const struct hop *way);

/* The same functions, compiled as a distribution does and with frame pointers. */
descend_fn chain_plain_descend, chain_fp_descend;

/* What the bottom of a chain does: raises the signal by a system call of its own, so that the interrupted
 * function is the chain's. Set before the descent. */
struct bottom {
    long pid, tid, signal;
    const volatile char *swept; /* memory to read through first, so that the caches hold nothing else */
    size_t swept_bytes;
};
extern struct bottom bottom;

/* The bounds of the stack of the thread that walks. */
struct bounds {
    uint64_t low, high;
};

/* One way to get the addresses of the interrupted stack. Returns how many, at most WALK_CAPACITY; of a walker
 * that keeps the last stack only those up to where it goes on as before are written. */
typedef size_t walk_fn(const ucontext_t *context, const struct bounds *bounds, uint64_t *addresses);

struct walker {
    const char *name;
    descend_fn *descend;
    walk_fn *walk;
    void (*enter)(
        void); /* what the walker has of the thread before is not this one's; NULL: it has nothing */
    void (*forget)(void); /* empties its cache of rules; NULL without one, or where it cannot be done */
};

enum { WALKER_OURS = 0, WALKER_COUNT = 6 };
extern const struct walker walkers[WALKER_COUNT];

/* 0, or -1 with a word on stderr. Also lets every library load what it loads at its first use. */
int walkers_init(void);

#endif
