/*
 * Binds to the oldest version of functions that glibc gave a new version without changing them: in 2.34 it
 * took the libraries of threads and of the loader into libc.so.6. So what was built on a new system runs on
 * an old one, too. The Makefile includes this file in every other; scripts/lint-glibc fails where a function
 * is missing here.
 *
 * Before glibc 2.34 these are in libpthread.so.0 and libdl.so.2. A library that was built there loads them;
 * one that was built later does not, since no program on a newer system has a need for them.
 */
#ifndef WALLPROF_GLIBC_VERSIONS_H
#define WALLPROF_GLIBC_VERSIONS_H

#include <features.h>

/* strtoul() and its like also read binary numbers since glibc 2.38, by another name. */
#undef __GLIBC_USE_C2X_STRTOL
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#define __GLIBC_USE_C23_STRTOL 0

#ifdef __aarch64__
#define OLDEST         "GLIBC_2.17"
#define OLDEST_BUT_ONE "GLIBC_2.17"
#else
#define OLDEST         "GLIBC_2.2.5"
#define OLDEST_BUT_ONE "GLIBC_2.3.3"
#endif
#define BIND_TO(version, name) __asm__(".symver " #name ", " #name "@" version)
#define BIND(name)             BIND_TO(OLDEST, name)

BIND(_pthread_cleanup_push);
BIND_TO(OLDEST_BUT_ONE, __pthread_register_cancel);
BIND_TO(OLDEST_BUT_ONE, __pthread_unregister_cancel);
BIND_TO(OLDEST_BUT_ONE, __pthread_unwind_next);
BIND_TO(OLDEST_BUT_ONE, dladdr1);
BIND(dlopen);
BIND(dlsym);
BIND(pthread_attr_getstack);
BIND(pthread_attr_getstacksize);
BIND(pthread_attr_setstacksize);
BIND(pthread_getcpuclockid);
BIND(pthread_key_create);
BIND(pthread_key_delete);
BIND(pthread_setspecific);

#undef BIND
#undef BIND_TO
#undef OLDEST
#undef OLDEST_BUT_ONE

#endif
