/* See observe.h. Each slot has at most one owner, each thread at most one slot. */
#include "observe.h"
#include "base/clock.h"
#include "overhead_limit.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_handler.h"
#include "sig/signal/sig_numbers.h"
#include "proc_tasks.h"

#include <errno.h>

/* An answer takes 5-50 us from a thread on a CPU. After this long something is in the way. */
static const uint64_t overdue_ns = 20 * NS_PER_MS;

/* How long an answer is waited for that a handler on a small stack of its own holds up. */
static const uint64_t handler_patience_ns = 200 * NS_PER_MS;

static const uint64_t backoff_first_ns = 40 * NS_PER_MS;
static const uint64_t backoff_max_ns = NS_PER_S;

/* A thread that let this much time pass between signal and answer without using CPU was waiting for a CPU. */
static const uint64_t preempted_ns = 100 * NS_PER_US;

/* One of so many walks in handlers learns what walks from outside need, whether one has been in need or not:
 * so what was learned before is held to the truth. */
enum { LEARN_EVERY = 16 };

int observe_init(struct wp_observer *observer, uint32_t slot_count, uint32_t depth, size_t memo_bytes)
{
    *observer = (struct wp_observer){.task_directory = -1, .held_slot = -1};
    if (blocked_init(&observer->blocked, depth) < 0)
        return -ENOMEM;
    observer->slot_memory = scratch_alloc(sizeof(struct sig_slot) * slot_count);
    observer->address_memory = scratch_alloc(sizeof(uint64_t) * slot_count * depth);
    observer->scratch_memory = scratch_alloc(sizeof(struct sig_full_scratch) * slot_count);
    observer->owner = scratch_alloc(sizeof(*observer->owner) * slot_count);
    observer->orphan = scratch_alloc(sizeof(*observer->orphan) * slot_count);
    observer->memos.bytes_max = memo_bytes;
    sig_slots_init(&observer->slots, observer->slot_memory, observer->slot_memory ? slot_count : 0,
                   observer->address_memory, depth);
    for (uint32_t i = 0; i < observer->slots.count && observer->scratch_memory; i++)
        observer->slot_memory[i].scratch = &observer->scratch_memory[i];
    if (observer->slot_memory && observer->address_memory && observer->scratch_memory && observer->owner &&
        observer->orphan)
        return 0;
    observer->slots.count = slot_count;
    observe_deinit(observer);
    return -ENOMEM;
}

void observe_deinit(struct wp_observer *observer)
{
    uint32_t count = observer->slots.count;
    blocked_deinit(&observer->blocked);
    scratch_free(observer->slot_memory, sizeof(struct sig_slot) * count);
    scratch_free(observer->address_memory, sizeof(uint64_t) * count * observer->slots.capacity);
    scratch_free(observer->scratch_memory, sizeof(struct sig_full_scratch) * count);
    scratch_free(observer->owner, sizeof(*observer->owner) * count);
    scratch_free(observer->orphan, sizeof(*observer->orphan) * count);
    *observer = (struct wp_observer){.task_directory = -1, .held_slot = -1};
}

void observe_enter(struct wp_observer *observer, int task_directory, bool is_private)
{
    observer->task_directory = task_directory;
    watch_init(&observer->blocked.watches, task_directory, is_private && !observer->by_signal_only);
    if (is_private && !observer->by_signal_only)
        blocked_open_memory(&observer->blocked);
}

void observe_drop_descriptors(struct wp_observer *observer)
{
    observer->task_directory = -1;
    watch_drop_all(&observer->blocked.watches);
    observer->blocked.copy.mem_descriptor = -1;
}

void observe_begin(struct wp_observer *observer, struct wp_thread *thread)
{
    if (thread->number == 1)
        watch_open(&observer->blocked.watches, &thread->watch, thread->tid);
}

/* ---- sending ---- */

/* cpu_ns: what its CPU clock said when it was last switched or counted, if that has been read; else 0. Of a
 * thread on a CPU it is some milliseconds old, but then the thread does run at this moment. */
static void send_signal(struct wp_observer *observer, struct wp_thread *thread, uint64_t now_ns,
                        uint64_t cpu_ns)
{
    uint64_t generation;
    int slot = sig_slots_arm(&observer->slots, thread->stack_low, thread->stack_high,
                             thread->memo ? thread->memo->walk : NULL, &generation);
    if (slot < 0) {
        observer->no_slot++;
        return;
    }
    observer->owner[slot] = thread;
    if ((uint32_t)slot >= observer->used_high)
        observer->used_high = (uint32_t)slot + 1;
    thread->observe.slot = slot;
    thread->observe.sent_ns = thread->observe.chosen_ns = now_ns;
    thread->observe.sent_cpu_ns = cpu_ns ? cpu_ns : clock_read_ns(clock_of_thread(thread->tid));
    thread->observe.check_ns = now_ns + overdue_ns;
    sig_slots_ask_labels(&observer->slots, (uint32_t)slot, &thread->marks.labels);
    if (thread->blocked.lacks_register || observer->sent++ % LEARN_EVERY == 0)
        sig_slots_let_learn(&observer->slots, (uint32_t)slot);
    if (sig_handler_send(thread->tid, (uint32_t)slot, generation) == 0)
        return;
    sig_slots_cancel(&observer->slots, (uint32_t)slot); /* gone: nobody can have claimed it */
    observer->owner[slot] = NULL;
    thread->observe.slot = -1;
}

