/* What every hook is declared with. */
#ifndef WALLPROF_HOOK_H
#define WALLPROF_HOOK_H

#include "session/libc.h"

/* What the functions of _FORTIFY_SOURCE call when a buffer is too small: ends the program. */
extern void __chk_fail(void) __attribute__((noreturn));

/* An interposed function: visible from outside, whatever the other functions are compiled with. */
#define WALLPROF_HOOK __attribute__((visibility("default")))

/* A hook of what ThreadSanitizer's runtime calls before it can bear a function that it watches. In the test
 * that has the whole library in a watched program it is not seen from outside (tests/e2e/race_hooks.sh). */
#ifdef __SANITIZE_THREAD__
#define WALLPROF_EARLY_HOOK __attribute__((visibility("hidden")))
#else
#define WALLPROF_EARLY_HOOK WALLPROF_HOOK
#endif

/* A hook that waits, or a part of one. The handler knows it by the section of its code (sig_wait.h). */
#define WALLPROF_WAIT      __attribute__((section("wallprof_waits")))
#define WALLPROF_WAIT_HOOK WALLPROF_HOOK WALLPROF_WAIT

/* Another name of a hook. In C it is also_NAME, because headers may declare NAME with other types. copy: gcc
 * wants an alias to have the attributes of its function. */
#ifdef __clang__
#define WALLPROF_ALIAS(function) alias(#function)
#else
#define WALLPROF_ALIAS(function) alias(#function), copy(function)
#endif
#define WALLPROF_ALSO(name, function)                                                                        \
    extern __typeof__(function) also_##name __asm__(#name)                                                   \
        __attribute__((WALLPROF_ALIAS(function), visibility("default")))

#endif
