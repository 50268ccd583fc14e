/*
 * The bytes of a table are a header, then rows, frames and strings as they are in memory. The checksum covers
 * all that follows it, so a torn file is recognised. The checks after it bound what a hostile file can say.
 */
#include "frame_table.h"
#include "base/arena.h"
#include "base/hash.h"
#include "tool/io/array.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

static const size_t strings_max_bytes = (size_t)1 << 30;

/* Increase it whenever what is stored, or how it is found, changes. */
static const char magic[8] = "wpname3";

_Static_assert(alignof(struct frame_entry) <= alignof(struct frame_row), "the arrays follow each other");

struct header {
    char magic[8];
    uint64_t checksum; /* of everything after this field */
    uint64_t row_count, frame_count, string_bytes;
    uint8_t key[FRAME_TABLE_KEY_MAX_BYTES];
    uint64_t key_bytes;
};

_Static_assert(sizeof(struct header) % alignof(struct frame_row) == 0, "rows follow");

enum { CHECKED_FROM = offsetof(struct header, row_count) };

void frame_table_free(struct frame_table *table)
{
    if (!table->whole) {
        free(table->rows);
        free(table->frames);
        string_table_deinit(&table->strings);
    }
    free(table->whole);
    *table = (struct frame_table){0};
}

/* ---- filling ---- */

/* Without memory a table becomes empty, and stays so. */
static bool break_table(struct frame_table *table)
{
    frame_table_free(table);
    table->is_broken = true;
    return false;
}

/* Makes room for one more record. False if the table is broken, or is now. */
static bool reserve_record(struct frame_table *table, void *records, size_t count, uint32_t *capacity,
                           size_t record_bytes)
{
    if (table->is_broken)
        return false;
    return array_grow(records, capacity, count, record_bytes) || break_table(table);
}

uint32_t frame_table_string(struct frame_table *table, const char *string)
{
    struct string_table *strings = &table->strings;
    if (!string || !*string || table->is_broken)
        return 0;
    if (!strings->text)
        string_table_init(strings);
    uint32_t number = string_table_intern(strings, string);
    if (strings->failed || strings->text_used > strings_max_bytes) {
        break_table(table);
        return 0;
    }
    return (uint32_t)strings->offsets[number];
}

void frame_table_add_row(struct frame_table *table, const struct frame_row *row)
{
    if (!reserve_record(table, &table->rows, table->row_count, &table->row_capacity, sizeof *row))
        return;
    table->rows[table->row_count] = *row;
    table->rows[table->row_count].bytes = row->bytes ? row->bytes : 1;
    table->rows[table->row_count].first_frame = (uint32_t)table->frame_count;
    table->rows[table->row_count++].frame_count = 0;
}

void frame_table_add_frame(struct frame_table *table, const struct frame_entry *frame)
{
    if (!reserve_record(table, &table->frames, table->frame_count, &table->frame_capacity, sizeof *frame) ||
        table->rows[table->row_count - 1].frame_count == FRAMES_PER_ADDRESS_MAX)
        return;
    table->frames[table->frame_count++] = *frame;
    table->rows[table->row_count - 1].frame_count++;
}

static bool say_the_same(const struct frame_table *table, const struct frame_row *a,
                         const struct frame_row *b)
{
    return a->symbol_address == b->symbol_address && a->symbol_bytes == b->symbol_bytes &&
           a->source == b->source && a->is_final == b->is_final && a->frame_count == b->frame_count &&
           (a->frame_count == 0 || memcmp(&table->frames[a->first_frame], &table->frames[b->first_frame],
                                          a->frame_count * sizeof *table->frames) == 0);
}

void frame_table_join_last(struct frame_table *table)
{
    if (table->row_count < 2)
        return;
    struct frame_row *last = &table->rows[table->row_count - 1], *before = last - 1;
    if (last->address - before->address != before->bytes || !say_the_same(table, before, last))
        return;
    before->bytes += last->bytes;
    table->frame_count = last->first_frame;
    table->row_count--;
}

/* ---- reading ---- */

