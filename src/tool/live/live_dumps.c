#include "live_dumps.h"
#include "base/clock.h"
#include "base/number_names.h"
#include "ctl_request.h"
#include "wallprof.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static const uint64_t patience_ns = 10 * (uint64_t)NS_PER_S;

int live_dumps_begin(struct ctl_subject *subject, pid_t pid)
{
    *subject = (struct ctl_subject){.pid = pid};
    return ctl_subject_open(subject, patience_ns);
}

/* As recording_open, of the store that the process has written. */
static int read_written(struct ctl_subject *subject, const char *store, struct recording *ret)
{
    const int32_t result = subject->page->result;
    if (result == WALLPROF_NOTHING)
        return -ENODATA;
    if (result != 0)
        return recording_refuse(ret, -EIO, "the process cannot write a store: %s",
                                result > 0 ? error_text(result) : "it is not recorded");
    return recording_open(ret, store);
}

int live_dumps_read(struct ctl_subject *subject, struct recording *ret)
{
    char directory[PATH_MAX], store[PATH_MAX + 16];
    if (ctl_request_directory(subject, directory) != 0)
        return recording_refuse(ret, -EIO, "there is no directory for a store");
    snprintf(store, sizeof store, "%s/dump.store", directory);
    int status = ctl_request_send(subject, CONTROL_DUMP, store, patience_ns) == 0 ? 0 : -EIO;
    status = status == 0 ? read_written(subject, store, ret)
                         : recording_refuse(ret, status, "the process has not replied");
    ctl_request_end(subject);
    unlink(store);
    rmdir(directory);
    return status;
}
