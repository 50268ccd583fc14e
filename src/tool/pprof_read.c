/* The reader of pprof files. */
#include "recording.h"

#include <errno.h>

int recording_read_pprof(struct recording *recording, const unsigned char *bytes, size_t count)
{
    (void)bytes;
    (void)count;
    return recording_refuse(recording, -EBADMSG, "it is no profile of wallprof's");
}
