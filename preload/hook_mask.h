/* What other hooks need of the mask hooks. See sig_numbers.h for what a mask of the kernel's is. */
#ifndef WALLPROF_HOOK_MASK_H
#define WALLPROF_HOOK_MASK_H

#include <signal.h>
#include <stdint.h>

/*
 * The calling thread's mask, which holds our signals back where something past the hooks has made it (one
 * inherited through exec, an attribute of a new thread) or where it was made before they were ours.
 */
void hook_mask_renew(void);

/* The calling thread's mask as the program means it, or 0 where there is nothing to mean. */
uint64_t hook_mask_meant(void);

/*
 * Around what starts a process or another program, for the child to inherit: the calling thread's mask is in
 * the meantime as the program means it. Returns what hide is to put back, in the parent, or 0 for nothing.
 * hide serves for hook_mask_meant, too, where ours are the program's again. In a process that is not ours (a
 * child of vfork and its kind, which has begun with the mask that was meant) nothing is done. errno is kept.
 */
uint64_t hook_mask_show(void);
void hook_mask_hide(uint64_t mask);

/* The program uses this signal itself: if it is one of ours, it is the program's from now on. */
void hook_mask_give_back_number(int number);

/* What a set of the program's is about is given back. */
void hook_mask_heed(const sigset_t *set);

/* The same; and the set, or NULL, for the kernel: *ret, or NULL. */
const sigset_t *hook_mask_for_kernel(const sigset_t *set, sigset_t *ret);

#endif
