/*
 * How long the CPU quota of the process's cgroup has stopped it (cpu.max, cpu.cfs_quota_us): the kernel
 * counts that in cpu.stat, for the whole cgroup and for each CPU that it has run on. Time of a thread in it
 * is run delay.
 *
 * A quota may be that of a cgroup further up, as far as that can be seen: the one that has stopped it longest
 * is taken. Source: Documentation/scheduler/sched-bwc.rst, admin-guide/cgroup-v2.rst.
 *
 * Called from: the sampler thread, or the thread that ends the recording.
 */
#ifndef WALLPROF_CPU_QUOTA_H
#define WALLPROF_CPU_QUOTA_H

#include <stdint.h>

struct cpu_quota {
    uint64_t throttled_count, throttled_ns;
};

/* Since the cgroup was made. Zeros if there is none, or it cannot be read. */
struct cpu_quota cpu_quota_read(void);

/* since: an earlier reading. Zeros if the process has moved to another cgroup. */
struct cpu_quota cpu_quota_since(const struct cpu_quota *since);

#endif
