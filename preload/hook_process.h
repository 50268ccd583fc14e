/* What init needs of the fork hooks. */
#ifndef WALLPROF_HOOK_PROCESS_H
#define WALLPROF_HOOK_PROCESS_H

/* Once: from now on forks hold the sampler still, and children record for themselves. 0 or an error number.
 */
int hook_process_init(void);

#endif
