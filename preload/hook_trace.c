/*
 * ptrace: a thread that is about to be traced by its parent gets no signal of ours, as each would stop it.
 */
#include "hook.h"
#include "account/thread_annotations.h"
#include "session/session.h"
#include "sig/signal/sig_process.h"
#include "sig/sys/sig_atomic.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <stdarg.h>

/* While the call is made no request is outstanding. Before the next one the sampler finds the tracer. */
static long ask_for_tracer(void)
{
    struct thread_annotations *annotations = session_thread_annotations();
    uint64_t mask = session_hold_quietly();
    if (annotations)
        sig_store_relaxed(&annotations->asks_for_tracer, 1); /* ordered by the hold */
    long status = libc()->ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    int error = errno;
    session_release_quietly(mask);
    errno = error;
    return status;
}

WALLPROF_HOOK long ptrace(int request, ...)
{
    va_list list;
    va_start(list, request);
    pid_t pid = va_arg(list, pid_t);
    void *address = va_arg(list, void *), *data = va_arg(list, void *);
    va_end(list);
    if (request == PTRACE_TRACEME && sig_process_is_this())
        return ask_for_tracer();
    return libc()->ptrace(request, pid, address, data);
}
