#include "pprof_reader.h"
#include "encode/pprof_fields.h"
#include "account/labels.h"
#include "profile/wait_labels.h"
#include "tool/io/array.h"

#include <errno.h>
#include <string.h>

static void add_frame(struct pprof_reader *reader, struct pprof_sample *sample, uint64_t id)
{
    uint32_t location = pprof_find_id(&reader->file->location_ids, id);
    if (!location)
        return pprof_fail(reader, "a sample names a location that does not exist");
    if (sample->depth == PPROF_STACK_MAX)
        return pprof_fail(reader, "a stack is too deep");
    if (!array_grow(&sample->stack, &sample->capacity, sample->depth, sizeof *sample->stack)) {
        reader->status = recording_no_memory(reader->recording);
        return;
    }
    sample->stack[sample->depth++] = location - 1;
}

static void add_value(struct pprof_reader *reader, struct pprof_sample *sample, uint64_t value,
                      uint32_t *count)
{
    const struct pprof_file *file = reader->file;
    if (value > INT64_MAX)
        return pprof_fail(reader, "a sample has a negative value (the difference of two profiles?)");
    if (*count == file->type_count)
        return pprof_fail(reader, "a sample has too many values");
    const int place = file->place_of[*count];
    if (place >= 0 && (__builtin_mul_overflow(value, file->scale[*count], &sample->values[place]) ||
                       sample->values[place] > INT64_MAX))
        pprof_fail(reader, "a sample has too large a value");
    ++*count;
}

/* Adds one of the program's labels, in the order of the keys, as the library does. */
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

/* Other labels are dropped if they are numbers, or longer than a label of ours can be. */
static void read_label(struct pprof_reader *reader, struct pprof_sample *sample,
                       struct protobuf_reader message)
{
    uint64_t fields[PPROF_FIELDS_MAX];
    pprof_read_numbers(reader, message, fields, "a label");
    const char *key = pprof_string_at(reader, fields[LABEL_KEY]),
               *text = pprof_string_at(reader, fields[LABEL_STR]);
    if (strcmp(key, "thread") == 0) {
        sample->thread = text;
    } else if (strcmp(key, "process") == 0) {
        sample->process = text;
    } else if (strcmp(key, "thread_id") == 0) {
        if (fields[LABEL_NUM] > INT32_MAX)
            return pprof_fail(reader, "a thread id is none");
        sample->thread_id = fields[LABEL_NUM];
        sample->has_thread_id = true;
    } else if (strcmp(key, "pid") == 0 || strcmp(key, "rank") == 0) {
        if (fields[LABEL_NUM] > INT32_MAX)
            return pprof_fail(reader, "a process id or a rank is none");
        *(*key == 'p' ? &sample->pid : &sample->rank) = (int32_t)fields[LABEL_NUM];
    } else if (*text && wait_label_is_key(key)) {
        *(*key == 'o' ? &sample->on : &sample->holder) = text;
    } else if (*text && !labels_is_reserved(key)) {
        add_label(sample, key, text);
    }
}

static void read_sample_field(struct pprof_reader *reader, struct pprof_sample *sample,
                              const struct protobuf_field *field, uint32_t *values)
{
    struct protobuf_numbers numbers = protobuf_numbers(field);
    uint64_t number;
    if (field->number == SAMPLE_LABEL && field->type == PROTOBUF_BYTES)
        return read_label(reader, sample, field->bytes);
    if (field->number == SAMPLE_CHANGES && field->type == PROTOBUF_BYTES) {
        sample->changes = numbers;
        sample->has_changes = true;
        return;
    }
    if (field->number != SAMPLE_LOCATION_ID && field->number != SAMPLE_VALUE)
        return;
    while (reader->status == 0 && protobuf_next_number(&numbers, &number)) {
        if (field->number == SAMPLE_LOCATION_ID)
            add_frame(reader, sample, number);
        else
            add_value(reader, sample, number, values);
    }
    if (numbers.packed.failed)
        pprof_fail(reader, "a sample's numbers");
}

int pprof_file_sample(struct pprof_file *file, uint32_t index, struct pprof_sample *ret,
                      struct recording *recording)
{
    struct pprof_reader reader = {.file = file, .recording = recording};
    struct protobuf_reader message = file->samples[index];
    struct protobuf_field field;
    uint32_t values = 0;
    *ret = (struct pprof_sample){.stack = ret->stack, .capacity = ret->capacity, .rank = PROCESS_NO_RANK};
    while (reader.status == 0 && protobuf_next(&message, &field))
        read_sample_field(&reader, ret, &field, &values);
    if (message.failed)
        pprof_fail(&reader, "a sample");
    if (values != file->type_count)
        pprof_fail(&reader, "a sample has too few values");
    return reader.status;
}
