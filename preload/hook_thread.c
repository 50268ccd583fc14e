/*
 * pthread_create and thrd_create: a thread registers before its start routine. The session sees it end.
 */
#include "hook.h"
#include "hook_mask.h"
#include "sample/thread.h"
#include "session/session.h"

#include <stddef.h>
#include <stdint.h>

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

static void *start_posix_thread(void *argument)
{
    struct thread_start start = copy_start(argument);
    enter_session(&start);
    return start.routine.posix(start.argument);
}

static int start_c11_thread(void *argument)
{
    struct thread_start start = copy_start(argument);
    enter_session(&start);
    return start.routine.c11(start.argument);
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
    if (pthread_getattr_default_np(&attributes) == 0) {
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
