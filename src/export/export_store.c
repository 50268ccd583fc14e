#include "export_store.h"
#include "base/clock.h"
#include "base/name_pattern.h"
#include "encode/format.h"
#include "profile/store.h"
#include "base/raw_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STORE_NAMES_MAX = 999 };

bool export_needs_tool(const char *name)
{
    return format_needs_tool(format_of_name(name));
}

/* ---- the name ---- */

static bool is_own_file(int fd)
{
    struct stat status;
    return raw_fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
}

/* Whether this process left the store. Another process may have had its pid before; the recording of such a
 * process began earlier, by more than two readings of the clock differ. */
static bool was_left_before(int directory_fd, const char *name, pid_t pid, uint64_t process_utc_ns)
{
    struct store_header header;
    int fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool is_store = is_own_file(fd) && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
                    memcmp(header.magic, STORE_MAGIC, sizeof header.magic) == 0;
    close(fd);
    return is_store && header.live.state == STORE_WHOLE && header.process.pid == pid &&
           header.start_utc_ns + NS_PER_S >= process_utc_ns;
}

static bool is_there(int directory_fd, const char *name)
{
    struct stat ignored;
    return raw_fstatat(directory_fd, name, &ignored, AT_SYMLINK_NOFOLLOW) == 0;
}

int export_store_choose_name(int directory_fd, const char *name, pid_t pid, uint64_t process_utc_ns,
                             char ret[NAME_MAX + 1])
{
    for (unsigned number = 1; number <= STORE_NAMES_MAX; number++) {
        char text[16];
        int length = snprintf(ret, NAME_MAX + 1, "%s" EXPORT_STORE_ENDING, name);
        snprintf(text, sizeof text, "%u", number);
        if (length > NAME_MAX || (number > 1 && name_pattern_insert(ret, NAME_MAX + 1, text) < 0))
            return -ENAMETOOLONG;
        if (!is_there(directory_fd, ret) || was_left_before(directory_fd, ret, pid, process_utc_ns))
            return 0;
    }
    return -EEXIST;
}

/* ---- the message ---- */

static bool is_plain(const char *text)
{
    return strspn(text, "/._-+=:@%,0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
           strlen(text);
}

/* A path as a word of a shell. One that does not fit is cut. */
static void quote_path(const char *directory, const char *name, char *ret, size_t capacity)
{
    char path[PATH_MAX + NAME_MAX + 2];
    size_t used = 0;
    snprintf(path, sizeof path, "%s/%s", strcmp(directory, "/") == 0 ? "" : directory, name);
    const char *quote = is_plain(path) ? "" : "'";
    snprintf(ret, capacity, "%s", quote);
    used = strlen(ret);
    for (const char *at = path; *at && used + 6 < capacity; at++)
        used += (size_t)snprintf(ret + used, capacity - used, *at == '\'' ? "'\\''" : "%c", *at);
    snprintf(ret + used, capacity - used, "%s", quote);
}

void export_store_explain(struct log *log, const char *directory, const char *store, const char *name,
                          const char *reason)
{
    char from[PATH_MAX], to[PATH_MAX], without_ending[NAME_MAX + 1];
    if (!name) {
        size_t length = strlen(store) - strlen(EXPORT_STORE_ENDING);
        snprintf(without_ending, sizeof without_ending, "%.*s", (int)length, store);
        name = without_ending;
    }
    quote_path(directory, store, from, sizeof from);
    quote_path(directory, name, to, sizeof to);
    log_add(log, LOG_WARNING,
            "the recording is left as a store, because only the tool writes %s, and it %s; now run: wallprof "
            "export %s -o %s",
            format_word(format_of_name(name)), reason, from, to);
}
