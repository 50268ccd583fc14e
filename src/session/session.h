/*
 * The life around one recording, as hooks see it. A process has one session; a forked child begins its own.
 *
 * Threads of the program call these functions. Everything else runs in the sampler thread, which
 * session_start creates. The sampler blocks all signals and has a descriptor table of its own, so the program
 * sees none of our descriptors.
 */
#ifndef WALLPROF_SESSION_H
#define WALLPROF_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct label_table;        /* account/labels.h */
struct thread;             /* sample/thread.h */
struct thread_annotations; /* account/thread_annotations.h */

/*
 * The process's own, as main has them. Reads the environment and creates the sampler's thread, which sets
 * itself up when its first tick is near, and says so in the log if it cannot. Our part is taken out of the
 * environment if programs that are executed are not to be followed, or if it is to be hidden (hook_memory.h).
 * The calling thread is registered as the main thread. 0, or -errno: then nothing is recorded, the log has
 * said why, and every other call does nothing.
 */
int session_start(char *const *arguments, char **environment);

/* Whether there is a recording, of this process or, in a child that no hook has seen, of its parent. Also in
 * signal handlers. */
bool session_is_recording(void);

/* Whether this process has no recording that could be ended now: none, or one that ends or has ended. */
bool session_is_over(void);

/* The labels of the process: there before a recording begins, after it has ended, and in a forked child. Any
 * thread, also in signal handlers. */
struct label_table *session_labels(void);

/* Whether the recording is to be kept in a file while it is made (WALLPROF_STORE). */
bool session_wants_store(void);

/* Whether we are to make everyday system calls only (WALLPROF_SECCOMP). */
bool session_is_strict(void);

/*
 * Ends the recording and writes the profile. Called from the exiting thread, once all of the program's own
 * exit handlers have run. Later calls do nothing, nor do calls in a process that has not started a session.
 */
void session_finish(void);

/*
 * The same before the process ends, because of what it is about to do; the log says why. From then on nothing
 * is sent, and no hook makes a call of its own.
 */
void session_end(const char *why);

/*
 * Notes in the store, if there is one, that the process is about to end without session_finish. daemon: the
 * process forks and ends; cancel: it goes on. Any thread, also in a handler.
 *
 * session_note_exit is for the thread that is about to end the process at once. If nobody will read a store
 * after the process, the sampler ends the recording and writes the profile. The thread itself does nothing
 * that may need a lock: it waits, for 5 s at most. Not for a forked child of less than 100 ms, or one that is
 * not set up.
 */
void session_note_exit(int status);
void session_note_daemon(void);
void session_note_abort(void);
void session_cancel_exit_note(void);

/* Says at level info that a program is about to start without the library. Any thread, also in a child of
 * vfork; errno is kept. */
void session_report_unfollowed(const char *program, const char *why);

/* Notes in the store that a signal has ended a child of the process. errno is kept. */
void session_note_death(pid_t child, int signal);

/* From now on no thread of ours can be created. Forked children are not recorded, and session_suspend ends
 * the recording. */
void session_ignore_children(void);

/* The filter lets threads of the program write to descriptors, but not open one, nor ask about one. */
void session_confine_messages(void);

/*
 * In the child of fork: what was the parent's is forgotten, and a session of the child's own begins. Its
 * sampler sets the rest up some milliseconds later. The child's thread has the labels and the name that the
 * thread which forked had. In a child that is not to be followed, sig_numbers_current() is 0 afterwards.
 */
void session_restart_in_child(void);

/*
 * Around fork and what is as sensitive: no signal is sent and none is outstanding between hold and release.
 * Calls nest. Any thread. A call is not held up for longer than 100 ms, because the sampler may be waiting
 * for a lock of the calling thread, such as the loader's.
 */
void session_hold_for_fork(void);
void session_release(void);

/*
 * The same for a moment. No signal is delivered to the calling thread, or a handler of the program could
 * leave by a jump, and the sampler would rest for ever. A request that was pending for the thread is dropped.
 * for_all: all threads have replied, unless that takes longer than 100 ms, as in a thread that waits for a
 * CPU. hold returns the mask for release, which keeps errno too.
 */
uint64_t session_hold_quietly(void);
uint64_t session_hold_quietly_for_all(void);
void session_release_quietly(uint64_t mask);

/*
 * Around exec no request is pending for the calling thread, or the new program would be killed by a signal
 * that it does not know. cancel is called only if the exec has failed, and keeps errno. A handler of the
 * program may also leave the exec by a jump. So the sampler rests for 100 ms at most, and the thread gets
 * requests again when it has used more CPU time than an exec takes.
 *
 * Before that, a recording of 100 ms or more is written. It gets a file of its own (profile_path.h), so that
 * the new program's does not replace it; in a run it is left in its store. Any thread, also in a handler.
 * Waits for writing and for the sampler to rest for 5 s at most each, because the sampler may be waiting for
 * the calling thread.
 */
void session_prepare_exec(void);
void session_cancel_exec(void);

/*
 * Before the process loses rights, or its root: the sampler sets itself up now if it has not yet, while it
 * can open what it needs. Waits for that, for 5 s at most.
 */
void session_hasten_set_up(void);

/*
 * Around a call that the kernel refuses to a process of more than one thread, or that must hold for all of
 * them: the sampler's thread does not exist between the two. is_suspended says whether it has ended; then all
 * signals are blocked in the calling thread until session_resume. If no thread can be created afterwards, the
 * log says so, and the profile is that of the time until then. session_resume keeps errno.
 */
struct session_suspension {
    bool is_suspended;
    uint64_t mask; /* the calling thread's before */
};
void session_suspend(struct session_suspension *suspension);
void session_resume(const struct session_suspension *suspension);

/*
 * A thread's life. prepare: in the creating thread. NULL: no record for it, and then the others are not
 * called. discard: in the creating thread, when the thread could not be created. enter: in the new thread,
 * first thing. The session sees the thread end by itself.
 *
 * stack_low and stack_high: the thread's own stack is mapped from its stack pointer up to stack_high while
 * that pointer lies between the two; 0 and 0 when not known.
 */
struct thread *session_thread_prepare(void);
void session_thread_discard(struct thread *thread);
void session_thread_enter(struct thread *thread, uint64_t stack_low, uint64_t stack_high);

/* The end of the calling thread's own stack if the caller is there; else 0. Also in signal handlers. */
uint64_t session_thread_stack_high(void);

/* The calling thread's routine has ended, or is about to: it leaves the recording after the destructors that
 * the C library calls next. Of several calls the first counts. Without a record nothing is done. */
void session_thread_end(void);

/* Whether an object lies on the calling thread's own stack, at or above the caller's frame: then it is mapped
 * for certain, to read and to write. Also in signal handlers and children of vfork. */
bool session_thread_has_on_stack(const void *object, size_t bytes);

/* What the program says of the calling thread, in its record; NULL without one. Also in signal handlers. */
struct thread_annotations *session_thread_annotations(void);

#endif
