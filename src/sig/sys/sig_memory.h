/*
 * Reading memory that may not be there, from a handler or the sampler thread.
 *
 * Two ways, both without a lock or a fault: asking whether an address is readable before a
 * direct read (right for a stack the thread runs on: it cannot go away meanwhile), and letting the kernel
 * copy (right for another module's data while a dlclose is under way, and for another thread's stack).
 */
#ifndef WALLPROF_SIG_MEMORY_H
#define WALLPROF_SIG_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From now on the kernel is not asked to copy, as if it refused (process_vm_readv). */
void sig_memory_do_without_copies(void);

/* Whether the kernel copies: it has not refused yet, nor is it not to be asked. */
bool sig_memory_has_copies(void);

/* Whether 8 bytes at an aligned address can be read now; one system call, 60-100 ns. */
bool sig_memory_is_readable(uint64_t address);

/* Copies bytes through the kernel; false when any of them is not mapped, or the kernel refuses the call. */
bool sig_memory_copy(void *to, uint64_t from, size_t bytes);

/*
 * Copies what is there of so many bytes, up to the first page that is not mapped; returns how many, 0 when
 * the kernel refuses. mem_descriptor is one of /proc/self/mem, the other way to have the kernel copy (seccomp
 * and emulators may refuse the first), or -1.
 */
size_t sig_memory_copy_some(void *to, uint64_t from, size_t bytes, int mem_descriptor);

/* Copies at most a page by probe and direct read: for memory that stays mapped, but may not be readable. */
bool sig_memory_probe(uint8_t *to, uint64_t from, size_t bytes);

/*
 * Through the kernel, and where it refuses the call (seccomp, emulators), by probe and direct read: for
 * memory that this very thread has a use for, and that nobody should be unmapping just now. At most a page.
 */
bool sig_memory_peek(uint8_t *to, uint64_t from, size_t bytes);

#endif
