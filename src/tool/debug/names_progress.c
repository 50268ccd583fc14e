#include "names_progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SILENT_MS = 1000, NAME_SHOWN_BYTES = 30 };

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void names_progress_begin(struct names_progress *progress, bool is_wanted)
{
    *progress =
        (struct names_progress){.start_ms = now_ms(), .is_wanted = is_wanted && isatty(STDERR_FILENO)};
}

unsigned names_progress_seconds(const struct names_progress *progress)
{
    return (unsigned)((now_ms() - progress->start_ms) / 1000);
}

static void erase(void)
{
    fputs("\r\033[K", stderr);
}

void names_progress_advance(struct names_progress *progress, size_t done, size_t count, const char *path)
{
    progress->done = done;
    progress->count = count;
    progress->path = path;
    names_progress_show(progress);
}

/* A path is whatever a recording says: no control characters reach the terminal. */
void names_progress_show(void *argument)
{
    struct names_progress *progress = argument;
    const char *slash = strrchr(progress->path, '/'), *name = slash ? slash + 1 : progress->path;
    if (!progress->is_wanted || now_ms() - progress->start_ms < SILENT_MS)
        return;
    erase();
    fprintf(stderr, "wallprof: reading debug information: %zu of %zu modules, ", progress->done,
            progress->count);
    for (size_t i = 0; name[i] && i < NAME_SHOWN_BYTES; i++)
        fputc(name[i] < ' ' || name[i] == 0x7f ? '?' : name[i], stderr);
    fflush(stderr);
    progress->is_shown = true;
}

void names_progress_end(struct names_progress *progress)
{
    if (progress->is_shown) {
        erase();
        fflush(stderr);
    }
    progress->is_shown = false;
}
