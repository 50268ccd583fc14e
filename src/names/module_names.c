#include "module_names.h"

#include "base/clock.h"
#include "elf/elf_image.h"
#include "elf/elf_loaded.h"
#include "base/raw_calls.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static const char debug_directory[] = "/usr/lib/debug/.build-id/";

enum {
    PAGE_BYTES = 4096,
    DEBUG_PATH_BYTES = sizeof debug_directory + 2 * MODULE_BUILD_ID_MAX_BYTES + sizeof "/.debug"
};

struct name_request {
    const struct module_names *names;
    const struct module *module;
    const struct memory_region *region; /* its code, while it is mapped from a file; NULL when not known */
    struct elf_query *queries;
    size_t count;
};

const char *module_names_path(const struct arena *arena, const struct module *module)
{
    return module->path ? arena_at(arena, module->path) : "[unknown]";
}

/* ---- whether a file is the right one ---- */

/* By its change time: the files of a package have the modification time of the day they were built. */
static bool is_older_than_process(const struct name_request *request, const struct stat *status)
{
    const uint64_t start_utc_ns = request->names->start_utc_ns;
    return start_utc_ns == 0 || clock_timespec_ns(&status->st_ctim) <= start_utc_ns;
}

/* The device is not compared: on stacked file systems (containers) the memory map has another than stat. */
static bool is_mapped_file(const struct name_request *request, const struct elf_image *image)
{
    const struct module *module = request->module;
    struct stat status;
    if (module->build_id_bytes > 0)
        return elf_image_has_build_id(image, module->build_id, module->build_id_bytes);
    if (raw_fstat(image->fd, &status) < 0)
        return false;
    if (request->region)
        return status.st_ino == request->region->inode;
    return is_older_than_process(request, &status);
}

/* The number of names, or -errno: -ESTALE for another file. */
static int name_from_file(const struct name_request *request, const char *path)
{
    struct elf_image image;
    int status = elf_image_open(&image, path);
    if (status < 0)
        return status;
    status = -ESTALE;
    if (is_mapped_file(request, &image))
        status = elf_name_from_image(request->names->pool, &image, request->queries, request->count);
    elf_image_deinit(&image);
    return status;
}

/* ---- where the file may be ---- */

/* The module's code in the memory map. That of an unloaded library is not there; another file may be. */
static const struct memory_region *find_region(const struct name_request *request)
{
    const struct module *module = request->module;
    if (!module->is_loaded)
        return NULL;
    memory_map_read(request->names->memory);
    const struct memory_region *region = memory_map_find(request->names->memory, module->start_pc);
    if (!region || region->path[0] != '/' ||
        region->file_offset + (module->start_pc - region->start) != module->file_offset)
        return NULL;
    return region;
}

/* The links there lead to the mapped files, whatever their names. Only the main thread has the directory. */
static int name_from_map_files(const struct name_request *request)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/map_files/%llx-%llx", (unsigned long long)request->region->start,
             (unsigned long long)request->region->end);
    return name_from_file(request, path);
}

/* Names from another path than the recorded one, which gave none. */
static int name_from_other_path(const struct name_request *request)
{
    int status = -ENOENT;
    if (request->region && memory_region_has_file(request->region))
        status = name_from_file(request, request->region->path);
    if (status < 0 && request->module->is_main && !request->names->is_another)
        status = name_from_file(request, "/proc/thread-self/exe");
    if (status < 0 && request->region)
        status = name_from_map_files(request);
    return status;
}

/* With a build-id the memory map is not needed to recognise the file at the path. */
static int name_from_any_file(struct name_request *request)
{
    const char *path = module_names_path(request->names->arena, request->module);
    if (request->module->build_id_bytes == 0)
        request->region = find_region(request);
    int status = path[0] == '/' ? name_from_file(request, path) : -ENOENT;
    if (status >= 0)
        return status;
    if (!request->region)
        request->region = find_region(request);
    int other = name_from_other_path(request);
    return other < 0 ? status : other;
}

/* ---- other sources ---- */

