/*
 * What wallprof has to say, which is nothing unless something is wrong or was asked for.
 *
 * Messages are kept until a thread of the program flushes them, because the sampler has no descriptors of the
 * program's: at the end of start-up and when the profile has been written. Each is one line, "wallprof: ...".
 *
 * Called from: the starting thread, then the sampler, then the finishing thread, one after the other.
 */
#ifndef WALLPROF_LOG_H
#define WALLPROF_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level { LOG_OFF, LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

enum { LOG_CAPACITY_BYTES = 8192 };

struct wp_log {
    enum log_level level; /* what is kept: this and more urgent */
    bool has_stderr; /* false: descriptor 2 was closed at the start, what it is later is not ours to write to
                      */
    size_t used_bytes, dropped;
    char text[LOG_CAPACITY_BYTES];
};

void log_init(struct wp_log *log, enum log_level level, bool has_stderr);

/* Adds a line (printf's format, no newline). Dropped and counted when there is no room. */
void log_add(struct wp_log *log, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes what is kept to the file at path, appending, or to stderr when path is "" or cannot be opened. */
void log_flush(struct wp_log *log, const char *path);

#endif
