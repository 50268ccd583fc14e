/* Ends of the process that pass by our destructor. */
#ifndef WALLPROF_HOOK_EXIT_H
#define WALLPROF_HOOK_EXIT_H

/* In our constructor, so that our handler is the last to run: 0, or not when there is no memory for it. */
int hook_exit_init(void);

#endif
