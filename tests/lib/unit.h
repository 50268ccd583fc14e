/* cmocka with the headers it wants first. */
#ifndef WALLPROF_UNIT_H
#define WALLPROF_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
