#include "run_external.h"
#include "base/number_names.h"
#include "tool/attach/attach_check.h"
#include "tool/attach/attach_child.h"
#include "tool/io/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROGRAM, RECORDER }; /* ends of the socket */

int run_external_begin(struct run_external *ret, struct refusal *refusal)
{
    *ret = (struct run_external){.recorder = -1};
    if (!attach_check_kernel())
        return refuse(refusal, RUN_FAILED, "nothing can be recorded from outside: " ATTACH_KERNEL_TOO_SILENT);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret->talk) == 0 &&
        pipe2(ret->ended, O_CLOEXEC) == 0)
        return 0;
    return refuse(refusal, RUN_FAILED, "the recorder cannot be started: %s", error_text(errno));
}

int run_external_hold(void *context)
{
    const struct run_external *external = context;
    close(external->talk[RECORDER]); /* else the end of the recorder would not be seen */
    return attach_child_hold(external->talk[PROGRAM]);
}

/* Without a parent that gathers, as it was killed, the recorder does that too. */
static _Noreturn void record(const struct run_external *external, const struct run_child *child,
                             struct run_directory *directory)
{
    const struct attach_child recorded = {.pid = child->pid,
                                          .talk = external->talk[RECORDER],
                                          .ended = external->ended[0],
                                          .run = directory->path};
    char pid[16], *argv[] = {"wallprof", "gather", "--pid", pid, directory->path, NULL};
    snprintf(pid, sizeof pid, "%d", (int)child->pid);
    run_child_drop_streams((const int[]){recorded.talk, recorded.ended}, 2);
    if (!attach_child_record(&recorded)) {
        run_tool(argv, STDOUT_FILENO, -1);
        run_directory_end(directory);
    }
    _exit(0);
}

void run_external_start(struct run_external *external, const struct run_child *child,
                        struct run_directory *directory)
{
    external->recorder = fork();
    if (external->recorder == 0)
        record(external, child, directory);
    if (external->recorder < 0)
        command_fail("the recorder cannot be started: %s", error_text(errno));
    close(external->talk[PROGRAM]);
    close(external->talk[RECORDER]);
    close(external->ended[0]);
}

void run_external_end(struct run_external *external, const struct run_child *child)
{
    if (external->recorder < 0)
        return;
    (void)!write(external->ended[1], &child->status, sizeof child->status); /* it may have been killed */
    waitpid(external->recorder, NULL, 0); /* run_child_await may have reaped it */
    external->recorder = -1;
}

int run_external_refuse(const char *program, int error, struct refusal *refusal)
{
    char why[ATTACH_WHY_BYTES];
    attach_check_explain(error, why);
    return refuse(refusal, RUN_FAILED, "%s cannot be recorded from outside: %s", program, why);
}
