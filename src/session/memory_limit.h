/*
 * How much memory the process's limits leave. Called from: the thread that starts a session.
 */
#ifndef WALLPROF_MEMORY_LIMIT_H
#define WALLPROF_MEMORY_LIMIT_H

#include <stdint.h>

/*
 * Bytes that may still be mapped under RLIMIT_AS and RLIMIT_DATA (private writable memory counts for both);
 * UINT64_MAX without a limit, or when it cannot be told. *ret_limit names the limit that is the tighter one.
 */
uint64_t memory_limit_left_bytes(const char **ret_limit);

/* What we may take of wanted bytes when so many are left: a part that leaves the program the most of it. */
uint64_t memory_limit_share(uint64_t wanted_bytes, uint64_t left_bytes);

#endif
