/*
 * Names of errors and signals, in English. The C library's own are in the program's language, by locks and
 * allocation (strerror), or are newer than the oldest C library that we run with (strerrordesc_np,
 * sigabbrev_np).
 *
 * Any thread. The text is static.
 */
#ifndef WALLPROF_NUMBER_NAMES_H
#define WALLPROF_NUMBER_NAMES_H

/* What errno means, as "Permission denied". */
const char *error_text(int error);

/* "TERM" for SIGTERM; NULL if it has no name, as real-time signals. */
const char *signal_name(int number);

#endif