const struct frame_row *frame_table_find(const struct frame_table *table, uint64_t address)
{
    size_t low = 0, high = table->row_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (table->rows[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct frame_row *row = low > 0 ? &table->rows[low - 1] : NULL;
    return row && address - row->address < row->bytes ? row : NULL;
}

const char *frame_table_text(const struct frame_table *table, uint32_t string)
{
    return string ? table->strings.text + string : "";
}

/* ---- two tables ---- */

void frame_table_copy_row(struct frame_table *to, const struct frame_table *from, const struct frame_row *row)
{
    frame_table_add_row(to, row);
    for (uint32_t i = 0; i < row->frame_count; i++) {
        struct frame_entry frame = from->frames[row->first_frame + i];
        frame.system_name = frame_table_string(to, frame_table_text(from, frame.system_name));
        frame.file = frame_table_string(to, frame_table_text(from, frame.file));
        frame_table_add_frame(to, &frame);
    }
}

struct frame_table frame_table_merge(const struct frame_table *older, const struct frame_table *newer,
                                     bool only_final)
{
    struct frame_table merged = {0};
    size_t i = 0, j = 0;
    while (i < older->row_count || j < newer->row_count) {
        const struct frame_row *a = i < older->row_count ? &older->rows[i] : NULL;
        const struct frame_row *b = j < newer->row_count ? &newer->rows[j] : NULL;
        bool takes_newer = b && (!a || b->address <= a->address);
        struct frame_row row = takes_newer ? *b : *a;
        if (!takes_newer && b && b->address - row.address < row.bytes)
            row.bytes = b->address - row.address;
        j += takes_newer;
        i += !takes_newer;
        while (takes_newer && i < older->row_count && older->rows[i].address - row.address < row.bytes)
            i++;
        if (row.is_final || !only_final)
            frame_table_copy_row(&merged, takes_newer ? newer : older, &row);
    }
    return merged;
}

/* ---- as bytes ---- */

/* Each process of a compiler reads 400 KB of its symbols here, and a CRC took as long as all the rest of
 * that. */
static uint64_t checksum(const unsigned char *bytes, size_t count)
{
    return hash_words(hash_of_nothing, bytes + CHECKED_FROM, count - CHECKED_FROM);
}

unsigned char *frame_table_encode(const struct frame_table *table, const uint8_t *key, size_t key_bytes,
                                  size_t *ret_bytes)
{
    struct header header = {.row_count = table->row_count,
                            .frame_count = table->frame_count,
                            .string_bytes = table->strings.text_used,
                            .key_bytes = key_bytes};
    size_t rows_bytes = table->row_count * sizeof *table->rows;
    size_t frames_bytes = table->frame_count * sizeof *table->frames;
    size_t count = sizeof header + rows_bytes + frames_bytes + header.string_bytes;
    unsigned char *bytes = key_bytes <= sizeof header.key ? malloc(count) : NULL, *at = bytes;
    if (!bytes)
        return NULL;
    memcpy(header.magic, magic, sizeof magic);
    if (key_bytes > 0)
        memcpy(header.key, key, key_bytes);
    at = mempcpy(at, &header, sizeof header);
    if (table->row_count > 0)
        at = mempcpy(at, table->rows, rows_bytes);
    if (table->frame_count > 0)
        at = mempcpy(at, table->frames, frames_bytes);
    if (header.string_bytes > 0)
        memcpy(at, table->strings.text, header.string_bytes);
    header.checksum = checksum(bytes, count);
    memcpy(bytes, &header, sizeof header);
    *ret_bytes = count;
    return bytes;
}

static bool is_header_good(const struct header *header, size_t count, const uint8_t *key, size_t key_bytes)
{
    const uint64_t most = UINT32_MAX;
    return memcmp(header->magic, magic, sizeof magic) == 0 && header->key_bytes == key_bytes &&
           key_bytes <= sizeof header->key && (key_bytes == 0 || memcmp(header->key, key, key_bytes) == 0) &&
           header->row_count <= most && header->frame_count <= most &&
           header->string_bytes <= strings_max_bytes &&
           count == sizeof *header + header->row_count * sizeof(struct frame_row) +
                        header->frame_count * sizeof(struct frame_entry) + header->string_bytes;
}

static bool is_row_good(const struct frame_table *table, size_t index)
{
    const struct frame_row *row = &table->rows[index];
    const bool is_after =
        index == 0 || (row[-1].address < row->address && row->address - row[-1].address >= row[-1].bytes);
    return is_after && row->bytes > 0 && row->frame_count <= FRAMES_PER_ADDRESS_MAX &&
           row->first_frame <= table->frame_count &&
           row->frame_count <= table->frame_count - row->first_frame && row->source <= NAME_FROM_DWARF;
}

static bool is_consistent(const struct frame_table *table)
{
    const char *text = table->strings.text;
    size_t last = text ? table->strings.text_used - 1 : 0;
    if (text && (text[0] != '\0' || text[last] != '\0'))
        return false;
    for (size_t i = 0; i < table->row_count; i++) {
        if (!is_row_good(table, i))
            return false;
    }
    for (size_t i = 0; i < table->frame_count; i++) {
        if (table->frames[i].system_name > last || table->frames[i].file > last)
            return false;
    }
    return true;
}

/* Nothing is copied: a process of a compiler reads more than 1 MB of tables, and needs some hundred rows. */
static void lay_over(struct frame_table *table, const struct header *header, unsigned char *bytes)
{
    char *at = (char *)bytes + sizeof *header;
    table->whole = bytes;
    table->row_count = header->row_count;
    table->frame_count = header->frame_count;
    table->rows = (struct frame_row *)at;
    at += header->row_count * sizeof *table->rows;
    table->frames = (struct frame_entry *)at;
    at += header->frame_count * sizeof *table->frames;
    table->strings.text = header->string_bytes ? at : NULL;
    table->strings.text_used = header->string_bytes;
}

int frame_table_decode(struct frame_table *table, unsigned char *bytes, size_t count, const uint8_t *key,
                       size_t key_bytes)
{
    struct header header = {.row_count = 0};
    *table = (struct frame_table){0};
    if (count >= sizeof header)
        memcpy(&header, bytes, sizeof header);
    if (is_header_good(&header, count, key, key_bytes) && header.checksum == checksum(bytes, count)) {
        lay_over(table, &header, bytes);
        if (is_consistent(table))
            return 0;
    }
    *table = (struct frame_table){0};
    free(bytes);
    return -EBADMSG;
}
