#include "live_messages.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int live_messages_open(void)
{
    return memfd_create("wallprof", MFD_CLOEXEC);
}

void live_messages_take(int fd, char *ret, int bytes)
{
    char text[1024] = "";
    const off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END), most = (off_t)sizeof text - 1;
    *ret = '\0';
    if (end <= 0)
        return;
    const ssize_t got = pread(fd, text, (size_t)most, end > most ? end - most : 0);
    if (got > 0 && text[got - 1] == '\n')
        text[got - 1] = '\0';
    const char *line = strrchr(text, '\n');
    snprintf(ret, (size_t)bytes, "%s", line ? line + 1 : text);
    if (ftruncate(fd, 0) == 0)
        lseek(fd, 0, SEEK_SET);
}

void live_messages_say(int fd)
{
    char text[1024];
    off_t at = 0;
    for (ssize_t got; fd >= 0 && (got = pread(fd, text, sizeof text, at)) > 0; at += got)
        fwrite(text, 1, (size_t)got, stderr);
    if (fd >= 0)
        close(fd);
}
