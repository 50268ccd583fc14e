/*
 * Where things are in the memory of Perl, by its version: numbers from its headers, the same on x86_64 and
 * aarch64. A version without numbers here is left alone.
 *
 * What is used lies in records whose beginning no option of the build changes, but for threads.
 *
 * Called from: the sampler thread.
 * Source: intrpvar.h, cop.h, cv.h, gv.h, hv.h, op.h of Debian's 5.32.1, 5.36.0 and 5.40.1, and of
 * perl.git's 5.34.0 and 5.38.0.
 */
#ifndef WALLPROF_PERL_LAYOUT_H
#define WALLPROF_PERL_LAYOUT_H

#include "sig/interp/sig_perl.h"

#include <stdbool.h>
#include <stdint.h>

/* minor: 36 of 5.36. False for one that is not known. Addresses, and the interpreter's size, are left to the
 * caller. */
bool perl_layout_of(uint8_t minor, struct sig_perl_layout *ret);

#endif
