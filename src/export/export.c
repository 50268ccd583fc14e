#include "export.h"
#include "export_store.h"
#include "tool_export.h"
#include "encode/enc_store.h"
#include "encode/format.h"
#include "modules/modules.h"
#include "base/raw_calls.h"
#include "base/trusted_path.h"
#include "names/symbolize.h"
#include "base/number_names.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether a C++ runtime is loaded: libstdc++, or LLVM's. */
static bool has_cxx_runtime(const struct modules *modules)
{
    for (uint32_t i = 0; i < modules->now.count; i++) {
        if (!modules->now.entries[i].record)
            continue;
        const struct module *module = arena_at(modules->list.arena, modules->now.entries[i].record);
        const char *path = arena_at(modules->list.arena, module->path);
        if (strstr(path, "/libstdc++.so") || strstr(path, "/libc++abi.so"))
            return true;
    }
    return false;
}

/* The program's own demangler, if it has one. A dlsym that finds nothing allocates its error message with the
 * program's malloc, so it is called only if there is a C++ runtime. */
static symbolize_demangle_fn *program_demangler(const struct modules *modules)
{
    if (!has_cxx_runtime(modules) || !modules_can_lock_loader(modules)) /* dlsym would wait for it */
        return NULL;
    return (symbolize_demangle_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "__cxa_demangle");
}

/* ---- the profile ---- */

static void index_threads(const struct sampler *sampler, arena_ref *thread_of_number)
{
    for (arena_ref ref = sampler->records.newest; ref;) {
        const struct thread_record *record = arena_at(&sampler->arena, ref);
        thread_of_number[record->number] = ref;
        ref = record->next;
    }
}

/* The recording as the encoders see it, and what it is made of. */
struct made_profile {
    struct profile profile;
    struct symbols *symbols;
    arena_ref *thread_of_number;
    size_t index_bytes;
};

/* is_for_tool: without the names that the tool finds in the same way. 0 or -ENOMEM. To be discarded in either
 * case. */
static int make_profile(const struct export_request *request, bool is_for_tool, struct made_profile *ret)
{
    const struct sampler *sampler = request->sampler;
    const bool is_another = sampler->target; /* its memory may be gone by now, and its map is not ours */
    const struct symbolize_process process = {.modules = is_another ? NULL : &sampler->modules,
                                              .perf_maps = request->perf_maps,
                                              .start_utc_ns = request->process_utc_ns,
                                              .log = request->log,
                                              .leaves_plain = is_for_tool};
    ret->index_bytes = sizeof(arena_ref) * ((size_t)sampler->records.number_count + 1);
    ret->thread_of_number = scratch_alloc(ret->index_bytes);
    ret->symbols = symbolize_create(&sampler->tree, &sampler->modules.list,
                                    program_demangler(&sampler->modules), &process);
    if (!ret->thread_of_number || !ret->symbols)
        return -ENOMEM;
    index_threads(sampler, ret->thread_of_number);
    ret->profile = (struct profile){
        .arena = &sampler->arena,
        .tree = &sampler->tree,
        .modules = &sampler->modules.list,
        .symbols = ret->symbols,
        .timeline = sampler->timeline,
        .thread_of_number = ret->thread_of_number,
        .thread_count = sampler->records.number_count,
        .processes = request->process,
        .process_count = 1,
        .labels = request->labels,
        .throttled_count = sampler->throttled.throttled_count,
        .throttled_ns = sampler->throttled.throttled_ns,
        .has_rundelay = sampler_knows_delay(sampler),
        .has_timed_samples = request->has_timed_samples,
        .start_utc_ns = request->start_utc_ns,
        .duration_ns = request->duration_ns,
        .period_ns = sampler->account.fold.period_ns,
        .threads_per_tick = sampler->schedule.samples_per_tick,
        .counters = sampler->counters,
        .restraint = request->restraint,
        .command = request->command,
        .messages = request->messages,
    };
    return 0;
}

static void discard_profile(struct made_profile *made)
{
    symbolize_destroy(made->symbols);
    scratch_free(made->thread_of_number, made->index_bytes);
}

