/*
 * The tables of a pprof file: mappings, locations and functions, with the ids that they have there.
 *
 * Called from: enc_pprof.c.
 */
#ifndef WALLPROF_PPROF_TABLES_H
#define WALLPROF_PPROF_TABLES_H

#include "pprof_writer.h"

/* Gives everything its id: the writer's modules, locations, location_ids and function_ids. 0 or -ENOMEM;
 * deinit in any case. */
int pprof_tables_init(struct pprof_writer *writer);
void pprof_tables_deinit(struct pprof_writer *writer);

/* Writes all three, and interns their strings. */
void pprof_tables_emit(struct pprof_writer *writer);

#endif
