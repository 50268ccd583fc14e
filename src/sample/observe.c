/* See observe.h. Each slot has at most one owner, each thread at most one slot. */
#include "observe.h"
#include "observe_overdue.h"
#include "base/clock.h"
#include "base/smaller.h"
#include "overhead_limit.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_request.h"
#include "sig/signal/sig_numbers.h"
#include "proc/proc_tasks.h"

#include <errno.h>

/* One of so many walks in handlers learns what walks from outside need, even if none has lacked it. So what
 * was learned before is checked. */
enum { LEARN_EVERY = 16 };

int observe_init(struct observer *observer, uint32_t slot_count, uint32_t depth,
                 struct stack_caches *stack_caches)
{
    struct sig_slot *slots = scratch_alloc(sizeof(struct sig_slot) * slot_count);
    *observer = (struct observer){.task_directory = -1,
                                  .held_slot = -1,
                                  .handler_bytes = observe_handler_bytes(),
                                  .slots = {.slots = slots, .count = slot_count, .capacity = depth},
                                  .stack_caches = stack_caches};
    observer->address_memory = scratch_alloc(sizeof(uint64_t) * slot_count * depth);
    observer->scratch_memory = scratch_alloc(sizeof(struct sig_unwind_slow_scratch) * slot_count);
    observer->owner = scratch_alloc(sizeof(*observer->owner) * slot_count);
    observer->orphan = scratch_alloc(sizeof(*observer->orphan) * slot_count);
    if (remote_sample_init(&observer->remote, depth) < 0 || !slots || !observer->address_memory ||
        !observer->scratch_memory || !observer->owner || !observer->orphan)
        return -ENOMEM;
    sig_slots_init(&observer->slots, slots, slot_count, observer->address_memory, depth);
    for (uint32_t i = 0; i < slot_count; i++)
        slots[i].scratch = &observer->scratch_memory[i];
    return 0;
}

void observe_use_interp(struct observer *observer, struct interp *interp)
{
    interp_replies_begin(&observer->interp, interp, &observer->slots);
    remote_sample_use_interp(&observer->remote, interp);
}

void observe_deinit(struct observer *observer)
{
    uint32_t count = observer->slots.count;
    remote_sample_deinit(&observer->remote);
    interp_replies_deinit(&observer->interp);
    scratch_free(observer->slots.slots, sizeof(struct sig_slot) * count);
    scratch_free(observer->address_memory, sizeof(uint64_t) * count * observer->slots.capacity);
    scratch_free(observer->scratch_memory, sizeof(struct sig_unwind_slow_scratch) * count);
    scratch_free(observer->owner, sizeof(*observer->owner) * count);
    scratch_free(observer->orphan, sizeof(*observer->orphan) * count);
    *observer = (struct observer){.task_directory = -1, .held_slot = -1};
}

void observe_enter(struct observer *observer, int task_directory, bool is_private,
                   enum thread_stat_view *view)
{
    bool is_remote = is_private && !observer->by_signal_only;
    if (is_remote && task_directory >= 0 && *view == THREAD_STAT_VIEW_UNKNOWN)
        *view = thread_stat_find_view(task_directory);
    bool is_usable = is_remote && *view == THREAD_STAT_VIEW_OURS;
    observer->task_directory = task_directory;
    thread_stats_init(&observer->remote.stats, task_directory, is_usable);
    if (is_remote)
        remote_sample_open_memory(&observer->remote);
}

void observe_drop_descriptors(struct observer *observer)
{
    observer->task_directory = -1;
    thread_stats_drop_all(&observer->remote.stats);
    observer->remote.copy.mem_descriptor = -1;
}

void observe_begin(struct observer *observer, struct thread *thread)
{
    if (thread->number == 1)
        thread_stat_open(&observer->remote.stats, &thread->stat, thread->tid);
}

/* ---- sending ---- */

/* Ends an outstanding request. False if a handler is replying to it. */
static bool cancel_request(struct observer *observer, uint32_t slot)
{
    if (!sig_slots_cancel(&observer->slots, slot))
        return false;
    observer->owner[slot]->observe.slot = -1;
    observer->owner[slot] = NULL;
    return true;
}

