/* Masks, for other hooks. sig_numbers.h says how a mask differs for the kernel and for the program. */
#ifndef WALLPROF_HOOK_MASK_H
#define WALLPROF_HOOK_MASK_H

#include <signal.h>
#include <stdint.h>

/*
 * Unblocks our signals in the calling thread's mask. It blocks them if it was not made through the hooks
 * (inherited through exec, or an attribute of a new thread), or if it was made before they were ours.
 */
void hook_mask_renew(void);

/* The calling thread's mask as the program believes it to be, or 0 while we have no signal. */
uint64_t hook_mask_meant(void);

/*
 * Called around a call that starts a process or another program, which inherits the mask. show gives the
 * calling thread the mask that the program believes it has, and returns the mask that hide puts back in the
 * parent; 0: nothing to do. hide also takes what hook_mask_meant returned. In a process that is not ours
 * neither does anything: a child of vfork or _Fork has begun with the program's mask. errno is kept.
 */
uint64_t hook_mask_show(void);
void hook_mask_hide(uint64_t mask);

/* The program uses this signal itself. If it was one of ours, it is the program's from now on. */
void hook_mask_give_back_number(int number);

/* Gives back those of our signals that a set of the program singles out. Returns the set for the kernel. */
uint64_t hook_mask_to_kernel(uint64_t set);

/* The same for a set that only the kernel reads. Returns the set to give to it: *ret, or `set` itself if that
 * is NULL, cannot be read, or is not to be changed. */
const sigset_t *hook_mask_for_kernel(const sigset_t *set, sigset_t *ret);

#endif
