#include "debug_extents.h"

#include "debug_symbols.h"

#include <errno.h>
#include <stdlib.h>

/* An address takes 3 us to read. */
enum { FUNCTION_MAX_BYTES = 8192, ALL_MAX_BYTES = 65536 };

/* out: NULL to count only. */
static size_t list_all(const struct elf_query *queries, size_t count, uint64_t *out)
{
    size_t used = 0;
    uint64_t end = 0; /* of what is listed */
    for (size_t i = 0; i < count; i++) {
        const struct elf_query *query = &queries[i];
        uint64_t from = query->elf_address, to = from + 1;
        if (query->name && query->symbol_bytes > 0 && query->symbol_bytes <= FUNCTION_MAX_BYTES &&
            used < ALL_MAX_BYTES) {
            from = query->symbol_address;
            to = from + query->symbol_bytes;
        }
        for (from = from < end ? end : from; from < to; from++, used++) {
            if (out)
                out[used] = from;
        }
        end = to > end ? to : end;
    }
    return used;
}

int debug_extents_list(struct debug_extents *ret, const struct debug_file *file,
                       const struct debug_module *module, const uint64_t *addresses, size_t count)
{
    struct string_pool names = {0};
    struct elf_query *queries = calloc(count, sizeof *queries);
    *ret = (struct debug_extents){0};
    for (size_t i = 0; queries && i < count; i++)
        queries[i].elf_address = addresses[i];
    if (queries) {
        debug_symbols_find(file, module, &names, queries, count);
        ret->addresses = calloc(list_all(queries, count, NULL), sizeof *ret->addresses);
    }
    if (ret->addresses)
        ret->count = list_all(queries, count, ret->addresses);
    string_pool_deinit(&names);
    free(queries);
    return ret->addresses ? 0 : -ENOMEM;
}

void debug_extents_free(struct debug_extents *extents)
{
    free(extents->addresses);
    *extents = (struct debug_extents){0};
}
