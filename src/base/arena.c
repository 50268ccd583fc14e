/*
 * The addresses of the region are reserved once, without access, and are opened step by step as they are
 * used. So a program that locks its memory (mlockall) does not lock what nobody uses. The pages arrive zeroed
 * from the kernel, so arena_alloc never clears memory.
 */
#include "arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
    ARENA_PAGE_BYTES = 4096,
    ARENA_RESERVE_PARTS = 16,
    STEP_MIN_BYTES = 128 * 1024,
    STEP_MAX_BYTES = 4 * 1024 * 1024,
};

static const size_t arena_max_bytes = (size_t)UINT32_MAX * ARENA_UNIT_BYTES;

static size_t whole_pages(size_t bytes)
{
    return (bytes + ARENA_PAGE_BYTES - 1) & ~(size_t)(ARENA_PAGE_BYTES - 1);
}

/*
 * Programs unmap memory to map it again at the same address, as with shmdt and shmat. The kernel would give
 * us the highest hole. So each block is asked for behind the one before, far below all that the kernel
 * chooses. If something is there, the kernel chooses after all.
 */
static struct {
    uintptr_t first, next; /* atomic, relaxed: any thread of ours takes a place; 0: not chosen yet */
} places;

/* Of the addresses below the first block: how far below it the places begin, and where they begin again. */
enum { PLACES_BELOW_PARTS = 8, PLACES_PARTS = 32 };

