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

void sampler_pause_work(struct sampler_pause *pause)
{
    for (;;) {
        sig_store_seq_cst(&pause->busy, 1);
        uint32_t holds = sig_load_seq_cst(&pause->holds);
        if (holds == 0)
            return;
        sampler_pause_rest(pause);
        futex_wait(&pause->holds, holds, 0);
    }
}

void sampler_pause_rest(struct sampler_pause *pause)
{
    sig_store_seq_cst(&pause->busy, 0);
    if (sig_load_seq_cst(&pause->holds) != 0)
        futex_wake_all(&pause->busy);
}
