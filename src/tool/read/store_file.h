/*
 * The file of a store that is being recorded into, or was: it has the size that it might have grown to, most
 * of it holes, and may be changing while it is read.
 */
#ifndef WALLPROF_TOOL_STORE_FILE_H
#define WALLPROF_TOOL_STORE_FILE_H

#include "tool/io/file_bytes.h"

/*
 * Reads such a file without what was never used: the header is changed to lead to the rest, and otherwise
 * nothing is checked (store_reader.h does). 1 if it is another kind of file; 0; or -errno, with nothing held.
 */
int store_file_read(struct file_bytes *file, const char *path);

#endif
