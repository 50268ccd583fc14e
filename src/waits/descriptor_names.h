/*
 * What a descriptor stands for, by its link in /proc (fs/proc/fd.c): "/var/lib/x.db", "pipe:[4711]",
 * "anon_inode:[eventfd]". Sockets have only an inode there (sockets.h).
 *
 * Pure functions.
 */
#ifndef WALLPROF_DESCRIPTOR_NAMES_H
#define WALLPROF_DESCRIPTOR_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DESCRIPTOR_NAME_BYTES = 224, DESCRIPTOR_LINK_BYTES = 1024 };

/* "file /var/lib/x.db", "tty /dev/pts/3", "device /dev/fuse", "pipe", "eventfd". Of a long path the end is
 * kept. False for what has no name here. */
bool descriptor_name(const char *link, char ret[DESCRIPTOR_NAME_BYTES]);

/* The inode of a link of a socket. */
bool descriptor_is_socket(const char *link, uint64_t *ret_inode);

/* The same of a pipe. */
bool descriptor_is_pipe(const char *link, uint64_t *ret_inode);

#endif
