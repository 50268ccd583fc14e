/*
 * Three passes over the top level. The first counts the entries of each table, the second reads the strings
 * (they come last in our files), and the third reads all the rest. Ids are resolved at the end, because
 * tables may stand in any order.
 */
#include "pprof_reader.h"
#include "encode/pprof_fields.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAPPINGS_MAX = 1 << 16 }; /* the kernel's default limit is lower */

/* ---- tables ---- */

/* A number that is larger than `most` is an error, and 0 from there on. */
static uint64_t at_most(struct pprof_reader *reader, uint64_t most, uint64_t number, const char *what)
{
    if (number > most)
        pprof_fail(reader, what);
    return number > most ? 0 : number;
}

static uint32_t line_number(struct pprof_reader *reader, uint64_t number)
{
    return (uint32_t)at_most(reader, INT32_MAX, number, "a line number is too large");
}

static void read_value_type(struct pprof_reader *reader, struct protobuf_reader message,
                            struct pprof_value_type *ret)
{
    uint64_t fields[PPROF_FIELDS_MAX];
    pprof_read_numbers(reader, message, fields, "a sample type");
    *ret = (struct pprof_value_type){pprof_string_at(reader, fields[VALUE_TYPE_TYPE]),
                                     pprof_string_at(reader, fields[VALUE_TYPE_UNIT])};
}

static void read_mapping(struct pprof_reader *reader, struct protobuf_reader message)
{
    struct pprof_file *file = reader->file;
    uint64_t fields[PPROF_FIELDS_MAX];
    pprof_read_numbers(reader, message, fields, "a mapping");
    file->mapping_ids.sorted[file->mapping_count] =
        (struct pprof_id){fields[MAPPING_ID], file->mapping_count};
    file->mappings[file->mapping_count++] = (struct pprof_mapping){
        .id = fields[MAPPING_ID],
        .start = fields[MAPPING_MEMORY_START],
        .limit = fields[MAPPING_MEMORY_LIMIT],
        .file_offset = fields[MAPPING_FILE_OFFSET],
        .path = pprof_string_at(reader, fields[MAPPING_FILENAME]),
        .build_id = pprof_string_at(reader, fields[MAPPING_BUILD_ID]),
        .has_functions = fields[MAPPING_HAS_FUNCTIONS],
        .has_files = fields[MAPPING_HAS_FILENAMES],
        .has_lines = fields[MAPPING_HAS_LINE_NUMBERS],
        .has_inlines = fields[MAPPING_HAS_INLINE_FRAMES],
    };
    if (fields[MAPPING_MEMORY_LIMIT] < fields[MAPPING_MEMORY_START])
        pprof_fail(reader, "a mapping ends before it begins");
}

static void read_function(struct pprof_reader *reader, struct protobuf_reader message)
{
    struct pprof_file *file = reader->file;
    uint64_t fields[PPROF_FIELDS_MAX];
    pprof_read_numbers(reader, message, fields, "a function");
    file->function_ids.sorted[file->function_count] =
        (struct pprof_id){fields[FUNCTION_ID], file->function_count};
    file->functions[file->function_count++] = (struct pprof_function){
        .id = fields[FUNCTION_ID],
        .name = pprof_string_at(reader, fields[FUNCTION_NAME]),
        .system_name = pprof_string_at(reader, fields[FUNCTION_SYSTEM_NAME]),
        .file = pprof_string_at(reader, fields[FUNCTION_FILENAME]),
        .start_line = line_number(reader, fields[FUNCTION_START_LINE]),
    };
}

/* Functions are known by now: a location refers to them by their ids. */
static void read_lines(struct pprof_reader *reader, struct protobuf_reader message)
{
    struct pprof_file *file = reader->file;
    struct protobuf_field field;
    uint64_t fields[PPROF_FIELDS_MAX];
    while (reader->status == 0 && protobuf_next(&message, &field)) {
        if (field.number != LOCATION_LINE || field.type != PROTOBUF_BYTES)
            continue;
        pprof_read_numbers(reader, field.bytes, fields, "a line");
        uint32_t function = pprof_find_id(&file->function_ids, fields[LINE_FUNCTION_ID]);
        if (!function)
            pprof_fail(reader, "a location names a function that does not exist");
        else
            file->lines[file->line_count++] =
                (struct pprof_line){function - 1, line_number(reader, fields[LINE_LINE])};
    }
}

