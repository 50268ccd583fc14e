/* What init needs of the fork hooks. */
#ifndef WALLPROF_HOOK_PROCESS_H
#define WALLPROF_HOOK_PROCESS_H

/* Called once: from now on forks hold the sampler, and children record for themselves. 0 or an error number.
 */
int hook_process_init(void);

#endif