/* The clocks are read last: how much of the time until its reply it has used tells whether it had a CPU. */
static void send_signal(struct observer *observer, struct thread *thread, uint64_t now_ns, bool is_look)
{
    uint64_t generation;
    bool is_cached = thread->stack_cache && !is_look;
    int slot = sig_slots_arm(&observer->slots, thread->stack_low, thread->stack_high,
                             is_cached ? thread->stack_cache->walk : NULL, &generation);
    if (slot < 0)
        return; /* every slot is outstanding */
    thread->observe.is_look = is_look;
    observer->owner[slot] = thread;
    if ((uint32_t)slot >= observer->used_high)
        observer->used_high = (uint32_t)slot + 1;
    thread->observe.slot = slot;
    thread->observe.chosen_ns = now_ns;
    thread->observe.check_ns = now_ns + OBSERVE_OVERDUE_NS;
    sig_slots_request_labels(&observer->slots, (uint32_t)slot, &thread->annotations.labels);
    interp_replies_request(&observer->interp, &observer->slots, (uint32_t)slot, &thread->interp, thread->tid);
    if (thread->remote.lacks_register || observer->sent++ % LEARN_EVERY == 0)
        sig_slots_let_learn(&observer->slots, (uint32_t)slot);
    thread->observe.sent_cpu_ns = clock_read_ns(clock_of_thread(thread->tid));
    thread->observe.sent_ns = clock_monotonic_ns();
    if (sig_request_send(thread->tid, (uint32_t)slot, generation) == 0)
        return;
    cancel_request(observer, (uint32_t)slot); /* gone: no handler can have claimed it */
}

void observe_use_signal(struct observer *observer, int signal)
{
    if (signal == observer->signal)
        return;
    observer->signal = signal;
    observe_cancel(observer);
}

void observe_cancel(struct observer *observer)
{
    for (uint32_t slot = 0; slot < observer->used_high; slot++) {
        if (observer->owner[slot])
            cancel_request(observer, slot);
    }
}

void observe_wait(struct observer *observer, uint64_t deadline_ns)
{
    sig_slots_wait(&observer->slots, deadline_ns);
}

/* ---- silent threads ---- */

/* True if the thread of an overdue reply is silent. One that only cannot run will reply later. */
static bool check_overdue(struct observer *observer, uint32_t slot, uint64_t now_ns, struct observation *ret)
{
    struct thread *thread = observer->owner[slot];
    thread->observe.check_ns = now_ns + OBSERVE_OVERDUE_NS;
    enum overdue overdue = observe_overdue(observer, thread, now_ns);
    if (overdue == OVERDUE_COMES || !cancel_request(observer, slot) || overdue == OVERDUE_LOST)
        return false;
    observe_report_silent(observer, thread, now_ns, ret);
    ret->is_look = thread->observe.is_look;
    return true;
}

/* ---- sampling ---- */

static bool read_remote_sample(struct thread *thread, uint64_t now_ns, const struct remote_sample *sample,
                               bool is_unchanged, struct observation *ret)
{
    if (observe_has_left(thread))
        return false;
    *ret = (struct observation){.thread = thread,
                                .sample = {.time_ns = now_ns,
                                           .cpu_clock_ns = sample->cpu_ns,
                                           .delay_clock_ns = sample->delay_ns,
                                           .is_unchanged = is_unchanged,
                                           .wait = sample->wait}};
    if (is_unchanged)
        return true;
    ret->stack =
        (struct account_stack){.addresses = sample->addresses,
                               .depth = sample->depth,
                               .is_truncated = sample->end != SIG_UNWIND_ROOT,
                               .labels = sample->labels,
                               .interp = sample->interp,
                               .moment = {.snapshot = thread->observe.snapshot, .unloads = sample->unloads}};
    return true;
}

static enum remote_result sample_outside(struct observer *observer, struct thread *thread,
                                         struct remote_memory *memory, struct remote_sample *ret)
{
    const struct remote_thread subject = {.tid = thread->tid,
                                          .stack_low = thread->stack_low,
                                          .stack_high = thread->stack_high,
                                          .stat = &thread->stat,
                                          .memory = memory,
                                          .interp = &thread->interp,
                                          .labels_at = &thread->annotations.labels,
                                          .is_silent = thread->observe.is_silent || observer->target,
                                          .may_run = thread->fold.was_running || !thread->fold.first};
    const enum remote_result result = remote_sample(&observer->remote, &subject, ret);
    thread->observe.delay_ns = ret->delay_ns;
    thread->observe.was_runnable = ret->is_runnable;
    return result;
}

