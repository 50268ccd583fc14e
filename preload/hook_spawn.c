/*
 * posix_spawn, popen and system: the C library starts the program, in a child that no hook sees. It inherits
 * masks and ignored signals as the program believes them to be. That is all: signals do not hold up a child
 * that shares its parent's memory, and its parent's are blocked by the C library as long as it does.
 */
#include "hook_environment.h"
#include "hook_mask.h"
#include "real.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_handler.h"
#include "sig/signal/sig_process.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>

/* Threads that show at the moment that the signal is ignored: it is one action for all. The sampler's signals
 * are lost meanwhile, and asked again for. */
static int32_t ignoring;

struct shown {
    uint64_t mask; /* to be put back */
    bool is_ignored;
};

static bool show_ignored(void)
{
    if (!sig_process_is_this())
        return false;
    sig_add_seq_cst(&ignoring, 1);
    if (sig_handler_show_ignored() || sig_load_seq_cst(&ignoring) > 1)
        return true;
    sig_sub_seq_cst(&ignoring, 1);
    return false;
}

static struct shown begin(void)
{
    struct shown ret = {.mask = hook_mask_show()};
    ret.is_ignored = show_ignored();
    return ret;
}

static void end(struct shown shown)
{
    if (shown.is_ignored && sig_sub_seq_cst(&ignoring, 1) == 1)
        sig_handler_hide_ignored();
    hook_mask_hide(shown.mask);
}

WALLPROF_HOOK int posix_spawn(pid_t *restrict pid, const char *restrict path,
                              const posix_spawn_file_actions_t *restrict actions,
                              const posix_spawnattr_t *restrict attributes, char *const *restrict arguments,
                              char *const *restrict environment)
{
    struct shown shown = begin();
    int error = real_functions()->posix_spawn(pid, path, actions, attributes, arguments,
                                              HOOK_ENVIRONMENT(environment));
    end(shown);
    return error;
}

WALLPROF_HOOK int posix_spawnp(pid_t *restrict pid, const char *restrict file,
                               const posix_spawn_file_actions_t *restrict actions,
                               const posix_spawnattr_t *restrict attributes, char *const *restrict arguments,
                               char *const *restrict environment)
{
    struct shown shown = begin();
    int error = real_functions()->posix_spawnp(pid, file, actions, attributes, arguments,
                                               HOOK_ENVIRONMENT(environment));
    end(shown);
    return error;
}

WALLPROF_HOOK FILE *popen(const char *command, const char *mode)
{
    struct shown shown = begin();
    FILE *stream = real_functions()->popen(command, mode);
    end(shown);
    return stream;
}

/* The whole command long, and possibly cancelled: no time to lose the sampler's signals. */
WALLPROF_HOOK int system(const char *command)
{
    uint64_t mask = hook_mask_show();
    int status = real_functions()->system(command);
    hook_mask_hide(mask);
    return status;
}
