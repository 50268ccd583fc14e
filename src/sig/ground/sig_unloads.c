#include "sig_unloads.h"
#include "sig/sys/sig_atomic.h"

#include <stdbool.h>

static uint32_t sig_unloads_begun, sig_unloads_ended, sig_unloads_strange; /* struct sig_unloads */
static uint64_t sig_unloaded;                                              /* objects, as of the last end */
static uint32_t sig_life;                       /* differs from that of the parent process */
static sig_unloaded_fn *sig_unloaded_by_loader; /* written before there are hooks that count */

void sig_unloads_use_loader(sig_unloaded_fn *unloaded)
{
    sig_unloaded_by_loader = unloaded;
}

/* In this order: a dlclose that is under way at the first load has not ended, but has begun at the last. */
struct sig_unloads sig_unloads_read(void)
{
    struct sig_unloads unloads;
    unloads.ended = sig_load_seq_cst(&sig_unloads_ended); /* partners: the increments of the hook */
    unloads.objects = sig_load_seq_cst(&sig_unloaded);
    unloads.strange = sig_load_seq_cst(&sig_unloads_strange);
    unloads.begun = sig_load_seq_cst(&sig_unloads_begun);
    return unloads;
}

/*
 * While begun differs from ended, equal numbers prove nothing, so only what was unloaded before is strange.
 * What is unloaded between the increment and the loader's count is taken for strange too, if this is the
 * first of several calls that overlap.
 */
uint32_t sig_unloads_begin(void)
{
    uint32_t life = sig_load_relaxed(&sig_life); /* changes only while the process has one thread */
    uint32_t begun = sig_add_seq_cst(&sig_unloads_begun, 1);
    bool is_first = begun == sig_load_seq_cst(&sig_unloads_ended);
    if (is_first && sig_unloaded_by_loader() != sig_load_seq_cst(&sig_unloaded))
        sig_add_seq_cst(&sig_unloads_strange, 1);
    return life;
}

void sig_unloads_end(uint32_t begun_in)
{
    uint64_t now = sig_unloaded_by_loader(), known = sig_load_seq_cst(&sig_unloaded);
    if (begun_in != sig_load_relaxed(&sig_life))
        return;
    while (known < now && !sig_cas_acq_rel(&sig_unloaded, &known, now))
        ;
    sig_add_seq_cst(&sig_unloads_ended, 1);
}

void sig_unloads_forget_parent(void)
{
    sig_unloads_begun = sig_unloads_ended;
    sig_life++;
}
