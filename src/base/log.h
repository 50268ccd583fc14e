/*
 * wallprof's messages: none, unless something is wrong or the user wants more. Each is one line,
 * "wallprof: ...".
 *
 * The sampler does not share the program's descriptors. So messages are kept until a thread of the program
 * flushes them: at the end of start-up, and when the profile has been written.
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

struct log {
    char text[LOG_CAPACITY_BYTES];
    char path[PATH_MAX];  /* the file to append to, absolute; "" for stderr */
    enum log_level level; /* messages of this level and more urgent ones are kept */
    bool has_stderr;      /* false: descriptor 2 was closed at the start, so a later one is not for us */
    dev_t stderr_device;  /* the file of descriptor 2 at the start: the program may replace it */
    ino_t stderr_inode;
    bool is_confined; /* atomic, relaxed: a filter of the program lets its threads only write */
    size_t used_bytes, dropped;
    size_t unread_bytes; /* of used_bytes: what nobody could be told when it was tried */
};

/* Notes what stderr is now. */
void log_init(struct log *log, enum log_level level);

/* From now on messages go into this file. A relative name is resolved now. */
void log_set_path(struct log *log, const char *path);

/* Adds a line (printf's format, no newline). If the buffer is full, the line is dropped and counted. */
void log_add(struct log *log, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Writes what is kept to the file, or to stderr if that is still the file of the start. It does not wait:
 * what cannot be written at once stays kept, for the next time and for the profile's notes. Raises no signal
 * (SIGPIPE, SIGXFSZ, SIGTTOU), whatever stderr is.
 */
void log_flush(struct log *log);

/*
 * For a thread with a descriptor table of its own: a handle of the program's stderr, or -1. The handle does
 * not keep stderr open: a pipe's reader still sees its end. With it log_flush_through can write even after
 * the program has closed its stderr, as many do right before they exit.
 */
int log_open_stderr_handle(void);
void log_flush_through(struct log *log, int stderr_handle);

#endif
