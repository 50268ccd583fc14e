#include "store_file.h"
#include "store_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* The header does not lead to the newest records yet. One sample makes at most so many bytes of them. */
static const uint64_t more_bytes = UINT64_C(8) << 20;

static const uint64_t part_max_bytes = UINT64_C(36) << 30;

/* A part of the file, and where it goes in memory. */
struct piece {
    struct store_part from;
    uint64_t to;
};

static int read_at(int fd, void *bytes, size_t count, uint64_t offset)
{
    for (size_t done = 0; done < count;) {
        ssize_t got = pread(fd, (char *)bytes + done, count - done, (off_t)(offset + done));
        if (got == 0)
            return 0; /* the rest stays zero, and is checked as such */
        if (got < 0 && errno != EINTR)
            return -errno;
        done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

/* The share of a part that may be in use; nothing of a part that makes no sense. */
static struct store_part used_part(const struct store_part *part, uint64_t used_bytes, uint64_t file_bytes)
{
    struct store_part ret = {part->offset,
                             store_padded(smaller(smaller(used_bytes, part->bytes), part_max_bytes))};
    if (part->offset > file_bytes || ret.bytes > file_bytes - part->offset)
        ret.bytes = part->offset > file_bytes ? 0 : (file_bytes - part->offset) & ~UINT64_C(7);
    return ret;
}

/* Where the last byte ends that was ever written from `begin` to `end`. Most of a live store was reserved and
 * never used. That need not be read. */
static uint64_t written_end(int fd, uint64_t begin, uint64_t end)
{
    uint64_t written = begin;
    for (uint64_t at = begin; at < end;) {
        off_t data = lseek(fd, (off_t)at, SEEK_DATA);
        if (data < 0 || (uint64_t)data >= end)
            return data < 0 && errno != ENXIO ? end : written; /* a file system that cannot tell */
        off_t hole = lseek(fd, data, SEEK_HOLE);
        at = written = hole > data ? (uint64_t)hole : end;
    }
    return smaller(written, end);
}

/* Puts the pieces one after the other, and has the header lead to them. The timeline's parts become one, as
 * in a store that was closed. Returns the size of it all. */
static uint64_t lay_out(struct store_header *header, int fd, uint64_t file_bytes, struct piece pieces[4])
{
    const struct store_live *live = &header->live;
    bool is_live = live->state == STORE_LIVE || live->state == STORE_GIVEN_UP;
    bool has_timeline = live->timeline.start_ns > 0 && !live->timeline_is_moving;
    uint64_t arena_bytes = live->arena_used_bytes;
    pieces[0].from = used_part(&header->arena, arena_bytes, file_bytes);
    if (is_live && arena_bytes < part_max_bytes) {
        const struct store_part most = used_part(&header->arena, arena_bytes + more_bytes, file_bytes);
        const uint64_t used_end = most.offset + pieces[0].from.bytes;
        pieces[0].from.bytes =
            store_padded(written_end(fd, used_end, most.offset + most.bytes) - most.offset);
    }
    pieces[1].from = used_part(&header->symbols, header->symbols.bytes, file_bytes);
    pieces[2].from = used_part(
        &live->records, has_timeline ? live->timeline.count * sizeof(struct timeline_record) : 0, file_bytes);
    pieces[3].from =
        used_part(&live->events,
                  has_timeline ? live->timeline.event_count * sizeof(struct timeline_event) : 0, file_bytes);
    uint64_t at = STORE_HEADER_BYTES;
    for (int i = 0; i < 4; i++) {
        at += i == 2 ? sizeof live->timeline : 0;
        pieces[i].to = at;
        at += pieces[i].from.bytes;
    }
    header->arena = (struct store_part){pieces[0].to, pieces[0].from.bytes};
    header->symbols = (struct store_part){pieces[1].to, pieces[1].from.bytes};
    header->timeline = (struct store_part){pieces[2].to - sizeof live->timeline, 0};
    if (has_timeline)
        header->timeline.bytes = sizeof live->timeline + pieces[2].from.bytes + pieces[3].from.bytes;
    return at;
}

static int read_pieces(int fd, struct file_bytes *file, struct store_header *header)
{
    struct piece pieces[4];
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0)
        return -errno;
    const struct store_timeline timeline = header->live.timeline;
    const uint64_t bytes = lay_out(header, fd, (uint64_t)size, pieces);
    file->bytes = scratch_alloc(bytes);
    if (!file->bytes)
        return -ENOMEM;
    file->count = file->capacity = bytes;
    memcpy(file->bytes, header, sizeof *header);
    memcpy(file->bytes + header->timeline.offset, &timeline, sizeof timeline);
    int status = 0;
    for (int i = 0; i < 4 && status == 0; i++)
        status = read_at(fd, file->bytes + pieces[i].to, pieces[i].from.bytes, pieces[i].from.offset);
    if (status < 0)
        file_bytes_free(file);
    return status;
}

static bool is_mapped_store(const struct store_header *header)
{
    return memcmp(header->magic, STORE_MAGIC, sizeof header->magic) == 0 &&
           header->version == STORE_VERSION && header->byte_order == STORE_BYTE_ORDER &&
           header->header_bytes == sizeof *header && header->live.state != STORE_WHOLE;
}

int store_file_read(struct file_bytes *file, const char *path)
{
    struct store_header header;
    *file = (struct file_bytes){0};
    if (strcmp(path, "-") == 0)
        return 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    memset(&header, 0, sizeof header);
    int status =
        pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header && is_mapped_store(&header) ? 0 : 1;
    if (status == 0)
        status = read_pieces(fd, file, &header);
    close(fd);
    return status;
}
