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

struct cursor {
    const char *at, *end;
};

/* Reads at least one digit and stops at the first character that is none. */
static bool read_number(struct cursor *cursor, unsigned base, uint64_t *ret)
{
    const char *begin = cursor->at;
    for (*ret = 0; cursor->at < cursor->end; cursor->at++) {
        char c = *cursor->at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit >= base)
            break;
        *ret = *ret * base + digit;
    }
    return cursor->at > begin;
}

static bool skip_character(struct cursor *cursor, char c)
{
    if (cursor->at == cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    return true;
}

static void skip_word(struct cursor *cursor)
{
    while (cursor->at < cursor->end && *cursor->at != ' ')
        cursor->at++;
    while (cursor->at < cursor->end && *cursor->at == ' ')
        cursor->at++;
}

static bool read_region(const struct line *line, struct memory_region *ret, struct cursor *ret_path)
{
    struct cursor cursor = {line->text, line->text + line->bytes};
    *ret = (struct memory_region){.path = ""};
    if (!read_number(&cursor, 16, &ret->start) || !skip_character(&cursor, '-') ||
        !read_number(&cursor, 16, &ret->end) || !skip_character(&cursor, ' ') || ret->start >= ret->end)
        return false;
    ret->is_executable = cursor.end - cursor.at > 2 && cursor.at[2] == 'x';
    skip_word(&cursor);
    if (!read_number(&cursor, 16, &ret->file_offset) || !skip_character(&cursor, ' '))
        return false;
    skip_word(&cursor);
    if (!read_number(&cursor, 10, &ret->inode))
        return false;
    skip_word(&cursor);
    *ret_path = cursor;
    return true;
}

/* ---- the map ---- */

static bool reserve_region(struct memory_map *map)
{
    if (map->count < map->capacity)
        return true;
    size_t capacity = map->capacity ? 2 * map->capacity : FIRST_CAPACITY;
    map->regions =
        scratch_grow(map->regions, map->capacity * sizeof *map->regions, capacity * sizeof *map->regions);
    map->capacity = map->regions ? capacity : 0;
    map->count = map->regions ? map->count : 0;
    return map->regions != NULL;
}

static const char *copy_path(struct memory_map *map, struct cursor path, bool *ret_is_deleted)
{
    size_t bytes = (size_t)(path.end - path.at), suffix_bytes = sizeof deleted - 1;
    *ret_is_deleted = bytes > suffix_bytes && memcmp(path.end - suffix_bytes, deleted, suffix_bytes) == 0;
    if (*ret_is_deleted)
        bytes -= suffix_bytes;
    if (bytes == 0 || memchr(path.at, 0, bytes))
        return "";
    /* The segments of an object stand one after the other. */
    const char *last = map->count > 0 ? map->regions[map->count - 1].path : "";
    if (strlen(last) == bytes && memcmp(last, path.at, bytes) == 0)
        return last;
    const char *kept = string_pool_add(&map->paths, path.at, bytes);
    return kept ? kept : "";
}

/* The kernel's order is ascending; memory_map_find needs that. */
static bool is_in_order(const struct memory_map *map, const struct memory_region *region)
{
    return map->count == 0 || map->regions[map->count - 1].end <= region->start;
}

void memory_map_read_fd(struct memory_map *map, int fd)
{
    struct lines lines;
    struct line line;
    struct memory_region region;
    struct cursor path;
    map->is_read = true;
    if (lines_init(&lines, fd, 0, INT64_MAX) < 0)
        return;
    while (lines_next(&lines, &line)) {
        if (!read_region(&line, &region, &path) || !is_in_order(map, &region))
            continue;
        region.path = copy_path(map, path, &region.is_deleted);
        if (!reserve_region(map))
            break;
        map->regions[map->count++] = region;
    }
    lines_deinit(&lines);
}

void memory_map_read(struct memory_map *map)
{
    if (map->is_read)
        return;
    map->is_read = true;
    int fd = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    memory_map_read_fd(map, fd);
    close(fd);
}

void memory_map_deinit(struct memory_map *map)
{
    scratch_free(map->regions, map->capacity * sizeof *map->regions);
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
