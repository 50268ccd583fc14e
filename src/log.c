#include "log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "wallprof: ";

enum { NOTICE_BYTES = 64 }; /* kept for the line that says how many found no room */

void log_init(struct wp_log *log, enum log_level level, bool has_stderr)
{
    log->level = level;
    log->has_stderr = has_stderr;
    log->used_bytes = log->dropped = 0;
}

void log_add(struct wp_log *log, enum log_level level, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    if (level > log->level)
        return;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    size_t line_bytes = length < 0 ? 0 : (size_t)length < sizeof(line) ? (size_t)length : sizeof(line) - 1;
    size_t total = sizeof(prefix) - 1 + line_bytes + 1;
    if (log->used_bytes + total > sizeof(log->text) - NOTICE_BYTES) {
        log->dropped++;
        return;
    }
    char *at = log->text + log->used_bytes;
    memcpy(at, prefix, sizeof(prefix) - 1);
    memcpy(at + sizeof(prefix) - 1, line, line_bytes);
    at[total - 1] = '\n';
    log->used_bytes += total;
}

static void write_all(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(fd, text, bytes);
        if (written <= 0)
            return; /* nobody to tell */
        text += written;
        bytes -= (size_t)written;
    }
}

void log_flush(struct wp_log *log, const char *path)
{
    if (log->dropped > 0) {
        char *at = log->text + log->used_bytes;
        log->used_bytes +=
            (size_t)snprintf(at, NOTICE_BYTES, "%s%zu more messages found no room\n", prefix, log->dropped);
        log->dropped = 0;
    }
    if (log->used_bytes == 0)
        return;
    int fd = *path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644) : -1;
    if (fd >= 0 || log->has_stderr)
        write_all(fd < 0 ? STDERR_FILENO : fd, log->text, log->used_bytes);
    if (fd >= 0)
        close(fd);
    log->used_bytes = 0;
}
