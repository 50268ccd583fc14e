/*
 * How much memory the process's limits leave. Called from: the thread that starts a session.
 */
#ifndef WALLPROF_MEMORY_LIMIT_H
#define WALLPROF_MEMORY_LIMIT_H

#include <stdint.h>

/*
 * Bytes that may still be mapped under RLIMIT_AS and RLIMIT_DATA (private writable memory counts for both);
 * UINT64_MAX without a limit. *ret_limit names the tighter of the two.
 */
uint64_t memory_limit_left_bytes(const char **ret_limit);

/* How many of the wanted bytes we take if so many are left: most of them stay the program's. */
uint64_t memory_limit_share(uint64_t wanted_bytes, uint64_t left_bytes);

#endif
