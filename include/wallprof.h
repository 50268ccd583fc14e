/*
 * What a program can tell wallprof, the preloaded profiler: when to record, and what its threads do.
 *
 * Include this and link nothing. The functions are looked up when the program starts. Where they are missing,
 * because the program runs without wallprof or is linked statically, every call does nothing.
 *
 * No function allocates with malloc, touches errno, or is a cancellation point. Each may be called from any
 * thread, in a signal handler, from a destructor while the program ends, and in a forked child, where it
 * works or returns an error.
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
 * C (from C89 with GNU extensions on) and C++, gcc and clang. wallprof(7) has the variables that do the same
 * from outside, and wallprof(1) the command (wallprof ctl).
 */
#ifndef WALLPROF_H
#define WALLPROF_H

/* Results below 0. */
enum {
    WALLPROF_ABSENT = -1,       /* the program runs without the library */
    WALLPROF_NOT_RECORDED = -2, /* the process is not recorded: its recording has ended, it is exiting, or it
                                 * is a child that is not followed */
    WALLPROF_ALREADY = -3,      /* recording was started, or stopped, already */
    WALLPROF_BUSY = -4,      /* in a handler: it interrupts such a call of this thread, or its fork or exec */
    WALLPROF_TIMED_OUT = -5, /* no reply in 10 seconds: it may still be done */
    WALLPROF_NOTHING = -6,   /* nothing has been recorded that could be written */
    WALLPROF_NO_LABEL = -7,  /* the argument is no label, or no token of one */
    WALLPROF_FULL = -8,      /* the thread has 16 labels; or there is no room for another stack of labels */
    WALLPROF_NO_THREAD =
        -9, /* this thread is not recorded: wallprof did not see its start, or it is ending */
    WALLPROF_NOT_THERE = -10 /* the label was taken back already */
};

#ifndef WALLPROF_CODES_ONLY

