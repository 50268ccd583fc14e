/*
 * What the call instruction before a return address calls.
 *
 * Called from: signal handlers and the sampler thread. Pure and bounded; reads code inside the modules of the
 * table, and slots of linkage tables that were found readable. What can be unmapped is read through the
 * kernel.
 */
#ifndef WALLPROF_SIG_CALL_H
#define WALLPROF_SIG_CALL_H

#include "sig/ground/sig_modules.h"

#include <stdint.h>

/* No address of a function: a call through a register or a table, which leaves no trace of where it went. */
enum { SIG_CALL_SOMEWHERE = 1 };

/* Where the function starts, also behind linkage tables; 0 when there is no call before the address. */
uint64_t sig_call_target(const struct sig_modules_table *modules, uint64_t return_address);

/* Where the function around an address starts, by the tables of the module it is in; 0 when they do not say.
 */
uint64_t sig_call_function_start(const struct sig_modules_table *modules, uint64_t lookup_pc);

#endif
