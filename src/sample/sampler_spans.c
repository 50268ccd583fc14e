/* Spans of a recording: when it is stopped, goes on, and begins anew. */
#include "base/clock.h"
#include "sampler_internal.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_handler.h"

#include <errno.h>
#include <string.h>

/* ---- stopped ---- */

void sampler_stop(struct wp_sampler *sampler, uint64_t now_ns)
{
    sampler_settle(sampler, now_ns);
    for (uint32_t i = 0; i < sampler->threads->live_count; i++) {
        struct wp_thread *thread = sampler->threads->live[i];
        if (sampler->timeline)
            timeline_end(sampler->timeline, &thread->fold.timeline);
        schedule_remove(&sampler->schedule, &thread->schedule);
    }
    observe_cancel(&sampler->observer);
    sampler->skipped = 0;
    sampler->is_stopped = true;
    sampler->stop_ns = now_ns;
    sampler_show(sampler, now_ns);
    live_stop(&sampler->live);
}

void sampler_idle(struct wp_sampler *sampler, uint64_t now_ns)
{
    sampler_gather(sampler, now_ns);
    sampler_take_census(sampler, now_ns);
}

/* ---- going on ---- */

/* Its CPU clock; of one that has just left, as it told. */
static uint64_t cpu_clock_of(const struct wp_thread *thread)
{
    uint64_t cpu_ns = clock_read_ns(clock_of_thread(thread->tid));
    if (cpu_ns == 0 && sig_load_acquire(&thread->end_ns) != 0) /* partner: the release in threads_leave */
        cpu_ns = thread->end_cpu_ns;
    return cpu_ns;
}

static void go_on(struct wp_sampler *sampler, struct wp_thread *thread, uint64_t now_ns)
{
    uint64_t cpu_ns = cpu_clock_of(thread);
    if (thread->fold.root) {
        fold_thread_skip(&thread->fold, now_ns, cpu_ns);
        sampler_show_thread(sampler, thread, now_ns);
        sampler_schedule(sampler, thread, now_ns);
        return;
    }
    thread->recorded_number = ++sampler->thread_count;
    sampler_record(sampler, thread, now_ns, cpu_ns);
}

static void restart_ticks(struct wp_sampler *sampler, uint64_t now_ns)
{
    uint64_t late = sampler->tick.late;
    tick_init(&sampler->tick, sampler->tick.period_ns, now_ns, &sampler->random);
    sampler->tick.late = late;
}

void sampler_start(struct wp_sampler *sampler, uint64_t now_ns)
{
    sampler_gather(sampler, now_ns);
    sampler->start_ns = now_ns;
    sampler->is_stopped = false;
    live_skip(&sampler->live, now_ns - sampler->stop_ns);
    for (uint32_t i = 0; i < sampler->threads->live_count; i++)
        go_on(sampler, sampler->threads->live[i], now_ns);
    restart_ticks(sampler, now_ns);
}

/* ---- anew ---- */

bool sampler_let_go(struct wp_sampler *sampler)
{
    sampler_publish_modules(sampler);
    if (sampler->pending_table)
        return false;
    if (!sampler->modules.is_bare) {
        modules_let_go(&sampler->modules);
        sampler->modules_changed = true;
        sampler_publish_modules(sampler);
    }
    return !sampler->pending_table && !sampler->modules_changed;
}

static void count_anew(struct wp_sampler *sampler, uint64_t now_ns)
{
    const struct wp_counters *counters = &sampler->counters;
    struct wp_counters *before = &sampler->counted_before;
    before->late_ticks += counters->late_ticks;
    before->stray += counters->stray;
    before->answers_cpu_ns += counters->answers_cpu_ns;
    before->sampler_cpu_ns += counters->sampler_cpu_ns;
    sampler->counters = (struct wp_counters){0};
    sampler->fold.samples = 0;
    memset(&sampler->observer.made, 0, sizeof(sampler->observer.made));
    restraint_describe_from(&sampler->restraint, now_ns);
}

/* No reference into the arena is left behind. */
static void forget_thread(struct wp_thread *thread)
{
    thread->record = 0;
    thread->fold.root = thread->fold.node = thread->fold.credited = 0;
    if (thread->memo)
        thread->memo->walks = 0;
}

static void begin_thread_anew(struct wp_sampler *sampler, struct wp_thread *thread)
{
    uint64_t time_ns = thread->fold.time_ns, cpu_ns = thread->fold.cpu_clock_ns;
    forget_thread(thread);
    if (sampler->is_stopped)
        return;
    schedule_remove(&sampler->schedule, &thread->schedule);
    thread->recorded_number = ++sampler->thread_count;
    sampler_record(sampler, thread, time_ns, cpu_ns);
}

int sampler_begin_anew(struct wp_sampler *sampler, uint64_t now_ns)
{
    struct modules_kept kept;
    if (live_is_kept(&sampler->live)) /* what is in a file is there to stay */
        return -EBUSY;
    int status = modules_keep(&sampler->modules, &kept);
    if (status < 0)
        return status;
    observe_cancel(&sampler->observer);
    locate_forget(&sampler->locate);
    arena_clear(&sampler->arena);
    tree_clear(&sampler->tree);
    modules_bring_back(&sampler->modules, &kept);
    sampler->modules_changed = true; /* the handlers are to have search tables again */
    if (sampler->timeline)
        timeline_clear(sampler->timeline, now_ns);
    sampler->newest_record = 0;
    sampler->free_state = 0;
    sampler->thread_count = 0;
    count_anew(sampler, now_ns);
    if (!sampler->is_stopped)
        sampler->start_ns = now_ns;
    for (uint32_t i = 0; i < sampler->threads->live_count; i++)
        begin_thread_anew(sampler, sampler->threads->live[i]);
    sampler_publish_modules(sampler);
    return 0;
}
