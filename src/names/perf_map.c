/*
 * Two passes over the list. The first finds for every query the offset of the last entry that covers it. The
 * second reads these entries and copies their names. So a list in which all entries cover one address costs
 * no more than another, in memory or in time.
 *
 * The first pass uses a segment tree (as elf.c does). An entry that covers the queries [first, last) writes
 * its mark (offset + 1) to the O(log queries) nodes that make up this range. Marks only grow. So the last
 * entry for a query is the greatest mark on the way from its leaf to the root.
 */
#include "perf_map.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/lines.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "base/raw_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The time of a file can be this much before the clock: the kernel's clock for files is coarse, and some file
 * systems store whole seconds. */
static const uint64_t file_time_slack_ns = NS_PER_S;

/* ---- whose lists ---- */

void perf_map_path(pid_t pid, char ret[PERF_MAP_PATH_BYTES])
{
    snprintf(ret, PERF_MAP_PATH_BYTES, "/tmp/perf-%d.map", (int)pid);
}

static int check_file(int fd, uint64_t since_utc_ns, struct stat *status)
{
    if (raw_fstat(fd, status) < 0)
        return -errno;
    if (!S_ISREG(status->st_mode))
        return -EINVAL;
    if (status->st_uid != geteuid() && status->st_uid != 0)
        return -EPERM;
    if (clock_timespec_ns(&status->st_mtim) + file_time_slack_ns < since_utc_ns)
        return -ESTALE;
    return 0;
}

int perf_map_open(const char *path, uint64_t since_utc_ns)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    int error = check_file(fd, since_utc_ns, &status);
    if (error < 0) {
        close(fd);
        return error;
    }
    return fd;
}

static void add_source(struct perf_maps *maps, const struct perf_map_source *source)
{
    if (maps->count == PERF_MAPS_MAX)
        memmove(maps->sources, maps->sources + 1, --maps->count * sizeof *source);
    maps->sources[maps->count++] = *source;
}

/* Takes only as much of an ancestor's list as is there now: what follows is not about our code. */
static void inherit_source(struct perf_maps *maps, struct perf_map_source source)
{
    char path[PERF_MAP_PATH_BYTES];
    struct stat status;
    perf_map_path(source.pid, path);
    if (raw_lstat(path, &status) < 0 || status.st_size <= 0)
        return;
    if (source.bytes > (uint64_t)status.st_size)
        source.bytes = (uint64_t)status.st_size;
    add_source(maps, &source);
}

void perf_maps_init(struct perf_maps *maps, pid_t pid, uint64_t start_utc_ns, const struct perf_maps *parent)
{
    maps->count = 0;
    for (uint32_t i = 0; parent && i < parent->count; i++)
        inherit_source(maps, parent->sources[i]);
    add_source(maps, &(struct perf_map_source){pid, start_utc_ns, UINT64_MAX});
}

/* ---- one entry ---- */

struct perf_entry {
    uint64_t start, end;
    const char *name; /* not terminated */
    size_t name_bytes;
};

static bool read_hex(const char **at, const char *end, uint64_t *ret)
{
    if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] | 0x20) == 'x')
        *at += 2;
    return lines_read_number(at, end, 16, ret);
}

static bool skip_spaces(const char **at, const char *end)
{
    const char *begin = *at;
    while (*at < end && (**at == ' ' || **at == '\t'))
        ++*at;
    return *at > begin;
}

static bool read_entry(const struct line *line, struct perf_entry *ret)
{
    const char *at = line->text, *end = at + line->bytes;
    uint64_t bytes;
    if (!read_hex(&at, end, &ret->start) || !skip_spaces(&at, end) || !read_hex(&at, end, &bytes) ||
        !skip_spaces(&at, end) || bytes > UINT64_MAX - ret->start)
        return false;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    ret->end = ret->start + bytes;
    ret->name = at;
    ret->name_bytes = (size_t)(end - at);
    return end > at;
}

