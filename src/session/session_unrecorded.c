/*
 * Processes that are not recorded, and programs that start without us. The library is loaded into the former,
 * but there is no thread and no signal, and its hooks only call the C library.
 */
#include "session_internal.h"
#include "base/arena.h"

#include <errno.h>
#include <string.h>

/* Runtimes of sanitizers that follow every thread; NULL if they are not there. They export these names. */
extern char tsan_init __asm__("__tsan_init") __attribute__((weak));
extern char lsan_init __asm__("__lsan_init") __attribute__((weak));

static bool has_entry(char *const *list, const char *beginning, const char *part)
{
    for (; list && *list; list++) {
        if (strncmp(*list, beginning, strlen(beginning)) == 0 && strstr(*list, part))
            return true;
    }
    return false;
}

const char *session_why_unrecorded(char *const *arguments, char *const *environment)
{
    if (&tsan_init)
        return "ThreadSanitizer would report our thread";
    if (&lsan_init)
        return "LeakSanitizer waits for our thread after fork";
    if (has_entry(environment, "LD_PRELOAD=", "/vgpreload_core"))
        return "the program runs in valgrind";
    if (has_entry(arguments, "--type=zygote", ""))
        return "a zygote forks its children only while it has one thread (--no-zygote)";
    return NULL;
}

void session_report_unfollowed(const char *program, const char *why)
{
    const struct session *session = session_current();
    if (!session || session->log.level < LOG_INFO)
        return;
    int error = errno;
    struct log *log = scratch_alloc(sizeof(*log)); /* the session's is the sampler's */
    if (log) {
        *log = session->log;
        log->used_bytes = log->dropped = 0;
        log_add(log, LOG_INFO, "%s starts without us: %s", *program ? program : "a program", why);
        log_flush(log);
        scratch_free(log, sizeof(*log));
    }
    errno = error;
}
