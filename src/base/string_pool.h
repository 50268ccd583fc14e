/*
 * Strings that live until the pool is destroyed: names that outlast the file they were read from.
 *
 * Memory comes from mmap in blocks, never from the program's malloc. A string never moves.
 *
 * Called from: the exporting thread. A zeroed struct is an empty pool. There is no locking.
 */
#ifndef WALLPROF_STRING_POOL_H
#define WALLPROF_STRING_POOL_H

#include <stddef.h>

struct string_pool {
    struct string_block *newest; /* owned */
};

/* A NUL-terminated copy of `bytes` characters, none of them NUL; NULL without memory. */
const char *string_pool_add(struct string_pool *pool, const char *string, size_t bytes);
/* The same with a NUL-terminated string appended. */
const char *string_pool_join(struct string_pool *pool, const char *string, size_t bytes, const char *suffix);
void string_pool_deinit(struct string_pool *pool);

#endif
