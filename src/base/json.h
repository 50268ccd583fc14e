/*
 * JSON, written as it comes: nothing is kept but whether a comma is due, however large the document.
 *
 * The caller sees to it that what begins ends, and that each member of an object is a key and one value. Text
 * may be any bytes: what is not UTF-8 becomes '?' (utf8.h). What is written is safe also inside a <script>
 * element of a page and as JavaScript: '<', '>', '&', U+2028 and U+2029 are escaped.
 *
 * Called from: whichever thread has the sink. Errors are the sink's. Standard: RFC 8259.
 */
#ifndef WALLPROF_JSON_H
#define WALLPROF_JSON_H

#include "sink.h"

#include <stdbool.h>
#include <stdint.h>

struct json {
    struct sink *sink; /* not owned */
    bool is_comma_due; /* a value came last: the next needs a comma before it */
};

void json_init(struct json *json, struct sink *sink);

void json_begin_object(struct json *json);
void json_end_object(struct json *json);
void json_begin_array(struct json *json);
void json_end_array(struct json *json);
void json_key(struct json *json, const char *key);

void json_string(struct json *json, const char *text);
void json_uint(struct json *json, uint64_t value);
void json_int(struct json *json, int64_t value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

/* Milliseconds, exact: 1500000 ns are 1.5. */
void json_ms(struct json *json, int64_t value_ns);

/* For readers that take numbers as doubles: the digits as a string, which no reader rounds. */
void json_digits(struct json *json, uint64_t value);

/* Between two values, for people: nothing but a line's end. */
void json_newline(struct json *json);

#endif
