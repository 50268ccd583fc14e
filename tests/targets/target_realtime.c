/*
 * A real-time thread that has a CPU for half of the time: the sampler's too, where taskset leaves it no
 * other.
 *
 *     target_realtime SECONDS BURST_MS [UID]    UID: only that thread keeps the privilege to be one
 *
 * Prints "function NAME WALL" in nanoseconds for busy and idle; or "without PRIVILEGE" if it may not.
 */
#include "target.h"

#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { PRIORITY = 10 };

static uid_t uid;
static uint64_t burst_ns, end_ns, busy_ns, idle_ns;

KEEP_FRAME static uint64_t busy(uint64_t until_ns)
{
    uint64_t now;
    while ((now = now_ns()) < until_ns)
        ;
    return now;
}

KEEP_FRAME static uint64_t idle(uint64_t until_ns)
{
    struct timespec until = timespec_of(until_ns);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    return now_ns();
}

/* setuid is for all threads, and this one keeps what it may. The sampler loses it before it sees a real-time
 * thread, or it would take a higher priority at once. */
static void take_privileges_from_others(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (prctl(PR_SET_KEEPCAPS, 1) != 0 || setuid(uid) != 0 || syscall(SYS_capget, &header, data) != 0)
        die("setuid");
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        data[i].effective = data[i].permitted;
    if (syscall(SYS_capset, &header, data) != 0)
        die("capset");
}

static void *alternate(void *ret_may)
{
    const struct sched_param priority = {.sched_priority = PRIORITY};
    if (uid)
        take_privileges_from_others();
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
        return NULL;
    uint64_t from = now_ns();
    pthread_setname_np(pthread_self(), "realtime");
    while (from < end_ns) {
        uint64_t between = busy(from + burst_ns), after = idle(between + burst_ns);
        busy_ns += between - from;
        idle_ns += after - between;
        from = after;
    }
    return ret_may;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *may;
    end_ns = now_ns() + (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * NS_PER_S;
    burst_ns = (argc > 2 ? strtoull(argv[2], NULL, 10) : 10) * NS_PER_MS;
    uid = argc > 3 ? (uid_t)atoi(argv[3]) : 0;
    errno = pthread_create(&thread, NULL, alternate, &burst_ns);
    if (errno)
        die("pthread_create");
    pthread_join(thread, &may);
    if (may)
        printf("function busy %lu\nfunction idle %lu\n", busy_ns, idle_ns);
    else
        puts("without CAP_SYS_NICE");
    return 0;
}
