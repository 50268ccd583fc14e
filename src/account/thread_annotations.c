/* A sequence lock: a name that was read counts if it has not changed meanwhile. */
#include "thread_annotations.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_altstack.h"

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

/* A signal stack that is too small for anything. */
enum { NO_ROOM = 1 };

static void write_stack(struct thread_signal_stack *stack, uint64_t low, uint64_t bytes)
{
    sig_store_relaxed(&stack->low, low);
    /* partner: the acquire in observe_must_not_signal */
    sig_store_release(&stack->bytes, bytes);
}

struct thread_signal_stack thread_annotations_hide_signal_stack(struct thread_annotations *annotations)
{
    struct thread_signal_stack before = annotations->signal_stack;
    /* partner: sig_action_follow_stack, whose caller holds the sampler */
    sig_store_seq_cst(&annotations->signal_stack.bytes, NO_ROOM);
    return before;
}

void thread_annotations_restore_signal_stack(struct thread_annotations *annotations,
                                             const struct thread_signal_stack *before)
{
    write_stack(&annotations->signal_stack, before->low, before->bytes);
}

static bool is_same(const struct thread_signal_stack *one, const struct thread_signal_stack *other)
{
    return one->low == other->low && one->bytes == other->bytes;
}

/* Of several earlier stacks none is known any more. */
void thread_annotations_show_signal_stack(struct thread_annotations *annotations,
                                          const struct thread_signal_stack *before, uint64_t own_stack_high)
{
    const struct thread_signal_stack candidates[] = {*before, annotations->earlier_stack};
    struct thread_signal_stack now = {0}, earlier = {0};
    stack_t stack = {.ss_flags = SS_DISABLE};
    sig_syscall4(SYS_sigaltstack, 0, (long)&stack, 0, 0);
    if (!(stack.ss_flags & SS_DISABLE))
        now = (struct thread_signal_stack){(uint64_t)(uintptr_t)stack.ss_sp, stack.ss_size};
    for (int i = 0; i < 2; i++) {
        const struct thread_signal_stack *one = &candidates[i];
        bool returns = one->bytes != 0 && !is_same(one, &now) &&
                       sig_altstack_returns(one->low, one->bytes, own_stack_high);
        if (returns && earlier.bytes != 0 && !is_same(one, &earlier))
            earlier = (struct thread_signal_stack){.bytes = NO_ROOM};
        else if (returns)
            earlier = *one;
    }
    write_stack(&annotations->earlier_stack, earlier.low, earlier.bytes);
    write_stack(&annotations->signal_stack, now.low, now.bytes);
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
