/*
 * Reads a file line by line, in memory that does not grow with the file or its lines.
 *
 * Called from: the exporting thread. Scratch memory only; the descriptor stays the caller's.
 */
#ifndef WALLPROF_LINES_H
#define WALLPROF_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINE_MAX_BYTES = 8192 };

struct line {
    const char *text; /* not terminated, without the newline; valid until the next call */
    size_t bytes;     /* at most LINE_MAX_BYTES: the rest of a longer line is left out */
    uint64_t offset;  /* in the file */
};

struct lines {
    int fd;
    uint64_t read_offset, end_offset; /* where the next read begins, and where reading ends */
    uint64_t line_offset;             /* of the next line */
    uint64_t left_out_bytes;          /* of the next line, so far */
    char *buffer;                     /* owned */
    size_t begin, used;               /* the bytes in the buffer that have not been returned yet */
};

/* Reads from offset to end_offset, or to the end of the file. 0 or -ENOMEM. */
int lines_init(struct lines *lines, int fd, uint64_t offset, uint64_t end_offset);
void lines_deinit(struct lines *lines);

/* The next line. A last line without a newline is not returned, as it may be incomplete. */
bool lines_next(struct lines *lines, struct line *ret);

/* Reads at least one digit (base: at most 16) from *at on, and leaves *at at the first character that is
 * none. False also for a number of more than 64 bits. */
bool lines_read_number(const char **at, const char *end, unsigned base, uint64_t *ret);

#endif
