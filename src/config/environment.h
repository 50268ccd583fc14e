/*
 * What of an environment is ours, and environments without and with it.
 *
 * Ours are the variables WALLPROF_*, and in LD_PRELOAD the element that names the library; other elements
 * there are the program's. Noted once, at the start, from what the program was given.
 *
 * Called from: the starting thread, then by whichever thread starts another program, in a child of vfork too:
 * nothing here allocates, locks or writes to static memory but environment_note.
 */
#ifndef WALLPROF_ENVIRONMENT_H
#define WALLPROF_ENVIRONMENT_H

#include <stddef.h>

struct environment;

/* Takes a copy of what is ours in an environment (environ's form). library: our file's name, of which the
 * last part counts. NULL without memory. It is never given back; a forked child goes on using it. */
struct environment *environment_note(char *const *environment, const char *library);

/* Takes ours out of an environment, in place: what is left moves up. Its strings are not written to. */
void environment_remove(const struct environment *ours, char **environment);

/* Both: notes what is ours, takes it out, and returns the note. Without memory nothing is taken out. */
struct environment *environment_leave(char **environment, const char *library);

/* The bytes that an array made of this environment (NULL: an empty one) by environment_with may take. */
size_t environment_bytes(const struct environment *ours, char *const *environment);

/*
 * A copy with ours, in space, which is aligned for pointers. A variable of ours that the environment sets
 * itself stays as it is set. LD_PRELOAD gets our element back, first, or where it was if nothing else has
 * changed there. Strings that stay are not copied.
 */
char **environment_with(const struct environment *ours, char *const *environment, void *space);

#endif
