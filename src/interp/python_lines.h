/*
 * From an instruction of CPython's code to its line, by the code's table of locations.
 *
 * Called from: the sampler thread. The table may be any bytes.
 * Source: Objects/locations.md of CPython 3.11 (PEP 626, PEP 657).
 */
#ifndef WALLPROF_PYTHON_LINES_H
#define WALLPROF_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of the instruction at a distance in bytes from the first one, by co_linetable as of 3.11. 0 if the
 * table says that it has none, or ends before. first_line: the code's own, which counts for an instruction
 * before the first one.
 */
uint32_t python_line_at(const uint8_t *table, size_t bytes, uint32_t first_line, int32_t at);

/* The same by co_linetable of 3.10. Source: Objects/lnotab_notes.txt (PEP 626). */
uint32_t python_line_at_3_10(const uint8_t *table, size_t bytes, uint32_t first_line, int32_t at);

/* The same by co_lnotab, before 3.10, where each instruction has a line. Source: Objects/lnotab_notes.txt. */
uint32_t python_line_at_before(const uint8_t *table, size_t bytes, uint32_t first_line, int32_t at);

#endif
