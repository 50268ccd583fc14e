/*
 * Records live in chunks that are never unmapped, so a stale pointer is never a fault. The free list is a
 * Treiber stack whose head carries a tag that every change increases: without it a pop could be fooled by a
 * record that left and came back (ABA).
 */
#include "threads.h"
#include "clock.h"
#include "sig_atomic.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

enum { LIVE_FIRST_CAPACITY = 256 };

static const size_t chunk_bytes = sizeof(struct wp_thread) * THREADS_PER_CHUNK;

int threads_init(struct wp_threads *threads)
{
    memset(threads, 0, sizeof(*threads));
    threads->live_capacity = LIVE_FIRST_CAPACITY;
    threads->live = scratch_alloc(sizeof(*threads->live) * threads->live_capacity);
    return threads->live ? 0 : -ENOMEM;
}

void threads_deinit(struct wp_threads *threads)
{
    for (uint32_t i = 0; i < THREADS_CHUNK_COUNT; i++)
        scratch_free(threads->chunks[i], chunk_bytes);
    scratch_free(threads->live, sizeof(*threads->live) * threads->live_capacity);
    memset(threads, 0, sizeof(*threads));
}

static struct wp_thread *at_index(struct wp_threads *threads, uint32_t index)
{
    /* Acquire: partner of the release in ensure_chunk. */
    return &sig_load_acquire(&threads->chunks[index / THREADS_PER_CHUNK])[index % THREADS_PER_CHUNK];
}

static bool ensure_chunk(struct wp_threads *threads, uint32_t chunk)
{
    if (chunk >= THREADS_CHUNK_COUNT)
        return false;
    if (sig_load_acquire(&threads->chunks[chunk]))
        return true;
    struct wp_thread *fresh = scratch_alloc(chunk_bytes), *none = NULL;
    if (!fresh)
        return false;
    if (!sig_cas_acq_rel(&threads->chunks[chunk], &none, fresh)) /* release: partner in at_index */
        scratch_free(fresh, chunk_bytes);                        /* another thread was first */
    return true;
}

static struct wp_thread *pop_free(struct wp_threads *threads)
{
    uint64_t head = sig_load_acquire(&threads->free_head); /* partner: the release in threads_release */
    while ((uint32_t)head != 0) {
        struct wp_thread *thread = at_index(threads, (uint32_t)head - 1);
        uint64_t next = ((head >> 32) + 1) << 32 | sig_load_relaxed(&thread->next_free);
        if (sig_cas_acq_rel(&threads->free_head, &head, next))
            return thread;
    }
    return NULL;
}

static struct wp_thread *take_fresh(struct wp_threads *threads)
{
    uint32_t index = sig_load_relaxed(&threads->fresh);
    do {
        if (!ensure_chunk(threads, index / THREADS_PER_CHUNK))
            return NULL;
    } while (!sig_cas_acq_rel(&threads->fresh, &index, index + 1));
    struct wp_thread *thread = at_index(threads, index);
    thread->index = index;
    return thread;
}

struct wp_thread *threads_acquire(struct wp_threads *threads)
{
    struct wp_thread *thread = pop_free(threads);
    if (!thread)
        thread = take_fresh(threads);
    if (!thread)
        return NULL;
    size_t kept_bytes =
        offsetof(struct wp_thread, number); /* index and next_free: others may be reading them */
    memset((char *)thread + kept_bytes, 0, sizeof(*thread) - kept_bytes);
    thread->observe.slot = -1;
    sig_add_seq_cst(&threads->registered, 1);
    return thread;
}

void threads_uncount(struct wp_threads *threads)
{
    sig_sub_seq_cst(&threads->registered, 1);
}

void threads_release(struct wp_threads *threads, struct wp_thread *thread)
{
    uint64_t head = sig_load_relaxed(&threads->free_head), next;
    do {
        sig_store_relaxed(&thread->next_free, (uint32_t)head);
        next = ((head >> 32) + 1) << 32 | (thread->index + 1);
    } while (!sig_cas_acq_rel(&threads->free_head, &head, next)); /* release: partner in pop_free */
}

void threads_enter(struct wp_threads *threads, struct wp_thread *thread, pid_t tid, uint64_t start_ns,
                   uint64_t start_cpu_ns)
{
    thread->tid = tid;
    thread->number = sig_add_relaxed(&threads->next_number, 1) + 1;
    thread->start_ns = start_ns;
    thread->start_cpu_ns = start_cpu_ns;
    struct wp_thread *head = sig_load_relaxed(&threads->arrived);
    do
        thread->next_arrived = head;
    while (!sig_cas_acq_rel(&threads->arrived, &head, thread)); /* release: partner in threads_take_arrived */
}

int threads_leave(struct wp_threads *threads, struct wp_thread *thread, const char *name)
{
    memcpy(thread->end_name, name, sizeof(thread->end_name));
    thread->end_cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    sig_store_release(&thread->end_ns, clock_monotonic_ns()); /* partner: the acquire in observe.c */
    struct wp_thread *head = sig_load_relaxed(&threads->left);
    do
        thread->next_left = head;
    while (!sig_cas_acq_rel(&threads->left, &head, thread)); /* release: partner in threads_take_left */
    return sig_sub_seq_cst(&threads->registered, 1) - 1;
}

struct wp_thread *threads_take_arrived(struct wp_threads *threads)
{
    return sig_swap_acq_rel(&threads->arrived, NULL);
}

struct wp_thread *threads_take_left(struct wp_threads *threads)
{
    return sig_swap_acq_rel(&threads->left, NULL);
}

int threads_add(struct wp_threads *threads, struct wp_thread *thread)
{
    if (threads->live_count == threads->live_capacity) {
        size_t bytes = sizeof(*threads->live) * threads->live_capacity;
        struct wp_thread **larger = scratch_alloc(bytes * 2);
        if (!larger)
            return -ENOMEM;
        memcpy(larger, threads->live, bytes);
        scratch_free(threads->live, bytes);
        threads->live = larger;
        threads->live_capacity *= 2;
    }
    thread->live_index = threads->live_count;
    threads->live[threads->live_count++] = thread;
    return 0;
}

void threads_remove(struct wp_threads *threads, struct wp_thread *thread)
{
    struct wp_thread *last = threads->live[--threads->live_count];
    threads->live[thread->live_index] = last;
    last->live_index = thread->live_index;
}

struct wp_thread *threads_find(const struct wp_threads *threads, pid_t tid)
{
    for (uint32_t i = 0; i < threads->live_count; i++) {
        if (threads->live[i]->tid == tid)
            return threads->live[i];
    }
    return NULL;
}