/* ---- the files: file 0 is in directory_fd, files 1, 2 ... are those of `more` ---- */

struct export_writer {
    const struct profile *profile;
    const struct export_request *request;
    int spare_fd; /* the request's until it is used, then -1 */
};

static const char *file_name(const struct export_request *request, uint32_t index)
{
    return index == 0 ? request->name : request->more[index - 1].name;
}

static const char *file_directory(const struct export_request *request, uint32_t index)
{
    return index == 0 ? request->directory : request->more[index - 1].directory;
}

static int open_directory(const struct export_request *request, uint32_t index)
{
    return index == 0 ? request->directory_fd
                      : trusted_path_open_directory(request->more[index - 1].directory);
}

static void close_directory(uint32_t index, int fd)
{
    if (index > 0 && fd >= 0)
        close(fd);
}

/* Writes file `index` under this name. The spare descriptor is for the first file. */
static int write_file(struct export_writer *writer, uint32_t index, int directory_fd, const char *name)
{
    int error, spare_fd = index == 0 ? writer->spare_fd : -1;
    enum file_format format = format_of_name(name);
    if (index == 0)
        writer->spare_fd = -1;
    struct sink *sink = sink_create_with(spare_fd, directory_fd, name, format_coding(format, name), &error);
    if (!sink)
        return error;
    int status = format_write(format, writer->profile, sink);
    if (status < 0)
        sink_fail(sink, status);
    return sink_commit(sink);
}

/* Only a regular file that is there: whoever waits for the line has made it, and may have removed it. The
 * line is written at once, so that lines of several processes do not mix. */
