#include "json.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER_BYTES = 32, NS_PER_MS_DIGITS = 6, NS_PER_US_DIGITS = 3 };

void json_init(struct json *json, struct sink *sink)
{
    *json = (struct json){.sink = sink};
}

static void put_text(struct json *json, const char *text)
{
    sink_write(json->sink, text, strlen(text));
}

static void begin_value(struct json *json)
{
    if (json->is_comma_due)
        put_text(json, ",");
    json->is_comma_due = true;
}

static void begin_container(struct json *json, const char *bracket)
{
    begin_value(json);
    put_text(json, bracket);
    json->is_comma_due = false;
}

static void end_container(struct json *json, const char *bracket)
{
    put_text(json, bracket);
    json->is_comma_due = true;
}

void json_begin_object(struct json *json)
{
    begin_container(json, "{");
}

void json_end_object(struct json *json)
{
    end_container(json, "}");
}

void json_begin_array(struct json *json)
{
    begin_container(json, "[");
}

void json_end_array(struct json *json)
{
    end_container(json, "]");
}

/* Whether a character has a meaning in JSON, HTML or JavaScript, or separates lines. */
static bool needs_escape(const unsigned char *at, size_t bytes)
{
    if (bytes == 1)
        return *at < 0x20 || *at == 0x7f || strchr("\"\\<>&", *at);
    return bytes == 3 && at[0] == 0xe2 && at[1] == 0x80 && (at[2] == 0xa8 || at[2] == 0xa9);
}

static void put_escape(struct json *json, const unsigned char *at, size_t bytes)
{
    char escape[8];
    if (bytes == 1 && (*at == '"' || *at == '\\'))
        snprintf(escape, sizeof escape, "\\%c", *at);
    else
        snprintf(escape, sizeof escape, "\\u%04x", bytes == 1 ? *at : 0x2000 | (at[2] & 0x3f));
    put_text(json, escape);
}

/* Text without escapes is written in runs. */
static void put_quoted(struct json *json, const char *text)
{
    const char *run = text;
    put_text(json, "\"");
    while (*text) {
        size_t bytes = utf8_length(text);
        if (bytes > 0 && !needs_escape((const unsigned char *)text, bytes)) {
            text += bytes;
            continue;
        }
        sink_write(json->sink, run, (size_t)(text - run));
        if (bytes > 0)
            put_escape(json, (const unsigned char *)text, bytes);
        else
            put_text(json, "?");
        text += bytes > 0 ? bytes : 1;
        run = text;
    }
    sink_write(json->sink, run, (size_t)(text - run));
    put_text(json, "\"");
}

void json_key(struct json *json, const char *key)
{
    begin_value(json);
    put_quoted(json, key);
    put_text(json, ":");
    json->is_comma_due = false;
}

void json_string(struct json *json, const char *text)
{
    begin_value(json);
    put_quoted(json, text);
}

static void put_number(struct json *json, const char *text)
{
    begin_value(json);
    put_text(json, text);
}

/* Formatted by hand, with the comma, in one write: a page has millions of these numbers. */
void json_uint(struct json *json, uint64_t value)
{
    char text[NUMBER_BYTES], *end = text + sizeof text, *at = end;
    do
        *--at = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    if (json->is_comma_due)
        *--at = ',';
    json->is_comma_due = true;
    sink_write(json->sink, at, (size_t)(end - at));
}

void json_int(struct json *json, int64_t value)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof text, "%" PRId64, value);
    put_number(json, text);
}

void json_bool(struct json *json, bool value)
{
    put_number(json, value ? "true" : "false");
}

void json_null(struct json *json)
{
    put_number(json, "null");
}

/* value / 10^digits, without zeros at the end. */
static void put_fixed(struct json *json, int64_t value, int digits)
{
    char text[NUMBER_BYTES];
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value, unit = 1;
    for (int i = 0; i < digits; i++)
        unit *= 10;
    int length = snprintf(text, sizeof text, "%s%" PRIu64 ".%0*" PRIu64, value < 0 ? "-" : "",
                          magnitude / unit, digits, magnitude % unit);
    while (text[length - 1] == '0')
        text[--length] = '\0';
    if (text[length - 1] == '.')
        text[length - 1] = '\0';
    put_number(json, text);
}

void json_ms(struct json *json, int64_t value_ns)
{
    put_fixed(json, value_ns, NS_PER_MS_DIGITS);
}

void json_us(struct json *json, int64_t value_ns)
{
    put_fixed(json, value_ns, NS_PER_US_DIGITS);
}

void json_digits(struct json *json, uint64_t value)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof text, "\"%" PRIu64 "\"", value);
    put_number(json, text);
}

void json_text_begin(struct json *json)
{
    begin_value(json);
    put_text(json, "\"");
}

void json_text_put(struct json *json, const char *characters, size_t bytes)
{
    sink_write(json->sink, characters, bytes);
}

void json_text_end(struct json *json)
{
    put_text(json, "\"");
}

void json_newline(struct json *json)
{
    put_text(json, "\n");
}
