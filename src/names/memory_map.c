#include "memory_map.h"

#include "base/arena.h"
#include "base/lines.h"
#include "base/sort.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_CAPACITY = 256 };

static const char deleted[] = " (deleted)";

/* ---- one line: START-END PERMISSIONS OFFSET MAJOR:MINOR INODE PATH ---- */

/* Moves to the next word. */
static void skip_word(const char **at, const char *end)
{
    while (*at < end && **at != ' ')
        ++*at;
    while (*at < end && **at == ' ')
        ++*at;
}

/* Reads a number that is followed by a certain character. */
static bool read_number(const char **at, const char *end, unsigned base, char after, uint64_t *ret)
{
    return lines_read_number(at, end, base, ret) && *at < end && *(*at)++ == after;
}

/* ret_path: where the path begins, which ends with the line. */
static bool read_region(const struct line *line, struct memory_region *ret, const char **ret_path)
{
    const char *at = line->text, *end = at + line->bytes;
    *ret = (struct memory_region){.path = ""};
    if (!read_number(&at, end, 16, '-', &ret->start) || !read_number(&at, end, 16, ' ', &ret->end) ||
        ret->start >= ret->end)
        return false;
    ret->is_executable = end - at > 2 && at[2] == 'x';
    skip_word(&at, end);
    if (!read_number(&at, end, 16, ' ', &ret->file_offset))
        return false;
    skip_word(&at, end);
    if (!lines_read_number(&at, end, 10, &ret->inode))
        return false;
    skip_word(&at, end);
    *ret_path = at;
    return true;
}

/* ---- the map ---- */

static bool reserve_region(struct memory_map *map)
{
    map->regions =
        scratch_reserve(map->regions, &map->capacity_bytes, (map->count + 1) * sizeof *map->regions,
                        FIRST_CAPACITY * sizeof *map->regions);
    map->count = map->regions ? map->count : 0;
    return map->regions != NULL;
}

static const char *copy_path(struct memory_map *map, const char *path, size_t bytes, bool *ret_is_deleted)
{
    size_t suffix_bytes = sizeof deleted - 1;
    *ret_is_deleted = bytes > suffix_bytes && memcmp(path + bytes - suffix_bytes, deleted, suffix_bytes) == 0;
    if (*ret_is_deleted)
        bytes -= suffix_bytes;
    if (bytes == 0 || memchr(path, 0, bytes))
        return "";
    /* The segments of one object stand one after the other. */
    const char *last = map->count > 0 ? map->regions[map->count - 1].path : "";
    if (strlen(last) == bytes && memcmp(last, path, bytes) == 0)
        return last;
    const char *kept = string_pool_add(&map->paths, path, bytes);
    return kept ? kept : "";
}

void memory_map_read_fd(struct memory_map *map, int fd)
{
    struct lines lines;
    struct line line;
    struct memory_region region;
    const char *path;
    map->is_read = true;
    if (lines_init(&lines, fd, 0, INT64_MAX) < 0)
        return;
    while (lines_next(&lines, &line)) {
        uint64_t last_end = map->count > 0 ? map->regions[map->count - 1].end : 0;
        if (!read_region(&line, &region, &path) || region.start < last_end)
            continue; /* the kernel's order is ascending, and memory_map_find needs that */
        region.path = copy_path(map, path, (size_t)(line.text + line.bytes - path), &region.is_deleted);
        if (!reserve_region(map))
            break;
        map->regions[map->count++] = region;
    }
    lines_deinit(&lines);
}

void memory_map_read(struct memory_map *map)
{
    int fd = map->is_read ? -1 : open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
    map->is_read = true;
    if (fd < 0)
        return;
    memory_map_read_fd(map, fd);
    close(fd);
}

void memory_map_deinit(struct memory_map *map)
{
    scratch_free(map->regions, map->capacity_bytes);
    string_pool_deinit(&map->paths);
    *map = (struct memory_map){0};
}

const struct memory_region *memory_map_find(const struct memory_map *map, uint64_t address)
{
    size_t after = sort_find_first(map->regions, map->count, sizeof *map->regions, address + 1);
    const struct memory_region *region = after > 0 ? &map->regions[after - 1] : NULL;
    return region && address < region->end ? region : NULL;
}

bool memory_region_has_file(const struct memory_region *region)
{
    return region->path[0] == '/' && !region->is_deleted;
}
