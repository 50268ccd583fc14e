#include "pprof_builder.h"

#include <string.h>

void built_init(struct pprof_builder *builder)
{
    *builder = (struct pprof_builder){.mappings = 0};
    string_table_init(&builder->strings);
}

void built_deinit(struct pprof_builder *builder)
{
    protobuf_deinit(&builder->out);
    protobuf_deinit(&builder->message);
    protobuf_deinit(&builder->part);
    string_table_deinit(&builder->strings);
}

static uint32_t built_string(struct pprof_builder *builder, const char *text)
{
    return string_table_intern(&builder->strings, text);
}

void built_end_message(struct pprof_builder *builder, uint32_t field)
{
    protobuf_message(&builder->out, field, &builder->message);
    protobuf_clear(&builder->message);
}

void built_type(struct pprof_builder *builder, uint32_t field, const char *type, const char *unit)
{
    protobuf_uint(&builder->message, 1, built_string(builder, type));
    protobuf_uint(&builder->message, 2, built_string(builder, unit));
    built_end_message(builder, field);
}

void built_types(struct pprof_builder *builder)
{
    built_type(builder, 1, "samples", "count");
    built_type(builder, 1, "cpu", "nanoseconds");
    built_type(builder, 1, "offcpu", "nanoseconds");
    built_type(builder, 1, "blame", "nanoseconds");
    built_type(builder, 1, "wall", "nanoseconds");
    built_type(builder, 11, "wall", "nanoseconds");
}

void built_comment(struct pprof_builder *builder, const char *text)
{
    protobuf_uint(&builder->out, 13, built_string(builder, text));
}

void built_header(struct pprof_builder *builder, const char *command)
{
    built_types(builder);
    protobuf_uint(&builder->out, 12, 10000000);
    protobuf_uint(&builder->out, 9, UINT64_C(1764000000123456789));
    protobuf_uint(&builder->out, 10, UINT64_C(2000000000));
    protobuf_uint(&builder->out, 14, built_string(builder, "wall"));
    built_comment(builder, "wallprof 9.9.9");
    built_comment(builder, command);
}

void built_label(struct pprof_builder *builder, const char *key, const char *text, uint64_t number)
{
    protobuf_clear(&builder->part);
    protobuf_uint(&builder->part, 1, built_string(builder, key));
    protobuf_uint(&builder->part, 2, text ? built_string(builder, text) : 0);
    protobuf_uint(&builder->part, 3, number);
    protobuf_message(&builder->message, 3, &builder->part);
}

void built_sample(struct pprof_builder *builder, const char *thread, uint64_t id, const uint32_t *stack,
                  const uint64_t *values)
{
    protobuf_clear(&builder->part);
    for (; *stack; stack++)
        protobuf_varint(&builder->part, *stack);
    protobuf_message(&builder->message, 1, &builder->part);
    protobuf_clear(&builder->part);
    for (int i = 0; i < 3; i++)
        protobuf_varint(&builder->part, values[i]);
    protobuf_varint(&builder->part, 0); /* nobody was blamed */
    protobuf_varint(&builder->part, values[3]);
    protobuf_message(&builder->message, 2, &builder->part);
    if (thread)
        built_label(builder, "thread", thread, 0);
    if (thread && id)
        built_label(builder, "thread_id", NULL, id);
    built_end_message(builder, 2);
}

void built_mapping(struct pprof_builder *builder, uint64_t start, uint64_t offset, const char *path,
                   const char *build_id, unsigned flags)
{
    protobuf_uint(&builder->message, 1, ++builder->mappings);
    protobuf_uint(&builder->message, 2, start);
    protobuf_uint(&builder->message, 3, start + 0x1000);
    protobuf_uint(&builder->message, 4, offset);
    protobuf_uint(&builder->message, 5, built_string(builder, path));
    protobuf_uint(&builder->message, 6, built_string(builder, build_id));
    for (unsigned i = 0; i < 4; i++)
        protobuf_uint(&builder->message, 7 + i, flags >> i & 1);
    built_end_message(builder, 3);
}

void built_location(struct pprof_builder *builder, uint32_t mapping, uint64_t address,
                    const struct built_line *lines, size_t count)
{
    protobuf_uint(&builder->message, 1, ++builder->locations);
    protobuf_uint(&builder->message, 2, mapping);
    protobuf_uint(&builder->message, 3, address);
    for (size_t i = 0; i < count; i++) {
        protobuf_clear(&builder->part);
        protobuf_uint(&builder->part, 1, lines[i].function);
        protobuf_uint(&builder->part, 2, lines[i].line);
        protobuf_message(&builder->message, 4, &builder->part);
    }
    built_end_message(builder, 4);
}

void built_function(struct pprof_builder *builder, const char *name, const char *system_name,
                    const char *file, uint32_t start_line)
{
    protobuf_uint(&builder->message, 1, ++builder->functions);
    protobuf_uint(&builder->message, 2, built_string(builder, name));
    protobuf_uint(&builder->message, 3, built_string(builder, system_name));
    protobuf_uint(&builder->message, 4, built_string(builder, file));
    protobuf_uint(&builder->message, 5, start_line);
    built_end_message(builder, 5);
}

void built_pseudo_locations(struct pprof_builder *builder)
{
    for (uint32_t i = 1; i <= PSEUDO_COUNT; i++)
        built_location(builder, 0, 0, &(struct built_line){i, 0}, 1);
}

void built_pseudo_functions(struct pprof_builder *builder)
{
    for (uint32_t i = 0; i < PSEUDO_COUNT; i++)
        built_function(builder, tree_pseudo_name((enum pseudo_frame)i),
                       tree_pseudo_name((enum pseudo_frame)i), "", 0);
}

void built_strings(struct pprof_builder *builder)
{
    for (uint32_t i = 0; i < string_table_count(&builder->strings); i++) {
        const char *text = string_table_at(&builder->strings, i);
        protobuf_bytes(&builder->out, 6, text, strlen(text));
    }
}
