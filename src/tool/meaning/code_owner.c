#include "code_owner.h"
#include "base/name_pattern.h"
#include "name_match.h"

#include <stddef.h>
#include <string.h>

static bool matches_one(const char *text, const char *const *patterns)
{
    for (; *patterns; patterns++) {
        if (name_match(*patterns, text))
            return true;
    }
    return false;
}

static bool is_interpreter(const char *path)
{
    static const char *const programs[] = {
        "python[0-9]*", "python", "pypy*",    "ruby", "ruby[0-9]*", "perl",   "perl[0-9]*",
        "node",         "nodejs", "deno",     "bun",  "java",       "php*",   "lua",
        "lua[0-9]*",    "luajit", "luajit-*", "R",    "Rscript",    "guile*", "beam.smp",
        "mono",         "mono-*", "dotnet",   "sbcl", "bash",       "dash",   "sh",
        "zsh",          "tclsh*", "wish*",    "gjs",  "qemu-*",     NULL,
    };
    return matches_one(name_last_part(path), programs);
}

static bool is_of_system(const char *path)
{
    static const char *const directories[] = {"/lib/*",         "/lib32/*",     "/lib64/*",
                                              "/usr/lib/*",     "/usr/lib32/*", "/usr/lib64/*",
                                              "/usr/libexec/*", "/nix/store/*", NULL};
    return matches_one(path, directories);
}

/* An interpreter may be a library, with a program that does nothing but call it. */
static bool is_interpreters_library(const char *path)
{
    static const char *const libraries[] = {"libpython*",  "libjvm.so*", "libruby*", "libperl.so*",
                                            "libnode.so*", "libR.so*",   "libphp*",  "libmono*",
                                            "libcoreclr*", NULL};
    return matches_one(name_last_part(path), libraries);
}

static bool is_runtime(const char *path)
{
    static const char *const libraries[] = {
        "libc.so*", "libc-2.*",  "libpthread*",  "librt.so*",       "librt-2.*",
        "libm.so*", "libm-2.*",  "ld-*",         "libdl*",          "libstdc++.so*",
        "libc++*",  "libgcc_s*", "ld-musl-*",    "libgo.so*",       "libgomp.so*",
        "libtsan*", "libasan*",  "libwallprof*", "libjemalloc.so*", "libtcmalloc*",
        "[[]vdso]", NULL,
    };
    return matches_one(name_last_part(path), libraries);
}

enum code_owner code_owner_of_file(const char *path, bool is_main)
{
    if (!*path)
        return OWNER_LIBRARY;
    if (is_runtime(path))
        return OWNER_RUNTIME;
    if (is_interpreters_library(path) || is_interpreter(path))
        return OWNER_LIBRARY;
    return is_main || !is_of_system(path) ? OWNER_USER : OWNER_LIBRARY;
}

/* What Python and Perl bring with them, and what was installed for them, or for a program of PHP's. */
enum code_owner code_owner_of_script(const char *path)
{
    static const char *const libraries[] = {"<frozen *",         "*/lib/python[0-9]*", "*/lib64/python[0-9]*",
                                            "*/site-packages/*", "*/dist-packages/*",  "*/vendor/*.php",
                                            "/usr/share/php/*",  "phar://*",           "/usr/share/perl*/*",
                                            "*/perl/5.[0-9]*",   "*/perl5/*",          "*/perl-base/*",
                                            "*/site_perl/*",     "*/vendor_perl/*",    NULL};
    return matches_one(path, libraries) ? OWNER_LIBRARY : OWNER_USER;
}

/* The JVM's list of compiled code has methods as "void java.lang.Thread.sleep(long)". */
static bool is_of_java(const char *method)
{
    static const char *const packages[] = {"java.", "javax.", "jdk.", "sun.", "com.sun."};
    size_t bytes = strcspn(method, "(");
    const char *name = method + bytes;
    while (name > method && name[-1] != ' ')
        name--;
    for (size_t i = 0; method[bytes] == '(' && i < sizeof packages / sizeof packages[0]; i++) {
        if (strncmp(name, packages[i], strlen(packages[i])) == 0)
            return true;
    }
    return false;
}

bool code_owner_is_of_language(const char *function)
{
    static const char *const names[] = {
        "__*", /* reserved for implementations */
        /* C and C++ */
        "_start",
        "start_thread",
        "clone",
        "clone3",
        "operator new*",
        "operator delete*",
        "std::*",
        "void std::*",
        "boost::detail::*",
        /* Rust */
        "core::*",
        "<core::*",
        "alloc::*",
        "<alloc::*",
        "<std::*",
        "rust_begin_unwind",
        "<T as core::*",
        "<T as alloc::*",
        /* Go */
        "runtime.*",
        "runtime/*",
        "sync.*",
        "sync/*",
        "internal/*",
        "syscall.*",
        "bufio.*",
        "bytes.*",
        "compress/*",
        "container/*",
        "context.*",
        "crypto/*",
        "encoding/*",
        "fmt.*",
        "hash/*",
        "io.*",
        "net.*",
        "net/*",
        "os.*",
        "reflect.*",
        "regexp.*",
        "slices.*",
        "sort.*",
        "strconv.*",
        "strings.*",
        "text/*",
        "time.*",
        "unicode/*",
        /* the JVM's list of compiled code, but for methods */
        "Interpreter",
        "call_stub",
        "StubRoutines*",
        "* Runtime1 stub",
        "_*_Java",
        "I2C/C2I adapters",
        /* a name without a symbol */
        "[[]*",
        NULL,
    };
    return matches_one(function, names) || is_of_java(function);
}
