/* A sequence lock: a name that was read counts if it has not changed meanwhile. */
#include "thread_annotations.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"

#include <signal.h>
#include <string.h>

void thread_annotations_set_name(struct thread_annotations *annotations, const char *name)
{
    uint64_t words[THREAD_NAME_WORDS] = {0};
    memcpy(words, name, strnlen(name, THREAD_NAME_BYTES - 1));
    uint32_t odd = sig_load_relaxed(&annotations->name_changes) | 1;
    sig_store_seq_cst(&annotations->name_changes, odd);
    for (int i = 0; i < THREAD_NAME_WORDS; i++)
        sig_store_release(&annotations->name[i],
                          words[i]); /* partner: the acquire in thread_annotations_name */
    sig_store_release(&annotations->name_changes, odd + 1); /* partner: the first acquire there */
}

void thread_annotations_read_signal_stack(struct thread_annotations *annotations)
{
    stack_t stack = {.ss_flags = SS_DISABLE};
    sig_syscall4(SYS_sigaltstack, 0, (long)&stack, 0, 0);
    bool is_there = !(stack.ss_flags & SS_DISABLE);
    sig_store_relaxed(&annotations->signal_stack.low, (uint64_t)(uintptr_t)stack.ss_sp);
    /* partner: the acquire in observe_must_not_signal */
    sig_store_release(&annotations->signal_stack.bytes, is_there ? stack.ss_size : 0);
}

bool thread_annotations_name(const struct thread_annotations *annotations, char ret[THREAD_NAME_BYTES])
{
    uint64_t words[THREAD_NAME_WORDS];
    uint32_t before = sig_load_acquire(&annotations->name_changes);
    for (int i = 0; i < THREAD_NAME_WORDS; i++)
        words[i] = sig_load_acquire(&annotations->name[i]);
    bool is_whole = before % 2 == 0 && sig_load_relaxed(&annotations->name_changes) == before;
    if (!is_whole || words[0] == 0)
        return false;
    memcpy(ret, words, THREAD_NAME_BYTES);
    return true;
}