static void read_location(struct pprof_reader *reader, struct protobuf_reader message)
{
    struct pprof_file *file = reader->file;
    struct pprof_location *location = &file->locations[file->location_count];
    uint64_t fields[PPROF_FIELDS_MAX];
    pprof_read_numbers(reader, message, fields, "a location");
    *location = (struct pprof_location){
        .id = fields[LOCATION_ID], .address = fields[LOCATION_ADDRESS], .first_line = file->line_count};
    read_lines(reader, message);
    location->line_count = file->line_count - location->first_line;
    location->mapping = pprof_find_id(&file->mapping_ids, fields[LOCATION_MAPPING_ID]);
    if (fields[LOCATION_MAPPING_ID] && !location->mapping)
        pprof_fail(reader, "a location names a mapping that does not exist");
    file->location_ids.sorted[file->location_count] =
        (struct pprof_id){fields[LOCATION_ID], file->location_count};
    file->location_count++;
}

static void read_comments(struct pprof_reader *reader, const struct protobuf_field *field)
{
    struct protobuf_numbers numbers = protobuf_numbers(field);
    uint64_t index;
    while (protobuf_next_number(&numbers, &index))
        reader->file->comments[reader->file->comment_count++] = pprof_string_at(reader, index);
    if (numbers.packed.failed)
        pprof_fail(reader, "a comment");
}

/* ---- passes ---- */

static bool is_message(uint32_t number)
{
    return (number >= PROFILE_SAMPLE_TYPE && number <= PROFILE_STRING_TABLE) || number == PROFILE_PERIOD_TYPE;
}

/* Of comments an upper bound is counted: a packed number takes a byte at least. */
static void count_field(struct pprof_reader *reader, const struct protobuf_field *field)
{
    if (field->number > PPROF_PROFILE_FIELDS)
        return;
    if (is_message(field->number) && field->type != PROTOBUF_BYTES)
        pprof_fail(reader, "a field has a type that it cannot have");
    else if (field->number == PROFILE_COMMENT)
        reader->counts[PROFILE_COMMENT] += 1 + protobuf_left(&field->bytes);
    else
        reader->counts[field->number]++;
}

/* How many lines a location has; what is not well formed is found when it is read. */
static size_t count_lines(struct protobuf_reader message)
{
    struct protobuf_field field;
    size_t count = 0;
    while (protobuf_next(&message, &field))
        count += field.number == LOCATION_LINE && field.type == PROTOBUF_BYTES;
    return count;
}

static size_t count_all(struct pprof_reader *reader, struct protobuf_reader profile)
{
    struct protobuf_field field;
    size_t lines = 0;
    while (reader->status == 0 && protobuf_next(&profile, &field)) {
        count_field(reader, &field);
        if (field.number == PROFILE_LOCATION)
            lines += count_lines(field.bytes);
    }
    if (profile.failed)
        pprof_fail(reader, "it is no sequence of fields");
    for (int i = 0; i <= PPROF_PROFILE_FIELDS; i++) {
        if (reader->counts[i] >= UINT32_MAX / 2)
            pprof_fail(reader, "there is too much of something");
    }
    if (lines >= UINT32_MAX)
        pprof_fail(reader, "there are too many lines");
    if (reader->counts[PROFILE_MAPPING] > MAPPINGS_MAX)
        pprof_fail(reader, "there are too many mappings");
    return lines;
}

static void *alloc_table(struct pprof_reader *reader, size_t count, size_t bytes)
{
    void *memory = calloc(count + 1, bytes);
    if (!memory && reader->status == 0)
        reader->status = recording_no_memory(reader->recording);
    return memory;
}

static void make_tables(struct pprof_reader *reader, size_t lines)
{
    struct pprof_file *file = reader->file;
    const size_t *counts = reader->counts;
    file->strings = alloc_table(reader, counts[PROFILE_STRING_TABLE], sizeof *file->strings);
    file->mappings = alloc_table(reader, counts[PROFILE_MAPPING], sizeof *file->mappings);
    file->locations = alloc_table(reader, counts[PROFILE_LOCATION], sizeof *file->locations);
    file->functions = alloc_table(reader, counts[PROFILE_FUNCTION], sizeof *file->functions);
    file->samples = alloc_table(reader, counts[PROFILE_SAMPLE], sizeof *file->samples);
    file->comments = alloc_table(reader, counts[PROFILE_COMMENT], sizeof *file->comments);
    file->lines = alloc_table(reader, lines, sizeof *file->lines);
    file->mapping_ids.sorted = alloc_table(reader, counts[PROFILE_MAPPING], sizeof(struct pprof_id));
    file->location_ids.sorted = alloc_table(reader, counts[PROFILE_LOCATION], sizeof(struct pprof_id));
    file->function_ids.sorted = alloc_table(reader, counts[PROFILE_FUNCTION], sizeof(struct pprof_id));
}

