/*
 * The kernel's threads against the registry's: who came without a hook, and who went without one.
 *
 * No hook sees a raw clone, a thread the C library starts for itself (SIGEV_THREAD timers), or one for which
 * there was no record; nor the end of a thread by the bare system call. Every 100 ms the census compares the
 * kernel's number of threads with ours. When they differ, it reads on in the kernel's list, TASKS_NEXT_MAX
 * threads at most, and remembers whom nobody knows. Such a stranger is reported at a later look, when it can
 * be none of these:
 *
 *  - a thread that is still on its way to its hook: all who were coming have come (threads_turn);
 *  - one on its way from its last hook to its end: its tid has left, and it started before that;
 *  - a new thread with the tid of the one remembered: it has the same start time.
 *
 * And at each look it is asked of some of those we know whether they are still there: of 64 that no hook will
 * end, and of 64 others, in turn; of 8 each while the numbers agree, which they do when as many have come
 * unseen as have gone.
 *
 * Cost: while the numbers agree, 8 reads of a clock every 100 ms; else 0.2-0.3 % of a core, however many
 * threads there are. So a stranger is found late where there are many: 0.2 s after its start among a hundred
 * threads, up to 8 s among 10,000 (a pass over the whole list); its time counts from its start all the same.
 * That a thread has gone is found within n / 640 seconds, but 0.1 at least, n being how many no hook will end
 * or how many others there are (n / 80 when a stranger makes up for it); it is taken to have been there until
 * then.
 *
 * Called from: the sampler thread only.
 */
#ifndef WALLPROF_CENSUS_H
#define WALLPROF_CENSUS_H

#include "proc_tasks.h"
#include "threads.h"

#include <stdbool.h>
#include <stdint.h>

enum { CENSUS_LEFT_MAX = 4096 };

/* A thread as the kernel lists it: the tid alone may stand for another one a moment later. */
struct census_task {
    pid_t tid;
    uint64_t time_ns; /* of a stranger its start, of one that left its end; CLOCK_MONOTONIC */
};

struct wp_census {
    int task_directory; /* -1 when /proc is not to be had */
    pid_t own_tid;
    uint64_t next_ns; /* when to look again */
    struct census_list {
        uint32_t count;
        struct census_task tasks[TASKS_NEXT_MAX];
    } met, strangers;         /* nobody knows them; nor will anybody */
    bool is_turned;           /* since they were met */
    struct census_task *left; /* who left last, by tid % CENSUS_LEFT_MAX */
    struct census_foreign {
        struct wp_thread *thread;
        uint64_t start_ns; /* by which it is known again */
    } * foreign;           /* the live that no hook registered */
    uint32_t foreign_count, foreign_capacity;
    uint32_t foreign_at,
        foreign_checks;            /* how far the look has come among them, and how many are still due */
    uint32_t live_at, live_checks; /* and among all that are live */
};

/* *census is zeroed memory. 0 or -ENOMEM. */
int census_init(struct wp_census *census);
void census_deinit(struct wp_census *census);

/* In the sampler thread: opens its view of /proc. */
void census_open(struct wp_census *census);

/* The threads that were there before the first hook: until false; census_next_stranger has them at once. */
bool census_look_at_start(struct wp_census *census, const struct wp_threads *threads);

/*
 * When it is due, a look; false when not. After it, in this order: take what has arrived, then call the two
 * below until they have nothing more.
 */
bool census_look(struct wp_census *census, struct wp_threads *threads, uint64_t now_ns);

/* A live thread that is not there any more and has not said so; NULL when no other is known. */
struct wp_thread *census_next_gone(struct wp_census *census, const struct wp_threads *threads);

/* A thread of the kernel's that is nobody's and will stay so; false when there is none. */
bool census_next_stranger(struct wp_census *census, const struct wp_threads *threads,
                          struct census_task *ret);

/* This thread is the stranger's: no hook will tell its end, so that is looked for from now on. 0 or -ENOMEM.
 */
int census_adopt(struct wp_census *census, struct wp_thread *thread, const struct census_task *stranger);

/* A live thread ends at end_ns: the kernel may list it a little longer. */
void census_forget(struct wp_census *census, struct wp_thread *thread, uint64_t end_ns);

#endif
