/*
 * A family whose processes write titles over their arguments and environment, as servers do.
 *
 *   target_titles FILE   children: one computes and changes its title, one sleeps, and one waits to be
 * killed, whose pid it writes to FILE. Ends when all have ended.
 */
#include "target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *area, *area_end;

/* What lies between the first argument and the end of the environment, which is copied first. */
static void take_area(char **argv)
{
    static char *copies[1024];
    size_t count = 0;
    area = argv[0];
    area_end = argv[0] + strlen(argv[0]) + 1;
    for (char **at = argv + 1; *at && *at == area_end; at++)
        area_end = *at + strlen(*at) + 1;
    for (; environ[count] && count + 1 < sizeof copies / sizeof *copies; count++) {
        if (environ[count] == area_end)
            area_end = environ[count] + strlen(environ[count]) + 1;
        copies[count] = strdup(environ[count]);
    }
    environ = copies;
}

static void set_title(const char *title)
{
    memset(area, 0, (size_t)(area_end - area));
    snprintf(area, (size_t)(area_end - area), "%s", title);
}

static void spin(uint64_t ns)
{
    while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < ns)
        ;
}

static void compute(void)
{
    set_title("ledger: starting up");
    spin(100 * NS_PER_MS);
    set_title("ledger: compaction of table 7   ");
    spin(300 * NS_PER_MS);
    exit(0);
}

static void rest(void)
{
    set_title("/usr/lib/ledger: walwriter");
    usleep(300 * 1000);
    _exit(0);
}

static void wait_to_be_killed(const char *path)
{
    set_title("ledger: client app 10.0.0.7(5432) password=hunter2");
    FILE *file = fopen(path, "w");
    if (!file)
        exit(1);
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? strdup(argv[1]) : "/dev/null";
    take_area(argv);
    for (int child = 0; child < 3; child++) {
        if (fork() != 0)
            continue;
        if (child == 0)
            compute();
        if (child == 1)
            rest();
        wait_to_be_killed(path);
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}
