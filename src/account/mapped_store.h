/*
 * The store while recording: the memory of the recording is a file, so that the file is the recording at
 * every instant, however the process ends.
 *
 * The recording begins in plain memory. mapped_store_begin puts a file in the place of it, at the same
 * addresses: from then on whatever is written is in the file, in the kernel's keeping, at once and without a
 * system call. In front of it lies a page with the header (store.h): mapped_store_show says there how far
 * lists go, and mapped_store_beat that the process was there.
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
 * Called from: the sampler thread, in whose descriptor table the file is open; but mapped_store_note_end,
 * mapped_store_cancel_end and mapped_store_note_death: any thread, in any state.
 */
#ifndef WALLPROF_MAPPED_STORE_H
#define WALLPROF_MAPPED_STORE_H

#include "base/arena.h"
#include "profile/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mapped_part_kind { MAPPED_ARENA, MAPPED_RECORDS, MAPPED_EVENTS, MAPPED_PART_COUNT };

/* A piece of the recording's memory, page aligned; of none if it has no bytes. */
struct mapped_memory {
    void *base;
    size_t bytes, used_bytes;
    struct arena_backing **backing; /* set while it is a file */
};

struct mapped_store;

struct mapped_part {
    struct arena_backing backing; /* first: extend gets it */
    struct mapped_memory memory;
    uint64_t offset; /* in the file */
    struct mapped_store *live;
};

struct mapped_store {
    struct store_header *header;  /* atomic: mapped; NULL without a store. Stays when the store is given up,
                                     and where it is when another is begun */
    struct store_noted_end noted; /* for a header that comes after it, too */
    int fd;                       /* 0 where it is not open: 0 to 2 are never ours */
    uint64_t device, inode;       /* of the file */
    struct mapped_part parts[MAPPED_PART_COUNT];
    uint64_t checkpoint_ns;
    uint32_t checkpoint; /* the one that is next */
};

/*
 * Puts the file, new and empty, in the place of the memory, and takes it over in case of success. header:
 * what it is to say from the first moment on; where the parts lie is filled in. 0, or -errno with nothing
 * changed: -ENOSPC, -EDQUOT, -EFBIG where there is no room for it, or what mmap says.
 */
int mapped_store_begin(struct mapped_store *live, int fd, struct store_header *header,
                       const struct mapped_memory memory[MAPPED_PART_COUNT]);

/* The descriptor goes with the calling thread's table: until it is opened again there is no more room for
 * records than there is. */
void mapped_store_lose_file(struct mapped_store *live);

/* The same file, opened again, which is taken over; or -ESTALE if it is another one. */
int mapped_store_take_file(struct mapped_store *live, int fd);

/* Whether there is one, and it has not been given up. Any thread. */
bool mapped_store_is_kept(const struct mapped_store *live);

/* Whether the header's lists are older than an arena of which so much is used. */
static inline bool mapped_store_is_behind(const struct mapped_store *live, size_t arena_used_bytes)
{
    return live->header && live->header->live.arena_used_bytes != arena_used_bytes;
}

void mapped_store_show(struct mapped_store *live, const struct store_tree *tree, size_t arena_used_bytes);

/* The process was there, and had got so far. */
struct mapped_store_beat {
    uint64_t now_ns, tick;
    const struct counters *counters;
    const struct timeline *timeline; /* NULL without */
};
void mapped_store_beat(struct mapped_store *live, const struct mapped_store_beat *beat);

/* It is stopped, at the last beat; and goes on after that was so for so long. */
void mapped_store_stop(struct mapped_store *live);
void mapped_store_skip(struct mapped_store *live, uint64_t stopped_ns);

/* Only that it was there. */
void mapped_store_beat_alone(struct mapped_store *live, uint64_t now_ns);

/* The recording is brought back into memory; error: why, a -errno, which the file says. */
void mapped_store_give_up(struct mapped_store *live, int error);

/*
 * The end of a recording that is kept, once mapped_store_show has told all of it: cut shortens the file to
 * what it holds and returns its length, names can be put there, and close says that all is there. The memory
 * is not to be written to any more.
 */
uint64_t mapped_store_cut(struct mapped_store *live);
void mapped_store_close(struct mapped_store *live, uint64_t duration_ns, const char *restraint,
                        const struct store_part *names);

/* The process says that it is about to end, whether there is a file or is one soon. Believed if no beat comes
 * after it. */
void mapped_store_note_end(struct mapped_store *live, enum store_end kind, int value, uint64_t now_ns);

/* The process goes on: nothing is noted. */
void mapped_store_cancel_end(struct mapped_store *live);

/* Any thread, in any state: of a child that a signal has ended. Of many the last are kept. */
void mapped_store_note_death(struct mapped_store *live, int32_t pid, int signal, uint64_t now_ns);

/* Unmaps the header. In a forked child, which has the descriptor not, and at the end, when it has gone with
 * the sampler's table. */
void mapped_store_drop(struct mapped_store *live);

#endif
