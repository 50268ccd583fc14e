/*
 * dlclose: while a library may be unmapped, no handler reads unwind tables directly. dlopen needs nothing,
 * and must not be wrapped: the C library looks at its caller's address to find the library to search from.
 */
#include "real.h"
#include "sig_handler.h"

WALLPROF_HOOK int dlclose(void *handle)
{
    if (!sig_handler_is_of_this_process()) /* a child of _Fork: no handler of ours runs in it */
        return real_functions()->dlclose(handle);
    sig_handler_unload_begin();
    int status = real_functions()->dlclose(handle);
    sig_handler_unload_end();
    return status;
}
