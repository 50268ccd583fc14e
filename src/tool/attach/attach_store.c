#include "attach_store.h"
#include "attach.h"
#include "base/name_pattern.h"
#include "export/profile_path.h"
#include "profile/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(1 + CONFIG_MORE_OUTS_MAX <= STORE_PROFILE_PATHS_MAX, "all of them");

/* Those who gather take a store that is not locked for one whose process has ended. */
static bool lock_store(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_SETLK, &lock) == 0;
}

static bool is_locked(int directory, const char *name)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const bool is_locked = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (fd >= 0)
        close(fd);
    return is_locked;
}

bool attach_store_has_recorder(const char *run, pid_t pid)
{
    char beginning[32];
    const int length = snprintf(beginning, sizeof beginning, "wallprof.%d.", (int)pid);
    bool is_found = false;
    DIR *entries = opendir(run);
    for (const struct dirent *entry; !is_found && entries && (entry = readdir(entries));)
        is_found = strncmp(entry->d_name, beginning, (size_t)length) == 0 &&
                   store_is_live_name(entry->d_name) && is_locked(dirfd(entries), entry->d_name);
    if (entries)
        closedir(entries);
    return is_found;
}

/* Where the profile goes: as the library of the process would choose it. */
static void describe_outputs(struct attach *attach, struct store_live *live)
{
    struct profile_path output;
    char path[PATH_MAX + NAME_MAX + 2];
    const struct config *config = attach->config;
    for (uint32_t i = 0; i <= config->more_out_count; i++) {
        if (profile_path_choose_of(&output, config_out(config, i), attach->name, attach->pid, config->rank,
                                   attach->start_utc_ns, false) < 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", output.directory, output.name);
        live->profile_paths[live->profile_path_count++] = arena_strdup(&attach->sampler->arena, path);
    }
    live->perf_map_count = attach->perf_maps.count;
    memcpy(live->perf_maps, attach->perf_maps.sources, sizeof live->perf_maps);
}

/* A new one in the directory of the run. -errno if there is none. */
static int make_store(const struct attach *attach, char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/wallprof.%d.XXXXXX" STORE_LIVE_ENDING, attach->run, (int)attach->pid) >=
        PATH_MAX)
        return -ENAMETOOLONG;
    int fd = mkostemps(path, sizeof STORE_LIVE_ENDING - 1, O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The file of *path is removed, if there is one. */
static int abandon(int fd, const char *path, int status)
{
    if (*path)
        unlink(path);
    close(fd);
    return status;
}

int attach_store_begin(struct attach *attach)
{
    struct store_header header = {.labels = attach->config->labels,
                                  .has_timed_samples = attach->config->timeline == TIMELINE_PPROF,
                                  .start_utc_ns = attach->start_utc_ns};
    char path[PATH_MAX] = "";
    attach_describe_process(attach);
    snprintf(header.command, sizeof header.command, "%s", attach->command);
    store_describe_process(&header.process, &attach->process);
    describe_outputs(attach, &header.live);
    header.live.is_external = true;
    int fd = attach->run ? make_store(attach, path) : attach->store;
    if (fd < 0)
        return fd;
    if (attach->run && !lock_store(fd))
        return abandon(fd, path, -errno);
    int status = sampler_keep(attach->sampler, fd, &header, attach->start_ns);
    return status < 0 ? abandon(fd, path, status) : 0;
}

void attach_store_describe(struct attach *attach)
{
    struct store_header *header = attach->sampler->mapped_store.header;
    if (!mapped_store_is_kept(&attach->sampler->mapped_store))
        return;
    attach_describe_process(attach);
    store_describe_process(&header->process, &attach->process);
    snprintf(header->command, sizeof header->command, "%s", attach->command);
}

static void close_file(struct mapped_store *store)
{
    if (store->fd > 0)
        close(
            store->fd); /* and with it the lock: those who gather take it then, also one that is not whole */
    mapped_store_lose_file(store);
}

int attach_store_end(struct attach *attach)
{
    struct sampler *sampler = attach->sampler;
    struct mapped_store *store = &sampler->mapped_store;
    struct store_part names = {0};
    char restraint[OVERHEAD_LIMIT_TEXT_BYTES];
    if (!mapped_store_is_kept(store)) {
        close_file(store);
        return store->header && store->header->live.error ? store->header->live.error : -EIO;
    }
    attach_store_describe(attach);
    overhead_limit_describe(&sampler->overhead_limit, attach->start_ns, attach->end_ns, restraint);
    sampler_show(sampler, attach->end_ns);
    names.offset = mapped_store_cut(store);
    mapped_store_close(store, since(attach->start_ns, attach->end_ns), restraint, sampler->deadlock_notes,
                       &names);
    close_file(store);
    return 0;
}
