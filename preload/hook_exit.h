/* Ends of the process that do not run our destructor. */
#ifndef WALLPROF_HOOK_EXIT_H
#define WALLPROF_HOOK_EXIT_H

/* Called in our constructor, so that our handler is the last to run. 0; another value without memory for it.
 */
int hook_exit_init(void);

#endif
