#include "gap_watch.h"
#include "base/raw_calls.h"

#include <stdlib.h>
#include <unistd.h>

enum { TEXT_BYTES = 96 };

void gap_watch_open(struct gap_watch *watch)
{
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    *watch = (struct gap_watch){.fd = fd > 0 ? fd : 0};
}

void gap_watch_drop(struct gap_watch *watch)
{
    *watch = (struct gap_watch){0};
}

static bool read_runs(int fd, struct gap_watch_runs *ret)
{
    char text[TEXT_BYTES], *at = text;
    ssize_t bytes = fd ? raw_result(sig_syscall4(SYS_pread64, fd, (long)text, sizeof(text) - 1, 0)) : -1;
    if (bytes <= 0)
        return false;
    text[bytes] = '\0';
    strtoull(at, &at, 10); /* its CPU time */
    ret->delay_ns = strtoull(at, &at, 10);
    ret->count = strtoull(at, NULL, 10);
    return true;
}

void gap_watch_begin(struct gap_watch *watch)
{
    watch->is_known = read_runs(watch->fd, &watch->before);
}

enum gap_cause gap_watch_judge(const struct gap_watch_runs *before, const struct gap_watch_runs *after,
                               uint64_t late_ns)
{
    if (after->delay_ns - before->delay_ns >= late_ns / 2)
        return GAP_CAUSE_STARVED;
    return after->count - before->count >= 2 ? GAP_CAUSE_STOPPED : GAP_CAUSE_UNKNOWN;
}

enum gap_cause gap_watch_cause(const struct gap_watch *watch, uint64_t late_ns)
{
    struct gap_watch_runs after;
    if (!watch->is_known || !read_runs(watch->fd, &after))
        return GAP_CAUSE_UNKNOWN;
    return gap_watch_judge(&watch->before, &after, late_ns);
}
