#include "program_path.h"

#include <sys/types.h>
#include <unistd.h>

/* The entry of a thread costs more than that of its process. */
size_t program_path_read(char *ret, size_t capacity)
{
    ssize_t length = readlink("/proc/self/exe", ret, capacity - 1);
    if (length <= 0) /* the main thread has ended */
        length = readlink("/proc/thread-self/exe", ret, capacity - 1);
    ret[length > 0 ? length : 0] = '\0';
    return length > 0 ? (size_t)length : 0;
}
