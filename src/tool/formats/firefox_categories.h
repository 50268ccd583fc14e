/*
 * The categories of a Firefox profile: what time is spent on. A category belongs to a frame, and a stack has
 * that of its innermost frame. Readers take the first grey one for what has none of its own. They do not draw
 * samples of a transparent one.
 *
 * Called from: the parts of enc_firefox.c. Plain functions of their arguments.
 */
#ifndef WALLPROF_FIREFOX_CATEGORIES_H
#define WALLPROF_FIREFOX_CATEGORIES_H

#include "base/json.h"
#include "tool/meaning/wait_kind.h"

enum firefox_category {
    CATEGORY_RUNNING,
    CATEGORY_OTHER, /* what stands for no code */
    CATEGORY_WAITS, /* + enum wait_kind */
    CATEGORY_COUNT = CATEGORY_WAITS + WAIT_KIND_COUNT
};

/* "Waiting: lock"; and the name of a frame that stands for it: "(lock)". */
const char *firefox_category_name(uint32_t category);
const char *firefox_category_frame(uint32_t category);

/* A member of the profile's meta. */
void firefox_write_categories(struct json *json);

#endif
