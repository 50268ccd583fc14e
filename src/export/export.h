/*
 * From a recording to files, each in the format that its name asks for. The tool writes them where it can be
 * run, because it knows more names, and lines. Without it the library writes pprof and stores; of another
 * format it leaves a store (export_store.h).
 *
 * Called from: the sampler thread, or the exiting thread when the sampler is gone.
 */
#ifndef WALLPROF_EXPORT_H
#define WALLPROF_EXPORT_H

#include "base/log.h"
#include "profile_path.h"
#include "names/perf_map.h"
#include "sample/sampler.h"
#include "profile/store.h"

#include <stdint.h>

struct export_request {
    const struct sampler *sampler; /* settled or closed */
    enum label_policy labels;
    bool has_timed_samples; /* struct profile's */
    uint64_t start_utc_ns, duration_ns;
    uint64_t process_utc_ns; /* when the process began: what was touched since may not be what was loaded */
    const char *restraint, *command; /* struct profile's */
    const struct process_record *process;
    const struct perf_maps *perf_maps;
    struct log *log;
    const char *tool;             /* its path, or NULL if it is not to be run */
    bool is_short;                /* the tool is run only for a format that needs it */
    int directory_fd;             /* where to, as openat takes it */
    const char *directory, *name; /* the same for messages, absolute; and the file in it */
    const struct profile_path
        *more; /* further files, more_count of them; what becomes of them the log says */
    uint32_t more_count;
    int spare_fd; /* of sink_spare, or -1; taken over by export_write */
};

enum { EXPORT_LEFT_STORE = 1 };

/* What became of the first file: 0, EXPORT_LEFT_STORE, or -errno of what failed first. -ENODATA: its format
 * needs a timeline, and there is none. */
int export_write(const struct export_request *request);

/* Only the names of its code, into a file from part->offset on; part->bytes says how much that is, 0 if it
 * could not be done. Of the request neither files nor tool count. 0 or -errno. */
int export_names(const struct export_request *request, int fd, struct store_part *part);

#endif