/* Makes control characters and invalid UTF-8 in a name harmless. */
static const char *copy_clean_name(struct string_pool *names, const struct perf_entry *entry)
{
    char name[PERF_MAP_NAME_BYTES + 1];
    size_t bytes = entry->name_bytes < PERF_MAP_NAME_BYTES ? entry->name_bytes : PERF_MAP_NAME_BYTES;
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)entry->name[i];
        name[i] = c == '\t' ? ' ' : c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    name[bytes] = '\0';
    utf8_repair(name);
    return string_pool_add(names, name, bytes);
}

/* ---- the first pass ---- */

/* Node 1 is the root, query i is leaf count + i; a mark is a file offset + 1, 0 for none. */
struct perf_search {
    const struct perf_map_query *queries;
    size_t count;
    uint64_t *marks; /* 2 * count */
};

/* Index of the first query at or after an address. */
static size_t first_query_from(const struct perf_search *search, uint64_t address)
{
    return sort_find_first(search->queries, search->count, sizeof *search->queries, address);
}

static void note_entry(struct perf_search *search, const struct perf_entry *entry, uint64_t mark)
{
    size_t first = first_query_from(search, entry->start);
    if (first == search->count || search->queries[first].address >= entry->end)
        return;
    size_t left = first + search->count, right = first_query_from(search, entry->end) + search->count;
    for (; left < right; left /= 2, right /= 2) {
        if (left & 1)
            search->marks[left++] = mark;
        if (right & 1)
            search->marks[--right] = mark;
    }
}

static uint64_t mark_of(const struct perf_search *search, size_t query)
{
    uint64_t mark = 0;
    for (size_t node = query + search->count; node > 0; node /= 2)
        mark = search->marks[node] > mark ? search->marks[node] : mark;
    return mark;
}

static uint64_t note_entries(struct perf_search *search, int fd, uint64_t bytes)
{
    struct lines lines;
    struct line line;
    struct perf_entry entry;
    uint64_t malformed = 0, offset = bytes > perf_map_max_bytes ? bytes - perf_map_max_bytes : 0;
    if (lines_init(&lines, fd, offset, bytes) < 0)
        return 0;
    if (offset > 0) /* the first line is cut */
        lines_next(&lines, &line);
    while (lines_next(&lines, &line)) {
        if (read_entry(&line, &entry))
            note_entry(search, &entry, line.offset + 1);
        else
            malformed++;
    }
    lines_deinit(&lines);
    return malformed;
}

/* ---- the second pass ---- */

/* The file can have changed between the passes: an entry counts if it still covers the address. */
static const char *name_at(int fd, uint64_t offset, struct string_pool *names, uint64_t address)
{
    char text[LINE_MAX_BYTES];
    struct perf_entry entry;
    ssize_t got = pread(fd, text, sizeof text, (off_t)offset);
    if (got <= 0)
        return NULL;
    const char *newline = memchr(text, '\n', (size_t)got);
    struct line line = {.text = text, .bytes = newline ? (size_t)(newline - text) : (size_t)got};
    if (!read_entry(&line, &entry) || address < entry.start || address >= entry.end)
        return NULL;
    return copy_clean_name(names, &entry);
}

static void read_names(const struct perf_search *search, int fd, struct string_pool *names,
                       struct perf_map_query *queries)
{
    uint64_t last_mark = 0; /* neighbours mostly share an entry */
    const char *last_name = NULL;
    for (size_t i = 0; i < search->count; i++) {
        uint64_t mark = mark_of(search, i);
        if (mark == 0 || queries[i].name)
            continue;
        if (mark != last_mark)
            last_name = name_at(fd, mark - 1, names, queries[i].address);
        last_mark = mark;
        queries[i].name = last_name;
    }
}

uint64_t perf_map_name(int fd, uint64_t bytes, struct string_pool *names, struct perf_map_query *queries,
                       size_t count)
{
    struct perf_search search = {.queries = queries, .count = count};
    struct stat status;
    if (count == 0 || raw_fstat(fd, &status) < 0)
        return 0;
    if (bytes > (uint64_t)status.st_size)
        bytes = (uint64_t)status.st_size;
    search.marks = scratch_alloc(2 * count * sizeof *search.marks);
    if (!search.marks)
        return 0;
    uint64_t malformed = note_entries(&search, fd, bytes);
    read_names(&search, fd, names, queries);
    scratch_free(search.marks, 2 * count * sizeof *search.marks);
    return malformed;
}
