/* What the thread hooks need of the mask hooks: a new thread inherits its creator's mask, ours included. */
#ifndef WALLPROF_HOOK_MASK_H
#define WALLPROF_HOOK_MASK_H

#include <stdbool.h>

/* Whether the program believes our signal to be blocked in the calling thread. */
bool hook_mask_get(void);
void hook_mask_set(bool blocks);

#endif
