/*
 * Makes files of a recording, each in the format that its name's ending says. The tool writes them if it can
 * be run, because it finds more names, and lines. Without it the library writes pprof files and stores; in
 * place of another format it leaves a store (export_store.h).
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
    uint64_t
        process_utc_ns; /* when the process began: a file that was changed since may not be the one loaded */
    const char *restraint, *command; /* struct profile's, as the next */
    arena_ref messages;
    const struct process_record *process;
    const struct perf_maps *perf_maps;
    struct log *log;
    const char *tool;                /* its path, or NULL if it is not to be run */
    bool is_short;                   /* the tool is run only for a format that needs it */
    int directory_fd;                /* where to, as openat takes it */
    const char *directory, *name;    /* the same for messages, absolute; and the file in it */
    const struct profile_path *more; /* further files; the log says what becomes of them */
    uint32_t more_count;
    const char *written; /* a file in which each file that was written is noted; NULL or "": none */
    int spare_fd;        /* of sink_spare, or -1; taken over by export_write */
};

enum { EXPORT_LEFT_STORE = 1 };

/* What became of the first file: 0, EXPORT_LEFT_STORE, or -errno. -ENODATA: its format needs a timeline, and
 * there is none. */
int export_write(const struct export_request *request);

/* Writes only the names of the recording's code, into a file from part->offset on; part->bytes says how many
 * bytes, 0 after a failure. The files and the tool of the request are not used. 0 or -errno. */
int export_names(const struct export_request *request, int fd, struct store_part *part);

/* Writes the whole recording as a store into an open file, from its position on, for the tool to name what
 * the files of modules know. Of the request only what describes the recording is used. 0 or -errno. */
int export_store(const struct export_request *request, int fd);

#endif
