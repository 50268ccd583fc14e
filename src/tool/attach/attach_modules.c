#include "attach_modules.h"
#include "base/clock.h"
#include "base/hash.h"
#include "sig/sys/sig_memory.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    HEADERS_MAX = 64,
    AUXV_MAX = 64,
    PAGE_BYTES = 4096,
    NAME_BYTES = 2 * PATH_MAX,
    ROOT_BYTES = 64,
    READ_PARTS = 200, /* of the time, one goes into reading the map */
    AGE_PARTS = 4     /* of the time since an exec, one passes until it is read again */
};

static const uint64_t period_ns = NS_PER_S / 4;

/* In the middle of an exec a process has nothing mapped. */
enum { FIRST_TRIES = 100 };
static const uint64_t first_pause_ns = 10 * NS_PER_MS;

/* ---- the program ---- */

/* Without " (deleted)". "" if it cannot be read. */
static void read_program(struct attach_modules *mapped)
{
    static const char deleted[] = " (deleted)";
    char link[PATH_MAX - ROOT_BYTES] = "";
    ssize_t length = readlinkat(mapped->directory, "exe", link, sizeof link - 1);
    link[length > 0 ? length : 0] = '\0';
    const size_t bytes = strlen(link), suffix = sizeof deleted - 1;
    if (bytes > suffix && strcmp(link + bytes - suffix, deleted) == 0)
        link[bytes - suffix] = '\0';
    snprintf(mapped->program, sizeof mapped->program, "%s%s", mapped->root, link);
}

/* Returns whether another program has begun. One that executes itself begins at the same address. */
static bool read_entry(struct attach_modules *mapped)
{
    const uint64_t entry = mapped->entry, random = mapped->random;
    Elf64_auxv_t entries[AUXV_MAX];
    int fd = openat(mapped->directory, "auxv", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? -1 : read(fd, entries, sizeof entries);
    if (fd >= 0)
        close(fd);
    for (ssize_t i = 0; i < bytes / (ssize_t)sizeof *entries; i++) {
        if (entries[i].a_type == AT_ENTRY)
            mapped->entry = entries[i].a_un.a_val;
        else if (entries[i].a_type == AT_RANDOM)
            mapped->random = entries[i].a_un.a_val;
    }
    return mapped->entry != entry || mapped->random != random;
}

void attach_modules_init(struct attach_modules *ret, int directory, const char *root)
{
    *ret = (struct attach_modules){.directory = directory, .root = root, .is_due = true};
    read_program(ret);
}

/* ---- an object ---- */

/* Its headers, copied from its memory. */
struct object {
    Elf64_Ehdr header;
    Elf64_Phdr headers[HEADERS_MAX];
    struct dl_phdr_info info;
};

static bool is_elf(const Elf64_Ehdr *header)
{
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
           header->e_phentsize == sizeof(Elf64_Phdr) && header->e_phnum > 0 && header->e_phnum <= HEADERS_MAX;
}

/* start: where the beginning of the file is mapped. */
static bool read_object(struct object *object, uint64_t start)
{
    if (!sig_memory_copy(&object->header, start, sizeof object->header) || !is_elf(&object->header) ||
        !sig_memory_copy(object->headers, start + object->header.e_phoff,
                         object->header.e_phnum * sizeof *object->headers))
        return false;
    object->info = (struct dl_phdr_info){.dlpi_phdr = object->headers, .dlpi_phnum = object->header.e_phnum};
    for (int i = 0; i < object->header.e_phnum; i++) {
        const Elf64_Phdr *header = &object->headers[i];
        if (header->p_type != PT_LOAD || header->p_offset >= PAGE_BYTES)
            continue;
        object->info.dlpi_addr = start - (header->p_vaddr - header->p_offset);
        return true;
    }
    return false;
}

static bool holds(const struct object *object, uint64_t address)
{
    for (int i = 0; i < object->header.e_phnum; i++) {
        const Elf64_Phdr *header = &object->headers[i];
        uint64_t start = object->info.dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && address >= start && address - start < header->p_memsz)
            return true;
    }
    return false;
}

/* ---- the map ---- */

static bool is_vdso(const struct memory_region *region)
{
    return strcmp(region->path, "[vdso]") == 0;
}

/* Whether an object may begin there. */
static bool begins_object(const struct memory_region *region)
{
    return region->file_offset == 0 && (region->path[0] == '/' || is_vdso(region));
}

