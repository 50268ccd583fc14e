/*
 * The threads of a profile as files with a timeline list them: process by process, in each the main thread
 * first and then in the order in which they began.
 *
 * Called from: the encoders of this room. Scratch memory: 8 bytes a thread.
 */
#ifndef WALLPROF_THREAD_ORDER_H
#define WALLPROF_THREAD_ORDER_H

#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct thread_order {
    const struct profile *profile;        /* not owned */
    const struct thread_record **threads; /* owned */
    uint32_t count;
    size_t bytes;
};

/* 0 or -ENOMEM; deinit in any case. */
int thread_order_init(struct thread_order *order, const struct profile *profile);
void thread_order_deinit(struct thread_order *order);

/* Whether the i-th is the first one of its process: its main thread, or else its oldest one. */
bool thread_order_is_first(const struct thread_order *order, uint32_t i);

/* The number of the i-th thread's process: the kernel's, or else that of its first thread. */
uint32_t thread_order_pid(const struct thread_order *order, uint32_t i);

/* What it is called: its title, or else its program, or else its first thread. */
const char *thread_order_process_name(const struct thread_order *order, uint32_t i,
                                      char buffer[THREAD_NAME_BYTES + 1]);

#endif
