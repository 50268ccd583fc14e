/*
 * dlclose is counted, so that a reply can be told to come from before or after it (modules.h). dlopen needs
 * nothing, and must not be wrapped: its caller's address tells the C library where to search.
 */
#include "hook.h"
#include "sig/ground/sig_unloads.h"
#include "sig/signal/sig_process.h"

WALLPROF_HOOK int dlclose(void *handle)
{
    if (!sig_process_is_this()) /* a child of _Fork: no handler of ours runs in it */
        return libc()->dlclose(handle);
    uint32_t begun_in = sig_unloads_begin();
    int status = libc()->dlclose(handle);
    sig_unloads_end(begun_in);
    return status;
}
