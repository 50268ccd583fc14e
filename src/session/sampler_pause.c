/*
 * Dekker's protocol: the sampler raises `busy`, then reads `holds`. Other threads raise `holds`, then read
 * `busy`. With sequential consistency at least one side sees what the other has written.
 */
#include "sampler_pause.h"
#include "base/clock.h"
#include "base/futex.h"
#include "sig/sys/sig_atomic.h"

void sampler_pause_ask(struct sampler_pause *pause)
{
    sig_add_seq_cst(&pause->holds, 1);
}

void sampler_pause_await(struct sampler_pause *pause, uint64_t deadline_ns)
{
    while (sig_load_seq_cst(&pause->busy) != 0 && (!deadline_ns || clock_monotonic_ns() < deadline_ns))
        futex_wait(&pause->busy, 1, deadline_ns);
}

void sampler_pause_release(struct sampler_pause *pause)
{
    if (sig_sub_seq_cst(&pause->holds, 1) == 1)
        futex_wake_all(&pause->holds);
}

/* A sampler that is about to wait for the earlier moment may miss that it has changed. */
void sampler_pause_rest_until(struct sampler_pause *pause, uint64_t moment_ns)
{
    uint64_t before_ns = sig_load_relaxed(&pause->rests_until_ns); /* ordered by holds */
    sig_store_relaxed(&pause->rests_until_ns, moment_ns);
    if (before_ns > moment_ns)
        futex_wake_all(&pause->holds);
}

void sampler_pause_work(struct sampler_pause *pause)
{
    for (;;) {
        sig_store_seq_cst(&pause->busy, 1);
        uint32_t holds = sig_load_seq_cst(&pause->holds);
        uint64_t until_ns = sig_load_relaxed(&pause->rests_until_ns);
        if (holds == 0 && (until_ns == 0 || clock_monotonic_ns() >= until_ns))
            return;
        sampler_pause_rest(pause);
        futex_wait(&pause->holds, holds, holds == 0 ? until_ns : 0);
    }
}

void sampler_pause_rest(struct sampler_pause *pause)
{
    sig_store_seq_cst(&pause->busy, 0);
    if (sig_load_seq_cst(&pause->holds) != 0)
        futex_wake_all(&pause->busy);
}
