/*
 * pprof files made by hand: entries are written in the order of the calls, strings are numbered as they are
 * used. Called in the order of enc_pprof (header, samples, mappings, locations, functions), the file is what
 * the encoder would write.
 */
#ifndef WALLPROF_TESTS_PPROF_BUILDER_H
#define WALLPROF_TESTS_PPROF_BUILDER_H

#include "base/protobuf_write.h"
#include "base/string_table.h"
#include "profile/tree.h"

#include <string.h>

struct pprof_builder {
    struct proto out, message, part;
    struct string_table strings;
    uint32_t mappings, locations, functions; /* so many ids have been given */
};

struct built_line {
    uint32_t function, line;
};

static inline void built_init(struct pprof_builder *builder)
{
    *builder = (struct pprof_builder){.mappings = 0};
    string_table_init(&builder->strings);
}

static inline void built_deinit(struct pprof_builder *builder)
{
    proto_deinit(&builder->out);
    proto_deinit(&builder->message);
    proto_deinit(&builder->part);
    string_table_deinit(&builder->strings);
}

static inline uint32_t built_string(struct pprof_builder *builder, const char *text)
{
    return string_table_intern(&builder->strings, text);
}

static inline void built_end_message(struct pprof_builder *builder, uint32_t field)
{
    proto_message(&builder->out, field, &builder->message);
    proto_clear(&builder->message);
}

static inline void built_type(struct pprof_builder *builder, uint32_t field, const char *type,
                              const char *unit)
{
    proto_uint(&builder->message, 1, built_string(builder, type));
    proto_uint(&builder->message, 2, built_string(builder, unit));
    built_end_message(builder, field);
}

static inline void built_types(struct pprof_builder *builder)
{
    built_type(builder, 1, "samples", "count");
    built_type(builder, 1, "cpu", "nanoseconds");
    built_type(builder, 1, "offcpu", "nanoseconds");
    built_type(builder, 1, "wall", "nanoseconds");
    built_type(builder, 11, "wall", "nanoseconds");
}

static inline void built_comment(struct pprof_builder *builder, const char *text)
{
    proto_uint(&builder->out, 13, built_string(builder, text));
}

static inline void built_header(struct pprof_builder *builder, const char *command)
{
    built_types(builder);
    proto_uint(&builder->out, 12, 10000000);
    proto_uint(&builder->out, 9, UINT64_C(1764000000123456789));
    proto_uint(&builder->out, 10, UINT64_C(2000000000));
    proto_uint(&builder->out, 14, built_string(builder, "wall"));
    built_comment(builder, "wallprof 9.9.9");
    built_comment(builder, command);
}

static inline void built_label(struct pprof_builder *builder, const char *key, const char *text,
                               uint64_t number)
{
    proto_clear(&builder->part);
    proto_uint(&builder->part, 1, built_string(builder, key));
    proto_uint(&builder->part, 2, text ? built_string(builder, text) : 0);
    proto_uint(&builder->part, 3, number);
    proto_message(&builder->message, 3, &builder->part);
}

/* Stack: ids of locations, innermost first, ended by 0. Without labels where thread is NULL; id 0: only it.
 */
static inline void built_sample(struct pprof_builder *builder, const char *thread, uint64_t id,
                                const uint32_t *stack, const uint64_t *values)
{
    proto_clear(&builder->part);
    for (; *stack; stack++)
        proto_varint(&builder->part, *stack);
    proto_message(&builder->message, 1, &builder->part);
    proto_clear(&builder->part);
    for (int i = 0; i < 4; i++)
        proto_varint(&builder->part, values[i]);
    proto_message(&builder->message, 2, &builder->part);
    if (thread)
        built_label(builder, "thread", thread, 0);
    if (thread && id)
        built_label(builder, "thread_id", NULL, id);
    built_end_message(builder, 2);
}

/* flags: of has_functions, has_filenames, has_line_numbers, has_inline_frames, from bit 0 on. */
static inline void built_mapping(struct pprof_builder *builder, uint64_t start, uint64_t offset,
                                 const char *path, const char *build_id, unsigned flags)
{
    proto_uint(&builder->message, 1, ++builder->mappings);
    proto_uint(&builder->message, 2, start);
    proto_uint(&builder->message, 3, start + 0x1000);
    proto_uint(&builder->message, 4, offset);
    proto_uint(&builder->message, 5, built_string(builder, path));
    proto_uint(&builder->message, 6, built_string(builder, build_id));
    for (unsigned i = 0; i < 4; i++)
        proto_uint(&builder->message, 7 + i, flags >> i & 1);
    built_end_message(builder, 3);
}

static inline void built_location(struct pprof_builder *builder, uint32_t mapping, uint64_t address,
                                  const struct built_line *lines, size_t count)
{
    proto_uint(&builder->message, 1, ++builder->locations);
    proto_uint(&builder->message, 2, mapping);
    proto_uint(&builder->message, 3, address);
    for (size_t i = 0; i < count; i++) {
        proto_clear(&builder->part);
        proto_uint(&builder->part, 1, lines[i].function);
        proto_uint(&builder->part, 2, lines[i].line);
        proto_message(&builder->message, 4, &builder->part);
    }
    built_end_message(builder, 4);
}

static inline void built_function(struct pprof_builder *builder, const char *name, const char *system_name,
                                  const char *file, uint32_t start_line)
{
    proto_uint(&builder->message, 1, ++builder->functions);
    proto_uint(&builder->message, 2, built_string(builder, name));
    proto_uint(&builder->message, 3, built_string(builder, system_name));
    proto_uint(&builder->message, 4, built_string(builder, file));
    proto_uint(&builder->message, 5, start_line);
    built_end_message(builder, 5);
}

/* Locations 1 to PSEUDO_COUNT, of functions 1 to PSEUDO_COUNT: every file of ours begins with them. */
static inline void built_pseudo_locations(struct pprof_builder *builder)
{
    for (uint32_t i = 1; i <= PSEUDO_COUNT; i++)
        built_location(builder, 0, 0, &(struct built_line){i, 0}, 1);
}

static inline void built_pseudo_functions(struct pprof_builder *builder)
{
    for (uint32_t i = 0; i < PSEUDO_COUNT; i++)
        built_function(builder, tree_pseudo_name((enum wp_pseudo)i), tree_pseudo_name((enum wp_pseudo)i), "",
                       0);
}

static inline void built_strings(struct pprof_builder *builder)
{
    for (uint32_t i = 0; i < string_table_count(&builder->strings); i++) {
        const char *text = string_table_at(&builder->strings, i);
        proto_bytes(&builder->out, 6, text, strlen(text));
    }
}

#endif
