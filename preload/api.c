/* What a program can call: include/wallprof.h. */
#define WALLPROF_CODES_ONLY
#include "wallprof.h"
#include "hook.h"
#include "session/session_request.h"
#include "sig/sys/sig_arch.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

_Static_assert((int)CONTROL_NOT_RECORDED == WALLPROF_NOT_RECORDED &&
                   (int)CONTROL_ALREADY == WALLPROF_ALREADY && (int)CONTROL_BUSY == WALLPROF_BUSY &&
                   (int)CONTROL_TIMED_OUT == WALLPROF_TIMED_OUT && (int)CONTROL_NOTHING == WALLPROF_NOTHING,
               "one list of codes");

int wallprof_start(void);
int wallprof_stop(void);
int wallprof_is_active(void);
int wallprof_dump(const char *path);

WALLPROF_HOOK int wallprof_start(void)
{
    return session_send_request(CONTROL_START, NULL);
}

WALLPROF_HOOK int wallprof_stop(void)
{
    return session_send_request(CONTROL_STOP, NULL);
}

WALLPROF_HOOK int wallprof_is_active(void)
{
    return session_is_active();
}

/* Made absolute here: the sampler has a directory of its own. */
WALLPROF_HOOK int wallprof_dump(const char *path)
{
    char absolute[PATH_MAX];
    size_t length = 0;
    if (!path)
        return session_send_request(CONTROL_DUMP, NULL);
    if (*path == '\0')
        return ENOENT;
    if (*path != '/') {
        long bytes = sig_syscall4(SYS_getcwd, (long)absolute, (long)sizeof(absolute), 0, 0);
        if (bytes < 0 || *absolute != '/')
            return bytes < 0 ? (int)-bytes : ENOENT;
        length = strlen(absolute);
        absolute[length++] = '/';
    }
    if (length + strlen(path) >= sizeof(absolute))
        return ENAMETOOLONG;
    strcpy(absolute + length, path);
    return session_send_request(CONTROL_DUMP, absolute);
}
