/*
 * Search tables of our own over a module's .eh_frame, in the form of .eh_frame_hdr's.
 *
 * For a module that can be unmapped, a copy of its table, so that a handler reads as little as possible of
 * it. For one that has none (linked with --no-eh-frame-hdr), or one of a form that sig_eh_frame does not
 * search, a table made from .eh_frame itself, which is found through the section headers of the module's
 * file. Those are believed only if the section's bytes in the file are those in memory.
 *
 * Called from: the sampler thread. Nothing that a module says is believed: every read is bounded, and goes
 * through the kernel, so that memory that is being unmapped is an error and not a fault. Standard: LSB 5.0
 * Core 10.6.
 */
#ifndef WALLPROF_EH_INDEX_H
#define WALLPROF_EH_INDEX_H

#include "base/arena.h"
#include "modules.h"

/*
 * Sets module->search where one is of use and possible, and of a module without .eh_frame_hdr the bounds of
 * its .eh_frame. The table is in `tables`, which live as long as the record. Without memory there is none:
 * then the module's own is searched, if it has one. path: where the module's file is.
 */
void eh_index_make(struct wp_arena *tables, const char *path, struct wp_module *module);

#endif
