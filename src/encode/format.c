#include "format.h"
#include "enc_pprof.h"
#include "enc_store.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct format_entry {
    const char *word;
    const char *endings[4];
    const char *beginning; /* of names that other programs give; NULL for none */
    bool needs_timeline;
    bool shows_timeline;                                            /* it needs none, but has more with one */
    int (*write)(const struct profile *profile, struct sink *sink); /* NULL: only the tool writes it */
};

static const struct format_entry formats[FORMAT_COUNT] = {
    [FORMAT_PPROF] = {.word = "pprof", .endings = {".pb.gz", ".pb"}, .write = enc_pprof_write},
    [FORMAT_CALLGRIND] = {.word = "callgrind", .endings = {".callgrind"}, .beginning = "callgrind.out."},
    [FORMAT_FOLDED] = {.word = "folded", .endings = {".folded", ".collapsed"}},
    [FORMAT_HTML] = {.word = "html", .endings = {".html"}, .shows_timeline = true},
    /* Before Firefox's, whose endings it has too. */
    [FORMAT_PERFETTO] = {.word = "perfetto",
                         .endings = {".perfetto.json.gz", ".perfetto.json"},
                         .needs_timeline = true},
    [FORMAT_FIREFOX] = {.word = "firefox", .endings = {".json.gz", ".json"}, .needs_timeline = true},
    [FORMAT_STORE] = {.word = "store", .endings = {".store"}, .write = enc_store_write},
};

static bool ends_in(const char *name, size_t bytes, const char *ending)
{
    size_t ending_bytes = strlen(ending);
    return bytes > ending_bytes && memcmp(name + bytes - ending_bytes, ending, ending_bytes) == 0;
}

static bool begins_with(const char *name, size_t bytes, const char *beginning)
{
    return bytes > strlen(beginning) && memcmp(name, beginning, strlen(beginning)) == 0;
}

/* The format that a name means, FORMAT_COUNT if none. An ending counts more than a beginning. */
static enum file_format said_by(const char *name, size_t bytes)
{
    for (int format = 0; format < FORMAT_COUNT; format++) {
        for (const char *const *ending = formats[format].endings; *ending; ending++) {
            if (ends_in(name, bytes, *ending))
                return format;
        }
    }
    for (int format = 0; format < FORMAT_COUNT; format++) {
        if (formats[format].beginning && begins_with(name, bytes, formats[format].beginning))
            return format;
    }
    return FORMAT_COUNT;
}

enum file_format format_of_name(const char *name)
{
    enum file_format said = said_by(name, strlen(name));
    return said == FORMAT_COUNT ? FORMAT_PPROF : said;
}

bool format_is_said(const char *path, size_t length)
{
    const char *slash = memrchr(path, '/', length), *name = slash ? slash + 1 : path;
    return said_by(name, length - (size_t)(name - path)) != FORMAT_COUNT;
}

bool format_is_unknown(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    size_t letters = 0;
    while (dot && isalpha((unsigned char)dot[1 + letters]))
        letters++;
    return dot > name && letters > 0 && !dot[1 + letters] && !format_is_said(path, strlen(path));
}

const char *format_ending(enum file_format format)
{
    return formats[format].endings[0];
}

size_t format_stem_length(const char *path)
{
    const size_t bytes = strlen(path);
    for (int format = 0; format < FORMAT_COUNT; format++) {
        for (const char *const *ending = formats[format].endings; *ending; ending++) {
            if (ends_in(path, bytes, *ending))
                return bytes - strlen(*ending);
        }
    }
    return bytes;
}

int format_of_word(const char *word, enum file_format *ret)
{
    for (int format = 0; format < FORMAT_COUNT; format++) {
        if (strcmp(word, formats[format].word) == 0) {
            *ret = format;
            return 0;
        }
    }
    return -EINVAL;
}

const char *format_word(enum file_format format)
{
    return formats[format].word;
}

bool format_needs_tool(enum file_format format)
{
    return !formats[format].write;
}

bool format_needs_timeline(enum file_format format)
{
    return formats[format].needs_timeline;
}

bool format_shows_timeline(enum file_format format)
{
    return formats[format].needs_timeline || formats[format].shows_timeline;
}

enum sink_coding format_coding(enum file_format format, const char *name)
{
    const size_t bytes = strlen(name);
    if (ends_in(name, bytes, ".gz") || (format == FORMAT_PPROF && !ends_in(name, bytes, ".pb")))
        return SINK_GZIP;
    return SINK_PLAIN;
}

int format_write(enum file_format format, const struct profile *profile, struct sink *sink)
{
    return formats[format].write ? formats[format].write(profile, sink) : -ENOTSUP;
}
