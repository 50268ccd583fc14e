#include "run_files.h"
#include "encode/format.h"
#include "profile/store.h"
#include "tool/io/array.h"
#include "tool/io/output_file.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- lines ---- */

static int compare_paths(const void *left, const void *right)
{
    return strcmp(left, right);
}

static void add(struct run_files *files, const char *path, bool is_programs, bool is_more)
{
    char *copy = strdup(path), **found = copy ? tsearch(copy, &files->seen, compare_paths) : NULL;
    if (!found || *found != copy)
        free(copy);
    else if (array_grow(&files->files, &files->capacity, files->count, sizeof *files->files))
        files->files[files->count++] = (struct run_file){copy, is_programs, is_more};
}

void run_files_add(struct run_files *files, FILE *lines, pid_t program)
{
    char *line = NULL, word[16];
    size_t capacity = 0;
    bool is_programs = false;
    while (getline(&line, &capacity, lines) > 0) {
        int pid = 0, at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%d %15s /%n", &pid, word, &at) < 2)
            sscanf(line, "%15[a-z]: /%n", word, &at);
        sscanf(line, "going on: %u", &files->going_on);
        bool is_more = at > 0 && strcmp(word, STORE_WRITTEN_MORE) == 0;
        if (pid > 0 || !is_more)
            is_programs = pid > 0 ? pid == program : at > 0 && strcmp(word, STORE_WRITTEN_FIRST) == 0;
        if (at > 0 && !(files->hidden && strcmp(line + at - 1, files->hidden) == 0))
            add(files, line + at - 1, is_programs, is_more);
    }
    free(line);
}

/* ---- what is said ---- */

static void put_quoted(const char *text, FILE *stream)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.,:@%+=-";
    bool is_plain = text[strspn(text, plain)] == '\0';
    fputs(is_plain ? "" : "'", stream);
    for (; *text; text++)
        fputs(*text == '\'' ? "'\\''" : (char[]){*text, '\0'}, stream);
    fputs(is_plain ? "" : "'", stream);
}

static void say_file(const char *what, const char *path, FILE *stream)
{
    static const char *const how[FORMAT_COUNT] = {
        [FORMAT_PPROF] = "look at it with: wallprof top ",
        [FORMAT_STORE] = "look at it with: wallprof top ",
        [FORMAT_CALLGRIND] = "look at it with: callgrind_annotate --inclusive=yes ",
        [FORMAT_FOLDED] = "load it at https://www.speedscope.app",
        [FORMAT_HTML] = "open it in a browser",
        [FORMAT_PERFETTO] = "open it at https://ui.perfetto.dev",
        [FORMAT_FIREFOX] = "load it at https://profiler.firefox.com",
    };
    const char *text = how[format_of_name(output_file_name(path))];
    fprintf(stream, "wallprof: %s ", what);
    put_quoted(path, stream);
    fprintf(stream, " -- %s", text);
    if (text[strlen(text) - 1] == ' ') /* a command */
        put_quoted(path, stream);
    fputc('\n', stream);
}

static const struct run_file *find_main(const struct run_files *files)
{
    const struct run_file *last = NULL;
    for (uint32_t i = 0; i < files->count; i++) {
        if (!files->files[i].is_more)
            last = &files->files[i];
        if (last && last->is_programs)
            break;
    }
    return last;
}

const char *run_files_main(const struct run_files *files)
{
    const struct run_file *file = find_main(files);
    return file ? file->path : NULL;
}

static void say_others(const struct run_files *files, const struct run_file *first, FILE *stream)
{
    struct run_file *last = NULL;
    unsigned count = 0;
    for (uint32_t i = 0; i < files->count; i++) {
        struct run_file *file = &files->files[i];
        bool is_other = file != first && !file->is_programs && !file->is_more;
        last = is_other ? file : last;
        count += is_other;
    }
    if (count == 0)
        return;
    fprintf(stream,
            count == 1 ? "wallprof: and of another process in " : "wallprof: and of %u other processes in ",
            count);
    if (count > 1)
        *strrchr(last->path, '/') = '\0'; /* their directory */
    put_quoted(last->path, stream);
    fputc('\n', stream);
}

/* Of all processes: they share numbers where they share a name. The older ones may be gone
 * (WALLPROF_INTERVAL_KEEP). */
static void say_intervals(const struct run_files *files, FILE *stream)
{
    const char *last = "";
    char what[64];
    unsigned count = 0;
    for (uint32_t i = 0; i < files->count; i++) {
        const struct run_file *file = &files->files[i];
        if (file->is_more || access(file->path, F_OK) < 0)
            continue;
        last = strcmp(file->path, last) > 0 ? file->path : last;
        count++;
    }
    snprintf(what, sizeof what, count == 1 ? "profile in" : "%u profiles, the last in", count);
    if (count > 0)
        say_file(what, last, stream);
}

void run_files_say(const struct run_files *files, bool is_counted, const char *ending, FILE *stream)
{
    const struct run_file *first = find_main(files);
    if (!first)
        fprintf(stream, "wallprof: no profile was written%s\n", ending);
    else if (is_counted)
        say_intervals(files, stream);
    else {
        say_file("profile in", first->path, stream);
        for (uint32_t i = 0; i < files->count; i++) {
            const struct run_file *file = &files->files[i];
            if (file != first && file->is_programs)
                say_file("and in", file->path, stream);
        }
        say_others(files, first, stream);
    }
    if (files->going_on == 1)
        fputs("wallprof: 1 process goes on; its profile is written when it ends\n", stream);
    else if (files->going_on > 1)
        fprintf(stream, "wallprof: %u processes go on; each one's profile is written when it ends\n",
                files->going_on);
}
