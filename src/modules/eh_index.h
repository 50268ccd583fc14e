/*
 * Search tables of our own over a module's .eh_frame, in the form of .eh_frame_hdr's.
 *
 * A module that can be unmapped gets a copy of its table, so that a handler reads as little as possible of
 * the module. A module without a table (linked with --no-eh-frame-hdr), or with one that sig_eh_frame cannot
 * search, gets a table made from .eh_frame itself. The section headers of the module's file say where that
 * is. They are believed only if the section's bytes in the file are those in memory.
 *
 * Called from: the sampler thread. Nothing that a module says is believed: every read is bounded, and goes
 * through the kernel. So memory that is being unmapped is an error and not a fault.
 * Standard: LSB 5.0 Core 10.6.
 */
#ifndef WALLPROF_EH_INDEX_H
#define WALLPROF_EH_INDEX_H

#include "base/arena.h"
#include "modules.h"

/*
 * Sets module->search where a table is of use and possible, and for a module without .eh_frame_hdr the bounds
 * of its .eh_frame. module->search is 0 before. The table is in `tables`, which live as long as the record.
 * Without memory there is none: then the module's own is searched, if it has one. path: of the module's file.
 */
void eh_index_build(struct arena *tables, const char *path, struct module *module);

/* The module as walks see it, with its search table if it has one. */
struct sig_module eh_index_view(const struct arena *tables, const struct module *module);

#endif
