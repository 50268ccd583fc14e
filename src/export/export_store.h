/*
 * A recording is left as a store if its format needs the tool and the tool cannot write it here. This chooses
 * the store's name, and says how to go on.
 *
 * Called from: the exporting thread. File names here have no directory.
 */
#ifndef WALLPROF_EXPORT_STORE_H
#define WALLPROF_EXPORT_STORE_H

#include "base/log.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define EXPORT_STORE_ENDING ".store"

/* Whether only the tool writes the format of a file of that name. */
bool export_needs_tool(const char *name);

/*
 * Chooses the store's name for app.html: the first of app.html.store, app.html.2.store, app.html.3.store ...
 * that no file has, or that this process (pid, begun at process_utc_ns) has given to a store before. 0,
 * -ENAMETOOLONG, or -EEXIST after 999 names.
 */
int export_store_choose_name(int directory_fd, const char *name, pid_t pid, uint64_t process_utc_ns,
                             char ret[NAME_MAX + 1]);

/* Warns in one line that a store was left in the absolute directory, and which command makes `name` of it;
 * NULL: the store's name without its ending. reason: what the tool did, as "was not run". */
void export_store_explain(struct log *log, const char *directory, const char *store, const char *name,
                          const char *reason);

#endif
