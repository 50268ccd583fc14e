/*
 * The probe is rt_sigprocmask with an invalid `how`. The kernel first copies the set from user memory, and
 * fails with EFAULT if it cannot. Then it fails with EINVAL for `how`, so no mask is ever changed.
 * The probe of a write is rt_sigprocmask without a set, which writes the mask there.
 * Source: kernel/signal.c, SYSCALL_DEFINE4(rt_sigprocmask).
 */
#include "sig_memory.h"
#include "sig_arch.h"
#include "sig_atomic.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>

#include <sys/uio.h>

enum { PAGE_BYTES = 4096, KERNEL_SIGSET_BYTES = 8, INVALID_HOW = -1 };

static uint32_t sig_memory_refused; /* process_vm_readv is, by a filter, an emulator, or a setting */

static int32_t sig_memory_of; /* a thread of the process whose memory is copied; 0: of this one */

void sig_memory_be_of(int32_t tid)
{
    sig_store_relaxed(&sig_memory_of, tid);
}

int32_t sig_memory_subject(void)
{
    return sig_load_relaxed(&sig_memory_of);
}

void sig_memory_do_without_copies(void)
{
    sig_store_relaxed(&sig_memory_refused, 1);
}

bool sig_memory_has_copies(void)
{
    return !sig_load_relaxed(&sig_memory_refused);
}

bool sig_memory_is_readable(uint64_t address)
{
    return sig_syscall4(SYS_rt_sigprocmask, INVALID_HOW, (long)address, 0, KERNEL_SIGSET_BYTES) == -EINVAL;
}

/* FUTEX_WAKE_OP writes the second word, here the same again, by an atomic `or` of 0. Nobody waits at ours. */
bool sig_memory_is_writable(uint64_t low, uint64_t high)
{
    static const uint64_t word_mask = 3;
    uint32_t here = 0;
    for (uint64_t at = low & ~word_mask; at < high; at = (at / PAGE_BYTES + 1) * PAGE_BYTES) {
        if (sig_syscall6(SYS_futex, (long)&here, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, (long)at,
                         FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, 0)) == -EFAULT)
            return false;
    }
    return true;
}

/* The bytes copied, or -errno. beside: NULL for none. */
static long copy_pieces(void *to, uint64_t from, size_t bytes, struct sig_memory_piece *beside)
{
    struct iovec local[2] = {{.iov_base = to, .iov_len = bytes}};
    struct iovec remote[2] = {{.iov_base = (void *)(uintptr_t)from, .iov_len = bytes}};
    long count = beside ? 2 : 1;
    if (!sig_memory_has_copies())
        return -ENOSYS;
    if (beside) {
        local[1] = (struct iovec){.iov_base = beside->to, .iov_len = beside->bytes};
        remote[1] = (struct iovec){.iov_base = (void *)(uintptr_t)beside->from, .iov_len = beside->bytes};
    }
    long subject = sig_memory_subject();
    /* the main thread, which has the pid, may have ended */
    long tid = subject ? subject : sig_syscall4(SYS_gettid, 0, 0, 0, 0);
    long copied = sig_syscall6(SYS_process_vm_readv, tid, (long)local, count, (long)remote, count, 0);
    if (!subject && (copied == -EPERM || copied == -ENOSYS || copied == -EACCES))
        sig_memory_do_without_copies(); /* for its own memory this is permanent */
    return copied;
}

static long copy_bytes(void *to, uint64_t from, size_t bytes)
{
    return copy_pieces(to, from, bytes, NULL);
}

bool sig_memory_copy(void *to, uint64_t from, size_t bytes)
{
    return copy_bytes(to, from, bytes) == (long)bytes;
}

/* Kernels copy up to the page that is missing, but promise this only between pieces (process_vm_readv(2)). */
size_t sig_memory_copy_some(void *to, uint64_t from, size_t bytes, int mem_descriptor,
                            struct sig_memory_piece *beside)
{
    size_t left_in_page = PAGE_BYTES - from % PAGE_BYTES;
    long copied = copy_pieces(to, from, bytes, beside);
    if (beside && copied > (long)bytes) {
        beside->copied = (size_t)copied - bytes;
        copied = (long)bytes;
    }
    if (copied == -EFAULT && bytes > left_in_page)
        copied = copy_bytes(to, from, left_in_page);
    if (copied < 0 && copied != -EFAULT && mem_descriptor >= 0)
        copied = sig_syscall4(SYS_pread64, mem_descriptor, (long)to, (long)bytes, (long)from);
    return copied > 0 ? (size_t)copied : 0;
}

bool sig_memory_probe(uint8_t *to, uint64_t from, size_t bytes)
{
    const uint64_t word_mask = 7;
    uint64_t first = from & ~word_mask, last = (from + bytes - 1) & ~word_mask;
    if (!sig_memory_is_readable(first) ||
        (first / PAGE_BYTES != last / PAGE_BYTES && !sig_memory_is_readable(last)))
        return false;
    for (size_t i = 0; i < bytes; i++)
        to[i] = ((const volatile uint8_t *)(uintptr_t)from)[i];
    return true;
}

/* The 8 bytes are overwritten. */
static bool is_writable(uint64_t address)
{
    return sig_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)address, KERNEL_SIGSET_BYTES) == 0;
}

bool sig_memory_write(uint64_t to, const uint8_t *from, size_t bytes)
{
    if (bytes < KERNEL_SIGSET_BYTES || !is_writable(to) || !is_writable(to + bytes - KERNEL_SIGSET_BYTES))
        return false;
    for (size_t i = 0; i < bytes; i++)
        ((volatile uint8_t *)(uintptr_t)to)[i] = from[i];
    return true;
}

bool sig_memory_peek(uint8_t *to, uint64_t from, size_t bytes)
{
    long copied = copy_bytes(to, from, bytes);
    if (copied >= 0 || copied == -EFAULT || sig_memory_subject())
        return copied == (long)bytes;
    return sig_memory_probe(to, from, bytes);
}
