#include "hook_argument.h"
#include "hook_wait.h"
#include "session/session.h"
#include "sig/signal/sig_numbers.h"
#include "sig/sys/sig_memory.h"

#include <string.h>

enum { PAGE_BYTES = 4096 }; /* larger pages are probed more than once */

/*
 * While it probes, a thread has no wait. Else our signal would take the probe, which is a system call of a
 * hook, for the call of a wait that is not over: a transfer's, or one that the program left by longjmp.
 */
static const struct sig_waiting *hide_waits(void)
{
    const struct sig_waiting *waits = sig_wait_here.waits;
    sig_wait_here.waits = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return waits;
}

static bool show_waits(const struct sig_waiting *waits, bool result)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    sig_wait_here.waits = waits;
    return result;
}

bool hook_argument_read(void *to, const void *from, size_t bytes)
{
    if (session_thread_has_on_stack(from, bytes)) {
        memcpy(to, from, bytes);
        return true;
    }
    if (!from || sig_numbers_current() == 0)
        return false;
    const struct sig_waiting *waits = hide_waits();
    return show_waits(waits, sig_memory_probe(to, (uint64_t)(uintptr_t)from, bytes));
}

bool hook_argument_write(void *to, const void *from, size_t bytes)
{
    if (session_thread_has_on_stack(to, bytes)) {
        memcpy(to, from, bytes);
        return true;
    }
    const struct sig_waiting *waits = hide_waits();
    return show_waits(waits, sig_memory_write((uint64_t)(uintptr_t)to, from, bytes));
}

void hook_limit_begin(struct hook_limit *limit, const struct timespec *time)
{
    bool is_here = time && session_thread_has_on_stack(time, sizeof(*time));
    limit->given = time;
    limit->deadline_ns = is_here ? hook_wait_deadline(time) : 0;
    limit->begun_ns = time && !is_here ? clock_monotonic_ns() : 0;
}

const struct timespec *hook_limit_left(struct hook_limit *limit, struct timespec *ret)
{
    struct timespec time;
    if (limit->begun_ns && hook_argument_read(&time, limit->given, sizeof(time)) &&
        (time.tv_sec > 0 || time.tv_nsec > 0))
        limit->deadline_ns = limit->begun_ns + hook_wait_timespec_ns(&time);
    limit->begun_ns = 0;
    if (!limit->deadline_ns)
        return limit->given;
    *ret = hook_wait_left(limit->deadline_ns);
    return ret;
}

/* Probes the page of an address, unless it is *page, the one that was probed last. */
static bool is_page_readable(uint64_t address, uint64_t *page)
{
    uint64_t now = address - address % PAGE_BYTES;
    if (now == *page)
        return true;
    const struct sig_waiting *waits = hide_waits();
    *page = now;
    return show_waits(waits, sig_memory_is_readable(now));
}

bool hook_argument_is_readable(const void *memory, size_t bytes)
{
    uint64_t at = (uint64_t)(uintptr_t)memory, end = at + bytes, page = UINT64_MAX;
    if (end < at)
        return false;
    while (at < end && is_page_readable(at, &page))
        at = page + PAGE_BYTES;
    return at >= end;
}

static bool is_string_readable(const char *string, uint64_t *page)
{
    while (is_page_readable((uint64_t)(uintptr_t)string, page)) {
        size_t left = PAGE_BYTES - (uintptr_t)string % PAGE_BYTES, length = strnlen(string, left);
        if (length < left)
            return true;
        string += left;
    }
    return false;
}

bool hook_argument_has_string(const char *string)
{
    uint64_t page = UINT64_MAX;
    return is_string_readable(string, &page);
}

bool hook_argument_has_strings(char *const *array)
{
    uint64_t page = UINT64_MAX, string_page = UINT64_MAX;
    for (; array; array++) {
        uint64_t at = (uint64_t)(uintptr_t)array;
        if (!is_page_readable(at, &page) || !is_page_readable(at + sizeof(*array) - 1, &page))
            return false;
        if (!*array)
            break;
        if (!is_string_readable(*array, &string_page))
            return false;
    }
    return true;
}
