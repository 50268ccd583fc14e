#include "cpu_quota.h"
#include "proc/proc_text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 4096 };

/* The cgroup at a path below the mount, and those around it. */
static void read_groups(const char *mount, const char *group, struct cpu_quota *most)
{
    char path[PATH_MAX], text[TEXT_BYTES];
    int length = snprintf(path, sizeof path, "%s%s", mount, group);
    if (length < 0 || (size_t)length >= sizeof path - sizeof "/cpu.stat")
        return;
    const char *root = path + strlen(mount);
    char *last = path + length;
    if (last[-1] == '/') /* the root's group, "/" */
        *--last = '\0';
    for (char *end = last; end && end >= root; end = strrchr(path, '/')) {
        strcpy(end, "/cpu.stat");
        if (proc_text_read(AT_FDCWD, path, text, sizeof text)) {
            uint64_t ns =
                proc_text_number(text, "throttled_usec ") * 1000 + proc_text_number(text, "throttled_time ");
            if (ns > most->throttled_ns)
                *most = (struct cpu_quota){proc_text_number(text, "nr_throttled "), ns};
        }
        *end = '\0';
    }
}

static bool has_controller(const char *controllers, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = controllers; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* A line of /proc/self/cgroup: "4:cpu,cpuacct:/path", or "0::/path" of version 2. */
static void read_line(char *line, struct cpu_quota *most)
{
    char mount[PATH_MAX], *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return;
    *group++ = '\0';
    controllers++;
    if (!*controllers) {
        read_groups("/sys/fs/cgroup", group, most);
        read_groups("/sys/fs/cgroup/unified", group, most);
    } else if (has_controller(controllers, "cpu")) {
        snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controllers);
        read_groups(mount, group, most);
    }
}

struct cpu_quota cpu_quota_read(void)
{
    struct cpu_quota most = {0};
    char text[TEXT_BYTES], *rest = NULL;
    if (!proc_text_read(AT_FDCWD, "/proc/self/cgroup", text, sizeof text))
        return most;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        read_line(line, &most);
    return most;
}

struct cpu_quota cpu_quota_since(const struct cpu_quota *since)
{
    struct cpu_quota now = cpu_quota_read();
    if (now.throttled_ns < since->throttled_ns || now.throttled_count < since->throttled_count)
        return (struct cpu_quota){0};
    return (struct cpu_quota){now.throttled_count - since->throttled_count,
                              now.throttled_ns - since->throttled_ns};
}
