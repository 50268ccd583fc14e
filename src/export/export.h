/*
 * From a recording to a file: names, then the encoder the file's ending asks for; by the tool where it can be
 * run, because it knows more names, and lines.
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
    const struct wp_sampler *sampler; /* settled or closed */
    enum wp_labels labels;
    bool has_timed_samples; /* struct wp_profile's */
    uint64_t start_utc_ns, duration_ns;
    uint64_t process_utc_ns; /* when the process began: what was touched since may not be what was loaded */
    const char *restraint, *command; /* struct wp_profile's */
    const struct wp_process *process;
    const struct perf_maps *perf_maps;
    struct wp_log *log;
    const char *tool;             /* its path, or NULL if it is not to be run */
    int directory_fd;             /* where to, as openat takes it */
    const char *name;             /* the file in it */
    const struct wp_output *more; /* further files, more_count of them; what becomes of them the log says */
    uint32_t more_count;
    int spare_fd; /* of sink_spare, or -1; taken over by export_write */
};

/* 0, or -errno of what failed first with the first file. */
int export_write(const struct export_request *request);

/* Only the names of its code, into a file from part->offset on; part->bytes says how much that is, 0 if it
 * could not be done. Of the request neither files nor tool count. 0 or -errno. */
int export_names(const struct export_request *request, int fd, struct store_part *part);

#endif
