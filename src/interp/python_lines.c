/*
 * An entry is for one to eight units of code. It begins with a byte whose highest bit is set: 4 bits say in
 * which of 16 forms the entry is, and 3 bits for how many units. The other bytes have that bit clear.
 */
#include "python_lines.h"

#include <stdbool.h>

enum {
    UNIT_BYTES = 2,
    ENTRY_BEGINS = 0x80,
    FORM_SHIFT = 3,
    FORM_MASK = 15,
    UNITS_MASK = 7,
    FORM_SAME_OR_NEXT = 10, /* and the two after it: 0, 1 or 2 lines further */
    FORM_LINES_ONLY = 13,
    FORM_LONG = 14,
    FORM_NONE = 15,
    PART_BITS = 6,
    PART_MASK = 63,
    PART_GOES_ON = 64,
    NUMBER_BITS_MAX = 30
};

struct table {
    const uint8_t *at, *end;
};

/* A number in pieces of 6 bits, the lowest first. Its lowest bit is the sign. */
static int64_t read_signed(struct table *table)
{
    uint64_t number = 0;
    uint8_t byte = PART_GOES_ON;
    for (int shift = 0; table->at < table->end && byte & PART_GOES_ON && shift < NUMBER_BITS_MAX;
         shift += PART_BITS) {
        byte = *table->at++;
        number |= (uint64_t)(byte & PART_MASK) << shift;
    }
    return number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

static int64_t line_delta(struct table *table, uint8_t form)
{
    if (form == FORM_LINES_ONLY || form == FORM_LONG)
        return read_signed(table);
    return form >= FORM_SAME_OR_NEXT && form < FORM_LINES_ONLY ? form - FORM_SAME_OR_NEXT : 0;
}

uint32_t python_line_at(const uint8_t *bytes, size_t count, uint32_t first_line, int32_t at)
{
    struct table table = {bytes, bytes + count};
    int64_t line = first_line, unit = at / UNIT_BYTES;
    if (at < 0)
        return first_line;
    while (table.at < table.end) {
        const uint8_t first = *table.at++, form = first >> FORM_SHIFT & FORM_MASK;
        line += line_delta(&table, form);
        unit -= (first & UNITS_MASK) + 1;
        if (unit < 0)
            return form != FORM_NONE && line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
        while (table.at < table.end && !(*table.at & ENTRY_BEGINS))
            table.at++;
    }
    return 0;
}

static uint32_t line_or_none(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs: how many bytes of code, and how many lines further they are; -128: they have none. */
uint32_t python_line_at_3_10(const uint8_t *bytes, size_t count, uint32_t first_line, int32_t at)
{
    enum { NO_LINE = -128 };
    int64_t line = first_line, end = 0;
    if (at < 0)
        return first_line;
    for (size_t i = 0; i + 1 < count; i += 2) {
        const int8_t delta = (int8_t)bytes[i + 1];
        line += delta == NO_LINE ? 0 : delta;
        end += bytes[i];
        if (at < end)
            return delta == NO_LINE ? 0 : line_or_none(line);
    }
    return 0;
}

/* Pairs: after how many bytes of code the next line begins, and how many lines further that is. */
uint32_t python_line_at_before(const uint8_t *bytes, size_t count, uint32_t first_line, int32_t at)
{
    int64_t line = first_line, begin = 0;
    for (size_t i = 0; i + 1 < count && at >= 0; i += 2) {
        begin += bytes[i];
        if (begin > at)
            break;
        line += (int8_t)bytes[i + 1];
    }
    return line_or_none(line);
}
