/*
 * A command goes on in the background when its caller has all it asked for.
 *
 * Called from: commands that have a single thread.
 */
#ifndef WALLPROF_BACKGROUND_H
#define WALLPROF_BACKGROUND_H

#include <stdbool.h>

/*
 * Forks. True in the child, which has nothing open of the caller, no terminal, and ends by itself; false in
 * the caller, also if there is no child. SIGTERM ends the child only last_s later: a machine that shuts down
 * ends at the same time what the child waits for.
 */
bool background_begin(unsigned last_s);

#endif
