/*
 * The first lines of a report: what the time went to, and the functions with most of it, in words.
 *
 * Called from: report_table.c.
 */
#ifndef WALLPROF_REPORT_ANSWER_H
#define WALLPROF_REPORT_ANSWER_H

#include "report.h"

#include <stdio.h>

/* "running 3.2 s | lock 20.8 s | sleep 15.0 s | idle 80 s (hidden)" */
enum { ANSWER_TEXT_BYTES = 512 };
void answer_where(const struct report *report, bool shows_idle, char ret[ANSWER_TEXT_BYTES]);

/*
 * "waiting: 46.3% mutex journal_mutex (held by writer-2 81%), 12.1% tcp 10.0.0.7:5432, 9.2% cpu": up to four
 * things that were waited for, in per cent of what is shown, without waits for work. Threads and processes
 * that were waited for to end are told only where nothing else is. The holder is who held it for most of that
 * time, with how much of it. False: nothing is known of what was waited for.
 */
bool answer_waiting(const struct report *report, char ret[ANSWER_TEXT_BYTES]);

/* The same of any sums, in per cent of whole_ns, after other words than "waiting:". */
bool answer_things(const struct wait_sums *sums, uint64_t whole_ns, const char *words,
                   char ret[ANSWER_TEXT_BYTES]);

/* The name of a thing or a holder, if need be without its middle. Returns ret. */
enum { ANSWER_THING_BYTES = 64 };
const char *answer_thing(const char *name, char ret[ANSWER_THING_BYTES]);

/* The rows that are findings: with the most time of their own, largest first. Returns how many. */
enum { ANSWER_FINDINGS_MAX = 10 };
size_t answer_choose(const struct report *report, size_t most,
                     const struct report_row *ret[ANSWER_FINDINGS_MAX]);

/* What the time of a row was spent on, in words: "waiting for a lock 44.1%, running 2.2%". */
void answer_parts(const struct report *report, const struct report_row *row, char ret[ANSWER_TEXT_BYTES]);

/*
 * Up to three rows with the most time of their own, largest first, each at least 2 % of what is shown:
 * "46.3% Journal::append: waiting for a lock 44.1%, running 2.2%". Rows of pseudo-frames and of waits for
 * children are no findings. columns: of the terminal; 0: lines are not cut.
 */
void answer_findings(const struct report *report, int columns, FILE *stream);

/* What a row waits for: "lock", "lock, file", or "": kinds with at least a tenth of its wall time. */
enum { ANSWER_WAITS_COLUMNS = 15 };
void answer_waits(const struct report_row *row, char ret[ANSWER_TEXT_BYTES]);

#endif
