/* The recording's end, and moments at which it can be exported as if it had ended. */
#include "sampler_internal.h"
#include "base/clock.h"
#include "sig/sys/sig_atomic.h"
#include "proc_tasks.h"

#include <string.h>

/* A thread that lives, for the last time or as if. */
struct last_sample {
    uint64_t cpu_ns;
    enum fold_rest rest;
};

static struct last_sample sample_live(struct sampler *sampler, struct thread *thread, uint64_t now_ns)
{
    char name[THREAD_NAME_BYTES];
    struct last_sample last = {.cpu_ns = clock_read_ns(clock_of_thread(thread->tid))};
    proc_tasks_name(sampler->thread_scan.task_directory, thread->tid, name, sizeof(name));
    if (thread_annotations_name(&thread->annotations, name) || *name)
        memcpy(thread->end_name, name, sizeof(name));
    bool is_where_it_was = observe_has_not_run(&sampler->observer, thread);
    last.rest = is_where_it_was ? FOLD_REST_UNCHANGED : sampler_rest_of(thread, now_ns);
    return last;
}

static void close_live(struct sampler *sampler, struct thread *thread, uint64_t now_ns)
{
    struct last_sample last = sample_live(sampler, thread, now_ns);
    if (sampler->is_stopped) /* it has been settled */
        last = (struct last_sample){0};
    sampler_end_thread(sampler, thread, now_ns, last.cpu_ns, last.rest);
}

static void settle_live(struct sampler *sampler, struct thread *thread, uint64_t now_ns)
{
    uint64_t end_ns = sig_load_acquire(&thread->end_ns); /* partner: the release in threads_leave */
    if (end_ns != 0 && end_ns < now_ns)
        now_ns = end_ns; /* it has left just now */
    struct last_sample last = sample_live(sampler, thread, now_ns);
    uint64_t stretch_end_ns = schedule_until(&sampler->schedule, &thread->schedule);
    fold_thread_settle(&sampler->account.fold, &thread->fold, stretch_end_ns, now_ns, last.cpu_ns, last.rest);
    sampler_record_end(sampler, thread, now_ns);
    sampler_show_thread(sampler, thread, now_ns);
}

/* The threads' names are read there. Whether it was open already. */
static bool open_for_names(struct sampler *sampler)
{
    bool was_open = sampler->thread_scan.task_directory >= 0;
    if (!was_open)
        sampler->thread_scan.task_directory = proc_tasks_open();
    return was_open;
}

void sampler_settle(struct sampler *sampler, uint64_t now_ns)
{
    sampler_gather(sampler, now_ns);
    sampler_refresh_modules(sampler);
    bool was_open = open_for_names(sampler);
    for (uint32_t i = 0; i < sampler->threads->live_count; i++)
        settle_live(sampler, sampler->threads->live[i], now_ns);
    if (!was_open)
        sampler_close_directory(sampler);
    sampler_count_up(sampler);
}

void sampler_close(struct sampler *sampler, uint64_t now_ns)
{
    sampler_gather(sampler, now_ns);
    sampler_refresh_modules(sampler);
    overhead_group_leave(&sampler->overhead_group);
    bool was_open = open_for_names(sampler);
    while (sampler->threads->live_count > 0)
        close_live(sampler, sampler->threads->live[sampler->threads->live_count - 1], now_ns);
    if (!was_open)
        sampler_close_directory(sampler);
    sampler_count_up(sampler);
}
