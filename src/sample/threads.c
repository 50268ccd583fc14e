/*
 * Records are in chunks that stay mapped as long as the registry, so a stale pointer is no fault. The free
 * list is a Treiber stack. Every change increases a tag in its head: without that a record that left and came
 * back would fool a pop (ABA).
 */
#include "threads.h"
#include "thread.h"
#include "base/clock.h"
#include "sig/sys/sig_atomic.h"

#include <errno.h>
#include <stddef.h>
#include <pthread.h>
#include <string.h>

enum { LIVE_FIRST_CAPACITY = 256 };

static const size_t chunk_bytes = sizeof(struct thread) * THREADS_PER_CHUNK;

static void free_live(struct threads *threads)
{
    scratch_free(threads->live, sizeof(*threads->live) * threads->live_capacity);
    scratch_free(threads->by_tid, sizeof(*threads->by_tid) * threads->live_capacity);
    threads->live = threads->by_tid = NULL;
}

int threads_init(struct threads *threads)
{
    threads->live_capacity = LIVE_FIRST_CAPACITY;
    threads->live = scratch_alloc(sizeof(*threads->live) * threads->live_capacity);
    threads->by_tid = scratch_alloc(sizeof(*threads->by_tid) * threads->live_capacity);
    if (threads->live && threads->by_tid)
        return 0;
    free_live(threads);
    return -ENOMEM;
}

void threads_deinit(struct threads *threads)
{
    for (uint32_t i = 0; i < THREADS_CHUNK_COUNT; i++)
        scratch_free(threads->chunks[i], chunk_bytes);
    free_live(threads);
    memset(threads, 0, sizeof(*threads));
}

static struct thread *at_index(struct threads *threads, uint32_t index)
{
    /* Acquire: partner of the release in ensure_chunk. */
    return &sig_load_acquire(&threads->chunks[index / THREADS_PER_CHUNK])[index % THREADS_PER_CHUNK];
}

static bool ensure_chunk(struct threads *threads, uint32_t chunk)
{
    if (chunk >= THREADS_CHUNK_COUNT)
        return false;
    if (sig_load_acquire(&threads->chunks[chunk]))
        return true;
    struct thread *fresh = scratch_alloc(chunk_bytes), *none = NULL;
    if (!fresh)
        return false;
    if (!sig_cas_acq_rel(&threads->chunks[chunk], &none, fresh)) /* release: partner in at_index */
        scratch_free(fresh, chunk_bytes);                        /* another thread was first */
    return true;
}

static struct thread *pop_free(struct threads *threads)
{
    uint64_t head = sig_load_acquire(&threads->free_head); /* partner: the release in threads_release */
    while ((uint32_t)head != 0) {
        struct thread *thread = at_index(threads, (uint32_t)head - 1);
        uint64_t next = ((head >> 32) + 1) << 32 | sig_load_relaxed(&thread->next_free);
        if (sig_cas_acq_rel(&threads->free_head, &head, next))
            return thread;
    }
    return NULL;
}

static struct thread *take_fresh(struct threads *threads)
{
    uint32_t index = sig_load_relaxed(&threads->fresh);
    do {
        if (!ensure_chunk(threads, index / THREADS_PER_CHUNK))
            return NULL;
    } while (!sig_cas_acq_rel(&threads->fresh, &index, index + 1));
    struct thread *thread = at_index(threads, index);
    thread->index = index;
    return thread;
}

struct thread *threads_acquire(struct threads *threads)
{
    struct thread *thread = pop_free(threads);
    if (!thread)
        thread = take_fresh(threads);
    if (!thread)
        return NULL;
    size_t kept_bytes = offsetof(struct thread, number); /* index and next_free: others may be reading them */
    memset((char *)thread + kept_bytes, 0, sizeof(*thread) - kept_bytes);
    thread->observe.slot = -1;
    thread->observe.delay_ns = FOLD_NO_DELAY;
    thread->turn = sig_load_relaxed(&threads->turn) % 2;
    thread->is_coming = true;
    sig_add_relaxed(&threads->coming[thread->turn], 1); /* the kernel lists the thread after this */
    sig_add_seq_cst(&threads->registered, 1);
    return thread;
}

/* After it has arrived: partner of the acquire in threads_have_come. */
static void cease_coming(struct threads *threads, uint8_t turn)
{
    sig_sub_seq_cst(&threads->coming[turn], 1);
}

void threads_uncount(struct threads *threads, struct thread *thread)
{
    if (thread->is_coming)
        cease_coming(threads, thread->turn);
    thread->is_coming = false;
    sig_sub_seq_cst(&threads->registered, 1);
}

void threads_release(struct threads *threads, struct thread *thread)
{
    uint64_t head = sig_load_relaxed(&threads->free_head), next;
    do {
        sig_store_relaxed(&thread->next_free, (uint32_t)head);
        next = ((head >> 32) + 1) << 32 | (thread->index + 1);
    } while (!sig_cas_acq_rel(&threads->free_head, &head, next)); /* release: partner in pop_free */
}