/* Text after a zero byte in a string is lost, as in any string here. */
static void read_strings(struct pprof_reader *reader, struct protobuf_reader profile)
{
    struct pprof_file *file = reader->file;
    struct protobuf_field field;
    char *at = file->text =
        alloc_table(reader, protobuf_left(&profile) + reader->counts[PROFILE_STRING_TABLE], 1);
    while (reader->status == 0 && protobuf_next(&profile, &field)) {
        if (field.number != PROFILE_STRING_TABLE)
            continue;
        size_t bytes = protobuf_left(&field.bytes);
        memcpy(at, field.bytes.at, bytes); /* calloc has ended it */
        utf8_repair(at);
        file->strings[file->string_count++] = at;
        at += bytes + 1;
    }
    if (file->string_count == 0 || *file->strings[0])
        pprof_fail(reader, "its first string is not the empty one");
}

static void read_first(struct pprof_reader *reader, const struct protobuf_field *field)
{
    struct pprof_file *file = reader->file;
    if (field->number == PROFILE_SAMPLE_TYPE) {
        if (file->type_count == PPROF_TYPES_MAX)
            pprof_fail(reader, "it has too many sample types");
        else
            read_value_type(reader, field->bytes, &file->types[file->type_count++]);
    } else if (field->number == PROFILE_PERIOD_TYPE) {
        read_value_type(reader, field->bytes, &file->period_type);
    } else if (field->number == PROFILE_MAPPING) {
        read_mapping(reader, field->bytes);
    } else if (field->number == PROFILE_FUNCTION) {
        read_function(reader, field->bytes);
    } else if (field->number == PROFILE_SAMPLE) {
        file->samples[file->sample_count++] = field->bytes;
    } else if (field->number == PROFILE_COMMENT) {
        read_comments(reader, field);
    } else if (field->number == PROFILE_TIME_NANOS) {
        file->time_ns = at_most(reader, INT64_MAX, field->value, "its time is negative");
    } else if (field->number == PROFILE_DURATION_NANOS) {
        file->duration_ns = at_most(reader, INT64_MAX, field->value, "its duration is negative");
    } else if (field->number == PROFILE_DEFAULT_SAMPLE_TYPE) {
        file->default_type = pprof_string_at(reader, field->value);
    } else if (field->number == PROFILE_PERIOD) {
        file->period = at_most(reader, INT64_MAX, field->value, "its period is negative");
    }
}

static void read_all(struct pprof_reader *reader, struct protobuf_reader profile)
{
    struct pprof_file *file = reader->file;
    struct protobuf_reader first = profile;
    struct protobuf_field field;
    while (reader->status == 0 && protobuf_next(&first, &field))
        read_first(reader, &field);
    pprof_sort_ids(reader, &file->mapping_ids, file->mapping_count);
    pprof_sort_ids(reader, &file->function_ids, file->function_count);
    while (reader->status == 0 && protobuf_next(&profile, &field)) {
        if (field.number == PROFILE_LOCATION)
            read_location(reader, field.bytes);
    }
    pprof_sort_ids(reader, &file->location_ids, file->location_count);
}

/* Upper bounds of the number of ids and labels: every id takes a byte at least. */
static void count_in_samples(struct pprof_file *file)
{
    for (uint32_t i = 0; i < file->sample_count; i++) {
        struct protobuf_reader message = file->samples[i];
        struct protobuf_field field;
        while (protobuf_next(&message, &field)) {
            if (field.number == SAMPLE_LOCATION_ID)
                file->stack_ids += 1 + protobuf_left(&field.bytes);
            file->label_count += field.number == SAMPLE_LABEL;
        }
    }
}

int pprof_file_read(struct pprof_file *file, const unsigned char *bytes, size_t count,
                    struct recording *recording)
{
    struct protobuf_reader profile = protobuf_reader_of(bytes, count);
    struct pprof_reader reader = {.file = file, .recording = recording};
    *file = (struct pprof_file){.period_type = {"", ""}, .default_type = ""};
    if (count == 0)
        return recording_refuse(recording, -EBADMSG, "it is empty");
    size_t lines = count_all(&reader, profile);
    if (reader.status == 0)
        make_tables(&reader, lines);
    if (reader.status == 0)
        read_strings(&reader, profile);
    if (reader.status == 0)
        read_all(&reader, profile);
    if (reader.status == 0)
        count_in_samples(file);
    else
        pprof_file_free(file);
    return reader.status;
}

void pprof_file_free(struct pprof_file *file)
{
    free(file->text);
    free(file->strings);
    free(file->mappings);
    free(file->locations);
    free(file->functions);
    free(file->samples);
    free(file->comments);
    free(file->lines);
    free(file->mapping_ids.sorted);
    free(file->location_ids.sorted);
    free(file->function_ids.sorted);
    *file = (struct pprof_file){0};
}
