#include "formats.h"

int formats_write(enum file_format format, const struct profile *profile, struct sink *sink)
{
    static int (*const writers[FORMAT_COUNT])(const struct profile *, struct sink *) = {
        [FORMAT_CALLGRIND] = enc_callgrind_write,
        [FORMAT_FOLDED] = enc_folded_write,
        [FORMAT_HTML] = enc_html_write,
        [FORMAT_FIREFOX] = enc_firefox_write,
    };
    return writers[format] ? writers[format](profile, sink) : format_write(format, profile, sink);
}
