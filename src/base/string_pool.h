/*
 * Strings that live until the store is destroyed: the names that outlast the file they were read from.
 *
 * Memory comes from mmap in blocks, never from the program's malloc; a string never moves.
 *
 * Called from: the exporting thread. A zeroed struct is an empty store. There is no locking.
 */
#ifndef WALLPROF_NAME_STORE_H
#define WALLPROF_NAME_STORE_H

#include <stddef.h>

struct name_store {
    struct name_block *newest; /* owned */
};

/* A NUL-terminated copy of bytes characters, which must not hold a NUL; NULL without memory. */
const char *name_store_add(struct name_store *store, const char *name, size_t bytes);
/* The same with a NUL-terminated string appended. */
const char *name_store_join(struct name_store *store, const char *name, size_t bytes, const char *suffix);
void name_store_deinit(struct name_store *store);

#endif
