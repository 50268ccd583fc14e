#include "formats.h"
#include "tool/meaning/wait_words.h"

/* Unlike the library, the tool knows what threads wait for. */
static int write_pprof(const struct profile *profile, struct sink *sink)
{
    struct wait_words words;
    struct profile with_waits = *profile;
    with_waits.waits = &words.waits;
    int status = wait_words_init(&words, profile);
    if (status == 0)
        status = format_write(FORMAT_PPROF, &with_waits, sink);
    wait_words_deinit(&words);
    return status;
}

int formats_write(enum file_format format, const struct profile *profile, struct sink *sink)
{
    static int (*const writers[FORMAT_COUNT])(const struct profile *, struct sink *) = {
        [FORMAT_PPROF] = write_pprof,           [FORMAT_CALLGRIND] = enc_callgrind_write,
        [FORMAT_FOLDED] = enc_folded_write,     [FORMAT_HTML] = enc_html_write,
        [FORMAT_PERFETTO] = enc_perfetto_write, [FORMAT_FIREFOX] = enc_firefox_write,
    };
    return writers[format] ? writers[format](profile, sink) : format_write(format, profile, sink);
}
