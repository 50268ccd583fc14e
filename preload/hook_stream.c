/*
 * Reading and writing: as much as without our signal.
 *
 * When a signal comes, a large write to a pipe or a socket ends early, and so does a read of /dev/zero or
 * /dev/urandom. Many programs do not expect that. A call on a socket with a time limit ends with EINTR.
 */
#include "hook_transfer.h"
#include "hook_argument.h"
#include "hook.h"

#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

/* ---- writing ---- */

WALLPROF_WAIT static bool is_short(ssize_t result, size_t bytes)
{
    return result < 0 ? errno == EINTR : (size_t)result < bytes;
}

/* Whether a write that only our signal cut short goes on. */
WALLPROF_WAIT static bool goes_on_writing(const struct hook_transfer *transfer, ssize_t result)
{
    int before = errno;
    enum hook_transfer_kind kind = hook_transfer_kind(transfer);
    bool goes_on = result < 0 || ((kind == HOOK_TRANSFER_PIPE || kind == HOOK_TRANSFER_SOCKET) &&
                                  !hook_transfer_is_nonblocking(transfer));
    errno = before;
    return goes_on;
}

/* Writes the rest of the parts after `result` bytes, each part in calls of its own. */
WALLPROF_WAIT static ssize_t write_rest(struct hook_transfer *transfer, const struct iovec *parts, int count,
                                        ssize_t result)
{
    size_t before = 0, done = result > 0 ? (size_t)result : 0;
    struct iovec part; /* the program may have unmapped the vector while the call waited */
    for (int i = 0; i < count && hook_argument_read(&part, &parts[i], sizeof(part)); i++) {
        size_t bytes = part.iov_len, skip = done - before;
        if (skip < bytes) {
            ssize_t step =
                hook_transfer_write_all(transfer, (const char *)part.iov_base + skip, bytes - skip);
            done += step > 0 ? (size_t)step : 0;
            if (step < (ssize_t)(bytes - skip))
                break;
        }
        before += bytes;
    }
    return done ? (ssize_t)done : -1;
}

WALLPROF_WAIT static size_t bytes_in_parts(const struct iovec *parts, int count)
{
    struct iovec part;
    size_t bytes = 0;
    for (int i = 0; i < count && hook_argument_read(&part, &parts[i], sizeof(part)); i++)
        bytes += part.iov_len;
    return bytes;
}

WALLPROF_WAIT_HOOK ssize_t write(int fd, const void *from, size_t bytes)
{
    struct hook_transfer transfer;
    hook_transfer_begin(&transfer, fd, 0);
    ssize_t result = libc()->write(fd, from, bytes);
    if (hook_wait_was_cut(&transfer.wait) && is_short(result, bytes) && goes_on_writing(&transfer, result)) {
        struct iovec part = {.iov_base = (void *)(uintptr_t)from, .iov_len = bytes};
        result = write_rest(&transfer, &part, 1, result);
    }
    hook_wait_end(&transfer.wait);
    return result;
}

WALLPROF_ALSO(__write, write);

WALLPROF_WAIT_HOOK ssize_t writev(int fd, const struct iovec *parts, int count)
{
    struct hook_transfer transfer;
    hook_transfer_begin(&transfer, fd, 0);
    ssize_t result = libc()->writev(fd, parts, count);
    if (hook_wait_was_cut(&transfer.wait) && (result >= 0 || errno == EINTR) &&
        is_short(result, bytes_in_parts(parts, count)) && goes_on_writing(&transfer, result))
        result = write_rest(&transfer, parts, count, result);
    hook_wait_end(&transfer.wait);
    return result;
}

/* ---- reading ---- */

/* Reads the rest from a device whose data has no end. */
WALLPROF_WAIT static ssize_t read_rest(struct hook_transfer *transfer, char *to, size_t bytes, ssize_t result)
{
    size_t done = (size_t)result;
    while (done < bytes) {
        ssize_t step = hook_transfer_read_once(transfer, to + done, bytes - done);
        if (step <= 0)
            break;
        done += (size_t)step;
    }
    return (ssize_t)done;
}

