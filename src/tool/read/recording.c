#include "recording.h"
#include "tool/io/file_bytes.h"
#include "profile/store.h"
#include "store_file.h"
#include "base/number_names.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int recording_refuse(struct recording *recording, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(recording->reason, sizeof recording->reason, format, arguments);
    va_end(arguments);
    return error;
}

int recording_no_memory(struct recording *recording)
{
    return recording_refuse(recording, -ENOMEM, "there is not enough memory for it");
}

static int refuse_bytes(struct recording *recording, int error)
{
    if (error == -EBADMSG)
        return recording_refuse(recording, error, "its compressed data are damaged");
    return recording_refuse(recording, error, "%s", error_text(-error));
}

/* What gperftools' CPU profiler writes: words of the machine, of which the first five are 0, 3, 0, period, 0.
 */
static bool is_of_gperftools(const struct file_bytes *file)
{
    uintptr_t words[5];
    if (file->count < sizeof words)
        return false;
    memcpy(words, file->bytes, sizeof words);
    return words[0] == 0 && words[1] == 3 && words[2] == 0 && words[3] > 0 && words[4] == 0;
}

static int open_file(struct recording *recording, const char *path, const char *measure)
{
    struct file_bytes file;
    int is_cut = 0, status = store_file_read(&file, path);
    if (status == 1)
        status = file_bytes_read(&file, path, &is_cut);
    if (status < 0)
        return refuse_bytes(recording, status);
    if (is_cut)
        status = recording_refuse(recording, -EBADMSG,
                                  "it is cut short: the rest of its compressed data is missing");
    else if (file.count >= sizeof STORE_MAGIC - 1 &&
             memcmp(file.bytes, STORE_MAGIC, sizeof STORE_MAGIC - 1) == 0)
        status = recording_read_store(recording, file.bytes, file.count);
    else if (is_of_gperftools(&file))
        status = recording_refuse(recording, -EBADMSG,
                                  "it is in gperftools' own format, without names; 'pprof -proto PROGRAM "
                                  "FILE >x.pb.gz' makes a profile of it");
    else
        status = recording_read_pprof(recording, file.bytes, file.count, measure);
    file_bytes_free(&file);
    if (status < 0)
        recording_close(recording);
    return status;
}

int recording_open_measure(struct recording *recording, const char *path, const char *measure)
{
    memset(recording, 0, sizeof *recording);
    return open_file(recording, path, measure);
}

int recording_open(struct recording *recording, const char *path)
{
    return recording_open_measure(recording, path, NULL);
}

int recording_open_part(struct recording *recording, const char *path)
{
    memset(recording, 0, sizeof *recording);
    recording->is_part = true;
    int status = open_file(recording, path, NULL);
    if (status == 0 && recording->profile.measure) {
        recording_close(recording);
        status = recording_refuse(recording, -EBADMSG, "it is not a recording of wallprof's");
    }
    return status;
}

void recording_close(struct recording *recording)
{
    if (recording->release_symbols)
        recording->release_symbols(recording->symbols);
    scratch_free(recording->thread_of_number,
                 sizeof(arena_ref) * ((size_t)recording->profile.thread_count + 1));
    if (recording->arena.base) {
        tree_deinit(&recording->tree);
        arena_deinit(&recording->arena);
    }
    free(recording->timeline.records);
    free(recording->timeline.events);
    recording->timeline = (struct timeline){0};
    recording->release_symbols = NULL;
    recording->symbols = NULL;
    recording->thread_of_number = NULL;
}
