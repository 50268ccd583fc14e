/* See thread_scan.h. A thread that one scan meets is judged by a later one. */
#include "thread_scan.h"
#include "thread.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/smaller.h"
#include "sig/sys/sig_clock.h"
#include "sig/sys/sig_atomic.h"
#include "base/raw_calls.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { CHECKS_AGREED = 8, CHECKS_DIFFERENT = 64, FOREIGN_FIRST_CAPACITY = 64, ENDING_FIRST_CAPACITY = 64 };

static const uint64_t own_interval_ns = 100 * NS_PER_MS;

/* Of a target no hook tells anything: what is between two scans is not seen. */
static const uint64_t target_interval_ns = 20 * NS_PER_MS;

/* The kernel shows a thread's start to 10 ms, always the same value. Converting it between clocks adds less.
 */
static const uint64_t start_precision_ns = NS_PER_MS;

static const size_t left_bytes = sizeof(struct thread_scan_task) * THREAD_SCAN_LEFT_MAX;

/* ---- life ---- */

int thread_scan_init(struct thread_scan *scan)
{
    scan->task_directory = -1;
    scan->foreign_capacity = FOREIGN_FIRST_CAPACITY;
    scan->foreign = scratch_alloc(sizeof(*scan->foreign) * scan->foreign_capacity);
    scan->left = scratch_alloc(left_bytes);
    scan->ending.capacity = ENDING_FIRST_CAPACITY;
    scan->ending.tasks = scratch_alloc(sizeof(*scan->ending.tasks) * scan->ending.capacity);
    return scan->foreign && scan->left && scan->ending.tasks ? 0 : -ENOMEM;
}

void thread_scan_deinit(struct thread_scan *scan)
{
    scratch_free(scan->foreign, sizeof(*scan->foreign) * scan->foreign_capacity);
    scratch_free(scan->left, left_bytes);
    scratch_free(scan->ending.tasks, sizeof(*scan->ending.tasks) * scan->ending.capacity);
    scan->foreign = NULL;
    scan->left = NULL;
    scan->ending.tasks = NULL;
}

void thread_scan_open(struct thread_scan *scan, const struct target *target)
{
    scan->own_tid = target ? 0 : raw_gettid();
    scan->interval_ns = target ? target_interval_ns : own_interval_ns;
    scan->task_directory = proc_tasks_open(target ? target->directory : -1);
}

void thread_scan_suspect(struct thread_scan *scan, const struct thread *thread)
{
    scan->foreign_at = thread->foreign_index;
    scan->next_ns = 0;
}

/* ---- strangers ---- */

/* Whether the listed thread is the one that left: it has the tid, and started before that. */
static bool is_of(const struct thread_scan_task *left, const struct thread_scan_task *listed)
{
    return left->tid == listed->tid && listed->time_ns < left->time_ns;
}

/* Whether it is between its last hook and its end. Its record may be the registry's yet, or not any more. */
static bool has_left(const struct thread_scan *scan, const struct thread_scan_task *task)
{
    if (is_of(&scan->left[(uint32_t)task->tid % THREAD_SCAN_LEFT_MAX], task))
        return true;
    for (uint32_t i = 0; i < scan->ending.count; i++) {
        if (is_of(&scan->ending.tasks[i], task))
            return true;
    }
    return false;
}

static bool is_ours(const struct thread_scan *scan, const struct threads *threads,
                    const struct thread_scan_task *task)
{
    return threads_have(threads, task->tid, task->time_ns) || has_left(scan, task);
}

/* Reads a clock, as that is cheap. If no clock can be read, nobody is said to be there. */
static bool is_there(const struct thread_scan_task *task)
{
    struct timespec unused;
    return sig_clock_read(clock_of_thread(task->tid), &unused) == 0;
}

static void forget_ended(struct thread_scan_ending *ending)
{
    for (uint32_t i = 0; i < ending->count;) {
        if (is_there(&ending->tasks[i]))
            i++;
        else
            ending->tasks[i] = ending->tasks[--ending->count];
    }
}

