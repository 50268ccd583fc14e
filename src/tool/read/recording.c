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

static int open_file(struct recording *recording, const char *path)
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
    else
        status = recording_read_pprof(recording, file.bytes, file.count);
    file_bytes_free(&file);
    if (status < 0)
        recording_close(recording);
    return status;
}

int recording_open(struct recording *recording, const char *path)
{
    memset(recording, 0, sizeof *recording);
    return open_file(recording, path);
}

int recording_open_part(struct recording *recording, const char *path)
{
    memset(recording, 0, sizeof *recording);
    recording->is_part = true;
    return open_file(recording, path);
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
