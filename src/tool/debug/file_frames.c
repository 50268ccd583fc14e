#include "file_frames.h"

#include "debug_child.h"
#include "elf/elf.h"
#include "elf/elf_image.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { VDSO_MAX_BYTES = 1 << 20 };

static const struct debug_bounds bounds = {.cpu_seconds = 300, .wall_seconds = 600};

/* ---- symbols alone ---- */

static void add_symbol(struct frame_table *table, const struct elf_query *query)
{
    struct frame_row row = {.address = query->elf_address,
                            .symbol_address = query->symbol_address,
                            .symbol_bytes = query->symbol_bytes,
                            .source = NAME_FROM_SYMBOL};
    if (!query->name)
        return;
    struct frame_entry frame = {.system_name = frame_table_string(table, query->name)};
    frame_table_add_row(table, &row);
    frame_table_add_frame(table, &frame);
}

typedef int find_symbols_fn(struct string_pool *names, const struct debug_module *module,
                            struct elf_query *queries, size_t count);

static void add_symbols(find_symbols_fn *find, const struct debug_module *module, const uint64_t *addresses,
                        size_t count, struct frame_table *table)
{
    struct string_pool names = {0};
    struct elf_query *queries = calloc(count, sizeof *queries);
    int status = queries ? 0 : -ENOMEM;
    for (size_t i = 0; !status && i < count; i++)
        queries[i].elf_address = addresses[i];
    if (!status)
        status = find(&names, module, queries, count);
    for (size_t i = 0; status >= 0 && i < count; i++)
        add_symbol(table, &queries[i]);
    string_pool_deinit(&names);
    free(queries);
}

static int find_in_file(struct string_pool *names, const struct debug_module *module,
                        struct elf_query *queries, size_t count)
{
    return elf_name_addresses(names, module->path, module->build_id, module->build_id_bytes, queries, count);
}

/* ---- the vDSO ---- */

/* The kernel's object is trusted. Its section headers are its last part. */
static int find_in_vdso(struct string_pool *names, const struct debug_module *module,
                        struct elf_query *queries, size_t count)
{
    const Elf64_Ehdr *header = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    struct elf_image image;
    int status = -ESTALE;
    if (!header || module->build_id_bytes == 0 || !elf_header_is_ours(header))
        return -ENOENT;
    size_t bytes = header->e_shoff + (size_t)header->e_shnum * sizeof(Elf64_Shdr);
    if (bytes > VDSO_MAX_BYTES || elf_image_init(&image, header, bytes) < 0)
        return -ENOEXEC;
    if (elf_image_has_build_id(&image, module->build_id, module->build_id_bytes))
        status = elf_name_from_image(names, &image, queries, count);
    elf_image_deinit(&image);
    return status;
}

/* ---- files ---- */

static bool debug_path(const struct debug_module *module, char path[PATH_MAX])
{
    int used = snprintf(path, PATH_MAX, "/usr/lib/debug/.build-id/");
    if (module->build_id_bytes < 2 || module->build_id_bytes > FRAME_TABLE_KEY_MAX_BYTES)
        return false;
    for (size_t i = 0; i < module->build_id_bytes; i++)
        used += sprintf(path + used, i == 1 ? "/%02x" : "%02x", module->build_id[i]);
    strcpy(path + used, ".debug");
    return true;
}

/* A debug file is an ELF file of its own, with the same addresses and the same build-id. */
static int read_without_file(const struct debug_module *module, const uint64_t *addresses, size_t count,
                             struct frame_table *ret)
{
    char path[PATH_MAX];
    struct debug_module debug = *module;
    if (!debug_path(module, path))
        return -ENOENT;
    debug.path = path;
    return debug_child_read(&bounds, &debug, addresses, count, ret);
}

static int read_file(const struct debug_module *module, const uint64_t *addresses, size_t count,
                     struct frame_table *ret)
{
    int error = debug_child_read(&bounds, module, addresses, count, ret);
    if (error == -ENOENT || error == -ESTALE)
        read_without_file(module, addresses, count, ret);
    else if (error)
        add_symbols(find_in_file, module, addresses, count, ret);
    return error;
}

/* ---- the cache ---- */

static size_t list_missing(const struct frame_table *kept, const uint64_t *addresses, size_t count,
                           uint64_t *missing)
{
    size_t missing_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!frame_table_find(kept, addresses[i]))
            missing[missing_count++] = addresses[i];
    }
    return missing_count;
}

static bool has_final_rows(const struct frame_table *table)
{
    for (size_t i = 0; i < table->row_count; i++) {
        if (table->rows[i].is_final)
            return true;
    }
    return false;
}

static void keep_final_rows(const struct debug_module *module, const struct name_cache *cache,
                            const struct frame_table *all)
{
    struct frame_table nothing = {0}, final = frame_table_merge(all, &nothing, true);
    name_cache_store(cache, module->build_id, module->build_id_bytes, &final);
    frame_table_free(&final);
}

int file_frames_find(const struct debug_module *module, const struct name_cache *cache,
                     const uint64_t *addresses, size_t count, struct frame_table *ret)
{
    *ret = (struct frame_table){0};
    if (strcmp(module->path, "[vdso]") == 0) {
        add_symbols(find_in_vdso, module, addresses, count, ret);
        return 0;
    }
    struct frame_table kept = name_cache_load(cache, module->build_id, module->build_id_bytes), read = {0};
    uint64_t *missing = calloc(count, sizeof *missing);
    size_t missing_count = missing ? list_missing(&kept, addresses, count, missing) : 0;
    int error = missing ? 0 : -ENOMEM;
    if (missing_count > 0)
        error = module->path[0] == '/' ? read_file(module, missing, missing_count, &read) : -ENOENT;
    *ret = frame_table_merge(&kept, &read, false);
    if (has_final_rows(&read))
        keep_final_rows(module, cache, ret);
    frame_table_free(&kept);
    frame_table_free(&read);
    free(missing);
    return error;
}