/* False when the thread must get a request. Else *ret_seen tells whether there is an observation. */
static bool sample_remotely(struct observer *observer, struct thread *thread, uint64_t now_ns,
                            struct observation *ret, bool *ret_seen)
{
    struct remote_sample sample;
    const enum remote_result result = sample_outside(observer, thread, &thread->remote, &sample);
    *ret_seen = (result == REMOTE_UNCHANGED || result == REMOTE_WALKED) &&
                read_remote_sample(thread, now_ns, &sample, result == REMOTE_UNCHANGED, ret);
    observer->made.unchanged += *ret_seen && result == REMOTE_UNCHANGED;
    observer->made.walked += *ret_seen && result == REMOTE_WALKED;
    observer->gone = result == REMOTE_GONE && observer->target ? thread : NULL;
    return result != REMOTE_SIGNAL;
}

/*
 * A thread that could not reply the last time, and is not seen from outside. If waits are seen from outside,
 * it is running: without this sample its time would go to the waits. If they are not, samples can be saved.
 */
static bool sample_silent(struct observer *observer, struct thread *thread, uint64_t now_ns,
                          struct observation *ret)
{
    if (observer->by_signal_only && now_ns < thread->observe.check_ns)
        return false;
    if (observe_is_blocked(observer, thread->tid)) {
        observe_report_silent(observer, thread, now_ns, ret);
        return true;
    }
    thread->observe.is_silent = false;
    send_signal(observer, thread, now_ns, false);
    return false;
}

bool observe_thread(struct observer *observer, struct thread *thread, uint64_t now_ns,
                    struct observation *ret)
{
    bool is_seen = false;
    if (thread->observe.slot >= 0) {
        thread->observe.is_look = false;
        thread->observe.chosen_ns = now_ns; /* it stands where its reply will say, as it has not run since */
        return false;
    }
    if (sig_load_relaxed(&thread->annotations.is_uninteresting))
        return observe_leave_out(observer, thread, now_ns, ret);
    thread->observe.snapshot = observer->snapshot;
    if (!observer->by_signal_only && sample_remotely(observer, thread, now_ns, ret, &is_seen))
        return is_seen;
    if (observer->target)
        return observer->target->observe(observer->target->context, observer, thread, now_ns, ret);
    if (observe_must_not_signal(observer, thread, now_ns)) {
        if (observe_has_left(thread))
            return false;
        observe_report_silent(observer, thread, now_ns, ret);
        return true;
    }
    if (thread->observe.is_silent)
        return sample_silent(observer, thread, now_ns, ret);
    send_signal(observer, thread, now_ns, false);
    return false;
}

bool observe_thread_outside(struct observer *observer, struct thread *thread, uint64_t now_ns,
                            struct observation *ret)
{
    bool is_seen = false;
    if (thread->observe.slot >= 0 || sig_load_relaxed(&thread->annotations.is_uninteresting))
        return false;
    thread->observe.snapshot = observer->snapshot;
    return !observer->by_signal_only && sample_remotely(observer, thread, now_ns, ret, &is_seen) && is_seen;
}

/* ---- looks ---- */

enum look observe_look(struct observer *observer, struct thread *thread, uint64_t now_ns,
                       struct observation *ret)
{
    struct remote_sample sample;
    if (thread->observe.slot >= 0)
        return LOOK_COMES;
    thread->observe.snapshot = observer->snapshot;
    enum remote_result result = sample_outside(observer, thread, &thread->look.memory, &sample);
    if (result == REMOTE_SIGNAL)
        return LOOK_RUNS;
    if (result == REMOTE_GONE ||
        !read_remote_sample(thread, now_ns, &sample, result == REMOTE_UNCHANGED, ret))
        return LOOK_NONE;
    return result == REMOTE_UNCHANGED ? LOOK_UNCHANGED : LOOK_WALKED;
}