/* Whether code of the same file follows before another one begins. */
static bool has_code(const struct memory_map *map, size_t first)
{
    for (size_t i = first; i < map->count && (i == first || !begins_object(&map->regions[i])); i++) {
        if (map->regions[i].is_executable && strcmp(map->regions[i].path, map->regions[first].path) == 0)
            return true;
    }
    return false;
}

static void add_object(const struct attach_modules *mapped, struct modules *modules,
                       const struct memory_region *region)
{
    struct object read;
    struct module object = {.is_main = false};
    char name[NAME_BYTES];
    if (!read_object(&read, region->start))
        return;
    object.is_main = mapped->entry && holds(&read, mapped->entry);
    snprintf(name, sizeof name, "%s%s", region->path[0] == '/' ? mapped->root : "", region->path);
    read.info.dlpi_name = object.is_main ? "" : name;
    loader_visit_object(&read.info, &object, modules_add_segment, modules);
}

/* A snapshot of it all. That as many objects are loaded as unloaded stands for any change. */
static void make_snapshot(const struct attach_modules *mapped, struct modules *modules,
                          const struct memory_map *map)
{
    const struct loader_state state = {.loads = mapped->changes, .unloads = mapped->changes};
    modules_begin_snapshot(modules);
    for (size_t i = 0; i < map->count; i++) {
        if (begins_object(&map->regions[i]) && has_code(map, i))
            add_object(mapped, modules, &map->regions[i]);
    }
    modules_end_snapshot(modules, &state);
}

static uint64_t hash_map(const struct memory_map *map)
{
    uint64_t hash = hash_of_nothing;
    for (size_t i = 0; i < map->count; i++) {
        const struct memory_region *region = &map->regions[i];
        if (!region->is_executable)
            continue;
        hash = hash_bytes(hash, &region->start, sizeof region->start);
        hash = hash_bytes(hash, &region->end, sizeof region->end);
        hash = hash_bytes(hash, &region->inode, sizeof region->inode);
        hash = hash_bytes(hash, region->path, strlen(region->path));
    }
    return hash;
}

/* It may be another program by now. The map of a process that has just ended is empty: what was there is
 * still to be named. */
static bool take_map(struct attach_modules *mapped, struct modules *modules, const struct memory_map *map)
{
    const uint64_t hash = hash_map(map);
    if (map->count == 0)
        return false;
    const bool is_other = read_entry(mapped);
    if (!is_other && hash == mapped->hash && modules->now.number > 0)
        return false;
    mapped->hash = hash;
    mapped->changes++;
    if (is_other)
        mapped->since_ns = clock_monotonic_ns();
    read_program(mapped);
    snprintf(modules->main_path, sizeof modules->main_path, "%s", mapped->program);
    make_snapshot(mapped, modules, map);
    return true;
}

static bool read_map(struct attach_modules *mapped, struct modules *modules)
{
    struct memory_map map = {.is_read = false};
    int fd = openat(mapped->directory, "maps", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        memory_map_read_fd(&map, fd);
        close(fd);
    }
    const bool is_changed = take_map(mapped, modules, &map);
    memory_map_deinit(&map);
    return is_changed;
}

/* A process that has just executed a program maps its libraries then. That it is read more often at first
 * does not add up to much: each pause is longer by a quarter than the one before. */
static uint64_t choose_pause(const struct attach_modules *mapped, uint64_t now_ns, uint64_t took_ns)
{
    const uint64_t pause_ns = (now_ns - mapped->since_ns) / AGE_PARTS;
    if (pause_ns < period_ns)
        return pause_ns;
    return took_ns * READ_PARTS > period_ns ? took_ns * READ_PARTS : period_ns;
}

bool attach_modules_refresh(struct attach_modules *mapped, struct modules *modules)
{
    const uint64_t begin_ns = clock_monotonic_ns();
    const struct timespec pause = clock_ns_timespec(first_pause_ns);
    if (!mapped->is_due || begin_ns < mapped->due_ns)
        return false;
    mapped->is_due = false;
    const bool is_first = modules->now.number == 0;
    bool is_changed = read_map(mapped, modules);
    for (int i = 0; is_first && modules->now.count == 0 && i < FIRST_TRIES; i++) {
        nanosleep(&pause, NULL);
        is_changed = read_map(mapped, modules);
    }
    const uint64_t now_ns = clock_monotonic_ns();
    mapped->due_ns = now_ns + choose_pause(mapped, now_ns, is_first ? 0 : now_ns - begin_ns);
    return is_changed;
}
