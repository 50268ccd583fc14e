/*
 * Three passes over the top level: how many of each there are; the strings, which come last in our files;
 * then all the rest. Ids are resolved at the end, because tables may stand in any order.
 */
#include "pprof_file.h"
#include "account/labels.h"
#include "encode/pprof_fields.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROFILE_FIELDS = 15,
    FIELDS_MAX = 16,
    MAPPINGS_MAX = 1 << 16, /* the kernel's own default limit is below */
};

struct reader {
    struct pprof_file *file;
    struct recording *recording; /* for the reason */
    size_t counts[PROFILE_FIELDS + 1];
    int status;
};

static int damaged(struct recording *recording, const char *what)
{
    return recording_refuse(recording, -EBADMSG, "it is damaged, or no profile: %s", what);
}

static void fail(struct reader *reader, const char *what)
{
    if (reader->status == 0)
        reader->status = damaged(reader->recording, what);
}

/* ---- pieces ---- */

/* A message of numbers only: by field number, the last of each; others are passed over. */
static void read_numbers(struct reader *reader, struct wire message, uint64_t fields[FIELDS_MAX],
                         const char *what)
{
    struct wire_field field;
    memset(fields, 0, sizeof *fields * FIELDS_MAX);
    while (wire_next(&message, &field)) {
        if (field.number < FIELDS_MAX && field.type == WIRE_VARINT)
            fields[field.number] = field.value;
    }
    if (message.failed)
        fail(reader, what);
}

static const char *string_at(struct reader *reader, uint64_t index)
{
    if (index < reader->file->string_count)
        return reader->file->strings[index];
    fail(reader, "a string that it names does not exist");
    return "";
}

static uint64_t not_negative(struct reader *reader, uint64_t number, const char *what)
{
    if (number > INT64_MAX)
        fail(reader, what);
    return number > INT64_MAX ? 0 : number;
}

static uint32_t line_number(struct reader *reader, uint64_t number)
{
    if (number > INT32_MAX)
        fail(reader, "a line number is too large");
    return number > INT32_MAX ? 0 : (uint32_t)number;
}

/* ---- ids ---- */

