/*
 * The store while recording: the memory of the recording is a file, so that the file is the recording at
 * every instant, however the process ends.
 *
 * The recording begins in plain memory. live_begin puts a file in the place of it, at the same addresses:
 * from then on whatever is written is in the file, in the kernel's keeping, at once and without a system
 * call. In front of it lies a page with the header (store.h): live_show says there how far lists go, and
 * live_beat that the process was there.
 *
 * A file that is mapped must not run out of room while it is written to (SIGBUS). So room is asked of the
 * file system beforehand, in pieces. Where there is none left, everything is brought back into plain memory
 * and the recording goes on there; the file keeps what it had, and says so.
 *
 * The descriptor is kept, and with it the lock (session_store.c), also when the file has been given up: as
 * long as the process lives. It goes when the sampler's thread does, and its table; who takes over from that
 * thread opens the file again.
 *
 * A forked child has its parent's file mapped too, as a copy of its memory: it must not write there, and only
 * unmaps it.
 *
 * Called from: the sampler thread, in whose descriptor table the file is open; but live_note_end,
 * live_take_back_end and live_note_death: any thread, in any state.
 */
#ifndef WALLPROF_LIVE_H
#define WALLPROF_LIVE_H

#include "base/arena.h"
#include "profile/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum live_part_kind { LIVE_ARENA, LIVE_RECORDS, LIVE_EVENTS, LIVE_PART_COUNT };

/* A piece of the recording's memory, page aligned; of none if it has no bytes. */
struct live_memory {
    void *base;
    size_t bytes, used_bytes;
    struct arena_backing **backing; /* set while it is a file */
};

struct wp_live;

struct live_part {
    struct arena_backing backing; /* first: extend gets it */
    struct live_memory memory;
    uint64_t offset; /* in the file */
    struct wp_live *live;
};

struct wp_live {
    struct store_header *header;  /* atomic: mapped; NULL without a store. Stays when the store is given up,
                                     and where it is when another is begun */
    struct store_noted_end noted; /* for a header that comes after it, too */
    int fd;                       /* 0 where it is not open: 0 to 2 are never ours */
    uint64_t device, inode;       /* of the file */
    struct live_part parts[LIVE_PART_COUNT];
    uint64_t checkpoint_ns;
    uint32_t checkpoint; /* the one that is next */
};

/*
 * Puts the file, new and empty, in the place of the memory, and takes it over in case of success. header:
 * what it is to say from the first moment on; where the parts lie is filled in. 0, or -errno with nothing
 * changed: -ENOSPC, -EDQUOT, -EFBIG where there is no room for it, or what mmap says.
 */
int live_begin(struct wp_live *live, int fd, struct store_header *header,
               const struct live_memory memory[LIVE_PART_COUNT]);

/* The descriptor goes with the calling thread's table: until it is opened again there is no more room for
 * records than there is. */
void live_lose_file(struct wp_live *live);

/* The same file, opened again, which is taken over; or -ESTALE if it is another one. */
int live_take_file(struct wp_live *live, int fd);

/* Whether there is one, and it has not been given up. Any thread. */
bool live_is_kept(const struct wp_live *live);

/* Whether the header's lists are older than an arena of which so much is used. */
static inline bool live_is_behind(const struct wp_live *live, size_t arena_used_bytes)
{
    return live->header && live->header->live.arena_used_bytes != arena_used_bytes;
}

void live_show(struct wp_live *live, const struct store_tree *tree, size_t arena_used_bytes);

/* The process was there, and had got so far. */
struct live_beat {
    uint64_t now_ns, tick;
    const struct wp_counters *counters;
    const struct wp_timeline *timeline; /* NULL without */
};
void live_beat(struct wp_live *live, const struct live_beat *beat);

/* It is stopped, at the last beat; and goes on after that was so for so long. */
void live_stop(struct wp_live *live);
void live_skip(struct wp_live *live, uint64_t stopped_ns);

/* Only that it was there. */
void live_beat_alone(struct wp_live *live, uint64_t now_ns);

/* The recording is brought back into memory; error: why, a -errno, which the file says. */
void live_give_up(struct wp_live *live, int error);

/*
 * The end of a recording that is kept, once live_show has told all of it: cut shortens the file to what it
 * holds and returns its length, names can be put there, and close says that all is there. The memory is not
 * to be written to any more.
 */
uint64_t live_cut(struct wp_live *live);
void live_close(struct wp_live *live, uint64_t duration_ns, const char *restraint,
                const struct store_part *names);

/* The process says that it is about to end, whether there is a file or is one soon. Believed if no beat comes
 * after it. */
void live_note_end(struct wp_live *live, enum store_end kind, int value, uint64_t now_ns);

/* The process goes on: nothing is noted. */
void live_take_back_end(struct wp_live *live);

/* Any thread, in any state: of a child that a signal has ended. Of many the last are kept. */
void live_note_death(struct wp_live *live, int32_t pid, int signal, uint64_t now_ns);

/* Unmaps the header. In a forked child, which has the descriptor not, and at the end, when it has gone with
 * the sampler's table. */
void live_drop(struct wp_live *live);

#endif
