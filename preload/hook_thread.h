/* What init and hook_process need of the thread hooks. */
#ifndef WALLPROF_HOOK_THREAD_H
#define WALLPROF_HOOK_THREAD_H

struct wp_thread;
struct wp_marks;

/* Once, before the session starts. 0 or an error number of pthread_key_create. */
int hook_thread_init(void);

/* Makes a record the calling thread's own; its end will be reported. NULL: the thread has none. */
void hook_thread_adopt(struct wp_thread *thread);

/* The calling thread's record, or NULL. */
struct wp_thread *hook_thread_current(void);

/* What the program says of the calling thread, in its record; NULL without one. Also in signal handlers. */
struct wp_marks *hook_thread_marks(void);

#endif
