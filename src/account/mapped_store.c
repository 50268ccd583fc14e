#include "mapped_store.h"
#include "base/clock.h"
#include "sig/sys/sig_atomic.h"

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

enum { PAGE_BYTES = 4096, STEP_MIN_BYTES = 128 * 1024, STEP_MAX_BYTES = 4 * 1024 * 1024 };

/* By then what was written before is on the disk: the kernel leaves nothing dirty for longer than half a
 * minute (vm.dirty_expire_centisecs), and takes some time to write. */
static const uint64_t checkpoint_ns = 60 * (uint64_t)NS_PER_S;

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

/* ---- room in the file ---- */

/* Where room cannot be asked for it is taken. */
static int write_zeros(int fd, uint64_t offset, size_t bytes)
{
    static const char zeros[PAGE_BYTES];
    for (size_t done = 0; done < bytes; done += PAGE_BYTES) {
        if (pwrite(fd, zeros, PAGE_BYTES, (off_t)(offset + done)) != PAGE_BYTES)
            return errno ? -errno : -ENOSPC;
    }
    return 0;
}

static int take_room(int fd, uint64_t offset, size_t bytes)
{
    int status;
    if (fd == 0)
        return -EBADF; /* it went with a thread */
    do
        status = fallocate(fd, 0, (off_t)offset, (off_t)bytes) < 0 ? -errno : 0;
    while (status == -EINTR);
    return status == -EOPNOTSUPP || status == -ENOSYS ? write_zeros(fd, offset, bytes) : status;
}

