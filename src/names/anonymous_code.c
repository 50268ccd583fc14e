#include "anonymous_code.h"

#include "base/arena.h"
#include "base/number_names.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, GONE_GAP_MAX_BYTES = 1 << 20 };

static const char anonymous_path[] = "[anonymous executable]";

/* ---- lists ---- */

static void log_refusal(struct log *log, const char *path, int error)
{
    if (!log || error == -ENOENT)
        return;
    if (error == -ESTALE)
        log_add(log, LOG_INFO, "%s is not used: it is older than this process", path);
    else if (error == -EPERM)
        log_add(log, LOG_WARNING, "%s is not used: it belongs to another user", path);
    else if (error == -EINVAL || error == -ELOOP)
        log_add(log, LOG_WARNING, "%s is not used: it is not a regular file", path);
    else
        log_add(log, LOG_WARNING, "%s cannot be read: %s", path, error_text(-error));
}

static void name_from_list(struct anonymous_code *code, const struct perf_map_source *source, struct log *log,
                           struct perf_map_query *queries, size_t count)
{
    char path[PERF_MAP_PATH_BYTES];
    perf_map_path(source->pid, path);
    int fd = perf_map_open(path, source->since_utc_ns);
    if (fd < 0) {
        log_refusal(log, path, fd);
        return;
    }
    uint64_t malformed = perf_map_name(fd, source->bytes, &code->names, queries, count);
    close(fd);
    if (malformed > 0 && log)
        log_add(log, LOG_INFO, "%s: %llu lines are no entries and were skipped", path,
                (unsigned long long)malformed);
}

/* The last entry counts: so the process's own list comes first, and then those that it inherited. */
static int name_from_lists(struct anonymous_code *code, const struct perf_maps *perf_maps, struct log *log,
                           struct anonymous_address *addresses, size_t count)
{
    struct perf_map_query *queries = scratch_alloc(count * sizeof *queries);
    if (!queries)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        queries[i].address = addresses[i].address;
    for (uint32_t i = perf_maps ? perf_maps->count : 0; i-- > 0;)
        name_from_list(code, &perf_maps->sources[i], log, queries, count);
    for (size_t i = 0; i < count; i++) {
        addresses[i].name = queries[i].name;
        addresses[i].kind = queries[i].name ? ANONYMOUS_LISTED : ANONYMOUS_MEMORY;
    }
    scratch_free(queries, count * sizeof *queries);
    return 0;
}

/* ---- regions ---- */

/* Whether two regions are one: code that is made piece by piece lies in many mappings that touch. */
static bool continues_region(const struct code_region *last, const struct code_region *next)
{
    return last->path[0] == '[' && next->path[0] == '[' && last->is_gone == next->is_gone &&
           (last->end == next->start || (last->is_gone && next->start - last->end <= GONE_GAP_MAX_BYTES));
}

/* The region of an address: the last one or a new one, as addresses come in ascending order. */
static struct code_region *region_for(struct anonymous_code *code, const struct code_region *region)
{
    struct code_region *last = code->region_count ? &code->regions[code->region_count - 1] : NULL;
    if (!last || (region->end > last->end && !continues_region(last, region))) {
        last = &code->regions[code->region_count++];
        *last = *region;
    }
    if (region->end > last->end)
        last->end = region->end;
    return last;
}

static struct code_region mapped_region(const struct memory_region *found)
{
    bool has_file = memory_region_has_file(found);
    return (struct code_region){.start = found->start,
                                .end = found->end,
                                .file_offset = has_file ? found->file_offset : 0,
                                .path = has_file ? found->path : anonymous_path};
}

static struct code_region gone_region(uint64_t address)
{
    uint64_t start = address & ~(uint64_t)(PAGE_BYTES - 1);
    return (struct code_region){
        .start = start, .end = start + PAGE_BYTES, .path = anonymous_path, .is_gone = true};
}

/* Memory that is there now but cannot be executed was mapped later, or is being written to. */
static void locate_address(struct anonymous_code *code, const struct memory_region *found,
                           struct anonymous_address *address)
{
    struct code_region wanted =
        found && found->is_executable ? mapped_region(found) : gone_region(address->address);
    struct code_region *region = region_for(code, &wanted);
    address->region = (uint32_t)(region - code->regions) + 1;
    if (address->kind == ANONYMOUS_LISTED) {
        region->has_names = true;
        if (region->path[0] == '[')
            region->path = "[JIT]";
    } else if (region->path[0] == '/') {
        address->kind = ANONYMOUS_FILE;
        address->name = strrchr(region->path, '/') + 1;
        address->file_offset = region->file_offset + (address->address - region->start);
    }
}

int anonymous_code_init(struct anonymous_code *code, const struct modules *modules, struct memory_map *memory,
                        const struct perf_maps *perf_maps, struct log *log,
                        struct anonymous_address *addresses, size_t count)
{
    *code = (struct anonymous_code){.capacity = count};
    if (count == 0)
        return 0;
    code->regions = scratch_alloc(count * sizeof *code->regions);
    if (!code->regions || name_from_lists(code, perf_maps, log, addresses, count) < 0) {
        anonymous_code_deinit(code);
        return -ENOMEM;
    }
    memory_map_read(memory);
    for (size_t i = 0; i < count; i++) {
        if (!modules || !modules_find(modules, addresses[i].address))
            locate_address(code, memory_map_find(memory, addresses[i].address), &addresses[i]);
    }
    return 0;
}

void anonymous_code_deinit(struct anonymous_code *code)
{
    scratch_free(code->regions, code->capacity * sizeof *code->regions);
    string_pool_deinit(&code->names);
    *code = (struct anonymous_code){0};
}
