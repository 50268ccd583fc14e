/* Modules and locations that no loader knows of, in a test's arena and tree. */
#ifndef WALLPROF_FAKE_MODULE_H
#define WALLPROF_FAKE_MODULE_H

#include "profile/module.h"
#include "profile/tree.h"

/* The newest of the list, which has its arena; all but path, name and load_bias is 0.
 * Aborts without memory. */
arena_ref fake_module(struct module_list *list, const char *path, uint64_t load_bias);

/* Returns the location's index. Aborts without memory. */
uint32_t fake_location_index(struct tree *tree, arena_ref module, uint64_t address, uint64_t function_start);

#endif
