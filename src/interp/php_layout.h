/*
 * Where things are in the memory of PHP, by its version: numbers from its headers, the same on x86_64 and
 * aarch64. A version without numbers here is left alone.
 *
 * The version is that of its modules' interface (ZEND_MODULE_API_NO), which each module says of itself.
 * Releases of one minor version have the same.
 *
 * Called from: the sampler thread.
 * Source: Zend/zend_modules.h, zend_compile.h, zend_globals.h, zend_generators.h of Debian's 8.2.36
 * and 8.4.27 and Ubuntu's 8.1.2 and 8.3.6.
 */
#ifndef WALLPROF_PHP_LAYOUT_H
#define WALLPROF_PHP_LAYOUT_H

#include "sig/interp/sig_php.h"

#include <stdbool.h>
#include <stdint.h>

/* interface: ZEND_MODULE_API_NO. *ret_version: 8.2 is 8 << 24 | 2 << 16. False for an interface that is not
 * known. The generators' class is left to the caller. */
bool php_layout_of(uint32_t interface, struct sig_php_layout *ret, uint32_t *ret_version);

#endif
