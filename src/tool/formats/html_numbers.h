/*
 * The numbers of the nodes of a page's trees, as strings in its JSON.
 *
 * They are columns: one number of each node, and then the next number of each. A number is a varint, as
 * protocol buffers have it; one that may be below 0 is zigzag coded. Zeros are counted: a varint of 0 stands
 * before how many more of them follow. Most columns are mostly zeros.
 *
 * All numbers are one stream in zlib's format. Each string has the bytes of it that are complete by then, in
 * base64 without padding. So a reader puts the strings together, and inflates them once.
 *
 * Memory: what zlib takes, however many numbers there are. Standards: RFC 1950, RFC 4648.
 */
#ifndef WALLPROF_HTML_NUMBERS_H
#define WALLPROF_HTML_NUMBERS_H

#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

enum { HTML_NUMBERS_BUFFER_BYTES = 4096 };

struct html_numbers {
    struct json *json; /* not owned */
    z_stream stream;
    bool is_working; /* there was memory for the stream */
    uint64_t zeros;  /* that came last in this column */
    uint32_t bits;   /* bytes that are not yet written in base64, the newest in the lowest bits */
    unsigned bytes;  /* how many: at most 2 */
    size_t used;     /* of plain */
    unsigned char plain[HTML_NUMBERS_BUFFER_BYTES], packed[HTML_NUMBERS_BUFFER_BYTES];
};

/* 0 or -ENOMEM. After an error all strings are empty. deinit in both cases. */
int html_numbers_init(struct html_numbers *numbers, struct json *json);
void html_numbers_deinit(struct html_numbers *numbers);

/* A member of the object that is being written. Nothing else may be written to it before its end. is_last:
 * the stream ends with it. */
void html_numbers_begin(struct html_numbers *numbers, const char *key);
void html_numbers_end(struct html_numbers *numbers, bool is_last);

void html_numbers_uint(struct html_numbers *numbers, uint64_t value);
void html_numbers_int(struct html_numbers *numbers, int64_t value);
void html_numbers_end_column(struct html_numbers *numbers);

#endif
