#include "export.h"
#include "encode/enc_store.h"
#include "encode/format.h"
#include "tool_export.h"
#include "modules/loader.h"
#include "base/trusted_path.h"
#include "names/symbolize.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Whether a C++ runtime is loaded: libstdc++, or LLVM's. */
static bool has_cxx_runtime(const struct wp_modules *modules)
{
    for (uint32_t i = 0; i < modules->now.count; i++) {
        if (!modules->now.entries[i].record)
            continue;
        const struct wp_module *module = arena_at(modules->arena, modules->now.entries[i].record);
        const char *path = arena_at(modules->arena, module->path);
        if (strstr(path, "/libstdc++.so") || strstr(path, "/libc++abi.so"))
            return true;
    }
    return false;
}

/* The program's own demangler, if it carries one. A dlsym that finds nothing allocates its error message with
 * the program's malloc, so it is asked only where there is something to find. */
static symbolize_demangle_fn *program_demangler(const struct wp_modules *modules)
{
    if (!has_cxx_runtime(modules) || loader_has_no_lock()) /* dlsym takes it too */
        return NULL;
    return (symbolize_demangle_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "__cxa_demangle");
}

static int write_to(const struct wp_profile *profile, int spare_fd, int directory_fd, const char *name)
{
    int error;
    enum wp_format format = format_of_name(name);
    struct sink *sink = sink_create_with(spare_fd, directory_fd, name, format_coding(format, name), &error);
    if (!sink)
        return error;
    int status = format_write(format, profile, sink);
    if (status < 0)
        sink_fail(sink, status);
    return sink_commit(sink);
}

static int write_more(const struct wp_profile *profile, const struct wp_output *output)
{
    int directory_fd = place_open_directory(output->directory);
    if (directory_fd < 0)
        return directory_fd;
    int error = write_to(profile, -1, directory_fd, output->name);
    close(directory_fd);
    return error;
}

static int write_all(const struct wp_profile *profile, const struct export_request *request)
{
    for (uint32_t i = 0; i < request->more_count; i++) {
        const struct wp_output *output = &request->more[i];
        int error = write_more(profile, output);
        if (error < 0)
            log_add(request->log, LOG_ERROR, "the profile cannot be written to %s/%s: %s", output->directory,
                    output->name, strerrordesc_np(-error));
    }
    return write_to(profile, request->spare_fd, request->directory_fd, request->name);
}

/* A store holds all there is to say already; and what is special (a FIFO) is opened once only. */
static bool is_written_at_once(const struct export_request *request)
{
    return sink_is_special(request->directory_fd, request->name) ||
           (format_of_name(request->name) == FORMAT_STORE && request->more_count == 0);
}

static int hand_over(const struct wp_profile *profile, const struct export_request *request)
{
    const struct handover handover = {.tool = request->tool,
                                      .directory_fd = request->directory_fd,
                                      .name = request->name,
                                      .more = request->more,
                                      .more_count = request->more_count};
    if (!request->tool || is_written_at_once(request))
        return -EINVAL;
    int status = handover_write(&handover, profile);
    if (status < 0)
        log_add(request->log, LOG_INFO, "%s did not write the profile (%s): written without it",
                request->tool, strerrordesc_np(-status));
    return status;
}

static void index_threads(const struct wp_sampler *sampler, arena_ref *thread_of_number)
{
    for (arena_ref ref = sampler->newest_record; ref;) {
        const struct wp_thread_record *record = arena_at(&sampler->arena, ref);
        thread_of_number[record->number] = ref;
        ref = record->next;
    }
}

typedef int use_fn(const struct wp_profile *profile, const struct export_request *request, void *context);

static int with_profile(const struct export_request *request, use_fn *use, void *context)
{
    const struct wp_sampler *sampler = request->sampler;
    uint32_t thread_count = sampler->thread_count;
    size_t index_bytes = sizeof(arena_ref) * ((size_t)thread_count + 1);
    arena_ref *thread_of_number = scratch_alloc(index_bytes);
    const struct symbolize_process process = {
        .perf_maps = request->perf_maps, .start_utc_ns = request->process_utc_ns, .log = request->log};
    struct wp_symbols *symbols =
        symbolize_create(&sampler->tree, &sampler->modules, program_demangler(&sampler->modules), &process);
    int status = -ENOMEM;
    if (thread_of_number && symbols) {
        index_threads(sampler, thread_of_number);
        const struct wp_profile profile = {
            .arena = &sampler->arena,
            .tree = &sampler->tree,
            .modules = &sampler->modules,
            .symbols = symbols,
            .timeline = sampler->timeline,
            .thread_of_number = thread_of_number,
            .thread_count = thread_count,
            .processes = request->process,
            .process_count = 1,
            .labels = request->labels,
            .has_timed_samples = request->has_timed_samples,
            .start_utc_ns = request->start_utc_ns,
            .duration_ns = request->duration_ns,
            .period_ns = sampler->fold.period_ns,
            .threads_per_tick = sampler->schedule.looks_per_tick,
            .counters = sampler->counters,
            .restraint = request->restraint,
            .command = request->command,
        };
        status = use(&profile, request, context);
    }
    symbolize_destroy(symbols);
    scratch_free(thread_of_number, index_bytes);
    return status;
}

static int write_files(const struct wp_profile *profile, const struct export_request *request, void *unused)
{
    (void)unused;
    int status = hand_over(profile, request);
    return status < 0 ? write_all(profile, request) : status;
}

int export_write(const struct export_request *request)
{
    return with_profile(request, write_files, NULL);
}

struct names_place {
    int fd;
    struct store_part *part;
};

static int write_names(const struct wp_profile *profile, const struct export_request *request, void *context)
{
    struct names_place *place = context;
    (void)request;
    struct sink *sink = lseek(place->fd, (off_t)place->part->offset, SEEK_SET) < 0
                            ? NULL
                            : sink_create_on(place->fd, SINK_PLAIN);
    if (!sink)
        return -ENOMEM;
    int status = enc_store_write_names(profile, sink, &place->part->bytes);
    if (status < 0)
        sink_fail(sink, status);
    status = sink_commit(sink);
    if (status < 0)
        place->part->bytes = 0;
    return status;
}

int export_names(const struct export_request *request, int fd, struct store_part *part)
{
    struct names_place place = {fd, part};
    return with_profile(request, write_names, &place);
}
