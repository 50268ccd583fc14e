/*
 * pthread_create and thrd_create: a thread registers itself before its start routine and reports its end.
 *
 * The end is seen by the destructor of a thread-specific key, which runs for a return, pthread_exit and
 * cancellation alike. The destructor asks to be called again as long as the C library allows, so that it
 * comes after the destructors of the program's own keys.
 */
#include "hook_thread.h"
#include "hook_mask.h"
#include "real.h"
#include "session/session.h"
#include "sample/threads.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

static pthread_key_t thread_key;
static int has_key;
static size_t default_stack_bytes;

/* initial-exec: a fixed offset from the thread pointer, so that a signal handler can read it. */
static __thread struct wp_marks *marks_here __attribute__((tls_model("initial-exec")));

/* Carried from the creating thread to the new one, in the record's own memory (see start_of). */
struct start {
    struct wp_thread *thread;
    union {
        void *(*posix)(void *);
        thrd_start_t c11;
    } routine;
    void *argument;
    uint64_t stack_low;   /* where the program provided the stack, else 0 */
    uint64_t stack_bytes; /* asked for */
    bool has_attributes;  /* which may say with what mask it begins */
};

/*
 * Rounds of key destructors left for a thread: the key's value is the record, with the rounds done in its low
 * bits (records are aligned to far more).
 */
enum { ROUND_MASK = 7 };

/* Nothing that runs in the thread from now on, as a handler of the program's, changes the record. */
static void leave(struct wp_thread *thread)
{
    marks_here = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    session_thread_leave(thread);
}

static void on_thread_end(void *value)
{
    uintptr_t rounds = ((uintptr_t)value & ROUND_MASK) + 1;
    struct wp_thread *thread = (struct wp_thread *)((uintptr_t)value & ~(uintptr_t)ROUND_MASK);
    if (rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(thread_key, (void *)((uintptr_t)thread | rounds));
    else
        leave(thread);
}

int hook_thread_init(void)
{
    pthread_attr_t attributes;
    int error = pthread_key_create(&thread_key, on_thread_end);
    has_key = error == 0;
    if (pthread_getattr_default_np(&attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &default_stack_bytes);
        pthread_attr_destroy(&attributes);
    }
    return error;
}

void hook_thread_adopt(struct wp_thread *thread)
{
    if (!has_key)
        return;
    pthread_setspecific(thread_key, thread);
    marks_here = thread ? &thread->marks : NULL;
}

struct wp_marks *hook_thread_marks(void)
{
    return marks_here;
}

struct wp_thread *hook_thread_current(void)
{
    if (!has_key)
        return NULL;
    return (struct wp_thread *)((uintptr_t)pthread_getspecific(thread_key) & ~(uintptr_t)ROUND_MASK);
}

/* ---- in the new thread ---- */

/*
 * glibc puts the thread's control block at the top of its stack, so everything from the stack pointer up to
 * there is mapped. The low end is only a bound for recognising that the stack pointer is on this stack and
 * not on a coroutine's below it; a guard's worth of the block is left out to be on the safe side.
 */
static void enter(const struct start *start)
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
    hook_thread_adopt(start->thread);
}

static struct start take(void *argument)
{
    return *(struct start *)argument;
}

static void *posix_trampoline(void *argument)
{
    struct start start = take(argument);
    enter(&start);
    return start.routine.posix(start.argument);
}

static int c11_trampoline(void *argument)
{
    struct start start = take(argument);
    enter(&start);
    return start.routine.c11(start.argument);
}

/* ---- in the creating thread ---- */

/* The message lies in the record itself, which is the new thread's until it has entered. */
static struct start *start_of(struct wp_thread *thread)
{
    return session_thread_start_space(thread, sizeof(struct start));
}

static void describe_stack(const pthread_attr_t *attributes, struct start *ret)
{
    void *base = NULL;
    size_t bytes = 0;
    ret->has_attributes = attributes != NULL;
    ret->stack_bytes = default_stack_bytes;
    if (!attributes)
        return;
    if (pthread_attr_getstacksize(attributes, &bytes) == 0)
        ret->stack_bytes = bytes;
    if (pthread_attr_getstack(attributes, &base, &bytes) == 0 && base && (uintptr_t)base + bytes != 0)
        ret->stack_low = (uint64_t)(uintptr_t)base;
}

WALLPROF_HOOK int pthread_create(pthread_t *handle, const pthread_attr_t *attributes,
                                 void *(*routine)(void *), void *argument)
{
    const struct real *real = real_functions();
    struct wp_thread *thread = session_thread_prepare();
    if (!thread)
        return real->pthread_create(handle, attributes, routine, argument);
    struct start *start = start_of(thread);
    *start = (struct start){.thread = thread, .routine.posix = routine, .argument = argument};
    describe_stack(attributes, start);
    int error = real->pthread_create(handle, attributes, posix_trampoline, start);
    if (error)
        session_thread_discard(thread);
    return error;
}

WALLPROF_HOOK int thrd_create(thrd_t *handle, thrd_start_t routine, void *argument)
{
    const struct real *real = real_functions();
    struct wp_thread *thread = session_thread_prepare();
    if (!thread)
        return real->thrd_create(handle, routine, argument);
    struct start *start = start_of(thread);
    *start = (struct start){.thread = thread, .routine.c11 = routine, .argument = argument};
    describe_stack(NULL, start);
    int result = real->thrd_create(handle, c11_trampoline, start);
    if (result != thrd_success)
        session_thread_discard(thread);
    return result;
}
