/*
 * The state word is the only thing that both sides write. claim and cancel race for ARMED by
 * compare-and-exchange: exactly one wins. Signals carry 36 bits of a generation (sig_request.c), enough for
 * years.
 */
#include "sig_slots.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"

#include <linux/futex.h>
#include <stddef.h>
#include <time.h>

enum { STATE_BITS = 2, STATE_MASK = 3 };

static const uint64_t ns_per_s = 1000000000U;

void sig_slots_init(struct sig_slots *slots, struct sig_slot *memory, uint32_t count, uint64_t *addresses,
                    uint32_t capacity)
{
    *slots = (struct sig_slots){.slots = memory, .count = count, .capacity = capacity};
    for (uint32_t i = 0; i < count; i++)
        memory[i] = (struct sig_slot){.addresses = addresses + (size_t)i * capacity};
}

static uint64_t with_state(uint64_t word, enum sig_slot_state state)
{
    return (word & ~(uint64_t)STATE_MASK) | state;
}

int sig_slots_arm(struct sig_slots *slots, uint64_t stack_low, uint64_t stack_high,
                  struct sig_stack_cache *stack_cache, uint64_t *ret_generation)
{
    for (uint32_t i = 0; i < slots->count; i++) {
        struct sig_slot *slot = &slots->slots[i];
        uint64_t word = sig_load_relaxed(&slot->state); /* FREE is left by this thread only */
        if ((word & STATE_MASK) != SIG_SLOT_FREE)
            continue;
        uint64_t generation = (word >> STATE_BITS) + 1;
        slot->stack_low = stack_low;
        slot->stack_high = stack_high;
        slot->stack_cache = stack_cache;
        sig_store_relaxed(&slot->learns, false);
        sig_store_relaxed(&slot->labels_at, NULL);
        sig_store_relaxed(&slot->interp, NULL);
        sig_add_seq_cst(&slots->pending, 1);
        /* Release: partner of the acquire in sig_slots_claim, so that the handler sees the bounds. */
        sig_store_release(&slot->state, generation << STATE_BITS | SIG_SLOT_ARMED);
        *ret_generation = generation;
        return (int)i;
    }
    return -1;
}

void sig_slots_let_learn(struct sig_slots *slots, uint32_t index)
{
    sig_store_relaxed(&slots->slots[index].learns, true);
}

void sig_slots_request_labels(struct sig_slots *slots, uint32_t index, const uint32_t *labels_at)
{
    sig_store_relaxed(&slots->slots[index].labels_at, labels_at);
}

void sig_slots_request_frames(struct sig_slots *slots, uint32_t index, struct sig_slot_interp *interp)
{
    sig_store_relaxed(&slots->slots[index].interp, interp);
}

struct sig_slot *sig_slots_claim(struct sig_slots *slots, uint32_t index, uint64_t generation)
{
    if (index >= slots->count)
        return NULL;
    struct sig_slot *slot = &slots->slots[index];
    uint64_t armed = generation << STATE_BITS | SIG_SLOT_ARMED;
    /* Acquire: partner of the release in sig_slots_arm. */
    return sig_cas_acq_rel(&slot->state, &armed, with_state(armed, SIG_SLOT_WRITING)) ? slot : NULL;
}

void sig_slots_address(struct sig_slots *slots, uint32_t index, int32_t tid)
{
    sig_store_relaxed(&slots->slots[index].tid, tid); /* the signal's delivery orders it */
}

bool sig_slots_is_addressed(const struct sig_slots *slots, int32_t tid)
{
    for (uint32_t i = 0; i < slots->count; i++) {
        const struct sig_slot *slot = &slots->slots[i];
        if ((sig_load_relaxed(&slot->state) & STATE_MASK) == SIG_SLOT_ARMED &&
            sig_load_relaxed(&slot->tid) == tid)
            return true;
    }
    return false;
}

struct sig_slot *sig_slots_claim_of(struct sig_slots *slots, int32_t tid)
{
    for (uint32_t i = 0; i < slots->count; i++) {
        struct sig_slot *slot = &slots->slots[i];
        uint64_t word = sig_load_relaxed(&slot->state); /* sig_slots_claim checks it */
        if ((word & STATE_MASK) == SIG_SLOT_ARMED && sig_load_relaxed(&slot->tid) == tid)
            return sig_slots_claim(slots, i, word >> STATE_BITS);
    }
    return NULL;
}

/* The last pending reply wakes a sampler that waits. The handler changes `pending`, then reads `awaited`; the
 * sampler stores `awaited`, then reads `pending` (sig_slots_wait). At least one sees the other. */
static void end_pending(struct sig_slots *slots, bool wake)
{
    if (sig_sub_seq_cst(&slots->pending, 1) == 1 && wake && sig_load_seq_cst(&slots->awaited))
        sig_syscall4(SYS_futex, (long)&slots->pending, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0);
}

void sig_slots_finish(struct sig_slots *slots, struct sig_slot *slot)
{
    uint64_t writing = sig_load_relaxed(&slot->state); /* ours since the claim */
    /* Release: partner of the acquire in sig_slots_is_done. */
    sig_store_release(&slot->state, with_state(writing, SIG_SLOT_DONE));
    end_pending(slots, true);
}

bool sig_slots_is_done(const struct sig_slots *slots, uint32_t index)
{
    /* Acquire: partner of the release in sig_slots_finish. */
    return (sig_load_acquire(&slots->slots[index].state) & STATE_MASK) == SIG_SLOT_DONE;
}

void sig_slots_release(struct sig_slots *slots, uint32_t index)
{
    struct sig_slot *slot = &slots->slots[index];
    sig_store_relaxed(&slot->state, with_state(sig_load_relaxed(&slot->state), SIG_SLOT_FREE));
}

bool sig_slots_cancel(struct sig_slots *slots, uint32_t index)
{
    struct sig_slot *slot = &slots->slots[index];
    uint64_t armed = with_state(sig_load_relaxed(&slot->state), SIG_SLOT_ARMED);
    if (!sig_cas_acq_rel(&slot->state, &armed, with_state(armed, SIG_SLOT_FREE)))
        return false;
    end_pending(slots, false);
    return true;
}

void sig_slots_wait(struct sig_slots *slots, uint64_t deadline_ns)
{
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / ns_per_s),
                                .tv_nsec = (long)(deadline_ns % ns_per_s)};
    sig_store_seq_cst(&slots->awaited, 1);
    for (;;) {
        uint32_t pending = sig_load_seq_cst(&slots->pending);
        if (pending == 0)
            break;
        /* FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC deadline. A change of `pending` between the
         * load and the call makes it return at once; a wake-up comes only with 0. */
        long status = sig_syscall6(SYS_futex, (long)&slots->pending, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
                                   pending, (long)&deadline, 0, FUTEX_BITSET_MATCH_ANY);
        if (status == -ETIMEDOUT)
            break;
    }
    sig_store_seq_cst(&slots->awaited, 0);
}
