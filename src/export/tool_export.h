/*
 * Hands the finished recording to the tool (`wallprof export`), which reads debug information.
 *
 * The program sees nothing of it: no child that its wait would find, no SIGCHLD, no descriptor. The tool gets
 * the store in a nameless file, only those variables of the program that concern it, and half a minute.
 *
 * Called from: the exporting thread.
 */
#ifndef WALLPROF_TOOL_EXPORT_H
#define WALLPROF_TOOL_EXPORT_H

#include "export.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the tool that was installed with the library of that path: 0 or -errno (-ENOENT: not there). */
int tool_export_find(const char *library, char *ret, size_t capacity);

/* Whether this process is the tool, run by us. It is not profiled, though we may be preloaded into it. */
bool tool_export_is_tool(char *const *environment);

/*
 * wanted: bit i: file i of the request is to be written, where file 0 is the one in directory_fd. Likewise
 * *ret_written: file i has been written completely. 0 if all wanted files have been; else -errno: -ETIME if
 * the tool took too long, -ECHILD if it failed. errno is kept.
 */
int tool_export_write(const struct export_request *request, uint32_t wanted, const struct profile *profile,
                      uint32_t *ret_written);

#endif
