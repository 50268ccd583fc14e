#include "attach_observe.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/smaller.h"
#include "interp/interp.h"
#include "sig/sys/sig_memory.h"
#include "sig/walk/sig_walk_tables.h"

#include <errno.h>

/* What is copied of a stack at first, and at most. */
enum { STACK_BYTES_FIRST = 32 * 1024, STACK_BYTES_MAX = 1024 * 1024, WORD_BYTES = 8 };

/* At the end of a recording: for how long threads that were asked to stand still, and wait for a CPU, are
 * waited for. If we left before, nobody would make the calls again that they are in. */
static const uint64_t give_up_ns = 2 * NS_PER_S;

int attach_observe_init(struct attach_observer *attached)
{
    *attached = (struct attach_observer){.copy = {.capacity_bytes = STACK_BYTES_MAX, .mem_descriptor = -1}};
    attached->copy.words = scratch_alloc(STACK_BYTES_MAX);
    attached->scratch = scratch_alloc(sizeof *attached->scratch);
    return attached->copy.words && attached->scratch ? 0 : -ENOMEM;
}

void attach_observe_deinit(struct attach_observer *attached)
{
    scratch_free(attached->copy.words, STACK_BYTES_MAX);
    scratch_free(attached->scratch, sizeof *attached->scratch);
    *attached = (struct attach_observer){.counts = attached->counts};
}

/* ---- a thread that stands still ---- */

/* What was read of it. */
struct still_thread {
    struct trace_stop stop;
    struct thread_stat_runs runs;
    bool has_runs;
    size_t wanted_bytes; /* of its stack */
    const struct sig_interp_stack *interp;
};

static struct thread_stat_runs runs_of(struct observer *observer, struct thread *thread, bool *ret_known)
{
    struct thread_stat_runs runs = {.cpu_ns = thread->fold.cpu_clock_ns, .delay_ns = FOLD_NO_DELAY};
    struct thread_stats *stats = &observer->remote.stats;
    *ret_known = thread_stat_runs(stats, &thread->stat, thread->tid, &runs) == THREAD_STAT_KNOWN;
    thread_stat_let_go(stats);
    return runs;
}

/* A stack that was not copied to its end is copied further the next time. */
static void copy_stack(struct attach_observer *attached, const struct thread *thread,
                       struct still_thread *look)
{
    struct sig_stack_copy *copy = &attached->copy;
    struct sig_regs regs;
    const size_t known = thread->remote.stack_bytes;
    sig_regs_from_context(&regs, &look->stop.context);
    look->wanted_bytes = known < STACK_BYTES_FIRST ? STACK_BYTES_FIRST : known;
    copy->held_low = regs.sp & ~(uint64_t)(WORD_BYTES - 1);
    copy->held_bytes = sig_memory_copy_some(copy->words, copy->held_low, look->wanted_bytes, -1, NULL) /
                       WORD_BYTES * WORD_BYTES;
}

/* Frames of an interpreter, which are elsewhere in its memory. */
static const struct sig_interp_stack *read_frames(struct observer *observer, struct thread *thread,
                                                  const struct trace_stop *stop)
{
    struct interp *interp = observer->remote.interp;
    struct sig_interp_stack *stack = &observer->remote.interp_stack;
    if (!interp || !stack->frames)
        return NULL;
    thread->interp.c_id = stop->thread_area;
    interp_find_state(interp, &thread->interp, thread->tid);
    interp_walk(interp, &thread->interp, thread->tid, stack);
    return stack->count > 0 ? stack : NULL;
}

static void count_pause(struct attach_observer *attached, const struct trace_stop *stop, uint64_t begin_ns)
{
    const uint64_t pause_ns = since(begin_ns, clock_monotonic_ns());
    attached->counts.stops++;
    attached->counts.in_calls += stop->was_waiting;
    attached->counts.pauses[smaller((uint32_t)(pause_ns / NS_PER_US), ATTACH_PAUSES - 1)]++;
    if (pause_ns > attached->counts.pause_max_ns)
        attached->counts.pause_max_ns = pause_ns;
}

