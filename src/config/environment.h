/*
 * Takes our entries out of an environment, and puts them back.
 *
 * Ours are the variables WALLPROF_*, and in LD_PRELOAD the element that names the library. They are noted
 * once, at the start, from the environment that the program was given.
 *
 * Called from: the starting thread; later any thread that starts another program, also in a child of vfork.
 * Only environment_leave allocates; nothing locks or writes to static memory.
 */
#ifndef WALLPROF_ENVIRONMENT_H
#define WALLPROF_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

struct environment;

/*
 * Notes our entries of an environment (environ's form), and takes them out in place: the others move up. Its
 * strings are not written to. library: our file's name, of which the last part counts. NULL without memory:
 * then nothing is taken out. The note is never freed; a forked child goes on using it.
 */
struct environment *environment_leave(char **environment, const char *library);

/* Our element of LD_PRELOAD, as the user wrote it; "" if it was not there. */
const char *environment_own_element(const struct environment *ours);

/* The bytes that environment_with needs for this environment (NULL: an empty one). */
size_t environment_bytes(const struct environment *ours, char *const *environment);

/*
 * A copy of an environment with our entries, in `space`, which is aligned for pointers. A variable of ours
 * that the environment sets itself stays. Our element comes first in LD_PRELOAD, or where it was if nothing
 * else has changed there. Strings that stay are not copied.
 */
char **environment_with(const struct environment *ours, char *const *environment, void *space);

/* The element of LD_PRELOAD that names the library, by the last part of its name; NULL: there is none. */
const char *environment_element(char *const *environment, const char *library, size_t *ret_length);

/*
 * A copy of an environment for a program that cannot load our library as it is: LD_PRELOAD is without our
 * elements, or if there is a runtime ("": none) it begins with that. `space` is aligned for pointers.
 */
size_t environment_changed_bytes(char *const *environment, const char *runtime);
char **environment_changed(char *const *environment, const char *library, const char *runtime, void *space);

/* In the program that was started so: takes the runtime out of LD_PRELOAD again, in place. The programs that
 * this one executes do not need it. */
void environment_take_runtime(char *const *environment, bool is_runtime(const char *name));

#endif