bool observe_ask(struct observer *observer, struct thread *thread, uint64_t now_ns)
{
    if (observer->target || thread->observe.is_silent ||
        sig_load_relaxed(&thread->annotations.is_uninteresting) ||
        observe_must_not_signal(observer, thread, now_ns) || observe_has_left(thread))
        return false;
    send_signal(observer, thread, now_ns, true);
    return thread->observe.slot >= 0;
}

/* ---- replies ---- */

static void release_slot(struct observer *observer, uint32_t slot)
{
    stack_cache_destroy(observer->stack_caches, observer->orphan[slot]);
    observer->orphan[slot] = NULL;
    observer->owner[slot] = NULL;
    sig_slots_release(&observer->slots, slot);
}

/* False for a reply of another thread, to which the tid had passed. */
static bool read_reply(struct observer *observer, uint32_t index, struct observation *ret)
{
    struct thread *thread = observer->owner[index];
    const struct sig_slot *slot = &observer->slots.slots[index];
    observer->held_slot = (int)index;
    observer->replies_cpu_ns += overhead_limit_reply_ns(slot->took_ns, slot->depth);
    if (!thread)
        return false;
    thread->observe.slot = -1;
    thread->observe.backoff_ns = 0;
    uint64_t end_ns = sig_load_acquire(&thread->end_ns); /* partner: the release in threads_leave */
    if (end_ns != 0 && slot->time_ns >= end_ns)
        return false;
    const bool is_woken = observe_was_woken(thread, slot);
    *ret = (struct observation){
        .thread = thread,
        .sample = {.time_ns = observe_moment_of(thread, slot),
                   .cpu_clock_ns = slot->cpu_ns,
                   .delay_clock_ns = remote_sample_delay(&observer->remote, thread->tid, &thread->stat),
                   .is_running = !slot->was_blocked && !is_woken && !observe_had_no_cpu(thread, slot),
                   .is_queued = is_woken || observe_was_queued(thread, slot),
                   .is_woken = is_woken},
        .stack = {.addresses = slot->addresses,
                  .depth = slot->depth,
                  .is_truncated = slot->end != SIG_UNWIND_ROOT,
                  .is_cached = slot->by_stack_cache,
                  .labels = slot->labels,
                  .interp = interp_replies_take(slot, &thread->interp),
                  .moment = {.snapshot = thread->observe.snapshot, .unloads = slot->unloads}},
        .by_full_walk = slot->by_full_walk,
        .is_look = thread->observe.is_look};
    remote_sample_learn(&thread->remote, slot);
    observer->made.replied += !ret->is_look;
    return true;
}

static void release_held(struct observer *observer)
{
    if (observer->held_slot >= 0)
        release_slot(observer, (uint32_t)observer->held_slot);
    observer->held_slot = -1;
}

bool observe_next(struct observer *observer, uint64_t now_ns, struct observation *ret)
{
    release_held(observer);
    if (observer->target)
        return observer->target->observe_next(observer->target->context, observer, ret);
    while (observer->scan_at < observer->used_high) {
        uint32_t slot = observer->scan_at++;
        struct thread *thread = observer->owner[slot];
        if (sig_slots_is_done(&observer->slots, slot)) {
            if (read_reply(observer, slot, ret))
                return true;
            release_held(observer);
        } else if (thread && now_ns >= thread->observe.check_ns && check_overdue(observer, slot, now_ns, ret))
            return true;
    }
    observer->scan_at = 0;
    return false;
}

void observe_forget(struct observer *observer, struct thread *thread)
{
    if (observer->target)
        observer->target->forget(observer->target->context, thread);
    int slot = thread->observe.slot;
    struct stack_cache *cache = thread->stack_cache;
    thread->stack_cache = NULL;
    thread_stat_close(&observer->remote.stats, &thread->stat);
    if (slot >= 0) {
        observer->owner[slot] = NULL;
        thread->observe.slot = -1;
    }
    if (slot < 0 || sig_slots_cancel(&observer->slots, (uint32_t)slot))
        stack_cache_destroy(observer->stack_caches, cache);
    else
        observer->orphan[slot] = cache; /* being written: observe_next releases both afterwards */
}
