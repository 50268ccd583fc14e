/*
 * Where a thread writes its reply to a request: a fixed set of preallocated slots.
 *
 * Life of a slot: FREE -arm-> ARMED -claim-> WRITING -finish-> DONE -release-> FREE, and ARMED -cancel->
 * FREE. The sampler thread calls arm, release, cancel and wait; the handler calls claim and finish. The state
 * word and the signal carry a generation, which arm increments. A signal that comes late, after cancel or for
 * an earlier use of the slot, finds another generation and is dropped.
 *
 * Only sig_slots_wait blocks, and that has a deadline.
 */
#ifndef WALLPROF_SIG_SLOTS_H
#define WALLPROF_SIG_SLOTS_H

#include "sig/interp/sig_walk_frames.h"
#include "sig/walk/sig_unwind_slow.h"
#include "sig/walk/sig_unwind.h"
#include "sig/ground/sig_unloads.h"

#include <stdbool.h>
#include <stdint.h>

enum sig_slot_state { SIG_SLOT_FREE, SIG_SLOT_ARMED, SIG_SLOT_WRITING, SIG_SLOT_DONE };

/* Powers of two. */
enum { SIG_SLOT_HELD_PAGES = 32, SIG_SLOT_COPIES = 4, SIG_SLOT_COPY_WORDS = 512 };

/* The frames of an interpreter that a reply has too: the sampler's memory. */
struct sig_slot_interp {
    /* Written before arming. */
    struct sig_interp_layout layout;
    struct sig_interp_thread thread;

    /* Written before finishing. */
    struct sig_interp_stack stack;
    bool is_its_state; /* `thread` was the thread */

    struct sig_interp_scratch scratch;
    uint64_t held_pages[SIG_SLOT_HELD_PAGES]; /* these three: sig_frames.c */
    uint64_t copied_pages[SIG_SLOT_COPIES];
    uint64_t copies[SIG_SLOT_COPIES][SIG_SLOT_COPY_WORDS];
};

struct sig_slot {
    uint64_t state; /* atomic: generation << 2 | enum sig_slot_state */

    /* Written by the sampler before arming, read by the handler after claiming. */
    uint64_t stack_low, stack_high;
    struct sig_stack_cache *stack_cache; /* the handler's between claim and finish; NULL without */
    bool learns;                         /* atomic: sig_slots_let_learn */
    const uint32_t *labels_at;           /* atomic: sig_slots_request_labels; NULL: there are none */
    int32_t tid;                         /* atomic: sig_slots_address */

    /* Written by the handler before finishing, read by the sampler after it saw DONE. */
    uint64_t time_ns;           /* CLOCK_MONOTONIC when the handler began */
    uint64_t cpu_ns;            /* the thread's CPU clock then */
    uint64_t took_ns;           /* from time_ns to the end of the walk, by the same clock */
    uint32_t depth;             /* addresses written */
    uint8_t end;                /* enum sig_unwind_end */
    struct sig_unloads unloads; /* as of the walk */
    bool was_blocked;           /* the signal interrupted a wait in a system call */
    uint64_t returned_pc;       /* where a system call had just returned to; 0: none had */
    uint64_t sp, pc, fp;        /* of that wait (struct sig_blocked_regs); pc is 0 if it is not known */
    bool by_stack_cache;        /* the stack cache has the whole stack, the addresses what is not shared */
    bool by_full_walk;          /* sig_unwind gave up, and sig_unwind_slow got further */
    uint32_t labels;            /* the word at labels_at then */
    uint64_t *addresses;

    struct sig_slot_interp *interp;          /* atomic: sig_slots_request_frames; NULL: none are wanted */
    struct sig_unwind_slow_scratch *scratch; /* as stack_cache; NULL: no sig_unwind_slow */
} __attribute__((aligned(64)));

struct sig_slots {
    struct sig_slot *slots;
    uint32_t count;
    uint32_t capacity; /* addresses a slot can hold */
    uint32_t pending;  /* atomic, futex word: slots armed and neither finished nor cancelled */
    uint32_t awaited;  /* atomic: the sampler is in sig_slots_wait */
};

/* slots and addresses are the caller's memory: count slots, and count * capacity addresses. */
void sig_slots_init(struct sig_slots *slots, struct sig_slot *memory, uint32_t count, uint64_t *addresses,
                    uint32_t capacity);

/* Sampler: arms a free slot. Returns its index, or -1 if none is free; ret_generation is for the signal. */
int sig_slots_arm(struct sig_slots *slots, uint64_t stack_low, uint64_t stack_high,
                  struct sig_stack_cache *stack_cache, uint64_t *ret_generation);

/* Sampler, between arming a slot and sending the signal, whose delivery orders the two: the walk is to learn
 * distances (sig_fp_offset_cache.h). It is a little slower then, and has no stack cache. */
void sig_slots_let_learn(struct sig_slots *slots, uint32_t index);

/* Sampler, at the same point: where the thread keeps its labels (src/account/labels.h). */
void sig_slots_request_labels(struct sig_slots *slots, uint32_t index, const uint32_t *labels_at);

/* Sampler, at the same point: the frames of an interpreter that runs in the thread are wanted too. */
void sig_slots_request_frames(struct sig_slots *slots, uint32_t index, struct sig_slot_interp *interp);

/* Sampler, at the same point: the slot's thread, for a signal that arrives without its value. */
void sig_slots_address(struct sig_slots *slots, uint32_t index, int32_t tid);

/* Handler: the slot for this index and generation, now WRITING; NULL if the signal is late or foreign. */
struct sig_slot *sig_slots_claim(struct sig_slots *slots, uint32_t index, uint64_t generation);

/* Handler: the same by the thread alone; NULL if no slot is armed for it. */
struct sig_slot *sig_slots_claim_of(struct sig_slots *slots, int32_t tid);

/* Handler: whether a slot is armed for this thread. */
bool sig_slots_is_addressed(const struct sig_slots *slots, int32_t tid);

/* Handler: publishes the slot's content. If it was the last one pending, wakes a sampler that waits. */
void sig_slots_finish(struct sig_slots *slots, struct sig_slot *slot);

/* Sampler: whether the slot is DONE; its content is valid until sig_slots_release. */
bool sig_slots_is_done(const struct sig_slots *slots, uint32_t index);
void sig_slots_release(struct sig_slots *slots, uint32_t index);

/* Sampler: gives up an armed slot. False if a handler has claimed it: then it will be DONE. */
bool sig_slots_cancel(struct sig_slots *slots, uint32_t index);

/* Sampler: sleeps until nothing is pending or CLOCK_MONOTONIC reaches the deadline. */
void sig_slots_wait(struct sig_slots *slots, uint64_t deadline_ns);

#endif
