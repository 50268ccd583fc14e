/*
 * A recording that is left as a store, because the format that was asked for needs the tool and the tool
 * cannot write it here: what the store is called, and the message that says how to go on.
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

/* Whether only the tool writes what a file of that name is to hold. */
bool export_needs_tool(const char *name);

/*
 * Chooses the store for app.html: app.html.store, or app.html.2.store, app.html.3.store ... The first name
 * that no file has; a store that this process (pid, begun at process_utc_ns) has left before counts as none.
 * 0, -ENAMETOOLONG, or -EEXIST after 999 names.
 */
int export_store_choose_name(int directory_fd, const char *name, pid_t pid, uint64_t process_utc_ns,
                             char ret[NAME_MAX + 1]);

/* Says that a store was left in the absolute directory, and which command makes `name` of it; NULL: the
 * store's name without its ending. The reason is what the tool did: "was not run". One line, LOG_WARNING. */
void export_store_explain(struct log *log, const char *directory, const char *store, const char *name,
                          const char *reason);

#endif
