/*
 * Whether our library can be preloaded into a program, read from the program's file before it is executed.
 *
 * A program that runs with another machine's instructions, or with a C library that lacks what ours needs,
 * would complain about our library or not start at all.
 *
 * Called from: any thread of the program that executes another one, also children of vfork and handlers; and
 * by `wallprof run`.
 * Takes 2 KiB of stack and some 3 us. It neither locks nor allocates, and errno stays as it is. A descriptor
 * is open for a moment. Pointers that come from the program may be bad: the kernel reads them first.
 * Standard: System V gABI chapters 4 and 5; execve(2) for scripts.
 */
#ifndef WALLPROF_PROGRAM_H
#define WALLPROF_PROGRAM_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

/* The loader (ld.so) that this process runs with. */
struct program_loader {
    uint64_t device, inode; /* 0: unknown */
    bool is_of_any_version; /* the caller is not the library, so its own needs say nothing */
};

enum {
    PROGRAM_RUNTIME_BYTES = 48,
    PROGRAM_NAME_BYTES = 256, /* of an interpreter; the kernel reads as much of a #! line */
    PROGRAM_LEVELS = 5        /* of scripts whose interpreters are scripts, as in the kernel */
};

#ifdef __x86_64__
enum { PROGRAM_OWN_MACHINE = EM_X86_64 };
#else
enum { PROGRAM_OWN_MACHINE = EM_AARCH64 };
#endif

enum program_form {
    PROGRAM_UNREAD, /* not a regular file, or not to be read */
    PROGRAM_OTHER,  /* nothing that the kernel executes by itself */
    PROGRAM_SCRIPT,
    PROGRAM_CUT,    /* an ELF file that ends too early */
    PROGRAM_STATIC, /* without an interpreter: it loads nothing, and hands our entry on to its children */
    PROGRAM_DYNAMIC
};

struct program {
    const char *obstacle; /* why our library cannot be loaded into it, for a message; NULL: none is known */
    char runtime[PROGRAM_RUNTIME_BYTES]; /* a library that must be preloaded before ours; "": none */
    enum program_form form;              /* of the last file that was examined */
    uint16_t machine;                    /* e_machine, in our byte order */
    bool has_32_bits;
};

/* Called once each, at the start. What the loader has loaded our library from; "": unknown. */
const char *program_own_library(void);
struct program_loader program_own_loader(void);

/*
 * The arguments are execveat's. Interpreters of scripts are followed. A file that cannot be read has no
 * obstacle. loader: of this process.
 */
void program_examine(const struct program_loader *loader, int directory_fd, const char *path, int flags,
                     struct program *ret);

/* The same for one file: a script's interpreter is not followed. Its name and, after its NUL, the one
 * argument that the #! line has for it are returned. */
void program_examine_file(const struct program_loader *loader, int directory_fd, const char *path, int flags,
                          struct program *ret, char ret_interpreter[PROGRAM_NAME_BYTES]);

/* Whether a file can be opened to read. */
bool program_can_open(const char *path);

/* Whether a path leads to a regular file that this thread may execute, as far as the kernel tells, or as the
 * mode does if the kernel is not asked. */
bool program_can_execute(const char *path, bool asks_kernel);

/* Whether a library, by the name that a program needs it by, must be loaded before ours. */
bool program_is_runtime(const char *name);

#endif
