/*
 * Small files of the kernel's, in /proc and of cgroups.
 *
 * Called from: any thread. Allocates nothing.
 */
#ifndef WALLPROF_PROC_TEXT_H
#define WALLPROF_PROC_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Reads a file as a string, by one read. name: below an open directory, or AT_FDCWD. False, and "", when it
 * cannot be read or is empty. */
bool proc_text_read(int directory_fd, const char *name, char *text, size_t capacity);

#endif