static int compare_ids(const void *left, const void *right)
{
    const struct pprof_id *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static void sort_ids(struct reader *reader, struct pprof_ids *ids, uint32_t count)
{
    ids->count = count;
    for (uint32_t i = 1; i < count; i++) {
        if (ids->sorted[i - 1].id >= ids->sorted[i].id) {
            qsort(ids->sorted, count, sizeof *ids->sorted, compare_ids);
            break;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (ids->sorted[i].id == 0 || (i > 0 && ids->sorted[i].id == ids->sorted[i - 1].id))
            fail(reader, "two of its entries have one id, or one has none");
    }
}

/* 1 + the index, 0 when there is none. */
static uint32_t find_id(const struct pprof_ids *ids, uint64_t id)
{
    if (id - 1 < ids->count && ids->sorted[id - 1].id == id)
        return ids->sorted[id - 1].index + 1;
    const struct pprof_id key = {.id = id};
    const struct pprof_id *found =
        ids->count ? bsearch(&key, ids->sorted, ids->count, sizeof key, compare_ids) : NULL;
    return found ? found->index + 1 : 0;
}

/* ---- tables ---- */

static void read_value_type(struct reader *reader, struct wire message, struct pprof_value_type *ret)
{
    uint64_t fields[FIELDS_MAX];
    read_numbers(reader, message, fields, "a sample type");
    *ret = (struct pprof_value_type){string_at(reader, fields[VALUE_TYPE_TYPE]),
                                     string_at(reader, fields[VALUE_TYPE_UNIT])};
}

static void read_mapping(struct reader *reader, struct wire message)
{
    struct pprof_file *file = reader->file;
    uint64_t fields[FIELDS_MAX];
    read_numbers(reader, message, fields, "a mapping");
    file->mapping_ids.sorted[file->mapping_count] =
        (struct pprof_id){fields[MAPPING_ID], file->mapping_count};
    file->mappings[file->mapping_count++] = (struct pprof_mapping){
        .id = fields[MAPPING_ID],
        .start = fields[MAPPING_MEMORY_START],
        .limit = fields[MAPPING_MEMORY_LIMIT],
        .file_offset = fields[MAPPING_FILE_OFFSET],
        .path = string_at(reader, fields[MAPPING_FILENAME]),
        .build_id = string_at(reader, fields[MAPPING_BUILD_ID]),
        .has_functions = fields[MAPPING_HAS_FUNCTIONS],
        .has_files = fields[MAPPING_HAS_FILENAMES],
        .has_lines = fields[MAPPING_HAS_LINE_NUMBERS],
        .has_inlines = fields[MAPPING_HAS_INLINE_FRAMES],
    };
    if (fields[MAPPING_MEMORY_LIMIT] < fields[MAPPING_MEMORY_START])
        fail(reader, "a mapping ends before it begins");
}

static void read_function(struct reader *reader, struct wire message)
{
    struct pprof_file *file = reader->file;
    uint64_t fields[FIELDS_MAX];
    read_numbers(reader, message, fields, "a function");
    file->function_ids.sorted[file->function_count] =
        (struct pprof_id){fields[FUNCTION_ID], file->function_count};
    file->functions[file->function_count++] = (struct pprof_function){
        .id = fields[FUNCTION_ID],
        .name = string_at(reader, fields[FUNCTION_NAME]),
        .system_name = string_at(reader, fields[FUNCTION_SYSTEM_NAME]),
        .file = string_at(reader, fields[FUNCTION_FILENAME]),
        .start_line = line_number(reader, fields[FUNCTION_START_LINE]),
    };
}

/* The function's place is found when all are known. */
static void read_lines(struct reader *reader, struct wire message)
{
    struct pprof_file *file = reader->file;
    struct wire_field field;
    uint64_t fields[FIELDS_MAX];
    while (reader->status == 0 && wire_next(&message, &field)) {
        if (field.number != LOCATION_LINE || field.type != WIRE_BYTES)
            continue;
        read_numbers(reader, field.bytes, fields, "a line");
        uint32_t function = find_id(&file->function_ids, fields[LINE_FUNCTION_ID]);
        if (!function)
            fail(reader, "a location names a function that does not exist");
        else
            file->lines[file->line_count++] =
                (struct pprof_line){function - 1, line_number(reader, fields[LINE_LINE])};
    }
}

static void read_location(struct reader *reader, struct wire message)
{
    struct pprof_file *file = reader->file;
    struct pprof_location *location = &file->locations[file->location_count];
    uint64_t fields[FIELDS_MAX];
    read_numbers(reader, message, fields, "a location");
    *location = (struct pprof_location){
        .id = fields[LOCATION_ID], .address = fields[LOCATION_ADDRESS], .first_line = file->line_count};
    read_lines(reader, message);
    location->line_count = file->line_count - location->first_line;
    location->mapping = find_id(&file->mapping_ids, fields[LOCATION_MAPPING_ID]);
    if (fields[LOCATION_MAPPING_ID] && !location->mapping)
        fail(reader, "a location names a mapping that does not exist");
    file->location_ids.sorted[file->location_count] =
        (struct pprof_id){fields[LOCATION_ID], file->location_count};
    file->location_count++;
}

static void read_comments(struct reader *reader, const struct wire_field *field)
{
    struct wire_numbers numbers = wire_numbers(field);
    uint64_t index;
    while (wire_next_number(&numbers, &index))
        reader->file->comments[reader->file->comment_count++] = string_at(reader, index);
    if (numbers.packed.failed)
        fail(reader, "a comment");
}

/* ---- passes ---- */

static bool is_message(uint32_t number)
{
    return (number >= PROFILE_SAMPLE_TYPE && number <= PROFILE_STRING_TABLE) || number == PROFILE_PERIOD_TYPE;
}

/* A number takes a byte at least, a line four. */
static void count_field(struct reader *reader, const struct wire_field *field)
{
    if (field->number > PROFILE_FIELDS)
        return;
    if (is_message(field->number) && field->type != WIRE_BYTES)
        fail(reader, "a field has a type that it cannot have");
    else if (field->number == PROFILE_COMMENT)
        reader->counts[PROFILE_COMMENT] += 1 + wire_left(&field->bytes);
    else
        reader->counts[field->number]++;
}

/* How many lines a location has; what is not well formed is found when it is read. */
static size_t count_lines(struct wire message)
{
    struct wire_field field;
    size_t count = 0;
    while (wire_next(&message, &field))
        count += field.number == LOCATION_LINE && field.type == WIRE_BYTES;
    return count;
}

static size_t count_all(struct reader *reader, struct wire profile)
{
    struct wire_field field;
    size_t lines = 0;
    while (reader->status == 0 && wire_next(&profile, &field)) {
        count_field(reader, &field);
        if (field.number == PROFILE_LOCATION)
            lines += count_lines(field.bytes);
    }
    if (profile.failed)
        fail(reader, "it is no sequence of fields");
    for (int i = 0; i <= PROFILE_FIELDS; i++) {
        if (reader->counts[i] >= UINT32_MAX / 2)
            fail(reader, "there is too much of something");
    }
    if (lines >= UINT32_MAX)
        fail(reader, "there are too many lines");
    if (reader->counts[PROFILE_MAPPING] > MAPPINGS_MAX)
        fail(reader, "there are too many mappings");
    return lines;
}

static void *make(struct reader *reader, size_t count, size_t bytes)
{
    void *memory = calloc(count + 1, bytes);
    if (!memory && reader->status == 0)
        reader->status = recording_refuse(reader->recording, -ENOMEM, "there is not enough memory for it");
    return memory;
}

static void make_tables(struct reader *reader, size_t lines)
{
    struct pprof_file *file = reader->file;
    const size_t *counts = reader->counts;
    file->strings = make(reader, counts[PROFILE_STRING_TABLE], sizeof *file->strings);
    file->mappings = make(reader, counts[PROFILE_MAPPING], sizeof *file->mappings);
    file->locations = make(reader, counts[PROFILE_LOCATION], sizeof *file->locations);
    file->functions = make(reader, counts[PROFILE_FUNCTION], sizeof *file->functions);
    file->samples = make(reader, counts[PROFILE_SAMPLE], sizeof *file->samples);
    file->comments = make(reader, counts[PROFILE_COMMENT], sizeof *file->comments);
    file->lines = make(reader, lines, sizeof *file->lines);
    file->mapping_ids.sorted = make(reader, counts[PROFILE_MAPPING], sizeof(struct pprof_id));
    file->location_ids.sorted = make(reader, counts[PROFILE_LOCATION], sizeof(struct pprof_id));
    file->function_ids.sorted = make(reader, counts[PROFILE_FUNCTION], sizeof(struct pprof_id));
}

/* Text behind a zero byte in a string is lost, as in any string here. */
static void read_strings(struct reader *reader, struct wire profile)
{
    struct pprof_file *file = reader->file;
    struct wire_field field;
    char *at = file->text = make(reader, wire_left(&profile) + reader->counts[PROFILE_STRING_TABLE], 1);
    while (reader->status == 0 && wire_next(&profile, &field)) {
        if (field.number != PROFILE_STRING_TABLE)
            continue;
        size_t bytes = wire_left(&field.bytes);
        memcpy(at, field.bytes.at, bytes); /* calloc has ended it */
        utf8_repair(at);
        file->strings[file->string_count++] = at;
        at += bytes + 1;
    }
    if (file->string_count == 0 || *file->strings[0])
        fail(reader, "its first string is not the empty one");
}

static void read_first(struct reader *reader, const struct wire_field *field)
{
    struct pprof_file *file = reader->file;
    if (field->number == PROFILE_SAMPLE_TYPE) {
        if (file->type_count == PPROF_TYPES_MAX)
            fail(reader, "it has too many sample types");
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
        file->time_ns = not_negative(reader, field->value, "its time is negative");
    } else if (field->number == PROFILE_DURATION_NANOS) {
        file->duration_ns = not_negative(reader, field->value, "its duration is negative");
    } else if (field->number == PROFILE_PERIOD) {
        file->period = not_negative(reader, field->value, "its period is negative");
    }
}

static void read_all(struct reader *reader, struct wire profile)
{
    struct pprof_file *file = reader->file;
    struct wire first = profile;
    struct wire_field field;
    while (reader->status == 0 && wire_next(&first, &field))
        read_first(reader, &field);
    sort_ids(reader, &file->mapping_ids, file->mapping_count);
    sort_ids(reader, &file->function_ids, file->function_count);
    while (reader->status == 0 && wire_next(&profile, &field)) {
        if (field.number == PROFILE_LOCATION)
            read_location(reader, field.bytes);
    }
    sort_ids(reader, &file->location_ids, file->location_count);
}

/* How many ids and labels there are at most: every id takes a byte at least. */
static void count_in_samples(struct pprof_file *file)
{
    for (uint32_t i = 0; i < file->sample_count; i++) {
        struct wire message = file->samples[i];
        struct wire_field field;
        while (wire_next(&message, &field)) {
            if (field.number == SAMPLE_LOCATION_ID)
                file->stack_ids += 1 + wire_left(&field.bytes);
            file->label_count += field.number == SAMPLE_LABEL;
        }
    }
}

int pprof_file_read(struct pprof_file *file, const unsigned char *bytes, size_t count,
                    struct recording *recording)
{
    struct wire profile = wire_of(bytes, count);
    struct reader reader = {.file = file, .recording = recording};
    *file = (struct pprof_file){.period_type = {"", ""}};
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

/* ---- samples ---- */

static void add_frame(struct reader *reader, struct pprof_sample *sample, uint64_t id)
{
    uint32_t location = find_id(&reader->file->location_ids, id);
    if (!location)
        return fail(reader, "a sample names a location that does not exist");
    if (sample->depth == PPROF_STACK_MAX)
        return fail(reader, "a stack is too deep");
    if (sample->depth == sample->capacity) {
        uint32_t capacity = sample->capacity ? 2 * sample->capacity : 64;
        uint32_t *stack = realloc(sample->stack, sizeof *stack * capacity);
        if (!stack) {
            reader->status =
                recording_refuse(reader->recording, -ENOMEM, "there is not enough memory for it");
            return;
        }
        sample->stack = stack;
        sample->capacity = capacity;
    }
    sample->stack[sample->depth++] = location - 1;
}

static void add_value(struct reader *reader, struct pprof_sample *sample, uint64_t value, uint32_t *count)
{
    if (value > INT64_MAX)
        fail(reader, "a sample has a negative value (the difference of two profiles?)");
    else if (*count == PPROF_VALUES)
        fail(reader, "a sample has too many values");
    else
        sample->values[(*count)++] = value;
}

/* One of the program's. In the order of their keys, as the library puts them. */
static void add_label(struct pprof_sample *sample, const char *key, const char *value)
{
    uint32_t at = sample->label_count;
    if (at == PPROF_LABELS_MAX || !*key || strlen(key) >= LABELS_KEY_BYTES ||
        strlen(value) >= LABELS_VALUE_BYTES)
        return;
    for (; at > 0 && strcmp(sample->labels[at - 1].key, key) > 0; at--)
        sample->labels[at] = sample->labels[at - 1];
    sample->labels[at] = (struct pprof_label){key, value};
    sample->label_count++;
}

/* Of numbers, and of what is longer than a label of ours can be, nothing is kept. */
static void read_label(struct reader *reader, struct pprof_sample *sample, struct wire message)
{
    uint64_t fields[FIELDS_MAX];
    read_numbers(reader, message, fields, "a label");
    const char *key = string_at(reader, fields[LABEL_KEY]), *text = string_at(reader, fields[LABEL_STR]);
    if (strcmp(key, "thread") == 0) {
        sample->thread = text;
    } else if (strcmp(key, "process") == 0) {
        sample->process = text;
    } else if (strcmp(key, "thread_id") == 0) {
        if (fields[LABEL_NUM] > INT32_MAX)
            return fail(reader, "a thread id is none");
        sample->thread_id = fields[LABEL_NUM];
        sample->has_thread_id = true;
    } else if (strcmp(key, "pid") == 0 || strcmp(key, "rank") == 0) {
        if (fields[LABEL_NUM] > INT32_MAX)
            return fail(reader, "a process id or a rank is none");
        *(*key == 'p' ? &sample->pid : &sample->rank) = (int32_t)fields[LABEL_NUM];
    } else if (*text && !labels_is_reserved(key)) {
        add_label(sample, key, text);
    }
}

static void read_sample_field(struct reader *reader, struct pprof_sample *sample,
                              const struct wire_field *field, uint32_t *values)
{
    struct wire_numbers numbers = wire_numbers(field);
    uint64_t number;
    if (field->number == SAMPLE_LABEL && field->type == WIRE_BYTES)
        return read_label(reader, sample, field->bytes);
    if (field->number != SAMPLE_LOCATION_ID && field->number != SAMPLE_VALUE)
        return;
    while (reader->status == 0 && wire_next_number(&numbers, &number)) {
        if (field->number == SAMPLE_LOCATION_ID)
            add_frame(reader, sample, number);
        else
            add_value(reader, sample, number, values);
    }
    if (numbers.packed.failed)
        fail(reader, "a sample's numbers");
}

int pprof_file_sample(struct pprof_file *file, uint32_t index, struct pprof_sample *ret,
                      struct recording *recording)
{
    struct reader reader = {.file = file, .recording = recording};
    struct wire message = file->samples[index];
    struct wire_field field;
    uint32_t values = 0;
    *ret = (struct pprof_sample){.stack = ret->stack, .capacity = ret->capacity, .rank = PROCESS_NO_RANK};
    while (reader.status == 0 && wire_next(&message, &field))
        read_sample_field(&reader, ret, &field, &values);
    if (message.failed)
        fail(&reader, "a sample");
    if (values != PPROF_VALUES)
        fail(&reader, "a sample has too few values");
    return reader.status;
}
