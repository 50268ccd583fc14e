/* What init and hook_process need of the thread hooks. */
#ifndef WALLPROF_HOOK_THREAD_H
#define WALLPROF_HOOK_THREAD_H

struct thread;
struct thread_annotations;

/* Once, before the session starts. 0 or an error number of pthread_key_create. */
int hook_thread_init(void);

/* Makes a record the calling thread's own; its end will be reported. NULL: the thread has none. */
void hook_thread_adopt(struct thread *thread);

/* The calling thread's record, or NULL. */
struct thread *hook_thread_current(void);

/* What the program says of the calling thread, in its record; NULL without one. Also in signal handlers. */
struct thread_annotations *hook_thread_annotations(void);

#endif
