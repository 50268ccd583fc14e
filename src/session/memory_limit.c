/* /proc/self/statm is read only if there is a limit, because that takes one of the program's descriptors. */
#include "memory_limit.h"
#include "base/raw_calls.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SHARE_PARTS = 8 };

static const uint64_t share_min_bytes = 1U << 20;

static uint64_t limit_of(__rlimit_resource_t resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

/* A field of statm in bytes, counted from 0; 0 when it cannot be read. */
static uint64_t used_bytes(int field)
{
    char text[256], *at = text;
    uint64_t pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? 0 : raw_read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    for (int i = 0; i <= field; i++)
        pages = strtoull(at, &at, 10);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t bytes_left(uint64_t limit_bytes, int field)
{
    if (limit_bytes == UINT64_MAX)
        return UINT64_MAX;
    uint64_t used = used_bytes(field);
    return used < limit_bytes ? limit_bytes - used : 0;
}

uint64_t memory_limit_left_bytes(const char **ret_limit)
{
    enum { STATM_SIZE = 0, STATM_DATA = 5 };
    uint64_t space = bytes_left(limit_of(RLIMIT_AS), STATM_SIZE),
             data = bytes_left(limit_of(RLIMIT_DATA), STATM_DATA);
    *ret_limit = space <= data ? "RLIMIT_AS" : "RLIMIT_DATA";
    return space <= data ? space : data;
}

uint64_t memory_limit_share(uint64_t wanted_bytes, uint64_t left_bytes)
{
    uint64_t share = left_bytes / SHARE_PARTS < share_min_bytes ? share_min_bytes : left_bytes / SHARE_PARTS;
    return wanted_bytes < share ? wanted_bytes : share;
}
