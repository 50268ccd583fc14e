/*
 * A recording that is kept in a file while it is made: where that is, its beginning and its end.
 *
 * A store is locked (fcntl, by the sampler's descriptor) as long as its process lives: who can lock it knows
 * that nobody will finish it any more. Such locks end with the sampler's descriptor table, so with the
 * process however it ends, and with exec; children do not have them.
 *
 * In a run (wallprof-run) all stores are in one directory, and in it is a file that whoever gathers them
 * keeps locked (flock). A process that ends by itself closes its store and leaves it to him. Without him it
 * writes its own profile.
 */
#include "session_internal.h"
#include "base/clock.h"
#include "base/trusted_path.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "profile/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_ATTEMPTS = 100, WAITING_MAX = 1000, ENTRIES_BYTES = 4096, PROC_PATH_BYTES = 64 };

/* What became another program by exec has let go of its store. One that did not is kept again by then. */
static const uint64_t again_ns = NS_PER_S;

/* ---- where it is ---- */

static bool is_directory(const char *path)
{
    struct stat status;
    return path[strlen(path) - 1] == '/' || (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

/* 0, or -errno, which has been reported: then the recording is in memory only. */
int session_choose_store(struct session *session)
{
    char pattern[PATH_MAX + sizeof STORE_LIVE_PATTERN];
    const char *asked = session->config.store;
    session->has_store = false;
    if (!*asked)
        return 0;
    if (strcmp(asked, "auto") == 0)
        snprintf(pattern, sizeof(pattern), "%s/", session->output.directory);
    else
        snprintf(pattern, sizeof(pattern), "%s", asked);
    session->store_is_named = !is_directory(pattern);
    for (size_t length = strlen(pattern); length > 1 && pattern[length - 1] == '/'; length--)
        pattern[length - 1] = '\0';
    if (!session->store_is_named)
        strcat(pattern, "/" STORE_LIVE_PATTERN);
    int status = strlen(pattern) < PATH_MAX
                     ? output_choose(&session->store, pattern, session->pid, session->config.rank,
                                     session->start_utc_ns, session->is_child)
                     : -ENAMETOOLONG;
    if (status < 0)
        log_add(&session->log, LOG_ERROR, "the recording cannot be kept in %s: %s", asked,
                strerrordesc_np(-status));
    session->has_store = status == 0;
    return status;
}

static int open_store_directory(const struct session *session)
{
    int place = place_open_directory(session->store.directory);
    if (place < 0)
        return place;
    int fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = errno;
    close(place);
    return fd < 0 ? -error : fd;
}

/* ---- the file ---- */

static bool lock_store(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_SETLK, &lock) == 0;
}

/* A name that nobody could know beforehand, but for the one that was asked for, unless that is taken. */
static int choose_store_name(struct session *session, int attempt)
{
    uint32_t random = 0;
    char text[16];
    strcpy(session->store_name, session->store.name);
    if (session->store_is_named && attempt == 0)
        return 0;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (uint32_t)clock_monotonic_ns();
    snprintf(text, sizeof(text), "%08x", random);
    if (session->store_is_named)
        return config_insert(session->store_name, sizeof(session->store_name), text);
    int length = snprintf(session->store_name, sizeof(session->store_name), "%s.%s" STORE_LIVE_ENDING,
                          session->store.name, text);
    return length < (int)sizeof(session->store_name) ? 0 : -ENAMETOOLONG;
}

/* Tries one name after the other. What try_name returns: -EEXIST for a name that is taken. */
static int with_a_name(struct session *session, int directory, int fd,
                       int try_name(int directory, const char *name, int fd))
{
    int status = -EEXIST;
    for (int attempt = 0; attempt < NAME_ATTEMPTS && status == -EEXIST; attempt++) {
        status = choose_store_name(session, attempt);
        if (status == 0)
            status = try_name(directory, session->store_name, fd);
    }
    return status;
}

static int create_named(int directory, const char *name, int fd)
{
    (void)fd;
    int created = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return created < 0 ? -errno : created;
}

/* By the descriptor table of this thread, which is the sampler's own. */
static void path_of_descriptor(int fd, char ret[PROC_PATH_BYTES])
{
    snprintf(ret, PROC_PATH_BYTES, "/proc/thread-self/fd/%d", fd);
}

static int give_name(int directory, const char *name, int fd)
{
    char path[PROC_PATH_BYTES];
    path_of_descriptor(fd, path);
    return linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* Without a name nobody sees it before it is a store. Not all file systems have that, nor all have /proc; and
 * it takes twice as long as a file with a name, which will do where nobody looks before the end of a run. */
static int create_nameless(int directory)
{
    char path[PROC_PATH_BYTES];
    int fd = openat(directory, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    path_of_descriptor(fd, path);
    if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return fd;
    close(fd);
    return -ENOENT;
}

/* A descriptor of a new file that is locked, or -errno. */
static int create_store(struct session *session, int directory, bool *ret_is_named)
{
    int fd = session->config.store_is_run ? -ENOTSUP : create_nameless(directory);
    *ret_is_named = fd < 0;
    if (fd < 0)
        fd = with_a_name(session, directory, -1, create_named);
    if (fd >= 0 && (fchmod(fd, 0600) < 0 || !lock_store(fd))) {
        int status = -errno;
        if (*ret_is_named)
            unlinkat(directory, session->store_name, 0);
        close(fd);
        return status;
    }
    return fd;
}

/* Where the profile of this recording would go: of an interval, under its number. */
static arena_ref keep_path(struct session *session, uint32_t index, const struct wp_output *output)
{
    char path[PATH_MAX + NAME_MAX + 2];
    uint32_t number;
    if (session->config.interval_ns && session_name_interval(session, &number) == 0)
        output = &session->control.numbered[index];
    snprintf(path, sizeof(path), "%s/%s", output->directory, output->name);
    return arena_strdup(&session->sampler.arena, path);
}

static void describe_outputs(struct session *session, struct store_live *live)
{
    _Static_assert(1 + CONFIG_MORE_OUTS_MAX <= STORE_OUTPUTS_MAX, "all of them");
    live->outputs[live->output_count++] = keep_path(session, 0, &session->output);
    for (uint32_t i = 0; i < session->more_output_count; i++)
        live->outputs[live->output_count++] = keep_path(session, 1 + i, &session->more_outputs[i]);
    live->perf_map_count = session->perf_maps.count;
    memcpy(live->perf_maps, session->perf_maps.sources, sizeof(live->perf_maps));
}

static void describe(struct session *session, struct store_header *header)
{
    char program[PATH_MAX];
    const struct wp_process process = session_describe_process(session, program);
    header->labels = session->config.labels;
    header->has_timed_samples = session->config.timeline == TIMELINE_PPROF;
    header->start_utc_ns = session->control.profile_utc_ns;
    snprintf(header->command, sizeof(header->command), "%s", session->command_text);
    store_describe_process(&header->process, &process);
    describe_outputs(session, &header->live);
}

static int begin_store(struct session *session, int directory, uint64_t now_ns)
{
    struct store_header header = {.version = STORE_VERSION};
    bool is_named;
    int fd = create_store(session, directory, &is_named);
    if (fd < 0)
        return fd;
    describe(session, &header);
    int status = sampler_keep(&session->sampler, fd, &header, now_ns);
    if (status < 0) {
        if (is_named)
            unlinkat(directory, session->store_name, 0);
        close(fd);
        return status;
    }
    if (!is_named)
        status = with_a_name(session, directory, fd, give_name);
    if (status < 0)
        live_give_up(&session->sampler.live, status);
    return status;
}

/* ---- those that were left ---- */

/* Nobody's any more, and not of a program that ended as it wanted to. */
static bool is_waiting(int directory, const char *name)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat status;
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool waits = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                 status.st_size > STORE_HEADER_BYTES && fcntl(fd, F_GETLK, &lock) == 0 &&
                 lock.l_type == F_UNLCK;
    close(fd);
    return waits;
}

static void report_waiting(struct session *session, const char *first, unsigned count)
{
    if (count == 1)
        log_add(&session->log, LOG_WARNING,
                "the recording of a process that was ended waits in %s/%s: 'wallprof recover' makes a "
                "profile of it",
                session->store.directory, first);
    else if (count > 1)
        log_add(
            &session->log, LOG_WARNING,
            "the recordings of %u processes that were ended wait in %s: 'wallprof recover %s' makes profiles "
            "of them",
            count, session->store.directory, session->store.directory);
}

/* The process's own is left out: to close it for a second time would end its lock. Not by readdir, which
 * allocates with the program's malloc. */
static unsigned count_waiting(const struct session *session, int directory, char first[NAME_MAX + 1])
{
    struct directory_entry { /* the kernel's struct linux_dirent64 */
        uint64_t inode, offset;
        uint16_t bytes;
        uint8_t type;
        char name[];
    };
    char entries[ENTRIES_BYTES] __attribute__((aligned(8)));
    unsigned count = 0;
    for (long got; (got = sig_syscall4(SYS_getdents64, directory, (long)entries, sizeof(entries), 0)) > 0;) {
        for (long at = 0; at < got && count < WAITING_MAX;) {
            const struct directory_entry *entry = (const void *)(entries + at);
            at += entry->bytes;
            if (store_is_live_name(entry->name) && strcmp(entry->name, session->store_name) != 0 &&
                is_waiting(directory, entry->name) && count++ == 0)
                snprintf(first, NAME_MAX + 1, "%s", entry->name);
        }
    }
    return count;
}

static void look_for_waiting(struct session *session, int directory)
{
    char first[NAME_MAX + 1] = "";
    unsigned count = 0;
    if (!session->store_is_named)
        count = count_waiting(session, directory, first);
    else if (strcmp(session->store_name, session->store.name) != 0 &&
             is_waiting(directory, session->store.name)) {
        strcpy(first, session->store.name);
        count = 1;
    }
    report_waiting(session, first, count);
}

/* ---- in the sampler ---- */

/* The file of a run that somebody gathers the stores of in this directory, or -1. Whoever does has locked it
 * from before this process's start. */
static int open_run(int directory, int access)
{
    int fd = openat(directory, STORE_RUN_NAME, access | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || (flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK))
        return fd;
    close(fd);
    return -1;
}

static bool is_joined(int directory)
{
    int fd = open_run(directory, O_RDONLY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* All processes of a run are one family; those that were not forked from one another meet in the run's file.
 */
static void join_run(struct session *session, int directory)
{
    struct stat status;
    int fd = open_run(directory, O_RDWR);
    sig_store_relaxed(&session->is_joined, fd >= 0);
    if (fd < 0)
        return;
    if (live_is_kept(&session->sampler.live) && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == geteuid())
        family_share(&session->sampler.family, fd);
    close(fd);
}

static void keep(struct session *session, bool is_first, uint64_t now_ns)
{
    int directory = open_store_directory(session);
    int status = directory < 0 ? directory : begin_store(session, directory, now_ns);
    bool is_over = status == -ENOENT && session->config.store_is_run; /* the run that it was a part of */
    if (status < 0)
        log_add(&session->log, is_over ? LOG_INFO : LOG_WARNING, "the recording is not kept in %s/%s: %s",
                session->store.directory, session->store.name, strerrordesc_np(-status));
    if (directory < 0)
        return;
    join_run(session, directory);
    if (is_first && !session->config.store_is_run)
        look_for_waiting(session, directory);
    close(directory);
}

void session_keep(struct session *session, uint64_t now_ns)
{
    uint64_t from_ns = sig_load_relaxed(&session->keep_from_ns);
    if (!session->has_store || !session->has_own_descriptors || now_ns < from_ns)
        return;
    uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    sig_store_relaxed(&session->keep_from_ns, UINT64_MAX);
    if (live_is_kept(&session->sampler.live)) /* the exec has failed that it was removed for */
        live_give_up(&session->sampler.live, 0);
    keep(session, from_ns == 0 && !session->is_child, now_ns);
    session->sampler.upkeep_cpu_ns +=
        clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns; /* looks are no dearer */
    if (session->log.used_bytes > 0)
        log_flush_through(&session->log, session->stderr_handle);
}

/* ---- in the thread that takes over from a sampler ---- */

static int open_store_again(const struct session *session)
{
    int directory = open_store_directory(session);
    if (directory < 0)
        return directory;
    int fd = openat(directory, session->store_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int status = fd >= 0 && lock_store(fd) ? fd : -errno;
    if (fd >= 0 && status < 0)
        close(fd);
    close(directory);
    return status;
}

/* It may be out of reach by now, or be somebody else's: then the recording goes on in memory. */
void session_keep_on(struct session *session)
{
    struct wp_live *live = &session->sampler.live;
    if (!live_is_kept(live))
        return;
    int fd = session->has_own_descriptors ? open_store_again(session) : -EMFILE;
    int status = fd < 0 ? fd : live_take_file(live, fd);
    if (status == 0)
        return;
    if (fd >= 0)
        close(fd);
    live_give_up(live, status);
}

/* ---- the end ---- */

/* Code that is in no file, and files that were replaced: what else there is to know of names, the file tells
 * as well afterwards. */
static bool knows_more_than_files(const struct session *session)
{
    const struct wp_sampler *sampler = &session->sampler;
    const struct wp_tree *tree = &sampler->tree;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        const struct wp_location *location = tree_location_at(tree, ref);
        if (!location->module && !location->pseudo)
            return true;
    }
    for (arena_ref ref = sampler->modules.newest; ref;) {
        const struct wp_module *module = arena_at(&sampler->arena, ref);
        const char *path = arena_at(&sampler->arena, module->path);
        struct stat status;
        if (module->is_sampled && *path == '/' &&
            (stat(path, &status) < 0 || clock_timespec_ns(&status.st_ctim) > session->start_utc_ns))
            return true;
        ref = module->next;
    }
    return false;
}

bool session_leave_store(struct session *session)
{
    struct wp_live *live = &session->sampler.live;
    int directory = session->has_store && session->has_own_descriptors ? open_store_directory(session) : -1;
    if (directory < 0) {
        if (session->is_joined) /* whose user may have no way there any more: who gathers finds it whole */
            session_close_store(session, true);
        return false;
    }
    if (sig_load_relaxed(&session->keep_from_ns) == 0 && is_joined(directory)) { /* before its first tick */
        sig_store_relaxed(&session->keep_from_ns, UINT64_MAX);
        keep(session, false, session->end_ns);
    }
    bool leaves = session->is_joined && live_is_kept(live);
    if (leaves) {
        session_close_store(session, knows_more_than_files(session));
        leaves = is_joined(directory); /* behind the closing: he looks for closed ones when he has let go */
    }
    close(directory);
    return leaves;
}

bool session_wants_store(void)
{
    struct session *session = session_current();
    return session && session->has_store;
}

static void note_end(enum store_end kind, int value)
{
    struct session *session = session_current();
    if (!session || session->pid != getpid())
        return;
    live_note_end(&session->sampler.live, kind, value, clock_monotonic_ns());
    family_pause(&session->sampler.family);
}

/* Who gathers the run's stores may have done so since. 0 or 1, or -errno where there is no telling. */
static int is_still_gathered(const struct session *session)
{
    int directory = open_store_directory(session);
    if (directory < 0)
        return directory;
    bool is_gathered = is_joined(directory);
    close(directory);
    return is_gathered;
}

void session_note_exit(int status)
{
    struct session *session = session_current();
    note_end(STORE_END_EXIT, status);
    if (session && session->pid == getpid() && session->config.store_is_run &&
        live_is_kept(&session->sampler.live) && is_still_gathered(session) == 0)
        session_finish();
}

void session_note_daemon(void)
{
    note_end(STORE_END_EXIT, 0);
}

void session_take_back_end(void)
{
    struct session *session = session_current();
    if (session && session->pid == getpid())
        live_take_back_end(&session->sampler.live);
}

void session_note_abort(void)
{
    note_end(STORE_END_ABORT, 0);
}

void session_note_death(pid_t child, int signal)
{
    struct session *session = session_current();
    if (session && session->pid == getpid())
        live_note_death(&session->sampler.live, child, signal, clock_monotonic_ns());
}

bool session_leave_store_at_exec(struct session *session, uint64_t now_ns)
{
    struct wp_live *live = &session->sampler.live;
    live_note_end(live, STORE_END_EXEC, 0, now_ns);
    return live_is_kept(live) && sig_load_relaxed(&session->is_joined) && is_still_gathered(session) == 1;
}

void session_put_store_away(struct session *session, uint64_t now_ns)
{
    if (!session->sampler.live.header)
        return;
    session_remove_store(session);
    sig_store_relaxed(&session->keep_from_ns, now_ns + again_ns);
}

/* If it is still there: the profile may have taken its place, or somebody else's store its name. */
static void unlink_store(const struct session *session)
{
    const struct wp_live *live = &session->sampler.live;
    char path[PATH_MAX + NAME_MAX + 2];
    struct stat status;
    snprintf(path, sizeof(path), "%s/%s", session->store.directory, session->store_name);
    if (lstat(path, &status) == 0 && status.st_dev == live->device && status.st_ino == live->inode)
        unlink(path);
}

void session_begin_another_store(struct session *session)
{
    struct wp_live *live = &session->sampler.live;
    if (!live->header)
        return;
    if (live_is_kept(live)) /* it is not when the disk was full; it may have room by now */
        live_give_up(live, 0);
    unlink_store(session);
    sig_store_relaxed(&session->keep_from_ns, 1); /* from now on, but not for the first time */
}

/* Of a run that nobody gathers any more: by the last one. Others' stores are in the way of that. */
static void remove_run(const struct session *session)
{
    int directory = open_store_directory(session);
    if (directory < 0)
        return;
    if (!is_joined(directory)) {
        unlinkat(directory, STORE_RUN_NAME, 0);
        rmdir(session->store.directory);
    }
    close(directory);
}

void session_remove_store(const struct session *session)
{
    if (!session->sampler.live.header)
        return;
    unlink_store(session);
    if (session->config.store_is_run)
        remove_run(session);
}