/* memory: the first block, where the kernel has put it. Its address is random, and so are the places. */
static void choose_places(uintptr_t memory)
{
    uintptr_t none = 0, first = (memory - memory / PLACES_BELOW_PARTS) & ~(uintptr_t)(ARENA_PAGE_BYTES - 1);
    __atomic_store_n(&places.first, first, __ATOMIC_RELAXED);
    __atomic_compare_exchange_n(&places.next, &none, first, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* 0: the kernel is to choose. */
static uintptr_t take_place(size_t bytes)
{
    if (__atomic_load_n(&places.next, __ATOMIC_RELAXED) == 0)
        return 0;
    uintptr_t first = __atomic_load_n(&places.first, __ATOMIC_RELAXED);
    uintptr_t place = __atomic_fetch_add(&places.next, bytes, __ATOMIC_RELAXED);
    if (place - first >= first / PLACES_PARTS)
        __atomic_store_n(&places.next, first, __ATOMIC_RELAXED);
    return place;
}

static void *map_scratch(size_t bytes, int protection, int flags)
{
    bytes = whole_pages(bytes ? bytes : 1);
    const uintptr_t place = take_place(bytes);
    void *memory = mmap((void *)place, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (!place)
        choose_places((uintptr_t)memory);
    return memory;
}

/* What scratch_begin has mapped and nobody has taken. */
static struct {
    uintptr_t next, end; /* next is atomic: any thread of ours takes memory; 0: there is none */
} common_block;

void scratch_begin(size_t bytes)
{
    uintptr_t memory = (uintptr_t)map_scratch(bytes, PROT_READ | PROT_WRITE, MAP_NORESERVE);
    common_block.end = memory ? memory + bytes : 0;
    __atomic_store_n(&common_block.next, memory, __ATOMIC_RELEASE); /* partner: the acquire in take_common */
}

static void *take_common(size_t bytes)
{
    bytes = whole_pages(bytes ? bytes : 1);
    uintptr_t next = __atomic_load_n(&common_block.next, __ATOMIC_ACQUIRE);
    do {
        if (next == 0 || common_block.end - next < bytes)
            return NULL;
    } while (!__atomic_compare_exchange_n(&common_block.next, &next, next + bytes, false, __ATOMIC_ACQUIRE,
                                          __ATOMIC_ACQUIRE));
    return (void *)next;
}

void *scratch_alloc(size_t bytes)
{
    void *memory = take_common(bytes);
    return memory ? memory : map_scratch(bytes, PROT_READ | PROT_WRITE, MAP_NORESERVE);
}

void *scratch_alloc_touched(size_t bytes)
{
    return map_scratch(bytes, PROT_READ | PROT_WRITE, MAP_POPULATE);
}

void scratch_free(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes ? bytes : 1);
}

void *scratch_grow(void *memory, size_t old_bytes, size_t new_bytes)
{
    if (!memory)
        return scratch_alloc(new_bytes);
    void *larger = scratch_alloc(new_bytes); /* its address; the old block's pages replace its own */
    if (larger && mremap(memory, old_bytes ? old_bytes : 1, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                         larger) != MAP_FAILED)
        return larger;
    scratch_free(larger, new_bytes);
    scratch_free(memory, old_bytes);
    return NULL;
}

void *scratch_reserve(void *memory, size_t *capacity_bytes, size_t needed_bytes, size_t first_bytes)
{
    if (needed_bytes <= *capacity_bytes)
        return memory;
    size_t grown_bytes = *capacity_bytes ? *capacity_bytes : first_bytes;
    while (grown_bytes < needed_bytes)
        grown_bytes *= 2;
    memory = scratch_grow(memory, *capacity_bytes, grown_bytes);
    *capacity_bytes = memory ? grown_bytes : 0;
    return memory;
}

int arena_init(struct arena *arena, size_t size_bytes)
{
    if (size_bytes > arena_max_bytes)
        size_bytes = arena_max_bytes;
    size_bytes = whole_pages(size_bytes);
    *arena = (struct arena){0};
    arena->base = map_scratch(size_bytes, PROT_NONE, MAP_NORESERVE);
    if (!arena->base)
        return -ENOMEM;
    arena->size_bytes = size_bytes;
    arena->used_bytes = ARENA_UNIT_BYTES;
    return 0;
}

void arena_deinit(struct arena *arena)
{
    scratch_free(arena->base, arena->size_bytes);
    *arena = (struct arena){0};
}

void arena_clear(struct arena *arena)
{
    if (madvise(arena->base, arena->size_bytes, MADV_DONTNEED) < 0) /* locked memory */
        memset(arena->base, 0, arena->used_bytes);
    arena->used_bytes = ARENA_UNIT_BYTES;
}

size_t arena_step(size_t have_bytes, size_t bytes, size_t size_bytes)
{
    size_t step = have_bytes < STEP_MIN_BYTES   ? STEP_MIN_BYTES
                  : have_bytes > STEP_MAX_BYTES ? STEP_MAX_BYTES
                                                : have_bytes;
    size_t wanted = whole_pages(bytes > have_bytes + step ? bytes : have_bytes + step);
    return wanted < size_bytes ? wanted : size_bytes;
}

bool arena_open(struct arena *arena, size_t bytes)
{
    if (arena->backing)
        arena_back(arena->backing, bytes); /* a file may be given up in it */
    if (arena->backing || bytes <= arena->open_bytes)
        return true;
    size_t wanted = arena_step(arena->open_bytes, bytes, arena->size_bytes);
    if (mprotect(arena->base, wanted, PROT_READ | PROT_WRITE) < 0) { /* there may be enough for now */
        wanted = whole_pages(bytes);
        if (mprotect(arena->base, wanted, PROT_READ | PROT_WRITE) < 0)
            return false;
    }
    arena->open_bytes = wanted;
    return true;
}

static arena_ref alloc_below(struct arena *arena, size_t bytes, size_t limit_bytes)
{
    if (bytes > limit_bytes)
        return 0;
    bytes = (bytes + ARENA_UNIT_BYTES - 1) & ~(size_t)(ARENA_UNIT_BYTES - 1);
    if (arena->used_bytes + bytes > limit_bytes || !arena_open(arena, arena->used_bytes + bytes))
        return 0;
    arena_ref ref = (arena_ref)(arena->used_bytes / ARENA_UNIT_BYTES);
    arena->used_bytes += bytes;
    return ref;
}

arena_ref arena_alloc(struct arena *arena, size_t bytes)
{
    return alloc_below(arena, bytes, arena->size_bytes - arena->size_bytes / ARENA_RESERVE_PARTS);
}

arena_ref arena_alloc_reserved(struct arena *arena, size_t bytes)
{
    return alloc_below(arena, bytes, arena->size_bytes);
}

arena_ref arena_strdup(struct arena *arena, const char *string)
{
    size_t bytes = strlen(string) + 1;
    arena_ref ref = arena_alloc(arena, bytes);
    if (ref)
        memcpy(arena_at(arena, ref), string, bytes);
    return ref;
}
