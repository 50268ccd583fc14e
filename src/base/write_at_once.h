/*
 * Writes messages to a file that belongs to the program, such as its stderr, without waiting for a reader.
 *
 * Nothing of the file changes for its other users. O_NONBLOCK would: it belongs to the open file, which the
 * program and other processes share. So a pipe or a terminal is opened once more, and a socket is asked for
 * each piece.
 *
 * Called from: any thread, with SIGTTOU, SIGPIPE and SIGXFSZ blocked.
 */
#ifndef WALLPROF_WRITE_AT_ONCE_H
#define WALLPROF_WRITE_AT_ONCE_H

#include <stddef.h>

/*
 * Writes lines up to the first one that would have to wait. Returns how many bytes were written. fd may be a
 * handle (O_PATH) of a pipe or a terminal. Nothing is written to a terminal that wants no output of
 * background jobs (stty tostop) from such a job.
 */
size_t write_at_once(int fd, const char *text, size_t bytes);

#endif
