#include "input_names.h"
#include "tool/io/array.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int add_name(struct input_names *names, char *name)
{
    if (!name || !array_grow(&names->names, &names->capacity, names->count, sizeof *names->names)) {
        free(name);
        return -ENOMEM;
    }
    names->names[names->count++] = name;
    return 0;
}

static bool ends_in(const char *name, const char *ending)
{
    size_t bytes = strlen(name), ending_bytes = strlen(ending);
    return bytes > ending_bytes && strcmp(name + bytes - ending_bytes, ending) == 0;
}

/* Files that are still being written have names that begin with a dot. */
static int is_recording(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && (ends_in(entry->d_name, ".store") || ends_in(entry->d_name, ".pb.gz") ||
                                       ends_in(entry->d_name, ".pb"));
}

static int add_directory(struct input_names *names, const char *path)
{
    struct dirent **entries;
    int status = 0, count = scandir(path, &entries, is_recording, alphasort);
    if (count < 0)
        return -errno;
    for (int i = 0; i < count; i++) {
        char *name = NULL;
        if (status == 0)
            status = asprintf(&name, "%s/%s", path, entries[i]->d_name) < 0 ? -ENOMEM : add_name(names, name);
        free(entries[i]);
    }
    free(entries);
    return status;
}

int input_names_add(struct input_names *names, const char *path)
{
    struct stat file;
    if (strcmp(path, "-") != 0 && stat(path, &file) == 0 && S_ISDIR(file.st_mode))
        return add_directory(names, path);
    return add_name(names, strdup(path));
}

int input_names_add_list(struct input_names *names, const char *path)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    FILE *list = is_stdin ? stdin : fopen(path, "re");
    char *line = NULL;
    size_t capacity = 0;
    int status = 0;
    if (!list)
        return -errno;
    for (ssize_t bytes; status == 0 && (bytes = getline(&line, &capacity, list)) >= 0;) {
        if (bytes > 0 && line[bytes - 1] == '\n')
            line[bytes - 1] = '\0';
        if (*line)
            status = input_names_add(names, line);
    }
    if (status == 0 && ferror(list))
        status = -EIO;
    free(line);
    if (!is_stdin)
        fclose(list);
    return status;
}

void input_names_drop(struct input_names *names, const char *path)
{
    struct stat file, other;
    uint32_t kept = 0;
    if (stat(path, &file) < 0 || !S_ISREG(file.st_mode))
        return;
    for (uint32_t i = 0; i < names->count; i++) {
        char *name = names->names[i];
        if (stat(name, &other) == 0 && other.st_dev == file.st_dev && other.st_ino == file.st_ino)
            free(name);
        else
            names->names[kept++] = name;
    }
    names->count = kept;
}

void input_names_deinit(struct input_names *names)
{
    for (uint32_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (struct input_names){0};
}
