/*
 * Atomics with the memory order in the name. Every acquire and release in sig_* names its partner where it is
 * used.
 *
 * All are lock-free on the supported machines, hence allowed in a signal handler.
 *
 * Where two threads each store and then look at the other's word (Dekker's protocol), a store must not pass
 * the load behind it. A sequentially consistent store is therefore an exchange here: that is what x86_64
 * makes of one anyway, and under emulation aarch64's own pair, stlr and ldar, becomes two plain moves that do
 * pass each other.
 */
#ifndef WALLPROF_SIG_ATOMIC_H
#define WALLPROF_SIG_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define sig_load_relaxed(ptr)         __atomic_load_n(ptr, __ATOMIC_RELAXED)
#define sig_load_acquire(ptr)         __atomic_load_n(ptr, __ATOMIC_ACQUIRE)
#define sig_load_seq_cst(ptr)         __atomic_load_n(ptr, __ATOMIC_SEQ_CST)
#define sig_store_relaxed(ptr, value) __atomic_store_n(ptr, value, __ATOMIC_RELAXED)
#define sig_store_release(ptr, value) __atomic_store_n(ptr, value, __ATOMIC_RELEASE)
#define sig_store_seq_cst(ptr, value) ((void)__atomic_exchange_n(ptr, value, __ATOMIC_SEQ_CST))
#define sig_add_relaxed(ptr, value)   __atomic_fetch_add(ptr, value, __ATOMIC_RELAXED)
#define sig_add_seq_cst(ptr, value)   __atomic_fetch_add(ptr, value, __ATOMIC_SEQ_CST)
#define sig_sub_seq_cst(ptr, value)   __atomic_fetch_sub(ptr, value, __ATOMIC_SEQ_CST)
#define sig_swap_acq_rel(ptr, value)  __atomic_exchange_n(ptr, value, __ATOMIC_ACQ_REL)

/* What stands before is stored before what stands behind, for whoever finds the memory when this thread has
 * been killed in between. (The compiler keeps to it; the processor does by itself.) */
#define sig_keep_order() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* Compare and exchange; *expected is updated on failure. Acquire on both outcomes, release on success. */
#define sig_cas_acq_rel(ptr, expected, desired)                                                              \
    __atomic_compare_exchange_n(ptr, expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

#endif