/* A file system that writes to another place each time (btrfs) may find no room for what had room. */
static void ask_to_write_in_place(int fd)
{
    struct statfs system;
    int flags = 0;
    if (fstatfs(fd, &system) < 0 || system.f_type != BTRFS_SUPER_MAGIC ||
        ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        return;
    flags |= FS_NOCOW_FL;
    ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

/* So much more as there is, within bounds: few calls, and little that is not used. */
static size_t next_step(const struct mapped_part *part, size_t bytes)
{
    size_t have = part->backing.bytes;
    size_t step = have < STEP_MIN_BYTES ? STEP_MIN_BYTES : have > STEP_MAX_BYTES ? STEP_MAX_BYTES : have;
    size_t wanted = whole_pages(bytes > have + step ? bytes : have + step);
    return wanted < part->memory.bytes ? wanted : part->memory.bytes;
}

static void extend(struct arena_backing *backing, size_t bytes)
{
    struct mapped_part *part = (struct mapped_part *)backing;
    size_t wanted = next_step(part, bytes);
    int status = take_room(part->live->fd, part->offset + backing->bytes, wanted - backing->bytes);
    if (status < 0 && bytes < wanted) { /* it may still do for now */
        wanted = whole_pages(bytes);
        status = take_room(part->live->fd, part->offset + backing->bytes, wanted - backing->bytes);
    }
    if (status == 0)
        backing->bytes = wanted;
    else
        mapped_store_give_up(part->live, status);
}

/* ---- the file in the place of memory, and back ---- */

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

static void lay_out(struct mapped_store *live, const struct mapped_memory memory[MAPPED_PART_COUNT])
{
    uint64_t offset = STORE_HEADER_BYTES;
    for (int i = 0; i < MAPPED_PART_COUNT; i++) {
        live->parts[i] = (struct mapped_part){.memory = memory[i], .offset = offset, .live = live};
        live->parts[i].memory.bytes = whole_pages(memory[i].bytes);
        live->parts[i].backing.extend = extend;
        offset += live->parts[i].memory.bytes;
    }
}

static uint64_t end_of_file(const struct mapped_store *live)
{
    const struct mapped_part *last = &live->parts[MAPPED_PART_COUNT - 1];
    return last->offset + last->memory.bytes;
}

static void describe_parts(const struct mapped_store *live, struct store_header *header)
{
    const struct mapped_part *arena = &live->parts[MAPPED_ARENA], *records = &live->parts[MAPPED_RECORDS],
                             *events = &live->parts[MAPPED_EVENTS];
    header->arena = (struct store_part){arena->offset, arena->memory.bytes};
    header->live.arena_used_bytes = arena->memory.used_bytes;
    header->live.records = (struct store_part){records->offset, records->memory.bytes};
    header->live.events = (struct store_part){events->offset, events->memory.bytes};
}

/* What there is already, and the header last: who finds the file finds all of it, or none. */
static int fill(struct mapped_store *live, int fd, struct store_header *header)
{
    int status = ftruncate(fd, (off_t)end_of_file(live)) < 0 ? -errno : 0;
    if (status == 0)
        status = take_room(fd, 0, STORE_HEADER_BYTES);
    for (int i = 0; i < MAPPED_PART_COUNT && status == 0; i++) {
        struct mapped_part *part = &live->parts[i];
        size_t room = part->memory.bytes > 0 ? next_step(part, part->memory.used_bytes) : 0;
        if (room > 0)
            status = take_room(fd, part->offset, room);
        if (status == 0)
            status = write_all(fd, part->memory.base, part->memory.used_bytes, part->offset);
        part->backing.bytes = room;
    }
    describe_parts(live, header);
    return status == 0 ? write_all(fd, header, sizeof *header, 0) : status;
}

static int put_in_place(const struct mapped_part *part, int fd)
{
    if (part->memory.bytes == 0)
        return 0;
    void *mapped = mmap(part->memory.base, part->memory.bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, (off_t)part->offset);
    return mapped == MAP_FAILED ? -errno : 0;
}

/* A copy of what is used takes the file's place, in one step: handlers may be reading nearby. */
static bool bring_back(struct mapped_part *part, size_t used_bytes)
{
    if (part->memory.bytes == 0)
        return true;
    void *copy = scratch_alloc(part->memory.bytes);
    if (!copy)
        return false;
    memcpy(copy, part->memory.base, used_bytes);
    if (mremap(copy, part->memory.bytes, part->memory.bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
               part->memory.base) != MAP_FAILED)
        return true;
    scratch_free(copy, part->memory.bytes);
    return false;
}

/* The time last, for who reads the file. */
static void copy_end(struct store_noted_end *to, const struct store_noted_end *from)
{
    uint64_t time_ns = sig_load_seq_cst(&from->time_ns);
    sig_store_relaxed(&to->kind, sig_load_relaxed(&from->kind));
    sig_store_relaxed(&to->value, sig_load_relaxed(&from->value));
    sig_store_seq_cst(&to->time_ns, time_ns);
}

/* In the place of one that was given up, at once: any thread may be about to note something there. */
static int map_header(const struct mapped_store *live, int fd, struct store_header **ret)
{
    *ret = mmap(live->header, STORE_HEADER_BYTES, PROT_READ | PROT_WRITE,
                MAP_SHARED | (live->header ? MAP_FIXED : 0), fd, 0);
    return *ret == MAP_FAILED ? -errno : 0;
}

static int map_all(struct mapped_store *live, int fd)
{
    struct store_header *page = NULL;
    int status = 0, done = 0;
    while (done < MAPPED_PART_COUNT && (status = put_in_place(&live->parts[done], fd)) == 0)
        done++;
    if (status == 0)
        status = map_header(live, fd, &page);
    while (status < 0 && --done >= 0)
        bring_back(&live->parts[done], live->parts[done].memory.used_bytes);
    if (status < 0)
        return status;
    for (int i = 0; i < MAPPED_PART_COUNT; i++)
        *live->parts[i].memory.backing = &live->parts[i].backing;
    sig_store_seq_cst(&live->header, page); /* partner: note, which stores and looks the other way round */
    if (sig_load_seq_cst(&live->noted.time_ns))
        copy_end(&page->live.end, &live->noted);
    return 0;
}

/* In place of one that was given up. */
static int keep_descriptor(struct mapped_store *live, int fd)
{
    struct stat status = {0};
    if (live->fd > 0)
        close(live->fd);
    fstat(fd, &status);
    live->fd = fd;
    live->device = status.st_dev;
    live->inode = status.st_ino;
    return 0;
}

int mapped_store_begin(struct mapped_store *live, int fd, struct store_header *header,
                       const struct mapped_memory memory[MAPPED_PART_COUNT])
{
    lay_out(live, memory);
    ask_to_write_in_place(fd);
    int status = fill(live, fd, header);
    if (status == 0)
        status = map_all(live, fd);
    return status < 0 ? status : keep_descriptor(live, fd);
}

void mapped_store_lose_file(struct mapped_store *live)
{
    live->fd = 0;
}

int mapped_store_take_file(struct mapped_store *live, int fd)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    if (status.st_dev != live->device || status.st_ino != live->inode)
        return -ESTALE;
    live->fd = fd;
    return 0;
}

bool mapped_store_is_kept(const struct mapped_store *live)
{
    const struct store_header *header = sig_load_acquire(&live->header); /* partner: the store in map_all */
    return header && sig_load_relaxed(&header->live.state) == STORE_LIVE;
}

/* Without memory for a copy only what the file has no room for becomes plain memory. */
static void leave_file(struct mapped_part *part)
{
    size_t room = part->backing.bytes;
    if (!bring_back(part, room) && room < part->memory.bytes)
        mmap((char *)part->memory.base + room, part->memory.bytes - room, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

void mapped_store_give_up(struct mapped_store *live, int error)
{
    live->header->live.error = error;
    sig_store_release(&live->header->live.state, STORE_GIVEN_UP); /* for who reads the file */
    for (int i = 0; i < MAPPED_PART_COUNT; i++) {
        struct mapped_part *part = &live->parts[i];
        leave_file(part);
        *part->memory.backing = NULL;
    }
}

/* ---- what the header says ---- */

void mapped_store_show(struct mapped_store *live, const struct store_tree *tree, size_t arena_used_bytes)
{
    if (!mapped_store_is_kept(live))
        return;
    sig_keep_order(); /* records before what leads to them */
    live->header->tree = *tree;
    sig_keep_order();
    live->header->live.arena_used_bytes = arena_used_bytes;
}

static void make_checkpoint(struct mapped_store *live, uint64_t now_ns)
{
    struct store_header *header = live->header;
    struct store_checkpoint *checkpoint = &header->live.checkpoints[live->checkpoint % STORE_CHECKPOINTS];
    if (now_ns < live->checkpoint_ns)
        return;
    if (live->checkpoint_ns > 0) {
        checkpoint->tree = header->tree;
        checkpoint->arena_used_bytes = header->live.arena_used_bytes;
        checkpoint->time_ns = now_ns;
        live->checkpoint++;
    }
    live->checkpoint_ns = now_ns + checkpoint_ns;
}

void mapped_store_beat_alone(struct mapped_store *live, uint64_t now_ns)
{
    if (mapped_store_is_kept(live))
        sig_store_release(&live->header->live.beat_ns, now_ns); /* for who reads the file */
}

void mapped_store_stop(struct mapped_store *live)
{
    if (mapped_store_is_kept(live))
        live->header->live.is_stopped = 1;
}

void mapped_store_skip(struct mapped_store *live, uint64_t stopped_ns)
{
    if (!mapped_store_is_kept(live))
        return;
    live->header->live.stopped_ns += stopped_ns;
    live->header->live.is_stopped = 0;
}

void mapped_store_beat(struct mapped_store *live, const struct mapped_store_beat *beat)
{
    if (!mapped_store_is_kept(live))
        return;
    struct store_live *shown = &live->header->live;
    live->header->counters = *beat->counters;
    shown->tick = beat->tick;
    if (beat->timeline)
        shown->timeline = (struct store_timeline){.start_ns = beat->timeline->start_ns,
                                                  .thinned = beat->timeline->thinned,
                                                  .dropped = beat->timeline->dropped,
                                                  .dropped_events = beat->timeline->dropped_events,
                                                  .count = beat->timeline->count,
                                                  .event_count = beat->timeline->event_count};
    sig_keep_order();
    sig_store_relaxed(&shown->timeline_is_moving, 0);
    mapped_store_beat_alone(live, beat->now_ns);
    make_checkpoint(live, beat->now_ns);
}

static void note(struct mapped_store *live, const struct store_noted_end *end)
{
    copy_end(&live->noted, end);
    struct store_header *header = sig_load_seq_cst(&live->header); /* partner: map_all */
    if (header)
        copy_end(&header->live.end, end);
}

void mapped_store_note_end(struct mapped_store *live, enum store_end kind, int value, uint64_t now_ns)
{
    note(live, &(struct store_noted_end){.time_ns = now_ns, .kind = kind, .value = value});
}

void mapped_store_cancel_end(struct mapped_store *live)
{
    note(live, &(struct store_noted_end){0});
}

void mapped_store_note_death(struct mapped_store *live, int32_t pid, int signal, uint64_t now_ns)
{
    struct store_header *header = sig_load_acquire(&live->header); /* partner: the store in map_all */
    if (!header)
        return;
    uint32_t index = sig_add_relaxed(&header->live.death_count, 1) % STORE_DEATHS;
    header->live.deaths[index] = (struct store_death){.time_ns = now_ns, .pid = pid, .signal = signal};
}

/* ---- the end ---- */

/* Only holes and what was never used are after the arena. */
uint64_t mapped_store_cut(struct mapped_store *live)
{
    struct store_header *header = live->header;
    uint64_t end = STORE_HEADER_BYTES + whole_pages(header->live.arena_used_bytes);
    if (live->parts[MAPPED_RECORDS].memory.bytes > 0 || ftruncate(live->fd, (off_t)end) < 0)
        return end_of_file(live);
    header->arena.bytes = header->live.arena_used_bytes;
    return end;
}

void mapped_store_close(struct mapped_store *live, uint64_t duration_ns, const char *restraint,
                        const struct store_part *names)
{
    struct store_header *header = live->header;
    header->symbols = *names;
    snprintf(header->restraint, sizeof header->restraint, "%s", restraint);
    header->duration_ns = duration_ns;
    sig_store_release(&header->live.state, STORE_CLOSED); /* for who reads the file */
}

void mapped_store_drop(struct mapped_store *live)
{
    if (live->header)
        munmap(live->header, STORE_HEADER_BYTES);
    *live = (struct mapped_store){0};
}
