/* What runs around every fork of the C library, as handlers of pthread_atfork (init.c). */
#ifndef WALLPROF_HOOK_PROCESS_H
#define WALLPROF_HOOK_PROCESS_H

/*
 * In the thread that forks, and in the child. prepare blocks signals and pauses the sampler. parent releases
 * the sampler, also after a fork that failed. parent and child restore the mask.
 */
void hook_fork_prepare(void);
void hook_fork_parent(void);
void hook_fork_child(void);

#endif
