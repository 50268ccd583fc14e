#include "formats.h"
#include "enc_callgrind.h"
#include "enc_firefox.h"
#include "enc_folded.h"
#include "enc_html.h"

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
