/*
 * Names in directories that others may write to: what lies there under a name that we were told may have been
 * put there for us to find, and may be something else a moment later.
 *
 * Ours and root's are trusted, and devices, which only root can make. What is opened is what was looked at.
 *
 * Called from: whichever thread writes. Errors: -errno. Source: the kernel's protected_symlinks, _regular and
 * _fifos (Documentation/admin-guide/sysctl/fs.rst), which may be off, and are about sticky directories only.
 */
#ifndef WALLPROF_PLACE_H
#define WALLPROF_PLACE_H

#include <stdbool.h>
#include <sys/stat.h>

/* A directory to work in (O_PATH): as open does it, but for links in directories that everybody may write to,
 * which are followed only if they are ours, root's or the directory's owner's. -ELOOP for others. */
int place_open_directory(const char *path);

/* Whether anybody but us and root can put names into the directory, or replace them. */
bool place_is_shared(int directory_fd);

/* Whether what lies under a name there may be written to, a link be followed. */
bool place_is_trusted(int directory_fd, const struct stat *itself);

/* Opens what is there to write to it: openat's descriptor; -EPERM or -ELOOP for what is not trusted, or is a
 * file that has another name as well. */
int place_open(int directory_fd, const char *name, int flags);

/* The same, or a new file of mode 0600; path is absolute. */
int place_open_to_append(const char *path);

#endif
