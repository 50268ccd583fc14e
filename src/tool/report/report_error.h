/*
 * Error bars: how far chance can have moved the time of a row.
 *
 * changes.h says what the two sums of a node are. `near` is the variance if calls are short against the time
 * between samples. 2 - far / near is the part of them that is short: 1 if the sample after the next is as
 * likely in another place as the next one, 0 if changes add up. Of long calls only the ends are uncertain. A
 * change in a stretch of many ticks has w^2 / 6, which is a third of what it counts here, and one in a
 * stretch of a single tick a fifth, since ticks come at nearly even distances. So
 *
 *     variance = near * (end + (1 - end) * short^1.5), end from 1/5 to 1/3
 *
 * The exponent is 1 for a mixture of very short and very long calls, and 2 for calls of random length. 1.5
 * serves programs of both kinds: tests/coverage has them, and
 * docs/accuracy.md says how often the interval of 1.96 standard deviations held the truth. With calls
 * about as long as the time between samples it is too wide, as no sample tells one such call from several
 * short ones.
 *
 * Where changes are not known, a row has the variance of as many independent samples. That is too much for
 * long calls. So it is in files of other programs, in lines, and in functions that are inlined or have
 * inlined ones: samples tell only functions apart that have code of their own.
 *
 * Pure.
 */
#ifndef WALLPROF_REPORT_ERROR_H
#define WALLPROF_REPORT_ERROR_H

#include "profile/tree.h"

#include <stdbool.h>
#include <stdint.h>

enum { REPORT_ERROR_SAMPLES_MIN = 5 };

/* There are fewer samples than that. */
#define REPORT_ERROR_UNKNOWN UINT64_MAX

/* 95 of 100 recordings are off by at most so much; 0: exact. */
struct report_error {
    uint64_t wall_ns, cpu_ns;
};

/* The part of the variance that is off-CPU time's. */
uint64_t report_error_offcpu_ns(const struct report_error *error);

/* near and far: a row's own changes, or its cumulative ones. */
struct report_error report_error_of(const struct values *values, double near, double far, uint64_t period_ns);

/* Of as many independent samples. whole: of all rows. */
struct report_error report_error_of_samples(const struct values *values, const struct values *whole);

#endif
