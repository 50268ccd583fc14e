#include "mapped_store.h"
#include "base/clock.h"
#include "sig/sys/sig_atomic.h"
#include "base/raw_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096 };

/* By then what was written is on the disk: pages are dirty for 30 s at most (vm.dirty_expire_centisecs). */
static const uint64_t checkpoint_ns = 60 * (uint64_t)NS_PER_S;

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

/* ---- disk space ---- */

/* Allocates where the file system has no fallocate. */
static int write_zeros(int fd, uint64_t offset, size_t bytes)
{
    static const char zeros[PAGE_BYTES];
    for (size_t done = 0; done < bytes; done += PAGE_BYTES) {
        if (pwrite(fd, zeros, PAGE_BYTES, (off_t)(offset + done)) != PAGE_BYTES)
            return errno ? -errno : -ENOSPC;
    }
    return 0;
}

static int allocate_space(int fd, uint64_t offset, size_t bytes)
{
    int status;
    if (fd == 0)
        return -EBADF; /* closed with a thread */
    do
        status = fallocate(fd, 0, (off_t)offset, (off_t)bytes) < 0 ? -errno : 0;
    while (status == -EINTR);
    return status == -EOPNOTSUPP || status == -ENOSYS ? write_zeros(fd, offset, bytes) : status;
}

