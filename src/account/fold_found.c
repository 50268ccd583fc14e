#include "fold_found.h"
#include "base/smaller.h"

/*
 * Run delay that was claimed for a thread that was woken and that its clock has not told: at most so many of
 * the last claims. Claims are by chance more or less than what the clock tells, and a sum of such differences
 * that never falls below 0 grows. So it is bounded, or it would hide for long that a thread is preempted.
 */
enum { WOKEN_CLAIMS_MAX = 16 };

bool fold_has_shared_root(const struct tree *tree, const struct fold_thread *thread)
{
    return tree_node(tree, thread->root)->thread == 0;
}

void fold_found_told(struct fold_thread *thread, uint64_t delay_ns)
{
    const uint64_t woken_ns = smaller(thread->woken_ns, delay_ns);
    thread->woken_ns -= woken_ns;
    thread->preempted = delay_ns ? 1 - (double)woken_ns / (double)delay_ns : 1;
}

void fold_found_claims(struct fold_thread *thread, const struct values *claim)
{
    if (thread->was_woken)
        thread->woken_ns =
            smaller(thread->woken_ns + claim->rundelay_ns, WOKEN_CLAIMS_MAX * claim->rundelay_ns);
}

/* The time of a runnable thread, by the clocks of its neighbourhood; by its state if these stood still, or
 * the run delay is not known. */
static struct values of_runnable(const struct fold_thread *thread, const struct passed *passed,
                                 uint64_t wall_ns)
{
    uint64_t cpu_ns = passed->cpu_ns, delay_ns = (uint64_t)((double)passed->delay_ns * thread->preempted);
    uint64_t all_ns = cpu_ns + delay_ns;
    if (!thread->knows_delay || all_ns == 0) {
        cpu_ns = thread->was_running;
        all_ns = 1;
    }
    cpu_ns = (uint64_t)((unsigned __int128)wall_ns * cpu_ns / all_ns);
    return (struct values){.cpu_ns = cpu_ns, .rundelay_ns = wall_ns - cpu_ns};
}

struct values fold_as_found(const struct fold *fold, const struct fold_thread *thread,
                            const struct passed *passed, uint64_t wall_ns)
{
    if (fold_has_shared_root(fold->tree, thread))
        return by_clocks(passed, wall_ns);
    if (thread->was_woken && thread->knows_delay)
        return (struct values){.rundelay_ns = wall_ns}; /* it has used no CPU there */
    if (thread->was_running || thread->was_queued)
        return of_runnable(thread, passed, wall_ns);
    return (struct values){.blocked_ns = wall_ns};
}
