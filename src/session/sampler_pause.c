/*
 * Dekker's protocol: the sampler raises `busy`, then looks at `holds`; the others raise `holds`, then look at
 * `busy`. With sequential consistency at least one sees the other.
 */
#include "sampler_pause.h"
#include "base/clock.h"
#include "base/futex.h"
#include "sig/sys/sig_atomic.h"

void sampler_pause_ask(struct sampler_pause *standstill)
{
    sig_add_seq_cst(&standstill->holds, 1);
}

void sampler_pause_await(struct sampler_pause *standstill, uint64_t deadline_ns)
{
    while (sig_load_seq_cst(&standstill->busy) != 0 && (!deadline_ns || clock_monotonic_ns() < deadline_ns))
        futex_wait(&standstill->busy, 1, deadline_ns);
}

void sampler_pause_release(struct sampler_pause *standstill)
{
    if (sig_sub_seq_cst(&standstill->holds, 1) == 1)
        futex_wake_all(&standstill->holds);
}

void sampler_pause_work(struct sampler_pause *standstill)
{
    for (;;) {
        sig_store_seq_cst(&standstill->busy, 1);
        uint32_t holds = sig_load_seq_cst(&standstill->holds);
        if (holds == 0)
            return;
        sampler_pause_rest(standstill);
        futex_wait(&standstill->holds, holds, 0);
    }
}

void sampler_pause_rest(struct sampler_pause *standstill)
{
    sig_store_seq_cst(&standstill->busy, 0);
    if (sig_load_seq_cst(&standstill->holds) != 0)
        futex_wake_all(&standstill->busy);
}
