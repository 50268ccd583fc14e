/*
 * The store while recording: the memory of the recording is a file, so the file is complete at every instant,
 * however the process ends.
 *
 * The recording begins in plain memory. mapped_store_begin maps a file over it, at the same addresses. From
 * then on whatever is written is in the file at once, without a system call. The file begins with a page for
 * the header (store.h): how far the lists go, and that the process is alive.
 *
 * A mapped file must not run out of disk space while it is written to (SIGBUS). So space is allocated
 * beforehand, in pieces. When there is no more, everything is copied back into plain memory and the recording
 * goes on there. The file keeps what it had, and says that it was given up.
 *
 * The descriptor, and with it the lock (session_store.c), is kept as long as the process lives, also after
 * the file was given up. It is closed with the sampler thread's descriptor table. The thread that takes over
 * opens the file again.
 *
 * A forked child has its parent's file mapped too. It must not write there, and only unmaps it.
 *
 * Called from: the sampler thread, in whose descriptor table the file is open. Any thread, in any state,
 * calls mapped_store_is_kept, mapped_store_note_end, mapped_store_cancel_end and mapped_store_note_death.
 */
#ifndef WALLPROF_MAPPED_STORE_H
#define WALLPROF_MAPPED_STORE_H

#include "base/arena.h"
#include "profile/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mapped_part_kind { MAPPED_ARENA, MAPPED_RECORDS, MAPPED_EVENTS, MAPPED_PART_COUNT };

/* A piece of the recording's memory, page aligned. All 0: there is none. */
struct mapped_memory {
    void *base;
    size_t bytes, used_bytes;
    struct arena_backing **backing; /* *backing is set while the memory is a file */
};

struct mapped_store;

struct mapped_part {
    struct arena_backing backing; /* first: extend_part gets it */
    struct mapped_memory memory;
    uint64_t offset; /* in the file */
    struct mapped_store *store;
};

struct mapped_store {
    struct store_header *header;  /* atomic: mapped; NULL without a store. Stays when the store is given up. A
                                     later store's header is mapped at the same address */
    struct store_noted_end noted; /* also for a header that is mapped later */
    int fd;                       /* 0 when it is not open: 0 to 2 are never ours */
    uint64_t device, inode;       /* of the file */
    struct mapped_part parts[MAPPED_PART_COUNT];
    uint64_t checkpoint_ns;
    uint32_t checkpoint; /* the next one */
};

/*
 * Maps a new and empty file over the memory, and takes over its descriptor on success. header: what the file
 * says from the first moment on; where the parts lie is filled in. 0, or -errno with nothing changed:
 * -ENOSPC, -EDQUOT or -EFBIG without disk space, or the error of mmap.
 */
int mapped_store_begin(struct mapped_store *store, int fd, struct store_header *header,
                       const struct mapped_memory memory[MAPPED_PART_COUNT]);

/* The descriptor is closed with the calling thread's table. Without it the file cannot grow. */
void mapped_store_lose_file(struct mapped_store *store);

/* Takes over a descriptor of the same file, opened again. 0, or -ESTALE if it is another file, or -errno. */
int mapped_store_take_file(struct mapped_store *store, int fd);

/* Whether there is a store that has not been given up. */
bool mapped_store_is_kept(const struct mapped_store *store);

/* Whether the arena or the list of threads has grown since mapped_store_show. */
static inline bool mapped_store_is_behind(const struct mapped_store *store, size_t arena_used_bytes,
                                          arena_ref newest_thread)
{
    return store->header && (store->header->live.arena_used_bytes != arena_used_bytes ||
                             store->header->tree.newest_thread != newest_thread);
}

/* Writes to the header how far the lists and the arena go. */
void mapped_store_show(struct mapped_store *store, const struct store_tree *tree, size_t arena_used_bytes);

/* Writes to the header that the process was alive at now_ns, and how far it had got. timeline: NULL without.
 */
void mapped_store_beat(struct mapped_store *store, uint64_t now_ns, uint64_t tick,
                       const struct counters *counters, const struct timeline *timeline);

/* The recording was stopped at the last beat. It goes on after it was stopped for so long. */
void mapped_store_stop(struct mapped_store *store);
void mapped_store_skip(struct mapped_store *store, uint64_t stopped_ns);

/* Writes only that the process was alive. */
void mapped_store_beat_alone(struct mapped_store *store, uint64_t now_ns);

/* Copies the recording back into memory. error: the reason, a -errno, which the file says. */
void mapped_store_give_up(struct mapped_store *store, int error);

/*
 * The end of a recording, after the last mapped_store_show. cut shortens the file to what it holds and
 * returns its length. The caller may append names there. close marks the file as complete. After cut the
 * memory is not written to any more.
 */
uint64_t mapped_store_cut(struct mapped_store *store);
void mapped_store_close(struct mapped_store *store, uint64_t duration_ns, const char *restraint,
                        arena_ref messages, const struct store_part *names);

/* Notes that the process is about to end, also for a later file. Valid if no beat follows. */
void mapped_store_note_end(struct mapped_store *store, enum store_end kind, int value, uint64_t now_ns);

/* The process goes on: takes the note back. */
void mapped_store_cancel_end(struct mapped_store *store);

/* Notes that a signal has ended a child. The last STORE_DEATHS of these notes are kept. */
void mapped_store_note_death(struct mapped_store *store, int32_t pid, int signal, uint64_t now_ns);

/* Unmaps the header. For a forked child, and for the end, when the descriptor is closed already. */
void mapped_store_drop(struct mapped_store *store);

#endif
