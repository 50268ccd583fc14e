#include "file_frames.h"

#include "debug_child.h"
#include "debug_file.h"
#include "elf/elf.h"
#include "elf/elf_image.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VDSO_MAX_BYTES = 1 << 20 };

/* With more rows kept of a module, functions are not read as a whole any more: 3 MB are read within a
 * millisecond. */
enum { KEPT_ROWS = 32768 };

/* For how long symbols are believed without a look at the module. A build starts a program hundreds of times,
 * and each has a profile. */
static const time_t symbols_seconds = 600;

static const struct debug_bounds bounds = {.cpu_seconds = 300, .wall_seconds = 600};

/* ---- symbols alone ---- */

static void add_symbol(struct frame_table *table, const struct elf_query *query)
{
    const struct frame_row row = {.address = query->elf_address,
                                  .symbol_address = query->symbol_address,
                                  .symbol_bytes = query->symbol_bytes,
                                  .source = query->name ? NAME_FROM_SYMBOL : NAME_FROM_NOTHING};
    frame_table_add_row(table, &row);
    if (!query->name)
        return;
    const struct frame_entry frame = {.system_name = frame_table_string(table, query->name)};
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

static bool has_final_rows(const struct frame_table *table)
{
    for (size_t i = 0; i < table->row_count; i++) {
        if (table->rows[i].is_final)
            return true;
    }
    return false;
}

/* Compressed symbols, which libdwfl unpacks. */
static bool has_packed_symbols(const char *path)
{
    struct elf_image image;
    if (elf_image_open(&image, path) < 0)
        return false;
    bool is_there = elf_section_named(&image, ".gnu_debugdata");
    elf_image_deinit(&image);
    return is_there;
}

/* What the cache says, by debug information and by symbols. */
struct kept {
    struct frame_table debug, symbols;
    bool believes_symbols;
    struct timespec since; /* in symbols that were kept after this */
};

static struct timespec later(struct timespec one, struct timespec other)
{
    bool is_later = one.tv_sec > other.tv_sec || (one.tv_sec == other.tv_sec && one.tv_nsec > other.tv_nsec);
    return is_later ? one : other;
}

static struct timespec changed_at(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_mtim : (struct timespec){0};
}

/* A debug file that has come since would tell more: by the build-id, beside the module, or where others are.
 */
static bool believe_symbols(const struct debug_module *module, struct timespec *since)
{
    char path[PATH_MAX];
    if (debug_file_asks_servers() || !debug_path(module, path) || access(path, F_OK) == 0 ||
        snprintf(path, sizeof path, "%s", module->path) >= (int)sizeof path || !strrchr(path, '/'))
        return false;
    clock_gettime(CLOCK_REALTIME, since);
    since->tv_sec -= symbols_seconds;
    *since = later(*since, changed_at(path));
    *since = later(*since, changed_at("/usr/lib/debug"));
    *strrchr(path, '/') = '\0';
    *since = later(*since, changed_at(*path ? path : "/"));
    return true;
}

static struct kept load_kept(const struct name_cache *cache, const struct debug_module *module)
{
    const uint8_t *build_id = module->build_id;
    const size_t bytes = module->build_id_bytes;
    struct kept kept = {.debug = name_cache_load(cache, NAME_CACHE_DEBUG, build_id, bytes, NULL)};
    kept.believes_symbols = believe_symbols(module, &kept.since);
    if (kept.believes_symbols)
        kept.symbols = name_cache_load(cache, NAME_CACHE_SYMBOLS, build_id, bytes, &kept.since);
    return kept;
}

/* A child has found that symbols are all there is, and elf.h reads the others as it does (debug_symbols.c):
 * that saves the child, and all that libdwfl does. */
static bool is_read_by_symbols(const struct kept *kept, const struct debug_module *module)
{
    return kept->symbols.row_count > 0 && !has_packed_symbols(module->path);
}

static int read_missing(const struct kept *kept, const struct debug_module *module, const uint64_t *missing,
                        size_t count, struct frame_table *ret)
{
    if (module->path[0] != '/')
        return -ENOENT;
    struct debug_module known = *module;
    known.is_known = kept->debug.row_count > 0 && kept->debug.row_count < KEPT_ROWS;
    if (!is_read_by_symbols(kept, module))
        return read_file(&known, missing, count, ret);
    add_symbols(find_in_file, module, missing, count, ret);
    return 0;
}

/* read: what was not kept. is_whole: the module's file was read. */
static void keep(const struct name_cache *cache, const struct debug_module *module, const struct kept *kept,
                 const struct frame_table *read, bool is_whole)
{
    const bool is_debug = has_final_rows(read);
    if (!is_debug && (!is_whole || !kept->believes_symbols))
        return;
    struct frame_table merged = frame_table_merge(is_debug ? &kept->debug : &kept->symbols, read, is_debug);
    name_cache_store(cache, is_debug ? NAME_CACHE_DEBUG : NAME_CACHE_SYMBOLS, module->build_id,
                     module->build_id_bytes, &merged);
    frame_table_free(&merged);
}

static bool copy_row(struct frame_table *to, const struct frame_table *from, uint64_t address)
{
    const struct frame_row *around = frame_table_find(from, address);
    if (!around)
        return false;
    struct frame_row row = *around;
    row.address = address;
    row.bytes = 1;
    frame_table_copy_row(to, from, &row);
    return true;
}

static size_t list_missing(const struct kept *kept, const uint64_t *addresses, size_t count,
                           uint64_t *missing)
{
    size_t missing_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!frame_table_find(&kept->debug, addresses[i]) && !frame_table_find(&kept->symbols, addresses[i]))
            missing[missing_count++] = addresses[i];
    }
    return missing_count;
}

int file_frames_find(const struct debug_module *module, const struct name_cache *cache,
                     const uint64_t *addresses, size_t count, struct frame_table *ret)
{
    *ret = (struct frame_table){0};
    if (strcmp(module->path, "[vdso]") == 0) {
        add_symbols(find_in_vdso, module, addresses, count, ret);
        return 0;
    }
    struct kept kept = load_kept(cache, module);
    struct frame_table read = {0};
    uint64_t *missing = calloc(count, sizeof *missing);
    size_t missing_count = missing ? list_missing(&kept, addresses, count, missing) : 0;
    int error = missing ? 0 : -ENOMEM;
    if (missing_count > 0) {
        error = read_missing(&kept, module, missing, missing_count, &read);
        keep(cache, module, &kept, &read, error == 0);
    }
    for (size_t i = 0; i < count; i++) {
        if (!copy_row(ret, &read, addresses[i]) && !copy_row(ret, &kept.debug, addresses[i]))
            copy_row(ret, &kept.symbols, addresses[i]);
    }
    frame_table_free(&kept.debug);
    frame_table_free(&kept.symbols);
    frame_table_free(&read);
    free(missing);
    return error;
}
