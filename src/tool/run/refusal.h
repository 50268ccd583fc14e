/* Why `wallprof run` does not start a program, or `wallprof attach --follow` does not record a family. */
#ifndef WALLPROF_REFUSAL_H
#define WALLPROF_REFUSAL_H

/* A shell's statuses for a command that it cannot execute or find, and, with the signal's number added, that
 * a signal has ended; and env(1)'s for a failure of its own. */
enum { RUN_FAILED = 125, RUN_NOT_EXECUTABLE = 126, RUN_NOT_FOUND = 127, RUN_SIGNAL_STATUS = 128 };

enum { REFUSAL_BYTES = 8192 };

struct refusal {
    int status;               /* the exit status; 0: nothing is refused */
    char text[REFUSAL_BYTES]; /* one line: what cannot work, and what to do instead */
};

/* Fills in a refusal, as printf does. Returns the status. */
int refuse(struct refusal *refusal, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