/* A file system that writes each time to another place (btrfs) may lack space for what it had space for. */
static void prefer_writing_in_place(int fd)
{
    struct statfs system;
    int flags = 0;
    if (fstatfs(fd, &system) < 0 || system.f_type != BTRFS_SUPER_MAGIC ||
        ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        return;
    flags |= FS_NOCOW_FL;
    ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static int map_part(const struct mapped_part *part, int fd, size_t from_bytes, size_t bytes)
{
    if (bytes == from_bytes)
        return 0;
    void *mapped = mmap((char *)part->memory.base + from_bytes, bytes - from_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_FIXED, fd, (off_t)(part->offset + from_bytes));
    return mapped == MAP_FAILED ? -errno : 0;
}

static void extend_part(struct arena_backing *backing, size_t bytes)
{
    struct mapped_part *part = (struct mapped_part *)backing;
    size_t have = part->backing.bytes, wanted = arena_step(have, bytes, part->memory.bytes);
    int status = allocate_space(part->store->fd, part->offset + have, wanted - have);
    if (status < 0 && bytes < wanted) { /* there may be enough for now */
        wanted = whole_pages(bytes);
        status = allocate_space(part->store->fd, part->offset + have, wanted - have);
    }
    if (status == 0)
        status = map_part(part, part->store->fd, have, wanted);
    if (status == 0)
        backing->bytes = wanted;
    else
        mapped_store_give_up(part->store, status);
}

/* ---- from memory to the file, and back ---- */

static int write_all(int fd, const void *bytes, size_t count, uint64_t offset)
{
    for (size_t done = 0; done < count;) {
        ssize_t written = pwrite(fd, (const char *)bytes + done, count - done, (off_t)(offset + done));
        if (written < 0 && errno != EINTR)
            return -errno;
        done += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

static void lay_out_parts(struct mapped_store *store, const struct mapped_memory memory[MAPPED_PART_COUNT])
{
    uint64_t offset = STORE_HEADER_BYTES;
    for (int i = 0; i < MAPPED_PART_COUNT; i++) {
        store->parts[i] = (struct mapped_part){.memory = memory[i], .offset = offset, .store = store};
        store->parts[i].memory.bytes = whole_pages(memory[i].bytes);
        store->parts[i].backing.extend = extend_part;
        offset += store->parts[i].memory.bytes;
    }
}

static uint64_t end_of_file(const struct mapped_store *store)
{
    const struct mapped_part *last = &store->parts[MAPPED_PART_COUNT - 1];
    return last->offset + last->memory.bytes;
}

static void describe_parts(const struct mapped_store *store, struct store_header *header)
{
    const struct mapped_part *arena = &store->parts[MAPPED_ARENA], *records = &store->parts[MAPPED_RECORDS],
                             *events = &store->parts[MAPPED_EVENTS];
    header->arena = (struct store_part){arena->offset, arena->memory.bytes};
    header->live.arena_used_bytes = arena->memory.used_bytes;
    header->live.records = (struct store_part){records->offset, records->memory.bytes};
    header->live.events = (struct store_part){events->offset, events->memory.bytes};
}

/* Writes what is recorded already, and the header last: a file with a header is complete. */
static int fill_file(struct mapped_store *store, int fd, struct store_header *header)
{
    int status = ftruncate(fd, (off_t)end_of_file(store)) < 0 ? -errno : 0;
    if (status == 0)
        status = allocate_space(fd, 0, STORE_HEADER_BYTES);
    for (int i = 0; i < MAPPED_PART_COUNT && status == 0; i++) {
        struct mapped_part *part = &store->parts[i];
        size_t space =
            part->memory.bytes > 0 ? arena_step(0, part->memory.used_bytes, part->memory.bytes) : 0;
        if (space > 0)
            status = allocate_space(fd, part->offset, space);
        if (status == 0)
            status = write_all(fd, part->memory.base, part->memory.used_bytes, part->offset);
        part->backing.bytes = space;
    }
    describe_parts(store, header);
    return status == 0 ? write_all(fd, header, sizeof *header, 0) : status;
}

/* Replaces the file by a copy of it, in one step: handlers may be reading nearby. Without memory the file
 * stays mapped, and goes on to have the space that it has. */
static void copy_part_back(struct mapped_part *part)
{
    const size_t bytes = part->backing.bytes;
    void *copy = bytes > 0 ? scratch_alloc(bytes) : NULL;
    if (!copy)
        return;
    memcpy(copy, part->memory.base, bytes);
    if (mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, part->memory.base) == MAP_FAILED)
        scratch_free(copy, bytes);
}

/* Stores the time last, for readers of the file. */
static void copy_end(struct store_noted_end *to, const struct store_noted_end *from)
{
    uint64_t time_ns = sig_load_seq_cst(&from->time_ns);
    sig_store_relaxed(&to->kind, sig_load_relaxed(&from->kind));
    sig_store_relaxed(&to->value, sig_load_relaxed(&from->value));
    sig_store_seq_cst(&to->time_ns, time_ns);
}

/* Replaces a header that was given up in one step: any thread may be about to write there. */
static int map_header(const struct mapped_store *store, int fd, struct store_header **ret)
{
    void *page = store->header ? store->header : scratch_alloc(STORE_HEADER_BYTES);
    if (!page)
        return -ENOMEM;
    *ret = mmap(page, STORE_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    return *ret == MAP_FAILED ? -errno : 0; /* a page that could not be mapped is left */
}

static int map_all(struct mapped_store *store, int fd)
{
    struct store_header *page = NULL;
    int status = 0, done = 0;
    while (done < MAPPED_PART_COUNT &&
           (status = map_part(&store->parts[done], fd, 0, store->parts[done].backing.bytes)) == 0)
        done++;
    if (status == 0)
        status = map_header(store, fd, &page);
    while (status < 0 && --done >= 0)
        copy_part_back(&store->parts[done]);
    if (status < 0)
        return status;
    for (int i = 0; i < MAPPED_PART_COUNT; i++) {
        if (store->parts[i].memory.backing)
            *store->parts[i].memory.backing = &store->parts[i].backing;
    }
    sig_store_seq_cst(&store->header,
                      page); /* partner: note_end, which stores `noted` before it loads this */
    if (sig_load_seq_cst(&store->noted.time_ns))
        copy_end(&page->live.end, &store->noted);
    return 0;
}

/* Closes that of a store that was given up. */
static void keep_descriptor(struct mapped_store *store, int fd)
{
    struct stat status = {0};
    if (store->fd > 0)
        close(store->fd);
    raw_fstat(fd, &status);
    store->fd = fd;
    store->device = status.st_dev;
    store->inode = status.st_ino;
}

int mapped_store_begin(struct mapped_store *store, int fd, struct store_header *header,
                       const struct mapped_memory memory[MAPPED_PART_COUNT])
{
    lay_out_parts(store, memory);
    prefer_writing_in_place(fd);
    int status = fill_file(store, fd, header);
    if (status == 0)
        status = map_all(store, fd);
    if (status == 0)
        keep_descriptor(store, fd);
    return status;
}

void mapped_store_lose_file(struct mapped_store *store)
{
    store->fd = 0;
}

int mapped_store_take_file(struct mapped_store *store, int fd)
{
    struct stat status;
    if (raw_fstat(fd, &status) < 0)
        return -errno;
    if (status.st_dev != store->device || status.st_ino != store->inode)
        return -ESTALE;
    store->fd = fd;
    return 0;
}

bool mapped_store_is_kept(const struct mapped_store *store)
{
    const struct store_header *header = sig_load_acquire(&store->header); /* partner: the store in map_all */
    return header && sig_load_relaxed(&header->live.state) == STORE_LIVE;
}

void mapped_store_give_up(struct mapped_store *store, int error)
{
    store->header->live.error = error;
    sig_store_release(&store->header->live.state, STORE_GIVEN_UP); /* for readers of the file */
    for (int i = 0; i < MAPPED_PART_COUNT; i++) {
        struct mapped_part *part = &store->parts[i];
        copy_part_back(part);
        if (part->memory.backing)
            *part->memory.backing = NULL;
    }
}

/* ---- what the header says ---- */

void mapped_store_show(struct mapped_store *store, const struct store_tree *tree, size_t arena_used_bytes)
{
    if (!mapped_store_is_kept(store))
        return;
    sig_keep_order(); /* records before the lists that lead to them */
    store->header->tree = *tree;
    sig_keep_order();
    store->header->live.arena_used_bytes = arena_used_bytes;
}

static void make_checkpoint(struct mapped_store *store, uint64_t now_ns)
{
    struct store_header *header = store->header;
    struct store_checkpoint *checkpoint = &header->live.checkpoints[store->checkpoint % STORE_CHECKPOINTS];
    if (now_ns < store->checkpoint_ns)
        return;
    if (store->checkpoint_ns > 0) {
        checkpoint->tree = header->tree;
        checkpoint->arena_used_bytes = header->live.arena_used_bytes;
        checkpoint->time_ns = now_ns;
        store->checkpoint++;
    }
    store->checkpoint_ns = now_ns + checkpoint_ns;
}

void mapped_store_beat_alone(struct mapped_store *store, uint64_t now_ns)
{
    if (mapped_store_is_kept(store))
        sig_store_release(&store->header->live.beat_ns, now_ns); /* for readers of the file */
}

void mapped_store_stop(struct mapped_store *store)
{
    if (mapped_store_is_kept(store))
        store->header->live.is_stopped = 1;
}

void mapped_store_skip(struct mapped_store *store, uint64_t stopped_ns)
{
    if (!mapped_store_is_kept(store))
        return;
    store->header->live.stopped_ns += stopped_ns;
    store->header->live.is_stopped = 0;
}

void mapped_store_beat(struct mapped_store *store, uint64_t now_ns, uint64_t tick,
                       const struct counters *counters, const struct timeline *timeline)
{
    if (!mapped_store_is_kept(store))
        return;
    struct store_live *shown = &store->header->live;
    store->header->counters = *counters;
    shown->tick = tick;
    if (timeline)
        shown->timeline = store_describe_timeline(timeline);
    sig_keep_order();
    sig_store_relaxed(&shown->timeline_is_moving, 0);
    mapped_store_beat_alone(store, now_ns);
    make_checkpoint(store, now_ns);
}

static void note_end(struct mapped_store *store, const struct store_noted_end *end)
{
    copy_end(&store->noted, end);
    struct store_header *header = sig_load_seq_cst(&store->header); /* partner: map_all */
    if (header)
        copy_end(&header->live.end, end);
}

void mapped_store_note_end(struct mapped_store *store, enum store_end kind, int value, uint64_t now_ns)
{
    note_end(store, &(struct store_noted_end){.time_ns = now_ns, .kind = kind, .value = value});
}

void mapped_store_cancel_end(struct mapped_store *store)
{
    note_end(store, &(struct store_noted_end){0});
}

void mapped_store_note_death(struct mapped_store *store, int32_t pid, int signal, uint64_t now_ns)
{
    struct store_header *header = sig_load_acquire(&store->header); /* partner: the store in map_all */
    if (!header)
        return;
    uint32_t index = sig_add_relaxed(&header->live.death_count, 1) % STORE_DEATHS;
    header->live.deaths[index] = (struct store_death){.time_ns = now_ns, .pid = pid, .signal = signal};
}

/* ---- the end ---- */

/* Without records in the file, there are only holes and unused space after the arena. */
uint64_t mapped_store_cut(struct mapped_store *store)
{
    struct store_header *header = store->header;
    uint64_t end = STORE_HEADER_BYTES + whole_pages(header->live.arena_used_bytes);
    if (store->parts[MAPPED_RECORDS].memory.bytes > 0 || ftruncate(store->fd, (off_t)end) < 0)
        return end_of_file(store);
    header->arena.bytes = header->live.arena_used_bytes;
    return end;
}

void mapped_store_close(struct mapped_store *store, uint64_t duration_ns, const char *restraint,
                        arena_ref messages, const struct store_part *names)
{
    struct store_header *header = store->header;
    header->messages = messages;
    header->symbols = *names;
    snprintf(header->restraint, sizeof header->restraint, "%s", restraint);
    header->duration_ns = duration_ns;
    sig_store_release(&header->live.state, STORE_CLOSED); /* for readers of the file */
}

void mapped_store_drop(struct mapped_store *store)
{
    if (store->header)
        munmap(store->header, STORE_HEADER_BYTES);
    *store = (struct mapped_store){0};
}
