#include "names_files.h"

#include "file_frames.h"
#include "base/clock.h"
#include "tool/io/output_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SERVERS_MAX_S = 60, SILENT_S = 1, NAME_SHOWN_BYTES = 30 };

/* ---- locations by file ---- */

struct file_location {
    uint64_t elf_address; /* run-time address minus load bias */
    arena_ref module;
    uint32_t location; /* index */
};

struct file_list {
    struct file_location *locations; /* by path, build-id, address */
    size_t count;
};

static size_t build_id_bytes_of(const struct module *module)
{
    return module->build_id_bytes <= MODULE_BUILD_ID_MAX_BYTES ? module->build_id_bytes : 0;
}

static int compare_files(const struct arena *arena, arena_ref left, arena_ref right)
{
    const struct module *a = arena_at(arena, left), *b = arena_at(arena, right);
    size_t a_bytes = build_id_bytes_of(a), b_bytes = build_id_bytes_of(b);
    int order = left == right ? 0 : strcmp(module_names_path(arena, a), module_names_path(arena, b));
    if (order == 0 && a_bytes != b_bytes)
        order = a_bytes < b_bytes ? -1 : 1;
    return order ? order : memcmp(a->build_id, b->build_id, a_bytes);
}

static int compare_locations(const void *left, const void *right, void *arena)
{
    const struct file_location *a = left, *b = right;
    int order = compare_files(arena, a->module, b->module);
    if (order)
        return order;
    if (a->elf_address != b->elf_address)
        return a->elf_address < b->elf_address ? -1 : 1;
    return (a->location > b->location) - (a->location < b->location);
}

static size_t count_of_first_file(const struct arena *arena, const struct file_location *locations,
                                  size_t count)
{
    size_t end = 1;
    while (end < count && compare_files(arena, locations[0].module, locations[end].module) == 0)
        end++;
    return end;
}

static size_t count_files(const struct arena *arena, const struct file_location *locations, size_t count)
{
    size_t files = 0;
    for (size_t first = 0; first < count; files++)
        first += count_of_first_file(arena, &locations[first], count - first);
    return files;
}

/* Lists the locations that need a file. 0 or -ENOMEM; the caller frees the list. */
static int list_locations(const struct names_files *files, struct file_list *ret)
{
    const uint32_t location_count = files->symbols->location_count;
    *ret = (struct file_list){.locations = calloc(location_count + (size_t)1, sizeof *ret->locations)};
    if (!ret->locations)
        return -ENOMEM;
    for (uint32_t i = 0; i < location_count; i++) {
        const struct location *location = files->locations[i];
        if (location->pseudo || !location->module || files->found[i].known)
            continue;
        ret->locations[ret->count++] = (struct file_location){
            .elf_address = location->address - names_module(files->profile, location->module)->load_bias,
            .module = location->module,
            .location = i};
    }
    qsort_r(ret->locations, ret->count, sizeof *ret->locations, compare_locations,
            (void *)files->profile->arena);
    return 0;
}

/* ---- the progress line ---- */

struct progress_line {
    uint64_t start_ns;
    bool is_wanted, is_shown;
    size_t done, count; /* files, as shown */
    const char *path;
};

static bool has_run_for(const struct progress_line *progress, uint64_t seconds)
{
    return clock_monotonic_ns() - progress->start_ns >= seconds * NS_PER_S;
}

static void erase_line(void)
{
    fputs("\r\033[K", stderr);
}

/* A path is whatever a recording says. Its control characters do not reach the terminal. */
static void progress_show(void *argument)
{
    struct progress_line *progress = argument;
    const char *name = output_file_name(progress->path);
    if (!progress->is_wanted || !has_run_for(progress, SILENT_S))
        return;
    erase_line();
    fprintf(stderr, "wallprof: reading debug information: %zu of %zu modules, ", progress->done,
            progress->count);
    for (size_t i = 0; name[i] && i < NAME_SHOWN_BYTES; i++)
        fputc(name[i] < ' ' || name[i] == 0x7f ? '?' : name[i], stderr);
    fflush(stderr);
    progress->is_shown = true;
}

