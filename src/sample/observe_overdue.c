#include "observe_overdue.h"
#include "base/clock.h"
#include "sig/signal/sig_action.h"
#include "sig/signal/sig_numbers.h"
#include "sig/sys/sig_atomic.h"
#include "sig/sys/sig_memory.h"
#include "proc/proc_tasks.h"

#include <sys/auxv.h>

/* A thread that let this much time pass between signal and reply without using CPU was waiting for a CPU. */
static const uint64_t preempted_ns = 100 * NS_PER_US;

/* A handler whose stack is too small for ours delays a reply for so long at most. */
static const uint64_t handler_patience_ns = 200 * NS_PER_MS;

/* To read whether a thread is traced costs as much as a sample. */
static const uint64_t tracer_ns = 50 * NS_PER_MS;

/* The kernel takes less CPU time for an exec. */
static const uint64_t exec_cpu_max_ns = NS_PER_S;

static const uint64_t backoff_first_ns = 40 * NS_PER_MS;
static const uint64_t backoff_max_ns = NS_PER_S;

/* Whether our signal is in a set. */
static bool is_in(uint64_t signals)
{
    return (signals & sig_numbers_bit(sig_numbers_current())) != 0;
}

bool observe_is_blocked(const struct observer *observer, pid_t tid)
{
    return is_in(proc_tasks_signals(observer->task_directory, tid).blocked);
}

uint64_t observe_handler_bytes(void)
{
    enum { OURS_BYTES = 2048, OLD_FRAME_BYTES = 4096 };    /* ours: tests/unit/test_sig_stack.c measures it */
    unsigned long frame_bytes = getauxval(AT_MINSIGSTKSZ); /* before Linux 5.14: 0 */
    return OURS_BYTES + (frame_bytes ? frame_bytes : OLD_FRAME_BYTES);
}

/* A signal stack is written from its upper end. */
static bool lacks_room(const struct observer *observer, const struct thread_signal_stack *stack)
{
    uint64_t bytes = sig_load_acquire(&stack->bytes); /* partner: sigaltstack's hook */
    uint64_t low = sig_load_relaxed(&stack->low);
    return bytes != 0 && (bytes < observer->handler_bytes ||
                          !sig_memory_is_writable(low + bytes - observer->handler_bytes, low + bytes));
}

/* The present stack is read first, because the hook writes the earlier one before it. */
static bool has_no_room(const struct observer *observer, const struct thread *thread)
{
    return sig_action_is_on_signal_stack() && (lacks_room(observer, &thread->annotations.signal_stack) ||
                                               lacks_room(observer, &thread->annotations.earlier_stack));
}

static bool is_traced(const struct observer *observer, struct thread *thread, uint64_t now_ns)
{
    bool may_have_changed =
        now_ns >= thread->observe.tracer_due_ns || sig_load_relaxed(&thread->annotations.asks_for_tracer);
    if (may_have_changed) {
        thread->observe.is_traced = proc_tasks_is_traced(observer->task_directory, thread->tid);
        thread->observe.tracer_due_ns = now_ns + tracer_ns;
    }
    return thread->observe.is_traced;
}

/* An exec may have been left by a jump. */
static bool is_executing(const struct thread *thread)
{
    uint64_t begin_ns = sig_load_relaxed(&thread->annotations.exec_cpu_ns);
    return begin_ns != 0 && clock_read_ns(clock_of_thread(thread->tid)) < begin_ns + exec_cpu_max_ns;
}

bool observe_must_not_signal(const struct observer *observer, struct thread *thread, uint64_t now_ns)
{
    return is_executing(thread) || has_no_room(observer, thread) || is_traced(observer, thread, now_ns);
}

/* A mask that has passed a hook blocks our signal only while a handler has a small stack. */
static void note_held_back(struct observer *observer, uint64_t blocked)
{
    uint64_t ours = sig_numbers_ours();
    if ((blocked & ours) != ours)
        observer->is_held_back_below = true;
    else if (!sig_numbers_is_held_for_stack(blocked))
        observer->filled_below++;
}