/* Whether a thread of the program with this tid is alive; its start. */
static bool is_alive(const struct thread_scan *scan, pid_t tid, uint64_t *ret_start_ns)
{
    struct proc_task task;
    bool is_listed = proc_tasks_stat(scan->task_directory, tid, &task);
    *ret_start_ns = is_listed ? task.start_ns : 0;
    return is_listed && task.state != 'Z' && task.state != 'X' && !task.is_kernels;
}

static bool is_same_start(uint64_t a_ns, uint64_t b_ns)
{
    return (a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) < start_precision_ns;
}

/* Reads on in the kernel's list. Returns how many threads it read; 0 at the end of the list. */
static int meet_some(const struct thread_scan *scan, const struct threads *threads,
                     struct thread_scan_list *list)
{
    pid_t tids[PROC_TASKS_NEXT_MAX];
    int count = proc_tasks_next(scan->task_directory, tids);
    list->count = 0;
    for (int i = 0; i < count; i++) {
        struct thread_scan_task task = {.tid = tids[i]};
        if (task.tid != scan->own_tid && !threads_find(threads, task.tid) &&
            is_alive(scan, task.tid, &task.time_ns) && !is_ours(scan, threads, &task))
            list->tasks[list->count++] = task;
    }
    return count;
}

static bool do_numbers_differ(const struct thread_scan *scan, const struct threads *threads)
{
    const bool has_sampler = scan->own_tid != 0;
    return proc_tasks_count(scan->task_directory) != threads->live_count + has_sampler;
}

bool thread_scan_start(struct thread_scan *scan, const struct threads *threads)
{
    bool has_more = scan->task_directory >= 0 && do_numbers_differ(scan, threads) &&
                    meet_some(scan, threads, &scan->strangers) > 0;
    if (threads_are_coming(threads)) /* some of these may be on their way to their hook */
        scan->strangers.count = 0;
    return has_more && scan->strangers.count > 0;
}

/* The list is read on only when no met thread is left to judge. */
static void find_strangers(struct thread_scan *scan, struct threads *threads, bool is_different)
{
    if (scan->is_turned && threads_have_come(threads)) {
        scan->strangers = scan->met;
        scan->met.count = 0;
        scan->is_turned = false;
    }
    if (is_different && scan->met.count == 0 && meet_some(scan, threads, &scan->met) <= 0)
        meet_some(scan, threads, &scan->met);
    if (scan->met.count > 0 && !scan->is_turned)
        scan->is_turned = threads_turn(threads);
}

bool thread_scan_begin(struct thread_scan *scan, struct threads *threads, uint64_t now_ns)
{
    if (scan->task_directory < 0 || now_ns < scan->next_ns)
        return false;
    scan->next_ns = now_ns + scan->interval_ns;
    bool is_different = do_numbers_differ(scan, threads);
    uint32_t checks = is_different ? CHECKS_DIFFERENT : CHECKS_AGREED;
    find_strangers(scan, threads, is_different);
    forget_ended(&scan->ending);
    scan->foreign_checks = smaller(checks, scan->foreign_count);
    scan->live_checks = smaller(checks, threads->live_count);
    scan->is_main_due = true;
    return true;
}

bool thread_scan_next_stranger(struct thread_scan *scan, const struct threads *threads,
                               struct thread_scan_task *ret)
{
    while (scan->strangers.count > 0) {
        uint64_t start_ns;
        *ret = scan->strangers.tasks[--scan->strangers.count];
        if (!is_ours(scan, threads, ret) && is_alive(scan, ret->tid, &start_ns) &&
            is_same_start(ret->time_ns, start_ns))
            return true;
    }
    return false;
}

/* ---- threads that are gone ---- */

