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

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum log_level { LOG_OFF, LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

enum { LOG_CAPACITY_BYTES = 8192 };

struct wp_log {
    enum log_level level; /* what is kept: this and more urgent */
    bool has_stderr; /* false: descriptor 2 was closed at the start, what it is later is not ours to write to
                      */
    dev_t stderr_device; /* which file descriptor 2 was at the start: the program may close it and get another
                          */
    ino_t stderr_inode;
    char path[PATH_MAX]; /* the file to append to, absolute; "" for stderr */
    size_t used_bytes, dropped;
    char text[LOG_CAPACITY_BYTES];
};

/* Notes what stderr is now. */
void log_init(struct wp_log *log, enum log_level level);

/* From now on into a file; a relative name is taken from the present directory. */
void log_set_path(struct wp_log *log, const char *path);

/* Adds a line (printf's format, no newline). Dropped and counted when there is no room. */
void log_add(struct wp_log *log, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes what is kept to its file, or to stderr if that is still the one of the start; else keeps it. No
 * signal comes of it (SIGPIPE, SIGXFSZ), whatever stderr is. */
void log_flush(struct wp_log *log);

/*
 * For a thread with a descriptor table of its own: a handle of the program's stderr that does not hold it
 * open (a pipe's reader still sees its end), or -1. log_flush_through writes by it even when the program has
 * closed its stderr, as many do right before they exit.
 */
int log_open_stderr_handle(void);
void log_flush_through(struct wp_log *log, int stderr_handle);

#endif
