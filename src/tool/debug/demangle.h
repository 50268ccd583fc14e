/*
 * Turns the linker's names into names for people: C++ (Itanium C++ ABI 5.1, Mangling), and Rust in both of
 * its schemes (legacy, whose hash is dropped, and RFC 2603, "v0").
 *
 * libiberty does the work. Its cost is bounded here: names come from hostile files, and a short mangled name
 * can stand for an endless one.
 *
 * Called from: the tool's only thread.
 */
#ifndef WALLPROF_DEMANGLE_H
#define WALLPROF_DEMANGLE_H

#include <stddef.h>

enum { DEMANGLED_MAX_BYTES = 64 * 1024 };

/*
 * Writes the demangled name into ret and returns its length. 0: the name is not mangled, or a bound was
 * reached; the name is then shown as it is. A suffix that the linker or the compiler added is kept:
 * _Z3foov@plt becomes foo()@plt, and _Z3foov.part.0 becomes foo() [clone .part.0].
 */
size_t demangle(const char *name, char ret[DEMANGLED_MAX_BYTES]);

#endif
