/*
 * Names for people out of the linker's names: C++ (Itanium C++ ABI 5.1, Mangling), and Rust in both of its
 * schemes (legacy, whose hash is dropped, and RFC 2603, "v0").
 *
 * The work is done by libiberty; what it may cost is bounded here, since names come from hostile files, and a
 * short one can stand for an endless one.
 *
 * Called from: the tool's only thread.
 */
#ifndef WALLPROF_TOOL_DEMANGLE_H
#define WALLPROF_TOOL_DEMANGLE_H

#include <stddef.h>

enum { DEMANGLED_MAX_BYTES = 64 * 1024 };

/*
 * Writes the demangled name into ret and returns its length; 0 when the name is none of a compiler's, or a
 * bound was met: it is shown as it is then. What the linker or the compiler has put behind the mangled name
 * is kept behind the demangled one: _Z3foov@plt is foo()@plt, _Z3foov.part.0 is foo() [clone .part.0].
 */
size_t demangle(const char *name, char ret[DEMANGLED_MAX_BYTES]);

#endif
