/* A directory for one test, and what is in its files. */
#ifndef WALLPROF_FAKE_FILES_H
#define WALLPROF_FAKE_FILES_H

#include "unit.h"

struct fake_bytes {
    unsigned char *bytes; /* NUL after the end; fake_bytes_free */
    size_t size;
};

struct fake_directory {
    char path[256];
    int fd;
};

void fake_directory_create(struct fake_directory *directory);

/* How many entries it has; removes them on the way when asked to. */
int fake_directory_entries(const struct fake_directory *directory, bool is_removing);
void fake_directory_remove(struct fake_directory *directory);
struct fake_bytes fake_read_fd(int fd);
struct fake_bytes fake_read(const struct fake_directory *directory, const char *name);
void fake_write(const struct fake_directory *directory, const char *name, const char *text);
void fake_bytes_free(struct fake_bytes *file);

/* What one whole gzip member holds; nothing may follow it. The compressed bytes are freed. */
struct fake_bytes fake_gunzip(struct fake_bytes file);

#endif