static void await(struct attach_observer *attached, pid_t tid, struct thread *thread, uint64_t delay_ns)
{
    if (thread)
        thread->observe.slot = (int)attached->awaited_count;
    attached->awaited[attached->awaited_count++] = (struct attach_awaited){tid, thread, delay_ns};
}

static void look_at(struct attach_observer *attached, struct observer *observer, struct thread *thread,
                    struct still_thread *look)
{
    const uint64_t begin_ns = clock_monotonic_ns();
    look->runs = runs_of(observer, thread, &look->has_runs);
    copy_stack(attached, thread, look);
    look->interp = read_frames(observer, thread, &look->stop);
    if (!trace_let_go(thread->tid, &look->stop) && attached->awaited_count < ATTACH_AWAITED_MAX)
        await(attached, thread->tid, NULL, 0); /* it ends */
    count_pause(attached, &look->stop, begin_ns);
}

/* ---- its stack ---- */

static void walk(struct attach_observer *attached, struct observer *observer, struct thread *thread,
                 const struct still_thread *look, struct observation *ret)
{
    enum sig_unwind_end end;
    struct sig_unwind_request request = {.copy = &attached->copy,
                                         .rows = attached->scratch->rows,
                                         .addresses = observer->remote.addresses,
                                         .capacity = observer->remote.capacity};
    const struct sig_unloads unloads = sig_walk_tables_use(&request);
    request.learns = request.use_cache;
    size_t depth = sig_unwind(&request, &look->stop.context, &end), fast_depth = depth;
    if (end == SIG_UNWIND_INEXPRESSIBLE)
        depth = sig_unwind_slow(&request, &look->stop.context, attached->scratch, fast_depth, &end);
    const bool is_whole = end == SIG_UNWIND_ROOT || end == SIG_UNWIND_DEPTH;
    if (!is_whole && attached->copy.held_bytes == look->wanted_bytes)
        thread->remote.stack_bytes = (uint32_t)smaller((uint32_t)look->wanted_bytes * 2, STACK_BYTES_MAX);
    attached->copy.held_bytes = 0;
    ret->by_full_walk = depth > fast_depth;
    ret->stack = (struct account_stack){.addresses = request.addresses,
                                        .depth = (uint32_t)depth,
                                        .is_truncated = end != SIG_UNWIND_ROOT,
                                        .interp = look->interp,
                                        .moment = {.snapshot = observer->snapshot, .unloads = unloads}};
}

/* It stands still: observes it, and lets it go. */
static void observe(struct attach_observer *attached, struct observer *observer, struct thread *thread,
                    uint64_t delay_ns, struct still_thread *look, struct observation *ret)
{
    look_at(attached, observer, thread, look);
    const uint64_t took_ns = since(thread->observe.sent_ns, clock_monotonic_ns());
    const uint64_t waited_ns = since(delay_ns, look->runs.delay_ns);
    const bool is_clocked = look->has_runs && delay_ns != FOLD_NO_DELAY;
    /* Who runs until it is stopped adds nothing to its delay clock, however soon that is. */
    const bool had_no_cpu = is_clocked && waited_ns > took_ns / 2;
    const bool is_waiting = look->stop.was_waiting;
    const bool is_woken = had_no_cpu && thread->observe.was_runnable &&
                          remote_sample_waits_at(&thread->remote, look->stop.returned_pc);
    *ret = (struct observation){
        .thread = thread,
        .sample = {.time_ns = thread->observe.chosen_ns,
                   .cpu_clock_ns = look->runs.cpu_ns,
                   .delay_clock_ns = look->runs.delay_ns,
                   .is_running = !is_waiting && !had_no_cpu,
                   .is_queued = had_no_cpu && (!is_waiting || thread->observe.was_runnable),
                   .is_woken = is_woken}};
    walk(attached, observer, thread, look, ret);
    observer->made.replied++;
}

/* Nothing is known but its clocks. */
static void report_refused(struct observer *observer, struct thread *thread, uint64_t now_ns,
                           struct observation *ret)
{
    bool is_known;
    const struct thread_stat_runs runs = runs_of(observer, thread, &is_known);
    *ret = (struct observation){.thread = thread,
                                .sample = {.time_ns = now_ns,
                                           .cpu_clock_ns = runs.cpu_ns,
                                           .delay_clock_ns = runs.delay_ns,
                                           .is_running = runs.cpu_ns != thread->fold.cpu_clock_ns,
                                           .is_unknown = true}};
    observer->made.unreplied++;
}

