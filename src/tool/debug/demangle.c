/*
 * A callback collects the output. libiberty cannot be told to stop, so at the bound the callback leaves by
 * longjmp. That is safe: while the C++ demangler prints it holds no memory but its stack.
 */
#include "demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

enum { MANGLED_MAX_BYTES = 4096 }; /* demanglers need stack in proportion to this */

struct demangle_output {
    char *text;
    size_t used;
    jmp_buf too_long;
};

static void append_text(const char *text, size_t bytes, void *context)
{
    struct demangle_output *output = context;
    if (bytes >= DEMANGLED_MAX_BYTES - output->used)
        longjmp(output->too_long, 1);
    memcpy(output->text + output->used, text, bytes);
    output->used += bytes;
}

/* Legacy Rust names are C++ names too. So the Rust demangler comes first; it recognises its own by their
 * hash. */
static bool demangle_proper(const char *mangled, struct demangle_output *output)
{
    if (setjmp(output->too_long))
        return false;
    if (rust_demangle_callback(mangled, DMGL_PARAMS | DMGL_ANSI, append_text, output))
        return output->used > 0;
    output->used = 0;
    return cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_ANSI, append_text, output) &&
           output->used > 0;
}

static bool is_mangled(const char *name)
{
    return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
}

size_t demangle(const char *name, char ret[DEMANGLED_MAX_BYTES])
{
    char mangled[MANGLED_MAX_BYTES];
    struct demangle_output output = {.text = ret};
    const char *suffix = strchrnul(name, '@');
    size_t bytes = (size_t)(suffix - name);
    if (!is_mangled(name) || bytes >= sizeof mangled)
        return 0;
    memcpy(mangled, name, bytes);
    mangled[bytes] = '\0';
    if (!demangle_proper(mangled, &output) || strlen(suffix) >= DEMANGLED_MAX_BYTES - output.used)
        return 0;
    strcpy(ret + output.used, suffix);
    return output.used + strlen(suffix);
}