enum overdue observe_overdue(struct observer *observer, const struct thread *thread, uint64_t now_ns)
{
    struct proc_tasks_signals signals = proc_tasks_signals(observer->task_directory, thread->tid);
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

void observe_report_silent(struct observer *observer, struct thread *thread, uint64_t now_ns,
                           struct observation *ret)
{
    uint64_t cpu_clock_ns = clock_read_ns(clock_of_thread(thread->tid));
    *ret = (struct observation){.thread = thread,
                                .sample = {.time_ns = now_ns,
                                           .cpu_clock_ns = cpu_clock_ns,
                                           .delay_clock_ns = thread->observe.delay_ns,
                                           .is_running = cpu_clock_ns != thread->observe.sent_cpu_ns,
                                           .is_unknown = true}};
    thread->observe.sent_cpu_ns = cpu_clock_ns;
    thread->observe.backoff_ns =
        thread->observe.backoff_ns ? thread->observe.backoff_ns * 2 : backoff_first_ns;
    if (thread->observe.backoff_ns > backoff_max_ns)
        thread->observe.backoff_ns = backoff_max_ns;
    thread->observe.check_ns = now_ns + thread->observe.backoff_ns;
    thread->observe.is_silent = true;
    observer->made.unreplied++;
}

bool observe_had_no_cpu(const struct thread *thread, const struct sig_slot *slot)
{
    uint64_t elapsed = since(thread->observe.sent_ns, slot->time_ns);
    uint64_t used = since(thread->observe.sent_cpu_ns, slot->cpu_ns);
    return elapsed >= preempted_ns && used < elapsed / 2;
}

/* One that runs uses all the time until its reply. One that waits for a CPU uses some when it has it, for the
 * switch and the signal. With six programs on two CPUs the former used more than 0.9 of that time, and the
 * latter mostly less than 0.6. The sampler may have taken the thread's CPU. Then the thread is rarely at a
 * place where it waits. */
bool observe_was_woken(const struct thread *thread, const struct sig_slot *slot)
{
    uint64_t elapsed = since(thread->observe.sent_ns, slot->time_ns);
    uint64_t used = since(thread->observe.sent_cpu_ns, slot->cpu_ns);
    return thread->observe.was_runnable && used < elapsed / 4 * 3 &&
           remote_sample_waits_at(&thread->remote, slot->returned_pc);
}

bool observe_was_queued(const struct thread *thread, const struct sig_slot *slot)
{
    return observe_had_no_cpu(thread, slot) && (!slot->was_blocked || thread->observe.was_runnable);
}

uint64_t observe_moment_of(const struct thread *thread, const struct sig_slot *slot)
{
    return slot->time_ns < thread->observe.chosen_ns ? slot->time_ns : thread->observe.chosen_ns;
}

bool observe_is_overdue(const struct thread *thread, uint64_t now_ns)
{
    return thread->observe.is_silent ||
           (thread->observe.slot >= 0 && now_ns >= thread->observe.sent_ns + OBSERVE_OVERDUE_NS);
}

/* It counts as running if it ran for more than half of the time since the last observation. */
bool observe_leave_out(struct observer *observer, struct thread *thread, uint64_t now_ns,
                       struct observation *ret)
{
    uint64_t cpu_clock_ns = clock_read_ns(clock_of_thread(thread->tid));
    uint64_t delay_ns = remote_sample_delay(&observer->remote, thread->tid, &thread->stat);
    if (observe_has_left(thread))
        return false;
    uint64_t cpu_ns = since(thread->fold.cpu_clock_ns, cpu_clock_ns);
    uint64_t wall_ns = since(thread->fold.time_ns, now_ns);
    *ret = (struct observation){.thread = thread,
                                .sample = {.time_ns = now_ns,
                                           .cpu_clock_ns = cpu_clock_ns,
                                           .delay_clock_ns = delay_ns,
                                           .is_running = cpu_ns > wall_ns / 2,
                                           .is_left_out = true}};
    return true;
}
