#include "recording_files.h"
#include "tool/io/array.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int add_name(struct recording_files *files, char *name)
{
    if (!name || !array_grow(&files->names, &files->capacity, files->count, sizeof *files->names)) {
        free(name);
        return -ENOMEM;
    }
    files->names[files->count++] = name;
    return 0;
}

static bool ends_in(const char *name, const char *ending)
{
    size_t bytes = strlen(name), ending_bytes = strlen(ending);
    return bytes > ending_bytes && strcmp(name + bytes - ending_bytes, ending) == 0;
}

/* A file that is still being written has a name that begins with a dot. */
static int is_recording(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && (ends_in(entry->d_name, ".store") || ends_in(entry->d_name, ".pb.gz") ||
                                       ends_in(entry->d_name, ".pb"));
}

/* Of a run with several outputs a directory may have both. The pprof file has the names of its machine. */
static bool has_pprof_beside(const char *path)
{
    static const char *const endings[] = {".pb.gz", ".pb"};
    const int stem = (int)(strlen(path) - strlen(".store"));
    bool is_there = false;
    for (size_t i = 0; !is_there && ends_in(path, ".store") && i < sizeof endings / sizeof *endings; i++) {
        char *other = NULL;
        is_there = asprintf(&other, "%.*s%s", stem, path, endings[i]) >= 0 && access(other, F_OK) == 0;
        free(other);
    }
    return is_there;
}

static int add_entry(struct recording_files *files, const char *directory, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return -ENOMEM;
    if (!has_pprof_beside(path))
        return add_name(files, path);
    free(path);
    return 0;
}

/* In the order of the names. */
static int add_directory(struct recording_files *files, const char *path)
{
    struct dirent **entries;
    int status = 0, count = scandir(path, &entries, is_recording, alphasort);
    if (count < 0)
        return -errno;
    for (int i = 0; i < count; i++) {
        if (status == 0)
            status = add_entry(files, path, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return status;
}

int recording_files_add(struct recording_files *files, const char *path)
{
    struct stat file;
    if (strcmp(path, "-") != 0 && stat(path, &file) == 0 && S_ISDIR(file.st_mode))
        return add_directory(files, path);
    return add_name(files, strdup(path));
}

void recording_files_free(struct recording_files *files)
{
    for (uint32_t i = 0; i < files->count; i++)
        free(files->names[i]);
    free(files->names);
    *files = (struct recording_files){.names = NULL};
}
