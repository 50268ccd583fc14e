/* What the thread hooks need of the mask hooks: a new thread inherits its creator's mask, ours included. */
#ifndef WALLPROF_HOOK_MASK_H
#define WALLPROF_HOOK_MASK_H

#include <stdbool.h>

/* In the main thread, once the session runs, and in a forked child: a mask inherited through exec may hold
 * our signal already. */
void hook_mask_init(void);

/* In a forked child that is left without us: the kernel's mask is what the program believes it to be. */
void hook_mask_give_back(int number);

/* Around what starts a process, in its parent: the calling thread's mask is in the meantime what the program
 * believes it to be, for the child to inherit. errno is kept. */
void hook_mask_show(void);
void hook_mask_hide(void);

/* Whether the program believes our signal to be blocked in the calling thread. */
bool hook_mask_get(void);
void hook_mask_set(bool blocks);

#endif
