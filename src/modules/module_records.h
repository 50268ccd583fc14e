/*
 * The records of the module table, in the arena. modules_save_records and modules_restore_records (modules.h)
 * are here too.
 *
 * Called from: modules.c, under what excludes its callers.
 */
#ifndef WALLPROF_MODULE_RECORDS_H
#define WALLPROF_MODULE_RECORDS_H

#include "modules.h"

static inline struct module *module_records_at(const struct modules *modules, arena_ref ref)
{
    return arena_at(modules->list.arena, ref);
}

/* The record of a segment, added if it is new; 0 without memory. path: NULL if it is to be found out. */
arena_ref module_records_find_or_add(struct modules *modules, const struct module *segment, const char *path,
                                     const char *name);

#endif
