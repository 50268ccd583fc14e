/* cmocka with the headers it wants first. */
#ifndef WALLPROF_UNIT_H
#define WALLPROF_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Every test has a state as its parameter, and few use it. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#endif