void observe_use_signal(struct wp_observer *observer, int signal)
{
    if (signal == observer->signal)
        return;
    observer->signal = signal;
    observe_cancel(observer);
}

void observe_cancel(struct wp_observer *observer)
{
    for (uint32_t slot = 0; slot < observer->used_high; slot++) {
        struct wp_thread *thread = observer->owner[slot];
        if (!thread || !sig_slots_cancel(&observer->slots, slot))
            continue;
        observer->owner[slot] = NULL;
        thread->observe.slot = -1;
    }
}

void observe_wait(struct wp_observer *observer, uint64_t deadline_ns)
{
    sig_slots_wait(&observer->slots, deadline_ns);
}

/* ---- silent threads ---- */

static bool is_in(uint64_t signals)
{
    return (signals & sig_numbers_bit(sig_numbers_current())) != 0;
}

static bool has_signal_blocked(const struct wp_observer *observer, pid_t tid)
{
    return is_in(tasks_signals(observer->task_directory, tid).blocked);
}

/*
 * What an overdue answer is like. Blocked and still pending: held back. Neither: lost, as the signal was
 * ignored for a moment, or one of the program's own stood for both. While our handler runs, the signal is
 * blocked too, but has been taken; one that has been taken and not begun to run finds that it is late.
 */
enum overdue { OVERDUE_COMES, OVERDUE_HELD_BACK, OVERDUE_LOST };

/* No mask that has passed a hook holds back, but while a handler has a small stack. */
static void note_held_back(struct wp_observer *observer, uint64_t blocked)
{
    uint64_t ours = sig_numbers_ours();
    if ((blocked & ours) != ours)
        observer->is_held_back_below = true;
    else if (!sig_numbers_is_held_for_stack(blocked))
        observer->filled_below++;
}

static enum overdue overdue_of(struct wp_observer *observer, const struct wp_thread *thread, uint64_t now_ns)
{
    struct tasks_signals signals = tasks_signals(observer->task_directory, thread->tid);
    if (!signals.is_known)
        return OVERDUE_COMES;
    if (is_in(signals.pending) && !is_in(signals.blocked))
        return OVERDUE_COMES;
    if (is_in(signals.pending) && sig_numbers_is_held_for_stack(signals.blocked) &&
        now_ns < thread->observe.sent_ns + handler_patience_ns)
        return OVERDUE_COMES; /* such a handler is short, if it is not preempted */
    if (is_in(signals.pending)) {
        note_held_back(observer, signals.blocked);
        return OVERDUE_HELD_BACK;
    }
    return is_in(signals.blocked) ? OVERDUE_COMES : OVERDUE_LOST;
}

/* It has the signal blocked: it is not asked again for a while. */
static void report_silent(struct wp_observer *observer, struct wp_thread *thread, uint64_t now_ns,
                          struct observation *ret)
{
    uint64_t cpu_clock_ns = clock_read_ns(clock_of_thread(thread->tid));
    bool has_run = cpu_clock_ns != thread->observe.sent_cpu_ns;
    *ret = (struct observation){.thread = thread,
                                .time_ns = now_ns,
                                .cpu_clock_ns = cpu_clock_ns,
                                .is_running = has_run,
                                .is_unknown = true};
    thread->observe.sent_cpu_ns = cpu_clock_ns;
    thread->observe.backoff_ns =
        thread->observe.backoff_ns ? thread->observe.backoff_ns * 2 : backoff_first_ns;
    if (thread->observe.backoff_ns > backoff_max_ns)
        thread->observe.backoff_ns = backoff_max_ns;
    thread->observe.check_ns = now_ns + thread->observe.backoff_ns;
    thread->observe.is_silent = true;
    observer->made.unanswered++;
}

/* An answer is overdue: is the thread unable to give one? If it only cannot run, it is left to answer later.
 */
