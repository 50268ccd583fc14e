#include "realtime.h"
#include "base/clock.h"
#include "base/raw_calls.h"
#include "proc/proc_tasks.h"
#include "thread.h"

#include <sched.h>
#include <string.h>

enum { LOOKS_MAX = 64, HIGHEST_PRIORITY = 99 };

static const uint64_t look_period_ns = NS_PER_S / 4;

void realtime_look(struct realtime *realtime, const struct threads *threads, int task_directory,
                   uint64_t now_ns)
{
    struct proc_task task;
    if (now_ns < realtime->look_again_ns || threads->live_count == 0)
        return;
    realtime->look_again_ns = now_ns + look_period_ns;
    for (uint32_t i = 0; i < LOOKS_MAX && i < threads->live_count; i++) {
        const struct thread *thread = threads->live[realtime->next++ % threads->live_count];
        if (proc_tasks_stat(task_directory, thread->tid, &task) &&
            task.realtime_priority > realtime->highest) {
            realtime->highest = task.realtime_priority;
            realtime_give_up(realtime); /* not high enough */
            realtime->error = 0;
        }
    }
}

static int set_policy(int policy, int priority)
{
    struct sched_param parameter = {.sched_priority = priority};
    return (int)sig_syscall4(SYS_sched_setscheduler, 0, policy, (long)&parameter, 0);
}

/* A child must not have the priority. */
void realtime_raise(struct realtime *realtime, int task_directory)
{
    struct sched_param former;
    if (realtime->highest == 0 || realtime->is_raised || realtime->error != 0)
        return;
    int priority = realtime->highest < HIGHEST_PRIORITY ? realtime->highest + 1 : HIGHEST_PRIORITY;
    if (proc_tasks_is_filtered(task_directory,
                               raw_gettid())) /* it might end the process for what is asked here */
        realtime->error = -EPERM;
    else if (sig_syscall4(SYS_sched_getparam, 0, (long)&former, 0, 0) == 0) {
        realtime->former_policy = (int)sig_syscall4(SYS_sched_getscheduler, 0, 0, 0, 0);
        realtime->former_priority = former.sched_priority;
        realtime->error = set_policy(SCHED_FIFO | SCHED_RESET_ON_FORK, priority);
        realtime->is_raised = realtime->error == 0;
    }
}

void realtime_give_up(struct realtime *realtime)
{
    if (!realtime->is_raised)
        return;
    realtime->is_raised = false;
    set_policy(realtime->former_policy, realtime->former_priority);
}
