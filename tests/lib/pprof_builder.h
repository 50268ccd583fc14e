/*
 * pprof files made by hand: entries are written in the order of the calls, strings are numbered as they are
 * used. Called in the order of enc_pprof (header, samples, mappings, locations, functions), the file is what
 * the encoder would write.
 */
#ifndef WALLPROF_PPROF_BUILDER_H
#define WALLPROF_PPROF_BUILDER_H

#include "base/protobuf_write.h"
#include "base/string_table.h"
#include "profile/tree.h"

struct pprof_builder {
    struct protobuf_writer out, message, part;
    struct string_table strings;
    uint32_t mappings, locations, functions; /* so many ids have been given */
};

struct built_line {
    uint32_t function, line;
};

void built_init(struct pprof_builder *builder);
void built_deinit(struct pprof_builder *builder);
void built_end_message(struct pprof_builder *builder, uint32_t field);
void built_type(struct pprof_builder *builder, uint32_t field, const char *type, const char *unit);
void built_types(struct pprof_builder *builder);
void built_comment(struct pprof_builder *builder, const char *text);
void built_header(struct pprof_builder *builder, const char *command);
void built_label(struct pprof_builder *builder, const char *key, const char *text, uint64_t number);

/* Stack: ids of locations, innermost first, ended by 0. Without labels where thread is NULL;
 * id 0: only it. */
void built_sample(struct pprof_builder *builder, const char *thread, uint64_t id, const uint32_t *stack,
                  const uint64_t *values);

/* flags: of has_functions, has_filenames, has_line_numbers, has_inline_frames, from bit 0 on. */
void built_mapping(struct pprof_builder *builder, uint64_t start, uint64_t offset, const char *path,
                   const char *build_id, unsigned flags);
void built_location(struct pprof_builder *builder, uint32_t mapping, uint64_t address,
                    const struct built_line *lines, size_t count);
void built_function(struct pprof_builder *builder, const char *name, const char *system_name,
                    const char *file, uint32_t start_line);

/* Locations 1 to PSEUDO_COUNT, of functions 1 to PSEUDO_COUNT: every file of ours begins with them. */
void built_pseudo_locations(struct pprof_builder *builder);
void built_pseudo_functions(struct pprof_builder *builder);
void built_strings(struct pprof_builder *builder);

#endif
