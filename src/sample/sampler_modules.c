/* What is mapped: snapshots, the handlers' table, and the interpreter that is among it. */
#include "sampler_internal.h"
#include "base/clock.h"
#include "sig/ground/sig_unloads.h"
#include "sig/walk/sig_walk_tables.h"

static const uint64_t publish_patience_ns = 2 * NS_PER_MS;
static const uint64_t modules_settle_ns = NS_PER_S / 2;

void sampler_find_interp(struct sampler *sampler)
{
    interp_modules_changed(&sampler->interp);
    if (interp_is_there(&sampler->interp))
        observe_use_interp(&sampler->observer, &sampler->interp);
}

void sampler_refresh_modules(struct sampler *sampler)
{
    uint32_t ended = sig_unloads_read().ended;
    bool is_changed = modules_refresh(&sampler->modules);
    sampler->modules_changed |= is_changed;
    sampler->unloads_ended = ended;
    if (is_changed || sampler->interp.is_unready)
        sampler_find_interp(sampler);
    if (!is_changed)
        return;
    waits_modules_changed(&sampler->waits);
    uint64_t now_ns = clock_monotonic_ns();
    sampler->modules_quiet_ns = now_ns + modules_settle_ns;
    account_modules_changed(&sampler->account, now_ns);
}

/* A table is built in memory that no handler uses any more: only after the one before has been taken over. */
void sampler_publish_modules(struct sampler *sampler)
{
    if (!sampler->pending_table && sampler->modules_changed) {
        sampler->pending_table = modules_table(&sampler->modules);
        sampler->pending_unloads_ended = sampler->unloads_ended;
        sampler->modules_changed = !sampler->pending_table;
    }
    if (sampler->pending_table &&
        sig_walk_tables_publish(sampler->pending_table, sampler->pending_unloads_ended,
                                clock_monotonic_ns() + publish_patience_ns))
        sampler->pending_table = NULL;
    if (!sampler->pending_table && !sampler->modules_changed)
        sig_walk_tables_confirm(sampler->unloads_ended);
}
