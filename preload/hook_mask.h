/* What the thread hooks need of the mask hooks: a new thread inherits its creator's mask, ours included. */
#ifndef WALLPROF_HOOK_MASK_H
#define WALLPROF_HOOK_MASK_H

#include <stdbool.h>

/* In the main thread, once the session runs: a mask inherited through exec may hold our signal already. */
void hook_mask_init(void);

/* Whether the program believes our signal to be blocked in the calling thread. */
bool hook_mask_get(void);
void hook_mask_set(bool blocks);

#endif
