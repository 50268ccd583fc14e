/*
 * A profile as a page to look at: a flame graph in one HTML file that needs nothing else.
 *
 * The page is src/tool/formats/html/ and what it uses of third_party/, put together when the tool is built
 * (scripts/html-page) and kept in two pieces (html_page.S). Between them come the numbers, as JSON that
 * src/tool/formats/html/profile.js reads; docs/formats.md describes it.
 *
 * Called from: the exporting thread. Pure but for the sink.
 */
#ifndef WALLPROF_ENC_HTML_H
#define WALLPROF_ENC_HTML_H

#include "profile/profile.h"
#include "base/sink.h"

/* Writes the whole page; the sink is left open. 0 or -ENOMEM. */
int enc_html_write(const struct profile *profile, struct sink *sink);

#endif