static bool look_into_overdue(struct wp_observer *observer, uint32_t slot, uint64_t now_ns,
                              struct observation *ret)
{
    struct wp_thread *thread = observer->owner[slot];
    thread->observe.check_ns = now_ns + overdue_ns;
    enum overdue overdue = overdue_of(observer, thread, now_ns);
    if (overdue == OVERDUE_COMES || !sig_slots_cancel(&observer->slots, slot))
        return false;
    observer->owner[slot] = NULL;
    thread->observe.slot = -1;
    if (overdue == OVERDUE_LOST)
        return false;
    report_silent(observer, thread, now_ns, ret);
    return true;
}

/* ---- looking ---- */

static bool read_look(struct wp_thread *thread, uint64_t now_ns, const struct blocked_look *look,
                      bool is_unchanged, struct observation *ret)
{
    if (sig_load_acquire(&thread->end_ns) != 0) /* partner: the release in threads_leave. The tid may have */
        return false;                           /* passed to another thread. */
    *ret = (struct observation){
        .thread = thread, .time_ns = now_ns, .cpu_clock_ns = look->cpu_ns, .is_unchanged = is_unchanged};
    if (is_unchanged)
        return true;
    ret->is_truncated = look->end != SIG_UNWIND_ROOT;
    ret->moment = (struct modules_moment){.asked = thread->observe.look, .unloads = look->unloads};
    ret->labels = look->labels;
    ret->depth = look->depth;
    ret->addresses = look->addresses;
    return true;
}

/* *ret_seen: whether there is an observation. False when the thread must be asked; *ret_cpu_ns is for
 * send_signal then. */
static bool look_from_outside(struct wp_observer *observer, struct wp_thread *thread, uint64_t now_ns,
                              struct observation *ret, bool *ret_seen, uint64_t *ret_cpu_ns)
{
    struct blocked_thread subject = {.tid = thread->tid,
                                     .stack_low = thread->stack_low,
                                     .stack_high = thread->stack_high,
                                     .watch = &thread->watch,
                                     .memory = &thread->blocked,
                                     .labels_at = &thread->marks.labels,
                                     .is_silent = thread->observe.is_silent};
    struct blocked_look look;
    enum blocked_result result = blocked_look(&observer->blocked, &subject, &look);
    *ret_cpu_ns = look.cpu_ns;
    *ret_seen = (result == BLOCKED_UNCHANGED || result == BLOCKED_WALKED) &&
                read_look(thread, now_ns, &look, result == BLOCKED_UNCHANGED, ret);
    observer->made.unchanged += *ret_seen && result == BLOCKED_UNCHANGED;
    observer->made.walked += *ret_seen && result == BLOCKED_WALKED;
    return result != BLOCKED_ASK;
}

/*
 * A thread that could not answer the last time, and is not seen from outside. Where it would be seen if it
 * waited, it runs: to leave that look out would give its time to the waits. Else looks can be saved.
 */
static bool look_at_silent(struct wp_observer *observer, struct wp_thread *thread, uint64_t now_ns,
                           uint64_t cpu_ns, struct observation *ret)
{
    if (observer->by_signal_only && now_ns < thread->observe.check_ns)
        return false;
    if (has_signal_blocked(observer, thread->tid)) {
        report_silent(observer, thread, now_ns, ret);
        return true;
    }
    thread->observe.is_silent = false;
    send_signal(observer, thread, now_ns, cpu_ns);
    return false;
}

/*
 * One that the program calls uninteresting is not looked at: of its time its clock tells. Where it counts as
 * running is decided by which of the two it did for longer since the last time.
 */
static bool leave_out(struct wp_thread *thread, uint64_t now_ns, struct observation *ret)
{
    uint64_t cpu_clock_ns = clock_read_ns(clock_of_thread(thread->tid));
    if (sig_load_acquire(&thread->end_ns) != 0) /* partner: the release in threads_leave. As in read_look */
        return false;
    uint64_t cpu_ns = cpu_clock_ns > thread->fold.cpu_clock_ns ? cpu_clock_ns - thread->fold.cpu_clock_ns : 0;
    uint64_t wall_ns = now_ns > thread->fold.time_ns ? now_ns - thread->fold.time_ns : 0;
    *ret = (struct observation){.thread = thread,
                                .time_ns = now_ns,
                                .cpu_clock_ns = cpu_clock_ns,
                                .is_running = cpu_ns > wall_ns / 2,
                                .is_left_out = true};
    return true;
}

bool observe_look(struct wp_observer *observer, struct wp_thread *thread, uint64_t now_ns,
                  struct observation *ret)
{
    bool is_seen = false;
    uint64_t cpu_ns = 0;
    if (thread->observe.slot >= 0) {
        thread->observe.chosen_ns = now_ns; /* it stands where its answer will say: it has not run since */
        return false;
    }
    if (sig_load_relaxed(&thread->marks.is_uninteresting))
        return leave_out(thread, now_ns, ret);
    thread->observe.look = observer->look;
    if (!observer->by_signal_only && look_from_outside(observer, thread, now_ns, ret, &is_seen, &cpu_ns))
        return is_seen;
    if (thread->observe.is_silent)
        return look_at_silent(observer, thread, now_ns, cpu_ns, ret);
    send_signal(observer, thread, now_ns, cpu_ns);
    return false;
}

