#include "pprof_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void pprof_fail(struct pprof_reader *reader, const char *what)
{
    if (reader->status == 0)
        reader->status =
            recording_refuse(reader->recording, -EBADMSG, "it is damaged, or no profile: %s", what);
}

void pprof_read_numbers(struct pprof_reader *reader, struct protobuf_reader message,
                        uint64_t fields[PPROF_FIELDS_MAX], const char *what)
{
    struct protobuf_field field;
    memset(fields, 0, sizeof *fields * PPROF_FIELDS_MAX);
    while (protobuf_next(&message, &field)) {
        if (field.number < PPROF_FIELDS_MAX && field.type == PROTOBUF_VARINT)
            fields[field.number] = field.value;
    }
    if (message.failed)
        pprof_fail(reader, what);
}

const char *pprof_string_at(struct pprof_reader *reader, uint64_t index)
{
    if (index < reader->file->string_count)
        return reader->file->strings[index];
    pprof_fail(reader, "a string that it names does not exist");
    return "";
}

static int compare_ids(const void *left, const void *right)
{
    const struct pprof_id *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

void pprof_sort_ids(struct pprof_reader *reader, struct pprof_ids *ids, uint32_t count)
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
            pprof_fail(reader, "two of its entries have one id, or one has none");
    }
}

uint32_t pprof_find_id(const struct pprof_ids *ids, uint64_t id)
{
    if (id - 1 < ids->count && ids->sorted[id - 1].id == id)
        return ids->sorted[id - 1].index + 1;
    const struct pprof_id key = {.id = id};
    const struct pprof_id *found =
        ids->count ? bsearch(&key, ids->sorted, ids->count, sizeof key, compare_ids) : NULL;
    return found ? found->index + 1 : 0;
}
