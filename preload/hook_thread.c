/*
 * A thread registers before its start routine (pthread_create, thrd_create). When its routine ends, by
 * whatever way, the session is told, and sees the thread out.
 */
#include "hook.h"
#include "hook_mask.h"
#include "base/raw_calls.h"
#include "sample/thread.h"
#include "session/hook_memory.h"
#include "session/session.h"

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* What the creating thread passes to the new one, in the record's own memory (start_in). */
struct thread_start {
    struct thread *thread;
    union {
        void *(*posix)(void *);
        thrd_start_t c11;
    } routine;
    void *argument;
    uint64_t stack_low;   /* where the program provided the stack, else 0 */
    uint64_t stack_bytes; /* as asked for */
    bool has_attributes;  /* they may say with what mask the thread begins */
};

/* Whether the C library tells us when this thread's routine ends; for a forked child's thread as before. */
static __thread bool is_watched __attribute__((tls_model("initial-exec")));

/* ---- in the new thread ---- */

/*
 * glibc puts the thread's control block at the top of its stack, so everything from the stack pointer up to
 * there is mapped. The low end only serves to tell whether the stack pointer is on this stack or on a
 * coroutine's below it. A guard's worth at the low end is left out, to be on the safe side.
 */
static void enter_session(const struct thread_start *start)
{
    enum { SAFETY_BYTES = 64 * 1024 };
    uint64_t high = (uint64_t)pthread_self(), low = start->stack_low;
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    if (low == 0 && start->stack_bytes < high)
        low = high - start->stack_bytes + (start->stack_bytes > 4 * SAFETY_BYTES ? SAFETY_BYTES : 0);
    if (here < low || here >= high)
        low = high = 0;
    if (start->has_attributes)
        hook_mask_renew();
    session_thread_enter(start->thread, low, high);
}

static struct thread_start copy_start(void *argument)
{
    return *(struct thread_start *)argument;
}

/* Also where the routine is left by pthread_exit or cancellation. */
static void end_in_session(void *unused)
{
    (void)unused;
    session_thread_end();
}

static void *run_routine(void *argument, bool is_c11)
{
    struct thread_start start = copy_start(argument);
    void *result;
    is_watched = true;
    enter_session(&start);
    pthread_cleanup_push(end_in_session, NULL);
    result =
        is_c11 ? (void *)(intptr_t)start.routine.c11(start.argument) : start.routine.posix(start.argument);
    session_thread_end(); /* while it would be called again if a cancellation cuts it short */
    pthread_cleanup_pop(0);
    return result;
}

static void *start_posix_thread(void *argument)
{
    return run_routine(argument, false);
}

static int start_c11_thread(void *argument)
{
    return (int)(intptr_t)run_routine(argument, true);
}

/* ---- ends of the main thread ---- */

static bool is_main(void)
{
    return raw_gettid() == getpid();
}

/* The C library's, for programs that were compiled before 2003: it calls the routines of a list of buffers
 * when it unwinds. */
extern void _pthread_cleanup_push(struct _pthread_cleanup_buffer *buffer, void (*routine)(void *),
                                  void *argument);

/*
 * The main thread has no frame of ours below its routine. Its pthread_exit passes a hook. It may be cancelled
 * once there is another thread, or by itself: so it is watched from then on, by a buffer that lies in no
 * frame.
 */
static void watch_main(void)
{
    if (is_watched || !session_thread_annotations() || !is_main())
        return; /* or this thread is not recorded */
    is_watched = true;
    _pthread_cleanup_push(&hook_memory()->main_end, end_in_session, NULL);
}

WALLPROF_HOOK void pthread_exit(void *result)
{
    if (is_main())
        session_thread_end();
    libc()->pthread_exit(result);
    __builtin_unreachable();
}

WALLPROF_HOOK void thrd_exit(int result)
{
    pthread_exit((void *)(uintptr_t)result); /* as in the C library */
}

WALLPROF_HOOK int pthread_cancel(pthread_t handle)
{
    watch_main();
    return libc()->pthread_cancel(handle);
}

/* ---- in the creating thread ---- */

/* In the record itself, which belongs to the new thread until it has entered. */
static struct thread_start *start_in(struct thread *thread)
{
    _Static_assert(sizeof(struct thread_start) <= sizeof(thread->start_space), "it has room there");
    return (struct thread_start *)(void *)thread->start_space;
}

/* Without attributes: with the default ones, which the program may change at any time. */
static size_t default_stack_bytes(void)
{
    pthread_attr_t attributes;
    size_t bytes = 0;
    if (libc()->pthread_getattr_default_np(&attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &bytes);
        pthread_attr_destroy(&attributes);
    }
    return bytes;
}

static void describe_stack(const pthread_attr_t *attributes, struct thread_start *ret)
{
    void *base = NULL;
    size_t bytes = 0;
    ret->has_attributes = attributes != NULL;
    ret->stack_bytes =
        attributes && pthread_attr_getstacksize(attributes, &bytes) == 0 ? bytes : default_stack_bytes();
    if (attributes && pthread_attr_getstack(attributes, &base, &bytes) == 0 && base &&
        (uintptr_t)base + bytes != 0)
        ret->stack_low = (uint64_t)(uintptr_t)base;
}

WALLPROF_HOOK int pthread_create(pthread_t *handle, const pthread_attr_t *attributes,
                                 void *(*routine)(void *), void *argument)
{
    struct thread *thread = session_thread_prepare();
    watch_main();
    if (!thread)
        return libc()->pthread_create(handle, attributes, routine, argument);
    struct thread_start *start = start_in(thread);
    *start = (struct thread_start){.thread = thread, .routine.posix = routine, .argument = argument};
    describe_stack(attributes, start);
    int error = libc()->pthread_create(handle, attributes, start_posix_thread, start);
    if (error)
        session_thread_discard(thread);
    return error;
}

WALLPROF_HOOK int thrd_create(thrd_t *handle, thrd_start_t routine, void *argument)
{
    struct thread *thread = session_thread_prepare();
    watch_main();
    if (!thread)
        return libc()->thrd_create(handle, routine, argument);
    struct thread_start *start = start_in(thread);
    *start = (struct thread_start){.thread = thread, .routine.c11 = routine, .argument = argument};
    describe_stack(NULL, start);
    int result = libc()->thrd_create(handle, start_c11_thread, start);
    if (result != thrd_success)
        session_thread_discard(thread);
    return result;
}
