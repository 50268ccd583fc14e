/*
 * Atomics with the memory order in the name. Where src/sig uses an acquire or a release, a comment names its
 * partner. All are lock-free on the supported machines, so a signal handler may use them.
 *
 * Two threads may each store a word and then load the other thread's word (Dekker's protocol). Then a store
 * must not pass the load after it. So a sequentially consistent store is an exchange here, as it is on x86_64
 * anyway. An emulator makes two plain moves of aarch64's own pair, stlr and ldar, and these do pass.
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

/* The stores before this are made before those after it, for a reader that finds the memory after this thread
 * was killed. It binds the compiler; a processor does so by itself. */
#define sig_keep_order() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* Compare and exchange; *expected is updated on failure. Acquire on both outcomes, release on success. */
#define sig_cas_acq_rel(ptr, expected, desired)                                                              \
    __atomic_compare_exchange_n(ptr, expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

#endif
