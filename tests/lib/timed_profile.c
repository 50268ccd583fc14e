#include "timed_profile.h"

enum { MILLISECOND_NS = 1000000, THREADS = 3 };

/* What a thread does, until when, after what stands before. */
static const struct stretch {
    uint32_t thread; /* from 0 on */
    uint64_t begin_ms, end_ms;
    const char *function;
    enum timeline_state found;
} stretches[TIMED_PROFILE_STRETCHES] = {{0, 0, 1200, "crunch", TIMELINE_RUNNING},
                                        {0, 1200, 2400, "nanosleep", TIMELINE_WAITING},
                                        {1, 0, 1200, "pthread_mutex_lock", TIMELINE_WAITING},
                                        {1, 1200, 2390, "crunch", TIMELINE_RUNNING},
                                        {1, 2390, 2400, "fsync", TIMELINE_WAITING},
                                        {2, 0, 2400, "pthread_cond_wait", TIMELINE_WAITING}};

static void add_stretch(struct timed_profile *timed, arena_ref root, arena_ref location,
                        const struct stretch *stretch, uint32_t slowness)
{
    const uint64_t ms = slowness * (stretch->end_ms - stretch->begin_ms), ns = ms * MILLISECOND_NS;
    const bool runs = stretch->found == TIMELINE_RUNNING;
    arena_ref node = fake_profile_node(&timed->fake, root, location);
    fake_profile_weigh(&timed->fake, node, ms / 10, runs ? ns : 0, runs ? 0 : ns);
    timed->records[timed->timeline.count++] =
        (struct timeline_record){.last_ns = slowness * stretch->end_ms * MILLISECOND_NS,
                                 .wall_ns = ns,
                                 .thread = 1 + stretch->thread,
                                 .node = node,
                                 .state = stretch->found};
}

static void add_threads(struct fake_profile *fake, uint32_t processes, arena_ref roots[THREADS])
{
    static const char *const names[THREADS] = {"app", "worker", "pool"};
    for (uint32_t i = 0; i < THREADS; i++) {
        roots[i] = fake_profile_thread(fake, 8001 + (int32_t)i, names[i]);
        struct thread_record *thread = arena_at(&fake->arena, fake->thread_of_number[1 + i]);
        thread->process = i == 2 ? processes - 1 : 0;
    }
}

void timed_profile_init(struct timed_profile *timed, uint32_t processes, uint32_t slowness)
{
    static const struct process_record records[] = {{"app", 8001, PROCESS_NO_RANK, "", NULL},
                                                    {"db", 9001, PROCESS_NO_RANK, "", NULL}};
    struct profile *profile = &timed->fake.profile;
    arena_ref roots[THREADS];
    fake_profile_init(&timed->fake, 1 << 20);
    timed->timeline = (struct timeline){.records = timed->records};
    add_threads(&timed->fake, processes, roots);
    arena_ref app = fake_profile_module(&timed->fake, "/opt/bin/app");
    arena_ref locations[TIMED_PROFILE_STRETCHES];
    for (int i = 0; i < TIMED_PROFILE_STRETCHES; i++) {
        locations[i] = i == 3 ? locations[0] : fake_profile_plain(&timed->fake, app, stretches[i].function);
        add_stretch(timed, roots[stretches[i].thread], locations[i], &stretches[i], slowness);
    }
    profile->timeline = &timed->timeline;
    profile->duration_ns = UINT64_C(2400) * slowness * MILLISECOND_NS;
    profile->processes = records;
    profile->process_count = processes;
    profile->is_merged = processes > 1;
}