bool attach_observe_thread(struct attach_observer *attached, struct observer *observer, struct thread *thread,
                           uint64_t now_ns, struct observation *ret)
{
    struct still_thread look;
    bool is_known;
    if (attached->awaited_count == ATTACH_AWAITED_MAX)
        return false;
    const uint64_t delay_ns = runs_of(observer, thread, &is_known).delay_ns;
    thread->observe.chosen_ns = now_ns;
    thread->observe.sent_ns = clock_monotonic_ns();
    switch (trace_begin(thread->tid, &look.stop)) {
    case TRACE_STOPPED:
        observe(attached, observer, thread, delay_ns, &look, ret);
        return true;
    case TRACE_COMES:
        await(attached, thread->tid, thread, delay_ns);
        return false;
    case TRACE_GONE:
        observer->gone = thread;
        return false;
    default:
        attached->counts.refused++;
        report_refused(observer, thread, now_ns, ret);
        return true;
    }
}

/* ---- those that come later ---- */

static void remove_awaited(struct attach_observer *attached, uint32_t at)
{
    struct thread *thread = attached->awaited[at].thread;
    if (thread)
        thread->observe.slot = -1;
    attached->awaited[at] = attached->awaited[--attached->awaited_count];
    if (at < attached->awaited_count && attached->awaited[at].thread)
        attached->awaited[at].thread->observe.slot = (int)at;
}

bool attach_observe_next(struct attach_observer *attached, struct observer *observer, struct observation *ret)
{
    while (attached->awaited_at < attached->awaited_count) {
        const struct attach_awaited awaited = attached->awaited[attached->awaited_at];
        struct still_thread look;
        enum trace_result result = trace_take(awaited.tid, &look.stop);
        if (result == TRACE_COMES) {
            attached->awaited_at++;
            continue;
        }
        remove_awaited(attached, attached->awaited_at);
        if (result == TRACE_STOPPED && awaited.thread) {
            observe(attached, observer, awaited.thread, awaited.delay_ns, &look, ret);
            return true;
        }
        if (result == TRACE_STOPPED && !trace_let_go(awaited.tid, &look.stop))
            await(attached, awaited.tid, NULL, 0);
    }
    attached->awaited_at = 0;
    return false;
}

void attach_observe_forget(struct attach_observer *attached, struct thread *thread)
{
    if (thread->observe.slot < 0)
        return;
    attached->awaited[thread->observe.slot].thread = NULL;
    thread->observe.slot = -1;
}

/* Those that have come go on; the others stay. */
static void let_all_go(struct attach_observer *attached)
{
    for (uint32_t i = attached->awaited_count; i > 0; i--) {
        const pid_t tid = attached->awaited[i - 1].tid;
        struct trace_stop stop;
        const enum trace_result result = trace_take(tid, &stop);
        if (result == TRACE_GONE || (result == TRACE_STOPPED && trace_let_go(tid, &stop)))
            remove_awaited(attached, i - 1);
    }
}

void attach_observe_give_up(struct attach_observer *attached)
{
    const uint64_t last_ns = clock_monotonic_ns() + give_up_ns;
    for (uint32_t i = 0; i < attached->awaited_count; i++) {
        if (attached->awaited[i].thread)
            attach_observe_forget(attached, attached->awaited[i].thread);
    }
    for (let_all_go(attached); attached->awaited_count > 0 && clock_monotonic_ns() < last_ns;
         let_all_go(attached))
        trace_await(last_ns);
}

unsigned attach_observe_pause_us(const struct attach_observer *attached, unsigned percent)
{
    const uint64_t wanted = (attached->counts.stops * percent + 99) / 100;
    uint64_t seen = attached->counts.pauses[0];
    unsigned us = 0;
    while (seen < wanted && us + 1 < ATTACH_PAUSES)
        seen += attached->counts.pauses[++us];
    return us + 1;
}
