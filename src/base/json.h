/*
 * A streaming JSON writer: its only state is whether a comma is due.
 *
 * The caller ends what it begins, and gives each member of an object a key and one value. Text may be any
 * bytes: what is not UTF-8 becomes '?' (utf8.h). The output is safe inside a <script> element and as
 * JavaScript too:
 * '<', '>', '&', U+2028 and U+2029 are escaped.
 *
 * Called from: the thread that uses the sink. Errors are the sink's. Standard: RFC 8259.
 */
#ifndef WALLPROF_JSON_H
#define WALLPROF_JSON_H

#include "sink.h"

#include <stdbool.h>
#include <stdint.h>

/* For the linker they have names of their own: the tool also has a JSON reader with such functions (jansson).
 */
#define json_string wallprof_json_string
#define json_null   wallprof_json_null

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

/* A member of an object: its key, and then its text, its number, or the beginning of its value. */
static inline void json_member_string(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text);
}

/* null for NULL */
static inline void json_member_text(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    if (text)
        json_string(json, text);
    else
        json_null(json);
}

static inline void json_member_uint(struct json *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_uint(json, value);
}

static inline void json_member_object(struct json *json, const char *key)
{
    json_key(json, key);
    json_begin_object(json);
}

static inline void json_member_array(struct json *json, const char *key)
{
    json_key(json, key);
    json_begin_array(json);
}

/* Writes exact milliseconds: 1.5 for 1500000 ns. */
void json_ms(struct json *json, int64_t value_ns);

/* The same in microseconds: 1.5 for 1500 ns. */
void json_us(struct json *json, int64_t value_ns);

/* Writes the digits as a string, for readers that would round a number to a double. */
void json_digits(struct json *json, uint64_t value);

/* A string in parts, as long as it may be. Its characters need no escape: letters, digits, '+' and '/'. */
void json_text_begin(struct json *json);
void json_text_put(struct json *json, const char *characters, size_t bytes);
void json_text_end(struct json *json);

/* Ends a line between two values, for people who read the file. */
void json_newline(struct json *json);

#endif
