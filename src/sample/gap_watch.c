#include "gap_watch.h"
#include "base/clock.h"
#include "base/raw_calls.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TEXT_BYTES = 96 };

/* By less it is late on every busy machine. */
static const uint64_t worth_reading_ns = 50 * NS_PER_MS;

void gap_watch_enter(struct gap_watch *watch, bool has_own_descriptors)
{
    *watch = (struct gap_watch){.may_open = has_own_descriptors};
}

void gap_watch_drop(struct gap_watch *watch)
{
    *watch = (struct gap_watch){0};
}

static uint64_t count_sleeps(void)
{
    struct rusage usage = {0};
    sig_syscall4(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0);
    return (uint64_t)usage.ru_nvcsw;
}

/* How long it was ready to run without a CPU, in all; what was known before if it cannot be read. */
static uint64_t read_delay(int fd, uint64_t known_ns)
{
    char text[TEXT_BYTES], *at = text;
    ssize_t bytes = fd ? raw_result(sig_syscall4(SYS_pread64, fd, (long)text, sizeof(text) - 1, 0)) : -1;
    if (bytes <= 0)
        return known_ns;
    text[bytes] = '\0';
    strtoull(at, &at, 10); /* its CPU time */
    return strtoull(at, NULL, 10);
}

void gap_watch_begin(struct gap_watch *watch)
{
    watch->before = (struct gap_watch_runs){.delay_ns = read_delay(watch->fd, watch->before.delay_ns),
                                            .sleeps = count_sleeps()};
}

enum gap_cause gap_watch_judge(const struct gap_watch_runs *before, const struct gap_watch_runs *after,
                               uint64_t late_ns)
{
    if (after->delay_ns - before->delay_ns >= late_ns / 2)
        return GAP_CAUSE_STARVED;
    return after->sleeps - before->sleeps >= 2 ? GAP_CAUSE_STOPPED : GAP_CAUSE_UNKNOWN;
}

enum gap_cause gap_watch_cause(struct gap_watch *watch, uint64_t late_ns)
{
    if (late_ns < worth_reading_ns)
        return GAP_CAUSE_STARVED;
    const uint64_t sleeps = count_sleeps();
    if (watch->may_open && !watch->fd) {
        int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
        watch->fd = fd > 0 ? fd : 0;
        watch->may_open = fd > 0;
        if (sleeps - watch->before.sleeps >= 2) /* nothing is known of its delay before */
            return GAP_CAUSE_STOPPED;
    }
    const struct gap_watch_runs after = {read_delay(watch->fd, watch->before.delay_ns), sleeps};
    return gap_watch_judge(&watch->before, &after, late_ns);
}
