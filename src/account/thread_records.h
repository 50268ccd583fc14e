/*
 * The records of a recording's threads (struct thread_record), newest first, and their numbers. A record that
 * was given back serves again, together with its number. So both are as many as there are at once.
 *
 * Called from: the sampler thread only; read by the exporting thread once the sampler is at rest.
 */
#ifndef WALLPROF_THREAD_RECORDS_H
#define WALLPROF_THREAD_RECORDS_H

#include "profile/profile.h"

#include <stdint.h>

struct thread_records {
    arena_ref newest;
    uint32_t number_count;    /* the highest number */
    uint32_t ended_count;     /* of those in the list: of threads that have ended */
    uint64_t merged_count;    /* threads that are in another one's record */
    uint64_t wall_ns, cpu_ns; /* of all threads that have ended */
    arena_ref spare;          /* records that serve again */
    uint32_t spare_count;
};

/* A record that is not in the list yet; 0 without memory. *number: its number if that is not 0, else a number
 * is given, also without memory for a record. */
arena_ref thread_records_take(struct thread_records *records, struct arena *arena, uint32_t *number);

/* A record that was taken and filled in joins the list. */
void thread_records_link(struct thread_records *records, struct arena *arena, arena_ref ref);

/* Its thread has ended: the record is complete but for these. wall_ns is how long it was recorded. */
void thread_records_end(struct thread_records *records, struct thread_record *record, uint64_t wall_ns,
                        uint64_t cpu_ns);

/* Takes the record after `newer` out of the list. It serves again. */
void thread_records_give_back(struct thread_records *records, const struct arena *arena, arena_ref newer);

/* How many threads there have been. */
static inline uint64_t thread_records_seen(const struct thread_records *records)
{
    return records->number_count - records->spare_count + records->merged_count;
}

/* How many numbers are to be given to `count` new threads: for the others numbers serve again. */
uint32_t thread_records_new_numbers(const struct thread_records *records, uint32_t count);

#endif
