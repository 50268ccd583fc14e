#include "proc_text.h"
#include "base/raw_calls.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool proc_text_read(int directory_fd, const char *name, char *text, size_t capacity)
{
    int fd = openat(directory_fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t bytes = fd < 0 ? -1 : raw_read(fd, text, capacity - 1);
    if (fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    return bytes > 0;
}

uint64_t proc_text_number(const char *text, const char *label)
{
    const char *at = strstr(text, label);
    return at ? strtoull(at + strlen(label), NULL, 10) : 0;
}