/* ---- answers ---- */

static void release(struct wp_observer *observer, uint32_t slot)
{
    memo_destroy(&observer->memos, observer->orphan[slot]);
    observer->orphan[slot] = NULL;
    observer->owner[slot] = NULL;
    sig_slots_release(&observer->slots, slot);
}

static bool was_on_cpu(const struct wp_thread *thread, const struct sig_slot *slot)
{
    uint64_t elapsed = slot->time_ns > thread->observe.sent_ns ? slot->time_ns - thread->observe.sent_ns : 0;
    uint64_t used =
        slot->cpu_ns > thread->observe.sent_cpu_ns ? slot->cpu_ns - thread->observe.sent_cpu_ns : 0;
    return !slot->was_blocked && (elapsed < preempted_ns || used >= elapsed / 2);
}

/*
 * The moment an observation is for. Weighing by time owed is unbiased only if the moments are independent of
 * what the program does. When a thread that waits for a CPU gets to answer is not; when it was chosen is, and
 * it stood there then.
 */
static uint64_t moment_of(const struct wp_thread *thread, const struct sig_slot *slot)
{
    return slot->time_ns < thread->observe.chosen_ns ? slot->time_ns : thread->observe.chosen_ns;
}

/* False for an answer that was not this thread's: the tid had passed to another one. */
static bool read_answer(struct wp_observer *observer, uint32_t index, struct observation *ret)
{
    struct wp_thread *thread = observer->owner[index];
    const struct sig_slot *slot = &observer->slots.slots[index];
    observer->held_slot = (int)index;
    observer->answers_cpu_ns += restraint_answer_ns(slot->took_ns, slot->depth);
    if (!thread)
        return false;
    thread->observe.slot = -1;
    thread->observe.backoff_ns = 0;
    uint64_t end_ns = sig_load_acquire(&thread->end_ns); /* partner: the release in threads_leave */
    if (end_ns != 0 && slot->time_ns >= end_ns)
        return false;
    *ret = (struct observation){.thread = thread,
                                .time_ns = moment_of(thread, slot),
                                .cpu_clock_ns = slot->cpu_ns,
                                .is_running = was_on_cpu(thread, slot),
                                .is_truncated = slot->end != SIG_UNWIND_ROOT,
                                .by_memo = slot->by_memo,
                                .by_full_walk = slot->by_full_walk,
                                .moment = {.asked = thread->observe.look, .unloads = slot->unloads},
                                .labels = slot->labels,
                                .depth = slot->depth,
                                .addresses = slot->addresses};
    blocked_learn(&thread->blocked, slot);
    observer->made.answered++;
    return true;
}

static void release_held(struct wp_observer *observer)
{
    if (observer->held_slot >= 0)
        release(observer, (uint32_t)observer->held_slot);
    observer->held_slot = -1;
}

bool observe_next(struct wp_observer *observer, uint64_t now_ns, struct observation *ret)
{
    release_held(observer);
    while (observer->scan_at < observer->used_high) {
        uint32_t slot = observer->scan_at++;
        struct wp_thread *thread = observer->owner[slot];
        if (sig_slots_is_done(&observer->slots, slot)) {
            if (read_answer(observer, slot, ret))
                return true;
            release_held(observer);
        } else if (thread && now_ns >= thread->observe.check_ns &&
                   look_into_overdue(observer, slot, now_ns, ret))
            return true;
    }
    observer->scan_at = 0;
    return false;
}

void observe_forget(struct wp_observer *observer, struct wp_thread *thread)
{
    int slot = thread->observe.slot;
    struct wp_memo *memo = thread->memo;
    thread->memo = NULL;
    watch_close(&observer->blocked.watches, &thread->watch);
    if (slot >= 0) {
        observer->owner[slot] = NULL;
        thread->observe.slot = -1;
    }
    if (slot < 0 || sig_slots_cancel(&observer->slots, (uint32_t)slot))
        memo_destroy(&observer->memos, memo);
    else
        observer->orphan[slot] = memo; /* being written: observe_next releases both when that is done */
}

bool observe_has_not_run(struct wp_observer *observer, struct wp_thread *thread)
{
    return blocked_has_not_run(&observer->blocked, thread->tid, &thread->watch, &thread->blocked);
}

bool observe_is_overdue(const struct wp_thread *thread, uint64_t now_ns)
{
    return thread->observe.is_silent ||
           (thread->observe.slot >= 0 && now_ns >= thread->observe.sent_ns + overdue_ns);
}
