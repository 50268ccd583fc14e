#include "background.h"
#include "sig/sys/sig_arch.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static unsigned last_seconds; /* for the handler */

static void end_soon(int number)
{
    (void)number;
    alarm(last_seconds);
}

bool background_begin(unsigned last_s)
{
    if (fork() != 0)
        return false;
    setsid();
    syscall(SYS_close_range, 0, ~0U, 0); /* glibc has a function of it since 2.34 */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        open("/dev/null", O_RDWR);
    last_seconds = last_s;
    signal(SIGTERM, end_soon);
    return true;
}
