/*
 * The names of a frame of PHP: Class::method, its file, its line.
 *
 * The code of a file outside of its functions is {main}, as in PHP's own messages, and that of a text is
 * {eval}. A function that is written in C has no file, but the address of its code.
 *
 * Called from: the sampler thread. As with Python (python_names.h), the function is checked before and after.
 * Source: Zend/zend_compile.h, zend_types.h, zend.h.
 */
#ifndef WALLPROF_PHP_NAMES_H
#define WALLPROF_PHP_NAMES_H

#include "interp_names.h"
#include "sig/interp/sig_php.h"

#include <stdbool.h>

/* False if the function is not there any more, or makes no sense. */
bool php_names_read(const struct sig_php_layout *layout, const struct sig_interp_memory *memory,
                    const struct sig_interp_frame *frame, struct interp_names *ret);

#endif
