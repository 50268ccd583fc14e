/*
 * wallprof.h - profiling at will, from within the program.
 *
 * Include it and call; nothing is linked. In a process that runs without libwallprof.so every call returns
 * WALLPROF_ABSENT and does nothing: the functions are looked up when they are first called. C (from C89 with
 * GNU extensions on) and C++, static programs too, gcc and clang.
 *
 *     wallprof_start();
 *     work();
 *     wallprof_stop();
 *     wallprof_dump("/tmp/work.pb.gz");
 *
 * and run as
 *
 *     WALLPROF_START=0 wallprof-run ./program
 *
 * A call returns 0, a negative WALLPROF_ code, or the positive errno of what went wrong with a file. None of
 * them changes errno, waits for longer than 10 seconds, or is a cancellation point; they may be called in
 * any thread, in signal handlers too once the function has been called outside of one, and before main.
 *
 * wallprof(7) has the variables that do the same from outside, wallprof(1) the command (wallprof ctl).
 */
#ifndef WALLPROF_H
#define WALLPROF_H

enum {
    WALLPROF_ABSENT = -1,       /* the program runs without the library */
    WALLPROF_NOT_RECORDED = -2, /* this process is not recorded: it has ended its recording, exit has come so
                                 * far, or it is a child that is not followed */
    WALLPROF_ALREADY = -3,      /* started, or stopped, already */
    WALLPROF_BUSY = -4,         /* this thread is in the middle of such a call, which a handler interrupts */
    WALLPROF_TIMED_OUT = -5,    /* no answer in 10 seconds: it may be done yet */
    WALLPROF_NOTHING = -6       /* nothing has been recorded that could be written */
};

#ifndef WALLPROF_CODES_ONLY

/*
 * The dynamic linker's dlsym: by another name, so as not to declare it twice, and weak, as a static program
 * has none, and with older C libraries it is in a library of its own.
 */
#ifdef __cplusplus
extern "C"
#else
extern
#endif
    void *
    wallprof_dlsym_(void *handle, const char *name) __asm__("dlsym") __attribute__((weak));

/* A function of the library, or one that says that it is not there. place: where that is kept. */
static __inline__ void *wallprof_find_(void **place, const char *name, void *absent)
{
    void *found = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (found)
        return found;
    found = wallprof_dlsym_ ? wallprof_dlsym_((void *)0, name) : (void *)0; /* RTLD_DEFAULT */
    if (!found)
        found = absent;
    __atomic_store_n(place, found, __ATOMIC_RELEASE);
    return found;
}

/* A pointer to what stands in for a function of the library becomes one to that function, if it is there. */
#define WALLPROF_LOOK_UP_(name, function)                                                                    \
    do {                                                                                                     \
        static void *wallprof_place_;                                                                        \
        void *wallprof_address_;                                                                             \
        __builtin_memcpy(&wallprof_address_, &(function), sizeof wallprof_address_);                         \
        wallprof_address_ = wallprof_find_(&wallprof_place_, name, wallprof_address_);                       \
        __builtin_memcpy(&(function), &wallprof_address_, sizeof wallprof_address_);                         \
    } while (0)

static __inline__ int wallprof_absent_(void)
{
    return WALLPROF_ABSENT;
}

static __inline__ int wallprof_absent_path_(const char *path)
{
    (void)path;
    return WALLPROF_ABSENT;
}

/* ---- when to record ---- */

/*
 * From now on threads are recorded, after wallprof_stop or where WALLPROF_START=0 lets the process wait. What
 * was recorded before is kept, and the time in between is in nobody's account.
 */
static __inline__ int wallprof_start(void)
{
    int (*function)(void) = wallprof_absent_;
    WALLPROF_LOOK_UP_("wallprof_start", function);
    return function();
}

/* Nothing is recorded from now on, and it costs nothing: no signals, no clock ticks. */
static __inline__ int wallprof_stop(void)
{
    int (*function)(void) = wallprof_absent_;
    WALLPROF_LOOK_UP_("wallprof_stop", function);
    return function();
}

/* 1 while threads are recorded, 0 while they are not, or a WALLPROF_ code. */
static __inline__ int wallprof_is_active(void)
{
    int (*function)(void) = wallprof_absent_;
    WALLPROF_LOOK_UP_("wallprof_is_active", function);
    return function();
}

/*
 * Writes what has been recorded so far; the recording goes on, or stays stopped. The path's ending says the
 * format, as in WALLPROF_OUT (without its %-sequences); a relative one is taken from the working directory.
 * NULL: the name that the profile will have at the end. The file appears when it is complete.
 */
static __inline__ int wallprof_dump(const char *path)
{
    int (*function)(const char *) = wallprof_absent_path_;
    WALLPROF_LOOK_UP_("wallprof_dump", function);
    return function(path);
}

#endif /* WALLPROF_CODES_ONLY */

#endif
