#include "hook_environment.h"

#include <dlfcn.h>
#include <stddef.h>

/* Written before main. A forked child has the same. */
static struct environment *hidden;

const struct environment *hook_environment_hidden(void)
{
    return hidden;
}

void hook_environment_hide(char **environment)
{
    Dl_info library;
    if (!dladdr(&hidden, &library) || !library.dli_fname)
        return;
    hidden = environment_note(environment, library.dli_fname);
    if (hidden)
        environment_remove(hidden, environment);
}