WALLPROF_WAIT static ssize_t go_on_reading(struct hook_transfer *transfer, void *to, size_t bytes,
                                           ssize_t result)
{
    if (result < 0 && errno == EINTR)
        return hook_transfer_read_once(transfer, to, bytes);
    if (result > 0 && (size_t)result < bytes && hook_transfer_kind(transfer) == HOOK_TRANSFER_MEMORY)
        return read_rest(transfer, to, bytes, result);
    return result;
}

WALLPROF_WAIT_HOOK ssize_t read(int fd, void *to, size_t bytes)
{
    struct hook_transfer transfer;
    hook_transfer_begin(&transfer, fd, 0);
    ssize_t result = libc()->read(fd, to, bytes);
    if (hook_wait_was_cut(&transfer.wait))
        result = go_on_reading(&transfer, to, bytes, result);
    hook_wait_end(&transfer.wait);
    return result;
}

WALLPROF_ALSO(__read, read);

/* Programs that are compiled with _FORTIFY_SOURCE call this. */
extern ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room);

WALLPROF_WAIT_HOOK ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room)
{
    if (bytes > room)
        __chk_fail();
    return read(fd, to, bytes);
}

/* After our signal only the first part with a length is read. A call may return so little. */
WALLPROF_WAIT_HOOK ssize_t readv(int fd, const struct iovec *parts, int count)
{
    struct hook_transfer transfer;
    hook_transfer_begin(&transfer, fd, 0);
    ssize_t result = libc()->readv(fd, parts, count);
    if (hook_wait_was_cut(&transfer.wait) && result < 0 && errno == EINTR) {
        struct iovec part = {0};
        for (int i = 0; i < count && part.iov_len == 0; i++) {
            if (!hook_argument_read(&part, &parts[i], sizeof(part)))
                break;
        }
        result = hook_transfer_read_once(&transfer, part.iov_base, part.iov_len);
    }
    hook_wait_end(&transfer.wait);
    return result;
}

/* ---- calls that are made again with the rest ---- */

/* Makes a call again until all of `wanted` is done. real: the call, for `rest` bytes; 0 at a file's end. The
 * kernel moves the offsets. */
#define TRANSFER_WHOLE(fd, wanted, real)                                                                     \
    do {                                                                                                     \
        struct hook_transfer transfer;                                                                       \
        hook_transfer_begin(&transfer, fd, 0);                                                               \
        size_t rest = (wanted);                                                                              \
        ssize_t result = (real);                                                                             \
        while (hook_wait_was_cut(&transfer.wait) && is_short(result, wanted) && result != 0 &&               \
               hook_wait_release(&transfer.wait)) {                                                          \
            size_t done = result > 0 ? (size_t)result : 0;                                                   \
            rest = (wanted)-done;                                                                            \
            ssize_t step = (real);                                                                           \
            result = step >= 0 ? (ssize_t)done + step : done ? (ssize_t)done : step;                         \
            if (step == 0)                                                                                   \
                break;                                                                                       \
        }                                                                                                    \
        hook_wait_end(&transfer.wait);                                                                       \
        return result;                                                                                       \
    } while (0)

WALLPROF_WAIT_HOOK ssize_t sendfile(int to, int from, off_t *offset, size_t bytes)
{
    TRANSFER_WHOLE(to, bytes, libc()->sendfile(to, from, offset, rest));
}

WALLPROF_ALSO(sendfile64, sendfile); /* the same on machines of 64 bits */

WALLPROF_WAIT_HOOK ssize_t copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset,
                                           size_t bytes, unsigned flags)
{
    TRANSFER_WHOLE(to, bytes, libc()->copy_file_range(from, from_offset, to, to_offset, rest, flags));
}

WALLPROF_WAIT_HOOK ssize_t getrandom(void *to, size_t bytes, unsigned flags)
{
    TRANSFER_WHOLE(-1, bytes, libc()->getrandom((char *)to + (bytes - rest), rest, flags));
}

/* ---- waiting until all is written ---- */

WALLPROF_WAIT_HOOK int tcdrain(int fd)
{
    HOOK_WAIT_AGAIN(int, libc()->tcdrain(fd));
}
