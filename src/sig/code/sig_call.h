/*
 * What the call instruction before a return address calls.
 *
 * Called from: signal handlers and the sampler thread. Pure and bounded. Reads code inside the modules of the
 * table, through the kernel if it can be unmapped, and slots of linkage tables that it has found readable.
 */
#ifndef WALLPROF_SIG_CALL_H
#define WALLPROF_SIG_CALL_H

#include "sig/ground/sig_modules.h"

#include <stdint.h>

/* Instead of a function's address: the call was through a register or a table; the target is not known. */
enum { SIG_CALL_SOMEWHERE = 1 };

/* Where the called function starts, also through linkage tables; 0 if no call precedes the address. */
uint64_t sig_call_target(const struct sig_modules_table *modules, uint64_t return_address);

/* Where the function around an address starts, by the tables of its module; 0 if they do not say. */
uint64_t sig_call_function_start(const struct sig_modules_table *modules, uint64_t lookup_pc);

#endif
