/*
 * Opens files in directories that other users may write to. They may have put a file or a link there under
 * the name that we use, and may replace it at any moment.
 *
 * Our files, those of root, and devices, which only root can make, are trusted. What was checked is opened.
 *
 * Called from: any thread that writes. Errors: -errno. Source: the kernel's protected_symlinks, _regular and
 * _fifos (Documentation/admin-guide/sysctl/fs.rst), which may be off, and cover sticky directories only.
 */
#ifndef WALLPROF_TRUSTED_PATH_H
#define WALLPROF_TRUSTED_PATH_H

#include <stdbool.h>
#include <sys/stat.h>

/* Opens a directory (O_PATH) as open does. But a link in a directory that everybody may write to is followed
 * only if it belongs to us, to root or to the directory's owner. -ELOOP for others. */
int trusted_path_open_directory(const char *path);

/* Whether an entry of the directory may be written to, or followed if it is a link. itself: by lstat. */
bool trusted_path_is_trusted(int directory_fd, const struct stat *itself);

/* Opens an existing entry. -EPERM or -ELOOP for one that is not trusted, and, in a directory that others may
 * write to, for a file that has another name as well. */
int trusted_path_open(int directory_fd, const char *name, int flags);

/* The same, or a new file of mode 0600; path is absolute. */
int trusted_path_open_to_append(const char *path);

#endif
