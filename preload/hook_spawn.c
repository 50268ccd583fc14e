/*
 * posix_spawn, popen and system: the C library starts the program, in a child that no hook sees. It inherits
 * masks and ignored signals as the program believes them to be. That is all: signals do not hold up a child
 * that shares its parent's memory, and its parent's are blocked by the C library as long as it does.
 */
#include "hook_environment.h"
#include "hook_mask.h"
#include "real.h"
#include "sig_atomic.h"
#include "sig_handler.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>

/* Threads that show at the moment that the signal is ignored: it is one action for all. The sampler's signals
 * are lost meanwhile, and asked again for. */
static int32_t shown;

static bool begin(void)
{
    hook_mask_show();
    if (!sig_handler_is_of_this_process())
        return false;
    sig_add_seq_cst(&shown, 1);
    if (sig_handler_show_ignored(real_functions()->sigaction) || sig_load_seq_cst(&shown) > 1)
        return true;
    sig_sub_seq_cst(&shown, 1);
    return false;
}

static void end(bool is_shown)
{
    if (is_shown && sig_sub_seq_cst(&shown, 1) == 1)
        sig_handler_hide_ignored(real_functions()->sigaction);
    hook_mask_hide();
}

WALLPROF_HOOK int posix_spawn(pid_t *restrict pid, const char *restrict path,
                              const posix_spawn_file_actions_t *restrict actions,
                              const posix_spawnattr_t *restrict attributes, char *const *restrict arguments,
                              char *const *restrict environment)
{
    bool is_shown = begin();
    int error = real_functions()->posix_spawn(pid, path, actions, attributes, arguments,
                                              HOOK_ENVIRONMENT(environment));
    end(is_shown);
    return error;
}

WALLPROF_HOOK int posix_spawnp(pid_t *restrict pid, const char *restrict file,
                               const posix_spawn_file_actions_t *restrict actions,
                               const posix_spawnattr_t *restrict attributes, char *const *restrict arguments,
                               char *const *restrict environment)
{
    bool is_shown = begin();
    int error = real_functions()->posix_spawnp(pid, file, actions, attributes, arguments,
                                               HOOK_ENVIRONMENT(environment));
    end(is_shown);
    return error;
}

WALLPROF_HOOK FILE *popen(const char *command, const char *mode)
{
    bool is_shown = begin();
    FILE *stream = real_functions()->popen(command, mode);
    end(is_shown);
    return stream;
}

/* The whole command long, and possibly cancelled: no time to lose the sampler's signals. */
WALLPROF_HOOK int system(const char *command)
{
    hook_mask_show();
    int status = real_functions()->system(command);
    hook_mask_hide();
    return status;
}