static void progress_advance(struct progress_line *progress, size_t done, size_t count, const char *path)
{
    progress->done = done;
    progress->count = count;
    progress->path = path;
    progress_show(progress);
}

static void progress_end(struct progress_line *progress)
{
    if (progress->is_shown) {
        erase_line();
        fflush(stderr);
    }
}

/* ---- reading ---- */

/* Files with the same path follow each other, and are noted once. */
static void note_lost_file(struct names_files *files, arena_ref module, int error)
{
    struct symbols *symbols = files->symbols;
    const char *path = names_path(files->profile, module);
    uint32_t count = symbols->lost_file_count;
    if (path[0] == '/' &&
        (count == 0 || strcmp(names_path(files->profile, symbols->lost_files[count - 1].module), path) != 0))
        symbols->lost_files[symbols->lost_file_count++] = (struct symbols_lost_file){module, error};
}

/* Reads the file that all of these locations are in. 0 or -ENOMEM. */
static int read_file(struct names_files *files, struct progress_line *progress,
                     const struct name_cache *cache, const struct file_location *locations, size_t count)
{
    const struct module *module = names_module(files->profile, locations[0].module);
    const struct debug_module wanted = {.path = names_path(files->profile, locations[0].module),
                                        .build_id = module->build_id,
                                        .build_id_bytes = build_id_bytes_of(module),
                                        .waiting = progress_show,
                                        .waiting_argument = progress};
    struct frame_table *table = &files->tables[files->table_count];
    uint64_t *addresses = calloc(count, sizeof *addresses);
    size_t distinct = 0;
    if (!addresses)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        if (distinct == 0 || addresses[distinct - 1] != locations[i].elf_address)
            addresses[distinct++] = locations[i].elf_address;
    }
    int error = file_frames_find(&wanted, cache, addresses, distinct, table);
    files->table_count++;
    if (error < 0)
        note_lost_file(files, locations[0].module, error);
    for (size_t i = 0; i < count; i++) {
        struct names_found *found = &files->found[locations[i].location];
        found->row = frame_table_find(table, locations[i].elf_address);
        found->table = table;
    }
    free(addresses);
    return 0;
}

/* A server that does not reply costs a timeout for each file. This bounds the sum of the timeouts. */
static void limit_servers(const struct progress_line *progress)
{
    if (has_run_for(progress, SERVERS_MAX_S))
        unsetenv("DEBUGINFOD_URLS");
}

static int read_files(struct names_files *files, const struct file_list *list)
{
    struct name_cache cache;
    struct progress_line progress = {.start_ns = clock_monotonic_ns(),
                                     .is_wanted = !files->is_quiet && isatty(STDERR_FILENO)};
    int status = 0;
    const struct arena *arena = files->profile->arena;
    const size_t file_count = count_files(arena, list->locations, list->count);
    files->tables = calloc(file_count + 1, sizeof *files->tables);
    if (!files->tables)
        return -ENOMEM;
    name_cache_open(&cache);
    for (size_t first = 0, count; first < list->count && status == 0; first += count) {
        const struct file_location *locations = &list->locations[first];
        count = count_of_first_file(arena, locations, list->count - first);
        limit_servers(&progress);
        progress_advance(&progress, files->table_count, file_count,
                         names_path(files->profile, locations[0].module));
        status = read_file(files, &progress, &cache, locations, count);
    }
    progress_end(&progress);
    name_cache_close(&cache);
    return status;
}

int names_files_read(struct names_files *files)
{
    struct file_list list;
    int status = list_locations(files, &list);
    if (status == 0)
        status = read_files(files, &list);
    free(list.locations);
    return status;
}

void names_files_free(struct names_files *files)
{
    for (size_t i = 0; i < files->table_count; i++)
        frame_table_free(&files->tables[i]);
    free(files->tables);
}