void threads_enter(struct threads *threads, struct thread *thread, pid_t tid, uint64_t start_ns,
                   uint64_t start_cpu_ns)
{
    thread->tid = tid;
    thread->interp.c_id = (uint64_t)pthread_self();
    thread->number = sig_add_relaxed(&threads->next_number, 1) + 1;
    thread->start_ns = start_ns;
    thread->start_cpu_ns = start_cpu_ns;
    thread->is_coming = false;
    uint8_t turn = thread->turn; /* read before the record is the sampler's too */
    struct thread *head = sig_load_relaxed(&threads->arrived);
    do
        thread->next_arrived = head;
    while (!sig_cas_acq_rel(&threads->arrived, &head, thread)); /* release: partner in threads_take_arrived */
    cease_coming(threads, turn);
}

int threads_leave(struct threads *threads, struct thread *thread, const char *name)
{
    memcpy(thread->end_name, name, sizeof(thread->end_name));
    thread->end_cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    sig_store_release(&thread->end_ns, clock_monotonic_ns()); /* partner: the acquire in observe.c */
    struct thread *head = sig_load_relaxed(&threads->left);
    do
        thread->next_left = head;
    while (!sig_cas_acq_rel(&threads->left, &head, thread)); /* release: partner in threads_take_left */
    return sig_sub_seq_cst(&threads->registered, 1) - 1;
}

struct thread *threads_take_arrived(struct threads *threads)
{
    return sig_swap_acq_rel(&threads->arrived, NULL);
}

struct thread *threads_take_left(struct threads *threads)
{
    return sig_swap_acq_rel(&threads->left, NULL);
}

/* ---- the sampler's own ---- */

bool threads_turn(struct threads *threads)
{
    uint32_t other = (threads->turn + 1) % 2;
    if (sig_load_acquire(&threads->coming[other]) != 0)
        return false;
    sig_store_seq_cst(&threads->turn, threads->turn + 1);
    return true;
}

bool threads_are_coming(const struct threads *threads)
{
    /* acquire: partner of cease_coming, as below */
    return sig_load_acquire(&threads->coming[0]) != 0 || sig_load_acquire(&threads->coming[1]) != 0;
}

bool threads_have_come(const struct threads *threads)
{
    uint32_t before = (threads->turn + 1) % 2;
    return sig_load_acquire(&threads->coming[before]) == 0; /* partner: cease_coming */
}

/* The kernel gives tids in ascending order: their lowest bits spread them as well as any hash. */
static struct thread **bucket_of(const struct threads *threads, pid_t tid)
{
    return &threads->by_tid[(uint32_t)tid & (threads->live_capacity - 1)];
}

static void link_tid(struct threads *threads, struct thread *thread)
{
    struct thread **bucket = bucket_of(threads, thread->tid);
    thread->next_of_tid = *bucket;
    *bucket = thread;
}

static void unlink_tid(struct threads *threads, struct thread *thread)
{
    struct thread **at = bucket_of(threads, thread->tid);
    while (*at != thread)
        at = &(*at)->next_of_tid;
    *at = thread->next_of_tid;
}

static int double_capacity(struct threads *threads)
{
    size_t bytes = sizeof(struct thread *) * threads->live_capacity;
    struct thread **live = scratch_alloc(bytes * 2), **by_tid = scratch_alloc(bytes * 2);
    if (!live || !by_tid) {
        scratch_free(live, bytes * 2);
        scratch_free(by_tid, bytes * 2);
        return -ENOMEM;
    }
    memcpy(live, threads->live, bytes);
    scratch_free(threads->live, bytes);
    scratch_free(threads->by_tid, bytes);
    threads->live = live;
    threads->by_tid = by_tid;
    threads->live_capacity *= 2;
    for (uint32_t i = 0; i < threads->live_count; i++)
        link_tid(threads, live[i]);
    return 0;
}

int threads_add(struct threads *threads, struct thread *thread)
{
    if (threads->live_count == threads->live_capacity && double_capacity(threads) < 0)
        return -ENOMEM;
    thread->live_index = threads->live_count;
    threads->live[threads->live_count++] = thread;
    link_tid(threads, thread);
    return 0;
}

void threads_remove(struct threads *threads, struct thread *thread)
{
    struct thread *last = threads->live[--threads->live_count];
    threads->live[thread->live_index] = last;
    last->live_index = thread->live_index;
    unlink_tid(threads, thread);
}

struct thread *threads_find(const struct threads *threads, pid_t tid)
{
    struct thread *thread = *bucket_of(threads, tid);
    while (thread && (thread->tid != tid || sig_load_acquire(&thread->end_ns) != 0)) /* as in observe.c */
        thread = thread->next_of_tid;
    return thread;
}

bool threads_have(const struct threads *threads, pid_t tid, uint64_t start_ns)
{
    for (const struct thread *thread = *bucket_of(threads, tid); thread; thread = thread->next_of_tid) {
        uint64_t end_ns = sig_load_acquire(&thread->end_ns); /* as in observe.c */
        if (thread->tid == tid && (end_ns == 0 || start_ns < end_ns))
            return true;
    }
    return false;
}
