/*
 * Our share of an environment, taken out of it: for programs that are started by one whose children are not
 * to be followed.
 *
 * Done once, in the profiled program's own environment and in place, before its main runs: whatever way it
 * then starts others, by its environment or a copy of it, they are started without us. Called from: the
 * thread that starts a session.
 */
#ifndef WALLPROF_ENVIRONMENT_H
#define WALLPROF_ENVIRONMENT_H

/*
 * Removes every WALLPROF_ variable, and from LD_PRELOAD the entries whose file is called like that of
 * `library` (a path); the others stay in their order, and the variable goes with its last entry.
 */
void environment_leave(char **environment, const char *library);

#endif
