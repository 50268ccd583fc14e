/* See census.h. What is met at one look is judged at the next, so nothing is judged by one sight of it. */
#include "thread_scan.h"
#include "base/arena.h"
#include "base/clock.h"
#include "sig/sys/sig_atomic.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { CHECKS_AGREED = 8, CHECKS_DIFFERENT = 64, FOREIGN_FIRST_CAPACITY = 64 };

static const uint64_t interval_ns = 100 * NS_PER_MS;

/* The kernel tells a thread's start to 10 ms, always the same; converting it between clocks adds less. */
static const uint64_t start_precision_ns = NS_PER_MS;

static const size_t left_bytes = sizeof(struct census_task) * CENSUS_LEFT_MAX;

/* ---- life ---- */

int census_init(struct wp_census *census)
{
    census->task_directory = -1;
    census->foreign_capacity = FOREIGN_FIRST_CAPACITY;
    census->foreign = scratch_alloc(sizeof(*census->foreign) * census->foreign_capacity);
    census->left = scratch_alloc(left_bytes);
    return census->foreign && census->left ? 0 : -ENOMEM;
}

void census_deinit(struct wp_census *census)
{
    scratch_free(census->foreign, sizeof(*census->foreign) * census->foreign_capacity);
    scratch_free(census->left, left_bytes);
    census->foreign = NULL;
    census->left = NULL;
}

void census_open(struct wp_census *census)
{
    census->own_tid = gettid();
    census->task_directory = tasks_open();
}

/* ---- strangers ---- */

/* Between its last hook and its end in the kernel: same tid, started before that one left. */
static bool has_left(const struct wp_census *census, const struct census_task *task)
{
    const struct census_task *left = &census->left[(uint32_t)task->tid % CENSUS_LEFT_MAX];
    return left->tid == task->tid && task->time_ns < left->time_ns;
}

/* Whether a thread of this tid is alive; its start. */
static bool is_there(const struct wp_census *census, pid_t tid, uint64_t *ret_start_ns)
{
    char state;
    return tasks_stat(census->task_directory, tid, &state, ret_start_ns) && state != 'Z' && state != 'X';
}

static bool is_same_start(uint64_t a_ns, uint64_t b_ns)
{
    return (a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) < start_precision_ns;
}

/* Reads on in the kernel's list. Returns how many threads were on it; 0 at its end, then it starts over. */
static int meet_some(const struct wp_census *census, const struct wp_threads *threads,
                     struct census_list *list)
{
    pid_t tids[TASKS_NEXT_MAX];
    int count = tasks_next(census->task_directory, tids);
    list->count = 0;
    for (int i = 0; i < count; i++) {
        struct census_task task = {.tid = tids[i]};
        if (task.tid != census->own_tid && !threads_find(threads, task.tid) &&
            is_there(census, task.tid, &task.time_ns) && !has_left(census, &task))
            list->tasks[list->count++] = task;
    }
    if (count <= 0)
        tasks_rewind(census->task_directory);
    return count;
}

static bool are_there_others(const struct wp_census *census, const struct wp_threads *threads)
{
    return tasks_count(census->task_directory) != threads->live_count + 1;
}

bool census_look_at_start(struct wp_census *census, const struct wp_threads *threads)
{
    return census->task_directory >= 0 && are_there_others(census, threads) &&
           meet_some(census, threads, &census->strangers) > 0;
}

/* The list is read on with nobody left to judge, or not at all. */
static void look_for_strangers(struct wp_census *census, struct wp_threads *threads, bool is_different)
{
    if (census->is_turned && threads_have_come(threads)) {
        census->strangers = census->met;
        census->met.count = 0;
        census->is_turned = false;
    }
    if (is_different && census->met.count == 0 && meet_some(census, threads, &census->met) <= 0)
        meet_some(census, threads, &census->met);
    if (census->met.count > 0 && !census->is_turned)
        census->is_turned = threads_turn(threads);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

bool census_look(struct wp_census *census, struct wp_threads *threads, uint64_t now_ns)
{
    if (census->task_directory < 0 || now_ns < census->next_ns)
        return false;
    census->next_ns = now_ns + interval_ns;
    bool is_different = are_there_others(census, threads);
    uint32_t checks = is_different ? CHECKS_DIFFERENT : CHECKS_AGREED;
    look_for_strangers(census, threads, is_different);
    census->foreign_checks = smaller(checks, census->foreign_count);
    census->live_checks = smaller(checks, threads->live_count);
    return true;
}

bool census_next_stranger(struct wp_census *census, const struct wp_threads *threads, struct census_task *ret)
{
    while (census->strangers.count > 0) {
        uint64_t start_ns;
        *ret = census->strangers.tasks[--census->strangers.count];
        if (!threads_find(threads, ret->tid) && !has_left(census, ret) &&
            is_there(census, ret->tid, &start_ns) && is_same_start(ret->time_ns, start_ns))
            return true;
    }
    return false;
}

/* ---- those that are gone ---- */

static struct wp_thread *next_gone_foreign(struct wp_census *census)
{
    for (; census->foreign_checks > 0 && census->foreign_count > 0; census->foreign_at++) {
        uint64_t start_ns;
        census->foreign_checks--;
        census->foreign_at %= census->foreign_count;
        const struct census_foreign *foreign = &census->foreign[census->foreign_at];
        if (!is_there(census, foreign->thread->tid, &start_ns) || !is_same_start(foreign->start_ns, start_ns))
            return foreign->thread;
    }
    return NULL;
}

/* The hook's word comes before the thread's end: so it is asked for after. */
static bool is_gone(const struct wp_thread *thread)
{
    struct timespec unused;
    return sig_clock_read(clock_of_thread(thread->tid), &unused) == -EINVAL &&
           sig_load_acquire(&thread->end_ns) == 0; /* partner: the release in threads_leave */
}

struct wp_thread *census_next_gone(struct wp_census *census, const struct wp_threads *threads)
{
    struct wp_thread *gone = next_gone_foreign(census);
    for (; !gone && census->live_checks > 0 && threads->live_count > 0; census->live_at++) {
        census->live_checks--;
        census->live_at %= threads->live_count;
        struct wp_thread *thread = threads->live[census->live_at];
        if (!thread->is_foreign && is_gone(thread))
            gone = thread;
    }
    return gone;
}

/* ---- what becomes of them ---- */

int census_adopt(struct wp_census *census, struct wp_thread *thread, const struct census_task *stranger)
{
    if (census->foreign_count == census->foreign_capacity) {
        size_t bytes = sizeof(*census->foreign) * census->foreign_capacity;
        struct census_foreign *larger = scratch_alloc(bytes * 2);
        if (!larger)
            return -ENOMEM;
        memcpy(larger, census->foreign, bytes);
        scratch_free(census->foreign, bytes);
        census->foreign = larger;
        census->foreign_capacity *= 2;
    }
    thread->is_foreign = true;
    thread->foreign_index = census->foreign_count;
    census->foreign[census->foreign_count++] = (struct census_foreign){thread, stranger->time_ns};
    return 0;
}

void census_forget(struct wp_census *census, struct wp_thread *thread, uint64_t end_ns)
{
    census->left[(uint32_t)thread->tid % CENSUS_LEFT_MAX] = (struct census_task){thread->tid, end_ns};
    if (!thread->is_foreign)
        return;
    struct census_foreign last = census->foreign[--census->foreign_count];
    census->foreign[thread->foreign_index] = last;
    last.thread->foreign_index = thread->foreign_index;
}
