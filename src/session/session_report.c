/* What the session says in the log about the recording, once for each thing, at a tick. */
#include "session_internal.h"

#include "base/number_names.h"
#include "sig/signal/sig_numbers.h"

/* Says with which signal threads are sampled from now on, if that has changed, and that some cannot be. */
static void report_signal(struct session *session)
{
    const struct observer *observer = &session->sampler.observer;
    int before = session->reported.signal, now = observer->signal;
    uint64_t taken = session->sampler.signals_taken & sig_numbers_bit(before);
    session->reported.signal = now;
    if (before != now && now == 0)
        log_add(&session->log, LOG_WARNING,
                "the program took signal %d away by a system call, and no other is free: from now on only "
                "waiting threads are seen",
                before);
    else if (before != now && taken)
        log_add(&session->log, LOG_WARNING,
                "the program took signal %d away by a system call: threads are sampled with signal %d now",
                before, now);
    else if (before != now)
        log_add(&session->log, LOG_INFO,
                "the program uses signal %d itself: threads are sampled with signal %d now", before, now);
    if (observer->filled_below && !session->reported.is_filled_below)
        log_add(&session->log, LOG_INFO,
                "a thread blocks all signals past the C library: it is seen while it waits, and else [not "
                "responding]");
    session->reported.is_filled_below |= observer->filled_below != 0;
}

/* Says once that a real-time thread keeps the sampler from its CPU, and what becomes of that. */
static void report_starvation(struct session *session)
{
    const struct realtime *realtime = &session->sampler.realtime;
    if (session->reported.is_starved || (!realtime->is_raised && realtime->error == 0))
        return;
    session->reported.is_starved = true;
    if (realtime->is_raised)
        log_add(&session->log, LOG_INFO,
                "a real-time thread kept the sampler from its CPU: the sampler has a higher priority now");
    else
        log_add(
            &session->log, LOG_WARNING,
            "a real-time thread keeps the sampler from its CPU, and it may not have a higher priority (%s): "
            "what is done meanwhile is [not observed]",
            error_text(-realtime->error));
}

/* Says once that the program has an interpreter whose functions cannot be shown. */
static void report_interp(struct session *session)
{
    const uint32_t version = session->sampler.interp.refused_version;
    if (version == 0 || session->reported.is_interp_refused)
        return;
    session->reported.is_interp_refused = true;
    const char *language = session->sampler.interp.refused->name;
    if (version == INTERP_VERSION_OLD)
        log_add(&session->log, LOG_INFO,
                "this %s does not say its version: the interpreter's own functions are shown", language);
    else
        log_add(&session->log, LOG_INFO,
                "%s %u.%u of this kind is not known here: the interpreter's own functions are shown",
                language, version >> 24, version >> 16 & 0xff);
}

/* Each deadlock at once: this may be the last that the program says. */
static void report_deadlock(struct session *session)
{
    char *text = session->sampler.deadlocks.text;
    if (!*text)
        return;
    log_add(&session->log, LOG_WARNING, "%s", text);
    log_flush_through(&session->log, session->surroundings.stderr_handle);
    *text = '\0';
}

void session_report(struct session *session)
{
    report_deadlock(session);
    report_signal(session);
    report_starvation(session);
    report_interp(session);
}
