/*
 * tool_frames FILE [BUILD-ID]: addresses in hexadecimal on stdin, one a line and ascending; what debug_info.h
 * says of each, in the form of addr2line -a -i -f. It must say the same where whole functions are read. For
 * tests.
 */
#include "tool/debug/debug_info.h"
#include "base/number_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESSES_MAX = 1 << 20 };

static size_t build_id_from(const char *hex, uint8_t *build_id)
{
    size_t bytes = 0;
    for (; hex[0] && hex[1] && bytes < FRAME_TABLE_KEY_MAX_BYTES; hex += 2)
        build_id[bytes++] = (uint8_t)strtoul((char[]){hex[0], hex[1], '\0'}, NULL, 16);
    return bytes;
}

static void print_address(FILE *stream, const struct frame_table *table, uint64_t address)
{
    const struct frame_row *row = frame_table_find(table, address);
    fprintf(stream, "0x%016llx\n", (unsigned long long)address);
    if (!row || row->frame_count == 0)
        fputs("??\n??:0\n", stream);
    for (uint32_t i = 0; row && i < row->frame_count; i++) {
        const struct frame_entry *frame = &table->frames[row->first_frame + i];
        fprintf(stream, "%s\n", frame->system_name ? frame_table_text(table, frame->system_name) : "??");
        fprintf(stream, "%s:%u\n", frame->file ? frame_table_text(table, frame->file) : "??", frame->line);
    }
}

/* What is known of all addresses, as text: malloc'd. NULL if the file cannot be read. */
static char *describe(const struct debug_module *module, const uint64_t *addresses, size_t count)
{
    struct frame_table table;
    char *text = NULL;
    size_t bytes;
    int error = debug_info_read(module, addresses, count, &table);
    FILE *stream = error ? NULL : open_memstream(&text, &bytes);
    if (!stream) {
        fprintf(stderr, "%s: %s\n", module->path, error_text(-error));
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        print_address(stream, &table, addresses[i]);
    fclose(stream);
    frame_table_free(&table);
    return text;
}

int main(int argc, char **argv)
{
    uint64_t *addresses = calloc(ADDRESSES_MAX, sizeof *addresses);
    uint8_t build_id[FRAME_TABLE_KEY_MAX_BYTES];
    unsigned long long address;
    size_t count = 0;
    if (argc < 2 || !addresses)
        return 2;
    struct debug_module module = {.path = argv[1], .build_id = build_id};
    module.build_id_bytes = argc > 2 ? build_id_from(argv[2], build_id) : 0;
    while (count < ADDRESSES_MAX && scanf("%llx", &address) == 1)
        addresses[count++] = address;
    char *text = describe(&module, addresses, count);
    module.is_known = true;
    char *with_functions = text ? describe(&module, addresses, count) : NULL;
    int status = !with_functions;
    if (with_functions && strcmp(text, with_functions) != 0) {
        fprintf(stderr, "%s: whole functions differ\n", argv[1]);
        status = 1;
    }
    if (status == 0)
        fputs(text, stdout);
    free(text);
    free(with_functions);
    free(addresses);
    return status;
}
