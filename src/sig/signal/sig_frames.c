/*
 * What the thread's own frames hold on to is read in place, after a probe: nobody else can give it back. All
 * other memory is copied by the kernel, because another thread may end this one's state at any moment.
 */
#include "sig_frames.h"

#include "sig/sys/sig_atomic.h"
#include "sig/sys/sig_memory.h"

static bool read_own(const struct sig_interp_memory *memory, void *to, uint64_t from, size_t bytes,
                     bool is_held)
{
    const bool is_on_stack = from >= memory->held_low && from < memory->held_high;
    return is_held || is_on_stack ? sig_memory_probe(to, from, bytes) : sig_memory_peek(to, from, bytes);
}

void sig_frames_sample(struct sig_slot *slot)
{
    struct sig_slot_interp *interp = sig_load_relaxed(&slot->interp); /* the signal's delivery orders it */
    if (!interp)
        return;
    const struct sig_interp_memory memory = {
        .read = read_own, .held_low = slot->stack_low, .held_high = slot->stack_high};
    interp->is_its_state =
        sig_python_walk(&interp->layout, &interp->thread, &memory, &interp->scratch, &interp->stack);
}
