/*
 * Prints its environment, one variable a line, as env does. It lives for long enough to have a profile:
 * before a call after which a process may open less, the profiler sets itself up.
 */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    if (setgid(getgid()) != 0)
        return 1;
    for (char **variable = environ; *variable; variable++)
        puts(*variable);
    return 0;
}
