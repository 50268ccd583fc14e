/*
 * Small files of the kernel's, in /proc and of cgroups.
 *
 * Called from: any thread. Allocates nothing.
 */
#ifndef WALLPROF_PROC_TEXT_H
#define WALLPROF_PROC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a file as a string, by one read. name: below an open directory, or AT_FDCWD. False, and "", when it
 * cannot be read or is empty. */
bool proc_text_read(int directory_fd, const char *name, char *text, size_t capacity);

/* The number after a label, as "\nTgid:" is one of /proc/PID/status; 0 without. */
uint64_t proc_text_number(const char *text, const char *label);

#endif
