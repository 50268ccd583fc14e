/*
 * All readers open the descriptor's name in /proc. So they see one file, also when its own name gets another.
 */
#include "push_profile.h"
#include "tool/io/file_bytes.h"
#include "tool/io/output_file.h"
#include "tool/formats/formats.h"
#include "encode/pprof_fields.h"
#include "tool/read/store_names.h"
#include "base/protobuf_read.h"
#include "base/number_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 32, FILE_MAX_BYTES = 256 << 20 };

static void name_descriptor(char path[PATH_BYTES], int fd)
{
    snprintf(path, PATH_BYTES, "/proc/self/fd/%d", fd);
}

static int read_bytes(int fd, char *ret, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t got = pread(fd, ret + at, bytes - at, (off_t)at);
        if (got == 0)
            return -EIO; /* it has become shorter */
        if (got < 0 && errno != EINTR)
            return -errno;
        at += got > 0 ? (size_t)got : 0;
    }
    ret[bytes] = '\0';
    return 0;
}

void *push_file_read(int fd, size_t *ret_bytes, int *ret_error)
{
    struct stat status;
    *ret_error = fstat(fd, &status) < 0 ? -errno : status.st_size > FILE_MAX_BYTES ? -EFBIG : 0;
    if (*ret_error)
        return NULL;
    char *text = malloc((size_t)status.st_size + 1);
    *ret_bytes = (size_t)status.st_size;
    *ret_error = text ? read_bytes(fd, text, *ret_bytes) : -ENOMEM;
    if (*ret_error == 0)
        return text;
    free(text);
    return NULL;
}

/* Unpacks the file to find its size and its number of samples. */
static int measure(struct push_profile *profile, int fd)
{
    struct file_bytes file;
    struct protobuf_field field;
    char path[PATH_BYTES];
    int is_cut;
    name_descriptor(path, fd);
    int status = file_bytes_read(&file, path, &is_cut);
    if (status < 0)
        return status;
    struct protobuf_reader message = protobuf_reader_of(file.bytes, file.count);
    profile->plain_bytes = file.count;
    while (protobuf_next(&message, &field))
        profile->samples += field.number == PROFILE_SAMPLE;
    file_bytes_free(&file);
    return 0;
}

static int measure_and_read(struct push_profile *profile, int fd)
{
    int status = measure(profile, fd);
    if (status == 0)
        profile->bytes = push_file_read(fd, &profile->count, &status);
    return status;
}

/* Writes a recording's profile, or else bytes, into a nameless compressed file, and reads that. */
static int compress_and_read(struct push_profile *profile, const struct profile *from,
                             const struct file_bytes *bytes)
{
    int fd = memfd_create("wallprof", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct sink *sink = sink_create_on(fd, SINK_GZIP);
    int status = sink ? 0 : -ENOMEM;
    if (sink && from)
        status = formats_write(FORMAT_PPROF, from, sink);
    else if (sink)
        sink_write(sink, bytes->bytes, bytes->count);
    int written = sink ? sink_commit(sink) : 0;
    status = status ? status : written;
    if (status == 0)
        status = measure_and_read(profile, fd);
    close(fd);
    return status;
}

static int read_plain_pprof(struct push_profile *profile, const char *path)
{
    struct file_bytes file;
    int is_cut, status = file_bytes_read(&file, path, &is_cut);
    if (status < 0)
        return status;
    status = compress_and_read(profile, NULL, &file);
    file_bytes_free(&file);
    return status;
}

static bool is_packed(int fd)
{
    unsigned char begin[2] = {0};
    return pread(fd, begin, sizeof begin, 0) == sizeof begin && begin[0] == 0x1f && begin[1] == 0x8b;
}

static int read_recording(struct push_profile *profile, struct recording *recording, int fd, const char *path)
{
    if (recording->is_store) {
        (void)store_names_make(recording); /* without memory it is sent without names */
        return compress_and_read(profile, &recording->profile, NULL);
    }
    return is_packed(fd) ? measure_and_read(profile, fd) : read_plain_pprof(profile, path);
}

/* A pprof file has no name of a process, only the command line. */
static void choose_program(struct push_profile *profile, const struct profile *from)
{
    char path[sizeof profile->program];
    const char *name = from->process_count > 0 ? from->processes[0].name : "";
    if (!*name && from->command) {
        snprintf(path, sizeof path, "%.*s", (int)strcspn(from->command, " "), from->command);
        name = output_file_name(path);
    }
    snprintf(profile->program, sizeof profile->program, "%s", name);
}

int push_profile_read(struct push_profile *profile, int fd, char reason[RECORDING_REASON_BYTES])
{
    struct recording recording;
    char path[PATH_BYTES];
    *profile = (struct push_profile){0};
    name_descriptor(path, fd);
    int status = recording_open(&recording, path);
    if (status < 0) {
        snprintf(reason, RECORDING_REASON_BYTES, "%s", recording.reason);
        return status;
    }
    if (recording.profile.measure) {
        snprintf(reason, RECORDING_REASON_BYTES, "it is not a recording of wallprof's");
        recording_close(&recording);
        return -EBADMSG;
    }
    profile->start_utc_ns = recording.profile.start_utc_ns;
    profile->duration_ns = recording.profile.duration_ns;
    choose_program(profile, &recording.profile);
    status = read_recording(profile, &recording, fd, path);
    recording_close(&recording);
    if (status == 0)
        return 0;
    push_profile_free(profile);
    snprintf(reason, RECORDING_REASON_BYTES, "%s", error_text(-status));
    return status;
}

void push_profile_free(struct push_profile *profile)
{
    free(profile->bytes);
    *profile = (struct push_profile){0};
}
