/* A time without memory: what asks for more than so many bytes meanwhile gets none. */
#ifndef WALLPROF_NARROW_MEMORY_H
#define WALLPROF_NARROW_MEMORY_H

#include "unit.h"
#include "base/arena.h"

#include <sys/resource.h>

/* The test is skipped where the limit is not kept: emulators do not pass it on. */
struct rlimit narrow_memory_begin(uint64_t bytes);
void narrow_memory_end(struct rlimit before);

#endif
