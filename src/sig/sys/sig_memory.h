/*
 * Reading memory that may not be mapped, from a handler, a hook or the sampler thread; and writing it.
 *
 * There are two ways, both without a lock or a fault. A probe before a direct read is for memory that cannot
 * go away meanwhile, such as the stack that the thread runs on. A copy by the kernel is for all else: data of
 * a module during a dlclose, another thread's stack.
 */
#ifndef WALLPROF_SIG_MEMORY_H
#define WALLPROF_SIG_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whose memory is copied: from now on that of the process of this thread, by an id of the caller's namespace;
 * 0, as at first: this process's. Another process's memory is only copied, and never probed, written or read
 * in place. For a program that looks at another one (docs/design/external.md): none of its threads copies
 * meanwhile, and no handler of ours is installed.
 */
void sig_memory_be_of(int32_t tid);

/* As it was set. */
int32_t sig_memory_subject(void);

/* From now on nothing is copied by the kernel, as if it refused to (process_vm_readv). */
void sig_memory_do_without_copies(void);

/* Whether the kernel copies, as far as is known. */
bool sig_memory_has_copies(void);

/* Whether 8 bytes at an aligned address can be read now; one system call, 60-100 ns. */
bool sig_memory_is_readable(uint64_t address);

/* Whether memory can be written now: true also if the kernel does not tell. Changes nothing; one system call
 * for each piece of 4 KiB. */
bool sig_memory_is_writable(uint64_t low, uint64_t high);

/* Copies bytes through the kernel; false if any of them is not mapped, or the kernel refuses the call. */
bool sig_memory_copy(void *to, uint64_t from, size_t bytes);

/* Memory that lies elsewhere. */
struct sig_memory_piece {
    uint64_t from;
    void *to;
    size_t bytes;
    size_t copied; /* of them, from the first one on */
};

/* Copies up to the first page that is not mapped; returns the number of bytes, 0 if the kernel refuses.
 * mem_descriptor is an open /proc/self/mem, which is read where process_vm_readv is refused, or -1. beside,
 * unless it is NULL, is copied in the same system call, but only if all else was, and by process_vm_readv. */
size_t sig_memory_copy_some(void *to, uint64_t from, size_t bytes, int mem_descriptor,
                            struct sig_memory_piece *beside);

/* Copies at most a page by probe and direct read: for memory that stays mapped, but may not be readable. */
bool sig_memory_probe(uint8_t *to, uint64_t from, size_t bytes);

/* Copies 8 bytes to a page by probe and direct write, to memory that may not be writable. False if it is not;
 * then a part may have been written, as by the kernel. */
bool sig_memory_write(uint64_t to, const uint8_t *from, size_t bytes);

/* Copies at most a page through the kernel, or if it refuses the call by probe and direct read: for memory
 * that this thread uses, so that nobody should be unmapping it now. */
bool sig_memory_peek(uint8_t *to, uint64_t from, size_t bytes);

#endif
