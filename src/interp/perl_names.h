/*
 * The names of a frame of Perl: Package::function, its file, its line.
 *
 * The code of a file outside of its functions is {main}, and that of evaluated text is {eval}, with the file
 * that Perl says of it: "(eval 7)". Blocks that are called natively are {sort}, {defer} and {regex}.
 *
 * Called from: the sampler thread. As with Python (python_names.h), the function is checked before and after.
 * Source: cv.h, gv.h, hv.h, op.h.
 */
#ifndef WALLPROF_PERL_NAMES_H
#define WALLPROF_PERL_NAMES_H

#include "interp_names.h"
#include "sig/interp/sig_perl.h"

#include <stdbool.h>

/* False if the function is not there any more, or makes no sense. */
bool perl_names_read(const struct sig_perl_layout *layout, const struct sig_interp_memory *memory,
                     const struct sig_interp_frame *frame, struct interp_names *ret);

#endif