static void note_written(const struct export_request *request, uint32_t index, const char *name)
{
    char line[PATH_MAX + NAME_MAX + 64];
    const char *directory = file_directory(request, index);
    struct stat status;
    if (!request->written || !*request->written)
        return;
    int length = snprintf(line, sizeof(line), "%d %s %s/%s\n", request->process->pid,
                          index == 0 ? STORE_WRITTEN_FIRST : STORE_WRITTEN_MORE,
                          strcmp(directory, "/") == 0 ? "" : directory, name);
    int fd = open(request->written, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (raw_fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        raw_write(fd, line, (size_t)length);
    close(fd);
}

static int write_own_format(struct export_writer *writer, uint32_t index)
{
    int directory_fd = open_directory(writer->request, index);
    if (directory_fd < 0)
        return directory_fd;
    int status = write_file(writer, index, directory_fd, file_name(writer->request, index));
    if (status == 0)
        note_written(writer->request, index, file_name(writer->request, index));
    close_directory(index, directory_fd);
    return status;
}

/* Leaves a store in place of a file whose format needs the tool. */
static int leave_store(struct export_writer *writer, uint32_t index, const char *reason)
{
    char store[NAME_MAX + 1];
    const struct export_request *request = writer->request;
    const char *name = file_name(request, index), *directory = file_directory(request, index);
    if (format_needs_timeline(format_of_name(name)) && !writer->profile->timeline)
        return -ENODATA;
    int directory_fd = open_directory(request, index);
    if (directory_fd < 0)
        return directory_fd;
    int status =
        export_store_choose_name(directory_fd, name, request->process->pid, request->process_utc_ns, store);
    if (status == 0)
        status = write_file(writer, index, directory_fd, store);
    if (status == 0) {
        note_written(request, index, store);
        export_store_explain(request->log, directory, store, name, reason);
    }
    close_directory(index, directory_fd);
    return status < 0 ? status : EXPORT_LEFT_STORE;
}

static int write_one(struct export_writer *writer, uint32_t index, const char *reason)
{
    const char *name = file_name(writer->request, index);
    return export_needs_tool(name) ? leave_store(writer, index, reason) : write_own_format(writer, index);
}

/* Writes the files that the tool has not written. Returns the first one's status; logs others' failures. */
static int write_rest(struct export_writer *writer, uint32_t written, const char *reason)
{
    const struct export_request *request = writer->request;
    for (uint32_t i = 1; i <= request->more_count; i++) {
        int error = written >> i & 1 ? 0 : write_one(writer, i, reason);
        if (error < 0)
            log_add(request->log, LOG_ERROR, "the profile cannot be written to %s/%s: %s",
                    file_directory(request, i), file_name(request, i), error_text(-error));
    }
    return written & 1 ? 0 : write_one(writer, 0, reason);
}

/*
 * The library itself writes a short recording, which takes less time than starting the tool; a store that is
 * the only file; and a special file (a FIFO), which can be opened only once.
 */
static bool is_for_tool(const struct export_request *request, uint32_t index)
{
    const char *name = file_name(request, index);
    if (export_needs_tool(name))
        return true;
    if (request->is_short || (index == 0 && sink_is_special(request->directory_fd, name)))
        return false;
    return format_of_name(name) != FORMAT_STORE || request->more_count > 0;
}

static uint32_t choose_for_tool(const struct export_request *request)
{
    uint32_t chosen = 0;
    for (uint32_t i = 0; request->tool && i <= request->more_count; i++)
        chosen |= (uint32_t)is_for_tool(request, i) << i;
    return chosen;
}

/* Bit i says that the tool has written file i. Returns why it has not written another one. */
static const char *write_by_tool(const struct export_request *request, uint32_t wanted, uint32_t *ret_written)
{
    struct made_profile made;
    int status = make_profile(request, true, &made);
    *ret_written = 0;
    if (status == 0)
        status = tool_export_write(request, wanted, &made.profile, ret_written);
    discard_profile(&made);
    for (uint32_t i = 0; i <= request->more_count; i++) {
        if (*ret_written >> i & 1)
            note_written(request, i, file_name(request, i));
    }
    if (status >= 0)
        return "was not run";
    log_add(request->log, LOG_INFO, "%s did not write the profile (%s): written without it", request->tool,
            error_text(-status));
    return status == -ETIME ? "took too long" : "failed";
}

static int write_by_library(const struct export_request *request, uint32_t written, const char *reason)
{
    struct made_profile made;
    struct export_writer writer = {&made.profile, request, request->spare_fd};
    int status = make_profile(request, false, &made);
    if (status == 0)
        status = write_rest(&writer, written, reason);
    if (writer.spare_fd >= 0)
        close(writer.spare_fd);
    discard_profile(&made);
    return status;
}

int export_write(const struct export_request *request)
{
    uint32_t written = 0, wanted = choose_for_tool(request);
    const uint32_t all = UINT32_MAX >> (31 - request->more_count);
    const char *reason = wanted ? write_by_tool(request, wanted, &written) : "was not run";
    if (written != all)
        return write_by_library(request, written, reason);
    if (request->spare_fd >= 0)
        close(request->spare_fd);
    return 0;
}

/* ---- only the names ---- */

static int write_names(const struct profile *profile, int fd, struct store_part *part)
{
    struct sink *sink = lseek(fd, (off_t)part->offset, SEEK_SET) < 0 ? NULL : sink_create_on(fd, SINK_PLAIN);
    if (!sink)
        return -ENOMEM;
    int status = enc_store_write_names(profile, sink, &part->bytes);
    if (status < 0)
        sink_fail(sink, status);
    status = sink_commit(sink);
    if (status < 0)
        part->bytes = 0;
    return status;
}

int export_names(const struct export_request *request, int fd, struct store_part *part)
{
    struct made_profile made;
    int status = make_profile(request, false, &made);
    if (status == 0)
        status = write_names(&made.profile, fd, part);
    discard_profile(&made);
    return status;
}

/* ---- for the tool itself ---- */

static int write_store(const struct profile *profile, int fd)
{
    struct sink *sink = sink_create_on(fd, SINK_PLAIN);
    if (!sink)
        return -ENOMEM;
    int status = enc_store_write(profile, sink);
    if (status < 0)
        sink_fail(sink, status);
    return sink_commit(sink);
}

int export_store(const struct export_request *request, int fd)
{
    struct made_profile made;
    int status = make_profile(request, true, &made);
    if (status == 0)
        status = write_store(&made.profile, fd);
    discard_profile(&made);
    return status;
}