/* The vDSO's section headers come after its only segment, but still in the pages that are mapped for it. */
static void name_from_vdso(const struct name_request *request)
{
    const struct module *module = request->module;
    const uint64_t image = getauxval(AT_SYSINFO_EHDR);
    const uint64_t end = (module->loaded_high + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
    if (image == 0 || image < module->loaded_low || image >= end)
        return;
    elf_name_addresses_in_image(request->names->pool, (const void *)(uintptr_t)image, end - image,
                                request->queries, request->count);
}

static void name_from_memory(const struct name_request *request)
{
    const struct module *module = request->module;
    struct elf_image image;
    if (!module->is_loaded || (module->build_id_bytes == 0 && !request->region) ||
        elf_loaded_open(&image, module->load_bias, module->loaded_low, module->loaded_high) < 0)
        return;
    if (module->build_id_bytes == 0 ||
        elf_image_has_build_id(&image, module->build_id, module->build_id_bytes))
        elf_name_from_image(request->names->pool, &image, request->queries, request->count);
    elf_image_deinit(&image);
}

/* Distributions put stripped symbols there, under the build-id. False without one. */
static bool debug_file_path(const struct module *module, char ret[DEBUG_PATH_BYTES])
{
    size_t used = sizeof debug_directory - 1;
    if (module->build_id_bytes < 2 || module->build_id_bytes > MODULE_BUILD_ID_MAX_BYTES)
        return false;
    memcpy(ret, debug_directory, sizeof debug_directory);
    for (uint32_t i = 0; i < module->build_id_bytes; i++)
        used += (size_t)sprintf(ret + used, i == 1 ? "/%02x" : "%02x", module->build_id[i]);
    strcpy(ret + used, ".debug");
    return true;
}

static void name_from_debug_file(const struct name_request *request)
{
    const struct module *module = request->module;
    char path[DEBUG_PATH_BYTES];
    if (debug_file_path(module, path))
        elf_name_addresses(request->names->pool, path, module->build_id, module->build_id_bytes,
                           request->queries, request->count);
}

/* ---- whether there is more than symbols ---- */

/* Where a debugger looks for the file that .gnu_debuglink names: beside the module, in .debug, and below
 * /usr/lib/debug. */
static bool has_linked_debug_file(const struct elf_image *image, const char *path)
{
    static const char *const places[][2] = {
        {"", "/"}, {"", "/.debug/"}, {"/usr/lib/debug", "/"}, {"/usr/lib/debug/usr", "/"}};
    struct elf_bytes link = elf_section_load(image, elf_section_named(image, ".gnu_debuglink"));
    const char *name = link.data ? elf_string(&link, 0) : NULL;
    bool is_there = false;
    for (size_t i = 0; name && !is_there && i < sizeof places / sizeof *places; i++) {
        char debug[2 * PATH_MAX];
        int length = snprintf(debug, sizeof debug, "%s%.*s%s%s", places[i][0],
                              (int)(strrchr(path, '/') - path), path, places[i][1], name);
        is_there = length < 0 || (size_t)length >= sizeof debug || access(debug, F_OK) == 0;
    }
    elf_bytes_free(&link);
    return is_there;
}

static bool has_only_symbols(const struct elf_image *image, const char *path)
{
    return !elf_section_named(image, ".debug_info") && !elf_section_named(image, ".zdebug_info") &&
           !elf_section_named(image, ".gnu_debugdata") && !has_linked_debug_file(image, path);
}

static bool is_plain(const struct module_names *names, const struct module *module)
{
    const char *path = module_names_path(names->arena, module);
    char debug[DEBUG_PATH_BYTES];
    struct elf_image image;
    if (path[0] != '/' || !debug_file_path(module, debug) || access(debug, F_OK) == 0 ||
        getenv("DEBUGINFOD_URLS") || elf_image_open(&image, path) < 0)
        return false;
    bool has_only = elf_image_has_build_id(&image, module->build_id, module->build_id_bytes) &&
                    has_only_symbols(&image, path);
    elf_image_deinit(&image);
    return has_only;
}

/* ---- the names ---- */

int module_names_find(const struct module_names *names, const struct module *module,
                      struct elf_query *queries, size_t count)
{
    struct name_request request = {.names = names, .module = module, .queries = queries, .count = count};
    if (strcmp(module_names_path(names->arena, module), "[vdso]") == 0) {
        name_from_vdso(&request);
        return 0;
    }
    if (names->leaves_plain && is_plain(names, module))
        return 0;
    int named = name_from_any_file(&request);
    if (named < 0)
        name_from_memory(&request);
    if (named < 0 || (size_t)named < count)
        name_from_debug_file(&request);
    return named < 0 ? named : 0;
}
