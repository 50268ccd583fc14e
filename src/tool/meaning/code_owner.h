/*
 * Whose code a function is: what the reader of a profile would change, or what that calls.
 *
 * Told by paths and names alone, so it holds for any profile. The main program and libraries outside the
 * system's directories are the user's, and so is compiled code with names. Of an interpreter the user has
 * written nothing. Functions of a language's own library may be compiled into the user's program: they are
 * known by their names.
 *
 * Called from: meaning.c. Plain functions of their arguments.
 */
#ifndef WALLPROF_CODE_OWNER_H
#define WALLPROF_CODE_OWNER_H

#include <stdbool.h>

enum code_owner {
    OWNER_RUNTIME, /* the C library and what belongs to a language: says nothing by itself */
    OWNER_LIBRARY, /* a library of the system, or an interpreter */
    OWNER_USER
};

/* Of a module or region, by its path; "": not known. is_main: the program itself. */
enum code_owner code_owner_of_file(const char *path, bool is_main);

/* Of a function of a script, by the script's path, which is "<...>" where it has none. */
enum code_owner code_owner_of_script(const char *path);

/* Whether a function belongs to a language, wherever it is compiled into: std::, runtime. and so on. */
bool code_owner_is_of_language(const char *function);

#endif
