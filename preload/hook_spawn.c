/*
 * posix_spawn, popen and system: the C library starts the program in a child that no hook sees. The child
 * inherits the mask and the ignored signals that this program believes it has. Nothing else is needed: no
 * signal interrupts the child while it shares its parent's memory, because the C library blocks them all.
 */
#include "hook_environment.h"
#include "hook_mask.h"
#include "hook.h"
#include "session/hook_memory.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_setup.h"
#include "sig/signal/sig_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>

/* What is undone after the spawn. */
struct spawn_changes {
    uint64_t mask;   /* the kernel's, before; 0: unchanged */
    bool is_ignored; /* this thread is counted in hook_memory()->ignoring */
};

/* The action belongs to the whole process, so the threads that need it are counted. Requests that the sampler
 * sends meanwhile are lost, and it sends them again. */
static bool show_ignored(void)
{
    if (!sig_process_is_this())
        return false;
    sig_add_seq_cst(&hook_memory()->ignoring, 1);
    if (sig_setup_show_ignored() || sig_load_seq_cst(&hook_memory()->ignoring) > 1)
        return true;
    sig_sub_seq_cst(&hook_memory()->ignoring, 1);
    return false;
}

static struct spawn_changes begin_spawn(void)
{
    struct spawn_changes ret = {.mask = hook_mask_show()};
    ret.is_ignored = show_ignored();
    return ret;
}

static void end_spawn(struct spawn_changes changes)
{
    if (changes.is_ignored && sig_sub_seq_cst(&hook_memory()->ignoring, 1) == 1)
        sig_setup_hide_ignored();
    hook_mask_hide(changes.mask);
}

/* get_plan: an expression. A change of directory among the actions is not known. */
#define SPAWN(name, get_plan)                                                                                \
    WALLPROF_HOOK int name(pid_t *restrict pid, const char *restrict path,                                   \
                           const posix_spawn_file_actions_t *restrict actions,                               \
                           const posix_spawnattr_t *restrict attributes, char *const *restrict arguments,    \
                           char *const *restrict environment)                                                \
    {                                                                                                        \
        struct environment_plan plan = get_plan;                                                             \
        struct spawn_changes changes = begin_spawn();                                                        \
        int error =                                                                                          \
            libc()->name(pid, path, actions, attributes, arguments, HOOK_ENVIRONMENT(plan, environment));    \
        end_spawn(changes);                                                                                  \
        return error;                                                                                        \
    }

SPAWN(posix_spawn, hook_environment_plan(AT_FDCWD, path, 0, environment))
SPAWN(posix_spawnp, hook_environment_plan_search(path, environment))

WALLPROF_HOOK FILE *popen(const char *command, const char *mode)
{
    struct spawn_changes changes = begin_spawn();
    FILE *stream = libc()->popen(command, mode);
    end_spawn(changes);
    return stream;
}

/* The action is not changed here: the command may take long, and the sampler's requests would be lost. The
 * thread may also be cancelled in the call. */
WALLPROF_HOOK int system(const char *command)
{
    uint64_t mask = hook_mask_show();
    int status = libc()->system(command);
    hook_mask_hide(mask);
    return status;
}
