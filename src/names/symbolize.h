/*
 * From addresses to names, once, when the profile is written.
 *
 * Code in a module is named by module_names.h. Code without a symbol is called by its module and an offset:
 * [libfoo.so+0x1234]. That is the offset of its function, if unwind information knows it. Code outside all
 * modules is named by anonymous_code.h; without a name it is [anonymous code].
 *
 * Called from: the exporting thread, with the profile's arena at rest.
 */
#ifndef WALLPROF_SYMBOLIZE_H
#define WALLPROF_SYMBOLIZE_H

#include "base/arena.h"
#include "base/log.h"
#include "modules/modules.h"
#include "anonymous_code.h"
#include "perf_map.h"
#include "profile/symbols.h"
#include "profile/tree.h"

#include <stdbool.h>
#include <stdint.h>

/* What else is known of the process. All of it is optional, and borrowed. */
struct symbolize_process {
    const struct modules *modules; /* of this process; NULL: it is another one, whose memory cannot be read */
    const struct perf_maps *perf_maps; /* the lists of code that was made at run time */
    uint64_t start_utc_ns;             /* 0: the times of files are not compared with it */
    struct log *log;
    bool without_files; /* files are read later: functions in modules are called by module and offset */
    bool leaves_plain;  /* so are those of which the file's symbols are all that is to be known */
};

/*
 * Names every location of the tree; NULL only without memory for the arrays. demangle is __cxa_demangle of
 * the program (Itanium C++ ABI 3.4), or NULL; it allocates with the program's malloc.
 */
typedef char *symbolize_demangle_fn(const char *mangled, char *buffer, size_t *length, int *status);
struct symbols *symbolize_create(const struct tree *tree, const struct module_list *modules,
                                 symbolize_demangle_fn *demangle, const struct symbolize_process *process);
void symbolize_destroy(struct symbols *symbols);

#endif
