/*
 * The file of a mapped store: it is recorded into, or it was. It has the size that it may grow to, most of
 * which is holes, and it may change while it is read.
 */
#ifndef WALLPROF_STORE_FILE_H
#define WALLPROF_STORE_FILE_H

#include "tool/io/file_bytes.h"

/*
 * Reads such a file without the parts that were never used. The header in memory leads to what was read.
 * Nothing else is checked here; store_reader.h does that. 0; 1 if it is another kind of file; or -errno with
 * nothing held.
 */
int store_file_read(struct file_bytes *file, const char *path);

#endif
