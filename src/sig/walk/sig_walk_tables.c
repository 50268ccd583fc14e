#include "sig_walk_tables.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig/sys/sig_clock.h"
#include "sig_fp_offset_cache.h"
#include "sig_rules.h"

static const struct sig_modules_table *sig_modules_in_use;

/* Handlers that use shared tables. seq_cst with sig_cache_off: a handler adds itself, then reads the flag;
 * the sampler sets the flag, then reads the count. At least one sees the other. */
static uint32_t sig_in_flight;
static uint32_t sig_cache_off = 1; /* non-zero while the caches are cleared, and before the first table */
static bool sig_cache_is_used;     /* the sampler's: the caches may have entries */
static uint32_t sig_published;     /* unloads.ended as of the snapshot that the table comes from */

/* After an unload the table may name a library that is gone, whose addresses other code may have, so the
 * caches may be wrong too. */
struct sig_unloads sig_walk_tables_use(struct sig_unwind_request *request)
{
    struct sig_unloads unloads = sig_unloads_read();
    request->use_cache = unloads.begun == sig_load_seq_cst(&sig_published) &&
                         unloads.ended == unloads.begun && !sig_load_seq_cst(&sig_cache_off);
    request->modules = sig_load_seq_cst(&sig_modules_in_use);
    return unloads;
}

struct sig_unloads sig_walk_tables_enter(struct sig_unwind_request *request)
{
    sig_add_seq_cst(&sig_in_flight, 1); /* partner: the loads in await_landings */
    return sig_walk_tables_use(request);
}

void sig_walk_tables_leave(void)
{
    sig_sub_seq_cst(&sig_in_flight, 1);
}

/* Waits until no handler is in flight. As they wait for nothing, only the scheduler can make this long. */
static bool await_landings(uint64_t deadline_ns)
{
    while (sig_load_seq_cst(&sig_in_flight) != 0) { /* partner: the increment in sig_walk_tables_enter */
        if (sig_clock_ns(CLOCK_MONOTONIC) >= deadline_ns)
            return false;
        sig_syscall4(SYS_sched_yield, 0, 0, 0, 0);
    }
    return true;
}

bool sig_walk_tables_publish(const struct sig_modules_table *table, uint32_t ended, uint64_t deadline_ns)
{
    sig_store_seq_cst(&sig_cache_off, 1);
    sig_store_seq_cst(&sig_modules_in_use, table);
    if (!await_landings(deadline_ns))
        return false;        /* the caches stay off: correct, only slower */
    if (sig_cache_is_used) { /* else clearing them would only touch their pages */
        sig_rules_clear();
        sig_fp_offset_clear();
    }
    sig_cache_is_used = true;
    sig_store_seq_cst(&sig_published, ended);
    sig_store_seq_cst(&sig_cache_off, 0);
    return true;
}

void sig_walk_tables_confirm(uint32_t ended)
{
    sig_store_seq_cst(&sig_published, ended);
}

void sig_walk_tables_forget_parent(void)
{
    sig_in_flight = 0;
    sig_cache_off = 1;
    sig_modules_in_use = NULL;
}
