#include "thread_order.h"
#include "base/arena.h"
#include "base/sort.h"

#include <errno.h>

/* A thread with what it is sorted by. */
struct placed_thread {
    const struct thread_record *thread;
    bool is_main;
};

static int compare(const void *a, const void *b)
{
    const struct placed_thread *x = a, *y = b;
    if (x->thread->process != y->thread->process)
        return x->thread->process < y->thread->process ? -1 : 1;
    if (x->is_main != y->is_main)
        return x->is_main ? -1 : 1;
    if (x->thread->start_ns != y->thread->start_ns)
        return x->thread->start_ns < y->thread->start_ns ? -1 : 1;
    return x->thread->number < y->thread->number ? -1 : x->thread->number > y->thread->number;
}

static bool is_main(const struct profile *profile, const struct thread_record *thread)
{
    const struct process_record *process = profile_process(profile, thread);
    return process && process->pid > 0 && process->pid == thread->tid;
}

int thread_order_init(struct thread_order *order, const struct profile *profile)
{
    const size_t most = (size_t)profile->thread_count + 1, bytes = most * sizeof(struct placed_thread);
    struct placed_thread *placed = scratch_alloc(bytes);
    *order = (struct thread_order){.profile = profile, .bytes = most * sizeof(*order->threads)};
    order->threads = scratch_alloc(order->bytes);
    if (placed && order->threads) {
        for (uint32_t number = 1; number <= profile->thread_count; number++) {
            const struct thread_record *thread = profile_thread(profile, number);
            if (thread)
                placed[order->count++] = (struct placed_thread){thread, is_main(profile, thread)};
        }
        sort_records(placed, order->count, sizeof *placed, compare);
        for (uint32_t i = 0; i < order->count; i++)
            order->threads[i] = placed[i].thread;
    }
    scratch_free(placed, bytes);
    return placed && order->threads ? 0 : -ENOMEM;
}

void thread_order_deinit(struct thread_order *order)
{
    scratch_free(order->threads, order->bytes);
    order->threads = NULL;
}

bool thread_order_is_first(const struct thread_order *order, uint32_t i)
{
    return i == 0 || order->threads[i]->process != order->threads[i - 1]->process;
}

static const struct thread_record *first_of(const struct thread_order *order, uint32_t i)
{
    while (!thread_order_is_first(order, i))
        i--;
    return order->threads[i];
}

uint32_t thread_order_pid(const struct thread_order *order, uint32_t i)
{
    const struct process_record *process = profile_process(order->profile, order->threads[i]);
    return (uint32_t)(process && process->pid > 0 ? process->pid : first_of(order, i)->tid);
}

const char *thread_order_process_name(const struct thread_order *order, uint32_t i,
                                      char buffer[THREAD_NAME_BYTES + 1])
{
    const struct process_record *process = profile_process(order->profile, order->threads[i]);
    if (process && process->title && *process->title)
        return process->title;
    if (process && *process->name)
        return process->name;
    profile_thread_name(first_of(order, i), buffer);
    return buffer;
}
