/* The rank of a process in a parallel run, as its launcher says it in the environment. Any thread. */
#ifndef WALLPROF_RANK_H
#define WALLPROF_RANK_H

#include <stdint.h>

/* PROCESS_NO_RANK (profile.h) without a parallel run. */
int32_t rank_find(char *const *environment);

#endif
