/* The path of the program that this process runs. Any thread; no allocation. */
#ifndef WALLPROF_PROGRAM_PATH_H
#define WALLPROF_PROGRAM_PATH_H

#include <stddef.h>

/* As the kernel tells it: with " (deleted)" after it where the file has been removed or replaced. Cut to
 * capacity. Returns the length, without NUL; 0 with "" if it cannot be read. */
size_t program_path_read(char *ret, size_t capacity);

#endif