#ifdef __cplusplus
extern "C" {
#endif

/* ---- when to record: 0, a negative WALLPROF_ code, or the positive errno of a failure with a file. These
 * functions wait for the profiler, for 10 seconds at most. ---- */

/*
 * From now on threads are recorded, after wallprof_stop or if the process waits because of WALLPROF_START=0.
 * What was recorded before is kept. The time in between counts for no thread.
 */
static __inline__ int wallprof_start(void);

/* Nothing is recorded from now on, and it costs nothing: no signals, no clock ticks. */
static __inline__ int wallprof_stop(void);

/* 1 while threads are recorded, 0 while they are not, or a WALLPROF_ code. */
static __inline__ int wallprof_is_active(void);

/*
 * Writes what has been recorded so far; the recording goes on, or stays stopped. The path's ending says the
 * format, as in WALLPROF_OUT (without its %-sequences). A relative path is taken from the working directory.
 * NULL: the name that the profile will have at the end. The file appears when it is complete.
 *
 * Only pprof files and stores are written. For another format, as in work.html, the store work.html.store is
 * written, and a message says how `wallprof export` makes work.html of it. If another file than a dump of
 * this process has that name, the store is work.html.2.store, and so on. ENODATA for a Firefox profile
 * without a timeline.
 */
static __inline__ int wallprof_dump(const char *path);

/* ---- labels and threads: none waits; below 0 are WALLPROF_ codes; without wallprof all return 0 ---- */

/*
 * A label is a key and a value, as "phase" and "parse". What a thread does while it has a label is shown with
 * it: in pprof files as a label of the samples (pprof -tagfocus=phase=parse, -tagroot=phase), in flame graphs
 * as a frame {phase=parse}, and by `wallprof top --by label` and `--label phase=parse`.
 *
 * wallprof_label makes a label, or finds it if it was made before. It takes 40 ns, so keep the result. A key
 * has up to 63 bytes, a value up to 255. Labels are never freed: they are for kinds of work, not for the
 * number of a request. A key can have half as many values as there is room left for, 8,192 in the first key.
 * Further values are one label, [other]; the notes of a profile say which keys have it. Not allowed as keys:
 * thread, thread_id, process, pid, rank, wait, on, holder, end_timestamp_ns, and anything with '='. NULL for
 * a label that cannot be made, and without wallprof; every function takes a NULL.
 */
typedef struct wallprof_label_t wallprof_label_t;
static __inline__ const wallprof_label_t *wallprof_label(const char *key, const char *value);

/*
 * Gives the calling thread a label, in a few ns. The result is for wallprof_pop: a positive token, 0 without
 * wallprof; or WALLPROF_NO_LABEL, WALLPROF_FULL (the thread has 16 labels, or the process has had 49,152
 * different stacks of labels), WALLPROF_NO_THREAD, WALLPROF_NOT_RECORDED (also in a child of vfork, which
 * would give the label to its parent). After 43,008 different stacks a new one gets [other] of the label's
 * key.
 *
 * Of several labels with one key the last one given counts, until it is taken back. The order of labels with
 * different keys makes no difference.
 */
static __inline__ int wallprof_push(const wallprof_label_t *label);

/*
 * Takes the label back, also when others have been given since. 0; WALLPROF_NOT_THERE if it was taken back
 * before; otherwise as above. An error of wallprof_push may be passed on without a test: the result is
 * WALLPROF_NO_LABEL.
 *
 * A thread begins without labels. A forked child begins with those of the thread that forked.
 */
static __inline__ int wallprof_pop(int token);

/*
 * Sets the calling thread's name in the profile, 15 bytes of it at most. NULL or "": the kernel's name again.
 * 0, or as above. Not from a signal handler that may have interrupted this function.
 */
static __inline__ int wallprof_thread_name(const char *name);

/*
 * Whether the calling thread is left alone from now on. Such a thread is not sampled and costs nothing, and
 * all its time is [uninteresting]. (The time is not left out, or sums would not be true. A reader can leave
 * it out: `wallprof top --ignore '^\[uninteresting\]$'`, pprof -ignore=uninteresting.) 0, or as above.
 */
static __inline__ int wallprof_thread_uninteresting(int yes);

/* ---- how the functions are found ---- */

struct wallprof_api_ {
    int (*start)(void);
    int (*stop)(void);
    int (*is_active)(void);
    int (*dump)(const char *path);
    const wallprof_label_t *(*label)(const char *key, const char *value);
    int (*push)(const wallprof_label_t *label);
    int (*pop)(int token);
    int (*thread_name)(const char *name);
    int (*thread_uninteresting)(int yes);
};

static struct wallprof_api_ wallprof_api_ __attribute__((unused));

/*
 * The C library's dlsym, if the program has it. A weak reference does not link it into a static program.
 * (Weak references to the functions would not do: in code with a fixed address the linker makes them NULL.)
 */
static void *wallprof_dlsym_(void *, const char *) __attribute__((__weakref__("dlsym")));
static char *wallprof_dlerror_(void) __attribute__((__weakref__("dlerror")));

#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#endif

#define WALLPROF_FIND_(pointer, name)                                                                        \
    ((pointer) = __extension__(__typeof__(pointer)) wallprof_dlsym_((void *)0, name))

/* Runs before any other code that includes this file, and so before any of its threads or handlers. */
__attribute__((constructor(101), unused)) static void wallprof_find_functions_(void)
{
    struct wallprof_api_ found;
    if (!wallprof_dlsym_)
        return;
    WALLPROF_FIND_(found.start, "wallprof_start");
    WALLPROF_FIND_(found.stop, "wallprof_stop");
    WALLPROF_FIND_(found.is_active, "wallprof_is_active");
    WALLPROF_FIND_(found.dump, "wallprof_dump");
    WALLPROF_FIND_(found.label, "wallprof_label");
    WALLPROF_FIND_(found.push, "wallprof_push");
    WALLPROF_FIND_(found.pop, "wallprof_pop");
    WALLPROF_FIND_(found.thread_name, "wallprof_thread_name");
    WALLPROF_FIND_(found.thread_uninteresting, "wallprof_thread_uninteresting");
    if (found.start && found.stop && found.is_active && found.dump && found.label && found.push &&
        found.pop && found.thread_name && found.thread_uninteresting)
        wallprof_api_ = found;
    else if (wallprof_dlerror_)
        wallprof_dlerror_(); /* a failed lookup of ours is no error of the program */
}

static __inline__ int wallprof_start(void)
{
    return wallprof_api_.start ? wallprof_api_.start() : WALLPROF_ABSENT;
}

static __inline__ int wallprof_stop(void)
{
    return wallprof_api_.stop ? wallprof_api_.stop() : WALLPROF_ABSENT;
}

static __inline__ int wallprof_is_active(void)
{
    return wallprof_api_.is_active ? wallprof_api_.is_active() : WALLPROF_ABSENT;
}

static __inline__ int wallprof_dump(const char *path)
{
    return wallprof_api_.dump ? wallprof_api_.dump(path) : WALLPROF_ABSENT;
}

static __inline__ const wallprof_label_t *wallprof_label(const char *key, const char *value)
{
    return wallprof_api_.label ? wallprof_api_.label(key, value) : (const wallprof_label_t *)0;
}

static __inline__ int wallprof_push(const wallprof_label_t *label)
{
    return wallprof_api_.push ? wallprof_api_.push(label) : 0;
}

static __inline__ int wallprof_pop(int token)
{
    return wallprof_api_.pop ? wallprof_api_.pop(token) : 0;
}

static __inline__ int wallprof_thread_name(const char *name)
{
    return wallprof_api_.thread_name ? wallprof_api_.thread_name(name) : 0;
}

static __inline__ int wallprof_thread_uninteresting(int yes)
{
    return wallprof_api_.thread_uninteresting ? wallprof_api_.thread_uninteresting(yes) : 0;
}

/* For the macros below. */
static __inline__ const wallprof_label_t *wallprof_kept_label_(const wallprof_label_t **kept, const char *key,
                                                               const char *value)
{
    const wallprof_label_t *label = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (!label && wallprof_api_.label) {
        label = wallprof_label(key, value);
        __atomic_store_n(kept, label, __ATOMIC_RELAXED);
    }
    return label;
}

static __inline__ void wallprof_leave_(const int *token)
{
    wallprof_pop(*token);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#define WALLPROF_JOIN_(a, b)  a##b
#define WALLPROF_NAMED_(a, b) WALLPROF_JOIN_(a, b)

/* A label whose key and value are the same each time; it is made once. For example:
 * token = wallprof_push(WALLPROF_LABEL("phase", "parse")); */
#define WALLPROF_LABEL(key, value)                                                                           \
    (__extension__({                                                                                         \
        static const wallprof_label_t *wallprof_kept_;                                                       \
        wallprof_kept_label_(&wallprof_kept_, key, value);                                                   \
    }))

/* A declaration: the thread has the label to the end of the block, however that is left, but by longjmp. */
#define WALLPROF_SCOPE(key, value)                                                                           \
    __attribute__((cleanup(wallprof_leave_), unused)) const int WALLPROF_NAMED_(wallprof_token_, __LINE__) = \
        wallprof_push(WALLPROF_LABEL(key, value))

#ifdef __cplusplus
}

namespace wallprof
{

/* The thread has the label while this lives: wallprof::label_scope scope("tenant", name.c_str()); */
class label_scope
{
  public:
    explicit label_scope(const ::wallprof_label_t *label) : token_(wallprof_push(label))
    {
    }
    label_scope(const char *key, const char *value) : token_(wallprof_push(wallprof_label(key, value)))
    {
    }
    ~label_scope()
    {
        wallprof_pop(token_);
    }

  private:
    label_scope(const label_scope &); /* not copied */
    label_scope &operator=(const label_scope &);
    int token_;
};

} /* namespace wallprof */
#endif

#endif /* WALLPROF_CODES_ONLY */

#endif
