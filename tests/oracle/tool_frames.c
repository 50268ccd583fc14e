/*
 * tool_frames FILE [BUILD-ID]: addresses in hexadecimal on stdin, one a line and ascending; what debug_info.h
 * says of each, in the form of addr2line -a -i -f. For tests.
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

static void print_row(const struct frame_table *table, const struct frame_row *row)
{
    printf("0x%016llx\n", (unsigned long long)row->address);
    if (row->frame_count == 0)
        puts("??\n??:0");
    for (uint32_t i = 0; i < row->frame_count; i++) {
        const struct frame_entry *frame = &table->frames[row->first_frame + i];
        printf("%s\n", frame->system_name ? frame_table_text(table, frame->system_name) : "??");
        printf("%s:%u\n", frame->file ? frame_table_text(table, frame->file) : "??", frame->line);
    }
}

int main(int argc, char **argv)
{
    uint64_t *addresses = calloc(ADDRESSES_MAX, sizeof *addresses);
    uint8_t build_id[FRAME_TABLE_KEY_MAX_BYTES];
    struct frame_table table;
    unsigned long long address;
    size_t count = 0;
    if (argc < 2 || !addresses)
        return 2;
    struct debug_module module = {.path = argv[1], .build_id = build_id};
    module.build_id_bytes = argc > 2 ? build_id_from(argv[2], build_id) : 0;
    while (count < ADDRESSES_MAX && scanf("%llx", &address) == 1)
        addresses[count++] = address;
    int error = debug_info_read(&module, addresses, count, &table);
    if (error) {
        fprintf(stderr, "%s: %s\n", argv[1], error_text(-error));
        return 1;
    }
    for (size_t i = 0; i < table.row_count; i++)
        print_row(&table, &table.rows[i]);
    frame_table_free(&table);
    free(addresses);
    return 0;
}
