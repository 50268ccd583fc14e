/*
 * wallprof attach --follow: a process and all that it starts. Each is recorded by a process of its own into
 * the directory of a run, as under wallprof run (attach_follow.h), and `wallprof gather` makes the profiles.
 *
 * Called from: cmd_attach.c.
 */
#ifndef WALLPROF_ATTACH_FAMILY_H
#define WALLPROF_ATTACH_FAMILY_H

#include "config/config.h"
#include "tool/attach/attach.h"
#include "tool/io/output_file.h"

#include <stdbool.h>

struct attach_family {
    struct attach *attach;              /* set by the caller as for attach_init */
    struct config *config;              /* the same as attach->config */
    const struct output_files *outputs; /* none: as wallprof run names them */
    bool is_quiet, shows_top;
};

/* Records it to its end. 0; or 1 after a message. attach->observer.counts are those of the recording then. */
int attach_family_record(const struct attach_family *family);

#endif