static struct thread *next_gone_foreign(struct thread_scan *scan)
{
    for (; scan->foreign_checks > 0 && scan->foreign_count > 0; scan->foreign_at++) {
        uint64_t start_ns;
        scan->foreign_checks--;
        scan->foreign_at %= scan->foreign_count;
        const struct thread_scan_foreign *foreign = &scan->foreign[scan->foreign_at];
        if (!is_alive(scan, foreign->thread->tid, &start_ns) || !is_same_start(foreign->start_ns, start_ns))
            return foreign->thread;
    }
    return NULL;
}

/* The hook reports before the thread ends, so this is read after what the kernel says. */
static bool has_no_end(const struct thread *thread)
{
    return sig_load_acquire(&thread->end_ns) == 0; /* partner: the release in threads_leave */
}

/* The main thread has a clock and an entry in /proc until the process ends, so its state is read: 10 us in
 * each scan. Without a descriptor for that nothing is known. */
static struct thread *gone_main(struct thread_scan *scan, const struct threads *threads)
{
    struct proc_task task;
    struct thread *thread = scan->is_main_due ? threads_find(threads, getpid()) : NULL;
    scan->is_main_due = false;
    bool is_gone = thread && !thread->is_foreign &&
                   proc_tasks_stat(scan->task_directory, thread->tid, &task) && task.state == 'Z' &&
                   has_no_end(thread);
    return is_gone ? thread : NULL;
}

static bool is_gone(const struct thread *thread)
{
    struct timespec unused;
    return sig_clock_read(clock_of_thread(thread->tid), &unused) == -EINVAL && has_no_end(thread);
}

struct thread *thread_scan_next_gone(struct thread_scan *scan, const struct threads *threads)
{
    struct thread *gone = next_gone_foreign(scan);
    if (!gone)
        gone = gone_main(scan, threads);
    for (; !gone && scan->live_checks > 0 && threads->live_count > 0; scan->live_at++) {
        scan->live_checks--;
        scan->live_at %= threads->live_count;
        struct thread *thread = threads->live[scan->live_at];
        if (!thread->is_foreign && is_gone(thread))
            gone = thread;
    }
    return gone;
}

/* ---- adopting and forgetting ---- */

/* An array of twice the capacity with the same contents, in place of one; NULL without memory. */
static void *doubled(void *array, size_t bytes)
{
    void *larger = scratch_alloc(bytes * 2);
    if (!larger)
        return NULL;
    memcpy(larger, array, bytes);
    scratch_free(array, bytes);
    return larger;
}

int thread_scan_adopt(struct thread_scan *scan, struct thread *thread,
                      const struct thread_scan_task *stranger)
{
    if (scan->foreign_count == scan->foreign_capacity) {
        void *larger = doubled(scan->foreign, sizeof(*scan->foreign) * scan->foreign_capacity);
        if (!larger)
            return -ENOMEM;
        scan->foreign = larger;
        scan->foreign_capacity *= 2;
    }
    thread->is_foreign = true;
    thread->foreign_index = scan->foreign_count;
    scan->foreign[scan->foreign_count++] = (struct thread_scan_foreign){thread, stranger->time_ns};
    return 0;
}

/* Without memory it may be taken for a stranger. */
static void keep_ending(struct thread_scan_ending *ending, const struct thread_scan_task *task)
{
    if (ending->count == ending->capacity) {
        void *larger = doubled(ending->tasks, sizeof(*ending->tasks) * ending->capacity);
        if (!larger)
            return;
        ending->tasks = larger;
        ending->capacity *= 2;
    }
    ending->tasks[ending->count++] = *task;
}

void thread_scan_forget(struct thread_scan *scan, struct thread *thread, uint64_t end_ns)
{
    struct thread_scan_task *left = &scan->left[(uint32_t)thread->tid % THREAD_SCAN_LEFT_MAX];
    if (left->tid && left->tid != thread->tid && is_there(left))
        keep_ending(&scan->ending, left);
    *left = (struct thread_scan_task){thread->tid, end_ns};
    if (!thread->is_foreign)
        return;
    struct thread_scan_foreign last = scan->foreign[--scan->foreign_count];
    scan->foreign[thread->foreign_index] = last;
    last.thread->foreign_index = thread->foreign_index;
}
