#include "sampler_internal.h"
#include "base/clock.h"
#include "account/events.h"
#include "account/labels.h"
#include "sig/sys/sig_atomic.h"
#include "sig/signal/sig_handler.h"
#include "sig/signal/sig_numbers.h"
#include "proc_tasks.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS_MIN = 64, SLOTS_MAX = 4096, SLOTS_PER_THREAD_A_TICK = 4, MEMO_MEMORY_SHARE = 16 };

/* An upper bound of what answering a signal takes. */
static const uint64_t look_cost_ns = 100 * NS_PER_US;

/*
 * For how long ticks without a look are left out, or for that part of a period. Threads that begin are
 * planned for afterwards only, and what they did until then is told by what they do when they are first
 * looked at.
 */
static const uint64_t skip_ns = 50 * NS_PER_MS;
enum { SKIP_PERIOD_PARTS = 8 };

static const uint64_t publish_patience_ns = 2 * NS_PER_MS;
static const uint64_t modules_settle_ns = NS_PER_S / 2;

/* ---- life ---- */

static uint32_t slot_count(const struct wp_config *config)
{
    uint32_t count = config->threads * SLOTS_PER_THREAD_A_TICK;
    return count < SLOTS_MIN ? SLOTS_MIN : count > SLOTS_MAX ? SLOTS_MAX : count;
}

int sampler_init(struct wp_sampler *sampler, const struct wp_config *config, struct wp_threads *threads,
                 uint64_t start_ns, uint64_t seed)
{
    sampler->threads = threads;
    sampler->start_ns = start_ns;
    sampler->path_capacity = (size_t)config->depth + 1 + LABELS_DEPTH_MAX;
    int status = arena_init(&sampler->arena, config->memory_bytes);
    if (status == 0)
        status = tree_init(&sampler->tree, &sampler->arena);
    if (status == 0)
        status = schedule_init(&sampler->schedule, config->threads, &sampler->random);
    if (status == 0)
        status = census_init(&sampler->census);
    if (status == 0)
        status = observe_init(&sampler->observer, slot_count(config), config->depth,
                              config->memory_bytes / MEMO_MEMORY_SHARE);
    if (status == 0 && config->timeline != TIMELINE_OFF) {
        sampler->timeline = timeline_create(config->timeline_bytes, start_ns, seed);
        status = sampler->timeline ? 0 : -ENOMEM;
    }
    sampler->observer.by_signal_only = config->by_signal_only;
    if (!config->by_signal_only)
        watch_find_out();
    if (status == 0) {
        sampler->path = scratch_alloc(sizeof(arena_ref) * sampler->path_capacity);
        sampler->inner = scratch_alloc(sizeof(uint32_t) * sampler->path_capacity);
        sampler->whole = scratch_alloc(sizeof(uint64_t) * sampler->path_capacity);
        status = sampler->path && sampler->inner && sampler->whole ? 0 : -ENOMEM;
    }
    if (status < 0) {
        sampler_deinit(sampler);
        return status;
    }
    sampler->fold = (struct wp_fold){
        .tree = &sampler->tree, .period_ns = NS_PER_S / config->hz, .timeline = sampler->timeline};
    locate_init(&sampler->locate, &sampler->tree, &sampler->modules);
    random_init(&sampler->random, seed);
    tick_init(&sampler->tick, sampler->fold.period_ns, start_ns, &sampler->random);
    restraint_init(&sampler->restraint, config->overhead_ppm, sampler->fold.period_ns, SCHEDULE_LENGTH_MAX);
    return 0;
}

void sampler_deinit(struct wp_sampler *sampler)
{
    scratch_free(sampler->path, sizeof(arena_ref) * sampler->path_capacity);
    scratch_free(sampler->inner, sizeof(uint32_t) * sampler->path_capacity);
    scratch_free(sampler->whole, sizeof(uint64_t) * sampler->path_capacity);
    observe_deinit(&sampler->observer);
    census_deinit(&sampler->census);
    schedule_deinit(&sampler->schedule);
    modules_deinit(&sampler->modules);
    timeline_destroy(sampler->timeline);
    live_drop(&sampler->live);
    tree_deinit(&sampler->tree);
    arena_deinit(&sampler->arena);
}

void sampler_drop_descriptors(struct wp_sampler *sampler)
{
    sampler->census.task_directory = -1;
    observe_drop_descriptors(&sampler->observer);
}

/* ---- threads that come and go ---- */

static arena_ref make_record(struct wp_sampler *sampler, const struct wp_thread *thread, arena_ref root,
                             uint64_t start_ns)
{
    arena_ref ref = arena_alloc_reserved(&sampler->arena, sizeof(struct wp_thread_record));
    if (!ref)
        return 0;
    struct wp_thread_record *record = arena_at(&sampler->arena, ref);
    record->root = root;
    record->number = thread->recorded_number;
    record->tid = thread->tid;
    record->start_ns = start_ns;
    record->next = sampler->newest_record;
    sampler->newest_record = ref;
    return ref;
}

static void record_end(struct wp_sampler *sampler, const struct wp_thread *thread, uint64_t end_ns)
{
    if (!thread->record)
        return;
    struct wp_thread_record *record = arena_at(&sampler->arena, thread->record);
    record->end_ns = end_ns;
    memcpy(record->name, thread->end_name, sizeof(record->name));
}

static void end_thread(struct wp_sampler *sampler, struct wp_thread *thread, uint64_t end_ns,
                       uint64_t end_cpu_ns, enum fold_rest rest)
{
    census_forget(&sampler->census, thread, end_ns);
    if (thread->live_index == THREAD_NOT_LIVE) {
        threads_release(sampler->threads, thread);
        return;
    }
    observe_forget(&sampler->observer, thread);
    if (!sampler->is_stopped) {
        fold_stretch_ended(&thread->fold, schedule_until(&sampler->schedule, &thread->schedule));
        schedule_remove(&sampler->schedule, &thread->schedule);
        fold_thread_end(&sampler->fold, &thread->fold, end_ns, end_cpu_ns, rest);
        if (sampler->timeline)
            timeline_end(sampler->timeline, &thread->fold.timeline);
    }
    sampler_show_end(sampler, thread);
    record_end(sampler, thread, end_ns);
    threads_remove(sampler->threads, thread);
    threads_release(sampler->threads, thread);
}

/* Nobody has reported its end: what is known is that it was there at the last look. */
static void end_gone(struct wp_sampler *sampler, struct wp_thread *thread, uint64_t end_ns)
{
    if (!thread->is_foreign)
        threads_uncount(sampler->threads, thread);
    sampler->was_left_silently |= !thread->is_foreign;
    end_thread(sampler, thread, end_ns, thread->fold.cpu_clock_ns, FOLD_REST_UNSAMPLED);
}

void sampler_schedule(struct wp_sampler *sampler, struct wp_thread *thread, uint64_t start_ns)
{
    schedule_add(&sampler->schedule, &thread->schedule);
    for (uint32_t i = 0; i < sampler->skipped && sampler->skipped_ns[i] <= start_ns; i++)
        thread->schedule.begin++; /* its first stretch, too, begins at the last tick before its start */
    timeline_begin(&thread->fold.timeline, thread->recorded_number, thread->schedule.begin);
}

void sampler_record(struct wp_sampler *sampler, struct wp_thread *thread, uint64_t start_ns,
                    uint64_t start_cpu_ns)
{
    arena_ref root = tree_root(&sampler->tree, thread->recorded_number);
    thread->record = make_record(sampler, thread, root, start_ns);
    fold_thread_begin(&thread->fold, root, start_ns, start_cpu_ns);
    sampler_schedule(sampler, thread, start_ns);
    sampler_show_thread(sampler, thread, start_ns);
}

static void begin_thread(struct wp_sampler *sampler, struct wp_thread *thread)
{
    bool has_left = sampler->is_stopped && sig_load_acquire(&thread->end_ns) != 0; /* as in observe.c */
    if (has_left || threads_add(sampler->threads, thread) < 0) {
        thread->live_index = THREAD_NOT_LIVE; /* or no memory for an array slot: it stays unseen */
        return;
    }
    observe_begin(&sampler->observer, thread);
    if (thread->start_ns < sampler->start_ns)
        thread->start_ns = sampler->start_ns;
    if (!sampler->is_stopped)
        sampler_record(sampler, thread, thread->start_ns, thread->start_cpu_ns);
}

/* In the order of registration. */
static void number_arrived(struct wp_sampler *sampler, struct wp_thread *newest)
{
    for (struct wp_thread *thread = newest; thread; thread = thread->next_arrived)
        sampler->thread_count++;
    for (uint32_t number = sampler->thread_count; newest; newest = newest->next_arrived)
        newest->recorded_number = number--;
}

/* Two threads are not there under one tid: the one that has begun earlier has ended without a word. The last
 * to arrive comes first, and the one before it, of the same tid, may have left in the meantime. */
static void begin_arrived(struct wp_sampler *sampler)
{
    struct wp_thread *thread = threads_take_arrived(sampler->threads), *next;
    if (!thread)
        return;
    uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!sampler->is_stopped)
        number_arrived(sampler, thread);
    for (; thread; thread = next) {
        next = thread->next_arrived;
        struct wp_thread *former = threads_find(sampler->threads, thread->tid);
        if (former && former->start_ns < thread->start_ns)
            end_gone(sampler, former, thread->start_ns);
        begin_thread(sampler, thread);
    }
    sampler->upkeep_cpu_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
}

/* What is not covered by an observation: owed by a thread that does not answer, or simply not sampled. */
static enum fold_rest rest_of(const struct wp_thread *thread, uint64_t end_ns)
{
    return observe_is_overdue(thread, end_ns) ? FOLD_REST_NOT_RESPONDING : FOLD_REST_UNSAMPLED;
}

static void end_left(struct wp_sampler *sampler, struct wp_thread *left)
{
    if (!left)
        return;
    uint64_t cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    for (struct wp_thread *thread = left, *next; thread; thread = next) {
        next = thread->next_left;
        uint64_t end_ns = sig_load_acquire(&thread->end_ns); /* partner: the release in threads_leave */
        end_thread(sampler, thread, end_ns, thread->end_cpu_ns, rest_of(thread, end_ns));
    }
    sampler->upkeep_cpu_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
}

/* ---- threads no hook has seen ---- */

static void adopt(struct wp_sampler *sampler, const struct census_task *stranger)
{
    struct wp_thread *thread = threads_acquire(sampler->threads);
    if (!thread)
        return;
    bool is_older = stranger->time_ns < sampler->start_ns;
    threads_uncount(sampler->threads, thread);
    if (census_adopt(&sampler->census, thread, stranger) < 0) {
        threads_release(sampler->threads, thread);
        return;
    }
    thread->tid = stranger->tid;
    thread->number = sig_add_relaxed(&sampler->threads->next_number, 1) + 1;
    thread->recorded_number = ++sampler->thread_count;
    thread->start_ns = is_older ? sampler->start_ns : stranger->time_ns;
    thread->start_cpu_ns = is_older ? clock_read_ns(clock_of_thread(stranger->tid)) : 0;
    begin_thread(sampler, thread);
    tasks_name(sampler->census.task_directory, stranger->tid, thread->end_name, sizeof(thread->end_name));
}

static void adopt_strangers(struct wp_sampler *sampler)
{
    struct census_task stranger;
    while (census_next_stranger(&sampler->census, sampler->threads, &stranger))
        adopt(sampler, &stranger);
}

void sampler_take_census(struct wp_sampler *sampler, uint64_t now_ns)
{
    struct wp_thread *gone;
    if (!census_look(&sampler->census, sampler->threads, now_ns))
        return;
    begin_arrived(sampler);
    while ((gone = census_next_gone(&sampler->census, sampler->threads)) != NULL)
        end_gone(sampler, gone, now_ns);
    adopt_strangers(sampler);
}

/* In a table that is the program's too, which may close it, or find its own descriptors numbered otherwise.
 */
static void close_directory(struct wp_sampler *sampler)
{
    if (sampler->census.task_directory >= 0)
        close(sampler->census.task_directory);
    sampler_drop_descriptors(sampler);
}

int sampler_enter(struct wp_sampler *sampler, bool has_own_descriptors)
{
    int status = modules_init(&sampler->modules, &sampler->arena);
    if (status < 0)
        return status;
    census_open(&sampler->census);
    observe_enter(&sampler->observer, sampler->census.task_directory, has_own_descriptors);
    begin_arrived(sampler);
    while (census_look_at_start(&sampler->census, sampler->threads))
        adopt_strangers(sampler);
    if (!has_own_descriptors)
        close_directory(sampler);
    sampler->modules_changed = true;
    return 0;
}

/* The descriptors go with the thread's table, the watches of all threads among them. */
void sampler_pause(struct wp_sampler *sampler)
{
    sampler->former_cpu_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    sampler_drop_descriptors(sampler);
}

void sampler_resume(struct wp_sampler *sampler, bool has_own_descriptors)
{
    census_open(&sampler->census);
    observe_enter(&sampler->observer, sampler->census.task_directory, has_own_descriptors);
    if (!has_own_descriptors)
        close_directory(sampler);
}

/* ---- modules ---- */

void sampler_refresh_modules(struct wp_sampler *sampler)
{
    uint32_t ended = sig_handler_unloads().ended;
    bool is_changed = modules_refresh(&sampler->modules);
    if (is_changed)
        locate_forget(&sampler->locate);
    sampler->modules_changed |= is_changed;
    sampler->unloads_ended = ended;
    if (!is_changed)
        return;
    uint64_t now_ns = clock_monotonic_ns();
    sampler->modules_quiet_ns = now_ns + modules_settle_ns;
    if (sampler->timeline)
        events_note_modules(sampler->timeline, &sampler->modules, now_ns);
}

/* A table is built in memory that handlers have left for certain: only after the one before has been taken
 * over. */
void sampler_publish_modules(struct wp_sampler *sampler)
{
    if (!sampler->pending_table && sampler->modules_changed) {
        sampler->pending_table = modules_table(&sampler->modules);
        sampler->pending_unloads_ended = sampler->unloads_ended;
        sampler->modules_changed = !sampler->pending_table;
    }
    if (sampler->pending_table &&
        sig_handler_publish_modules(sampler->pending_table, sampler->pending_unloads_ended,
                                    clock_monotonic_ns() + publish_patience_ns))
        sampler->pending_table = NULL;
    if (!sampler->pending_table && !sampler->modules_changed)
        sig_handler_confirm_modules(sampler->unloads_ended);
}

bool sampler_is_deserted(const struct wp_sampler *sampler)
{
    return sampler->was_left_silently && sampler->threads->live_count == 0 &&
           sig_load_seq_cst(&sampler->threads->registered) == 0;
}

/* ---- the tick ---- */

/* The shared frames too, where the node to go on from is not known. */
static void make_whole(struct wp_sampler *sampler, const struct wp_memo *memo, struct locate_stack *stack)
{
    memcpy(sampler->whole, stack->addresses, sizeof(uint64_t) * stack->depth);
    stack->depth =
        memo_whole(memo, sampler->whole, stack->depth, sampler->path_capacity - 1 - LABELS_DEPTH_MAX);
    stack->addresses = sampler->whole;
}

/* A thread that is found deep has a memo from then on, and one that is found deeper a larger one. */
static void provide_memo(struct wp_sampler *sampler, struct wp_thread *thread, uint32_t depth)
{
    if (depth < MEMO_LEAST_FRAMES || (thread->memo && depth <= thread->memo->frames))
        return;
    memo_destroy(&sampler->observer.memos, thread->memo);
    thread->memo = memo_create(&sampler->observer.memos, depth);
}

/* The thread's labels, as the outermost frames of its stack: the first of them right below the root. A base
 * has them already. */
static void add_labels(struct wp_sampler *sampler, uint32_t stack, struct fold_observation *observation)
{
    const struct label_table *labels = labels_of_process();
    uint32_t set[LABELS_DEPTH_MAX];
    size_t count = labels_of_stack(labels, stack, set);
    for (size_t i = observation->base ? 0 : count; i-- > 0;)
        sampler->path[observation->depth++] =
            tree_label(&sampler->tree, labels_key(labels, set[i]), labels_value(labels, set[i]));
    observation->label_count = (uint32_t)count;
}

/* A stack as it was answered, from locations to the node, or from the last node it shares with the one
 * before. */
static void fold_stack(struct wp_sampler *sampler, const struct observation *seen,
                       struct fold_observation *observation)
{
    struct wp_thread *thread = seen->thread;
    struct wp_memo *memo = seen->by_memo ? thread->memo : NULL;
    struct locate_stack stack = {seen->addresses, seen->depth, seen->is_truncated, seen->moment,
                                 sampler->inner};
    uint64_t overflows = sampler->tree.overflows;
    observation->base = memo ? memo_base(memo, seen->labels) : 0;
    if (memo && !observation->base)
        make_whole(sampler, memo, &stack);
    sampler_refresh_modules(sampler); /* now that the answer is there: what modules_at asks for */
    observation->depth = locate_path(&sampler->locate, &stack, sampler->path);
    add_labels(sampler, seen->labels, observation);
    fold_observe(&sampler->fold, &thread->fold, observation);
    if (memo && overflows == sampler->tree.overflows)
        memo_keep(memo, &sampler->tree, thread->fold.node, sampler->inner, stack.depth, seen->labels);
    provide_memo(sampler, thread, memo ? memo->walk->count : seen->depth);
}

/* Being looked at costs a thread some CPU time too. This decides how often it is looked at, no more. */
static bool is_active(const struct observation *seen)
{
    return seen->is_running || seen->cpu_clock_ns > seen->thread->fold.cpu_clock_ns + look_cost_ns;
}

static void fold_one(struct wp_sampler *sampler, const struct observation *seen)
{
    if (sampler->is_stopped || seen->time_ns < sampler->start_ns)
        return; /* asked before the recording was stopped, or began anew */
    struct fold_observation observation = {
        .time_ns = seen->time_ns,
        .cpu_clock_ns = seen->cpu_clock_ns,
        .is_running = seen->is_running,
        .is_unchanged = seen->is_unchanged,
        .is_unknown = seen->is_unknown,
        .is_left_out = seen->is_left_out,
        .path = sampler->path,
    };
    observation.until_ns = schedule_stretch(&seen->thread->schedule, &observation.time_ns);
    observation.until_tick = schedule_stretch_tick(&seen->thread->schedule, observation.until_ns);
    schedule_seen(&sampler->schedule, &seen->thread->schedule, is_active(seen));
    if (seen->is_unknown || seen->is_unchanged || seen->is_left_out)
        fold_observe(&sampler->fold, &seen->thread->fold, &observation);
    else
        fold_stack(sampler, seen, &observation);
    sampler->counters.truncated += seen->is_truncated;
    sampler->counters.full_walks += seen->by_full_walk;
    sampler_show_thread(sampler, seen->thread, observation.time_ns);
}

bool sampler_awaits_answers(const struct wp_sampler *sampler, uint64_t now_ns)
{
    return now_ns < sampler->modules_quiet_ns;
}

void sampler_collect(struct wp_sampler *sampler, uint64_t now_ns)
{
    struct observation seen;
    while (observe_next(&sampler->observer, now_ns, &seen))
        fold_one(sampler, &seen);
}

static void begin_tick(struct wp_sampler *sampler, uint64_t now_ns)
{
    schedule_tick(&sampler->schedule, now_ns);
    if (sampler->timeline)
        sampler->timeline->tick = sampler->schedule.tick;
}

/* Tells the schedule of the ticks that were left out, but for those that have not come yet. */
static void count_skipped_ticks(struct wp_sampler *sampler, uint64_t now_ns)
{
    uint32_t past = 0;
    while (past < sampler->skipped && sampler->skipped_ns[past] <= now_ns)
        begin_tick(sampler, sampler->skipped_ns[past++]);
    sampler->counters.ticks += past;
    sampler->skipped = 0;
}

/*
 * Who left is closed only after what it answered has been taken, and after it has been begun. Who has come is
 * planned with the ticks that were left out since; answers come behind these, as some have only been given
 * then, and must not choose for them any more.
 */
void sampler_gather(struct wp_sampler *sampler, uint64_t now_ns)
{
    struct wp_thread *left = threads_take_left(sampler->threads);
    begin_arrived(sampler);
    count_skipped_ticks(sampler, now_ns);
    sampler_collect(sampler, now_ns);
    end_left(sampler, left);
}

static struct wp_thread *thread_of(struct schedule_thread *look)
{
    return (struct wp_thread *)((char *)look - offsetof(struct wp_thread, schedule));
}

static void look_at_threads(struct wp_sampler *sampler, uint64_t now_ns)
{
    struct observation seen;
    struct schedule_thread *look;
    begin_tick(sampler, now_ns);
    while ((look = schedule_next(&sampler->schedule, clock_monotonic_ns()))) {
        struct wp_thread *thread = thread_of(look);
        sampler->looks++;
        fold_stretch_ended(&thread->fold, look->begin_ns);
        if (observe_look(&sampler->observer, thread, look->look_ns, &seen))
            fold_one(sampler, &seen);
    }
}

/* A thread that has made its mask past the C library is asked with another number if it lets that in. */
static void settle_signal(struct wp_sampler *sampler)
{
    struct wp_observer *observer = &sampler->observer;
    if (observer->is_held_back_below) {
        sampler->signals_taken |= sig_numbers_bit(sig_numbers_current());
        sig_numbers_ask_back(sig_numbers_current());
        observer->is_held_back_below = false;
    }
    sampler->signals_taken |= sig_handler_settle_numbers();
    observe_use_signal(observer, sig_numbers_current());
}

void sampler_send(struct wp_sampler *sampler, uint64_t now_ns)
{
    sampler_gather(sampler, now_ns);
    sampler_take_census(sampler, now_ns);
    sampler_refresh_modules(sampler);
    sampler_publish_modules(sampler);
    sampler->observer.look = sampler->modules.now.number;
    settle_signal(sampler);
    if (sampler->timeline)
        events_note_late(sampler->timeline, sampler->tick.late, sampler->fold.period_ns, now_ns);
    look_at_threads(sampler, now_ns);
    sampler->counters.ticks++;
    sampler_show(sampler, now_ns);
}

void sampler_skip_ticks(struct wp_sampler *sampler, uint64_t now_ns)
{
    uint32_t empty = schedule_empty_ticks(&sampler->schedule, SAMPLER_SKIPPED_MAX);
    uint64_t part_ns = sampler->restraint.period_ns / SKIP_PERIOD_PARTS;
    uint64_t until_ns = now_ns + (part_ns > skip_ns ? part_ns : skip_ns);
    while (sampler->skipped < empty && sampler->tick.deadline_ns < until_ns) {
        sampler->skipped_ns[sampler->skipped++] = sampler->tick.deadline_ns;
        tick_advance(&sampler->tick, sampler->tick.deadline_ns, &sampler->random);
    }
}

void sampler_restrain(struct wp_sampler *sampler, uint64_t now_ns)
{
    struct wp_restraint *restraint = &sampler->restraint;
    if (!restraint_is_due(restraint, now_ns, sampler->looks))
        return;
    uint64_t cpu_ns = sampler->former_cpu_ns + clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    struct restraint_use use = {
        .now_ns = now_ns,
        .looks = sampler->looks,
        .own_cpu_ns = cpu_ns + sampler->observer.answers_cpu_ns,
        .upkeep_cpu_ns = sampler->upkeep_cpu_ns,
        .program_cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns,
        .looks_per_tick = schedule_looks_per_tick(&sampler->schedule),
        .processes = family_tell(&sampler->family, now_ns),
    };
    sampler->family_count = use.processes;
    restraint_judge(restraint, &use);
    sampler->schedule.spread = (uint32_t)(restraint->period_ns * SCHEDULE_SPREAD_ONE / restraint->asked_ns);
}

/* ---- the end ---- */

/* A thread that lives, for the last time or as if. */
struct last_look {
    uint64_t cpu_ns;
    enum fold_rest rest;
};

static struct last_look look_at_live(struct wp_sampler *sampler, struct wp_thread *thread, uint64_t now_ns)
{
    char name[THREAD_NAME_BYTES];
    struct last_look look = {.cpu_ns = clock_read_ns(clock_of_thread(thread->tid))};
    tasks_name(sampler->census.task_directory, thread->tid, name, sizeof(name));
    if (marks_name(&thread->marks, name) || *name)
        memcpy(thread->end_name, name, sizeof(name));
    bool is_where_it_was = observe_has_not_run(&sampler->observer, thread);
    look.rest = is_where_it_was ? FOLD_REST_UNCHANGED : rest_of(thread, now_ns);
    return look;
}

static void close_live(struct wp_sampler *sampler, struct wp_thread *thread, uint64_t now_ns)
{
    struct last_look look = look_at_live(sampler, thread, now_ns);
    if (sampler->is_stopped) /* it has been settled */
        look = (struct last_look){0};
    end_thread(sampler, thread, now_ns, look.cpu_ns, look.rest);
}

static void settle_live(struct wp_sampler *sampler, struct wp_thread *thread, uint64_t now_ns)
{
    uint64_t end_ns = sig_load_acquire(&thread->end_ns); /* partner: the release in threads_leave */
    if (end_ns != 0 && end_ns < now_ns)
        now_ns = end_ns; /* it has left just now */
    struct last_look look = look_at_live(sampler, thread, now_ns);
    uint64_t stretch_end_ns = schedule_until(&sampler->schedule, &thread->schedule);
    fold_thread_settle(&sampler->fold, &thread->fold, stretch_end_ns, now_ns, look.cpu_ns, look.rest);
    record_end(sampler, thread, now_ns);
    sampler_show_thread(sampler, thread, now_ns);
}

void sampler_count_up(struct wp_sampler *sampler)
{
    sampler->counters.samples = sampler->fold.samples;
    const struct wp_counters *before = &sampler->counted_before;
    sampler->counters.late_ticks = sampler->tick.late - before->late_ticks;
    sampler->counters.unchanged = sampler->observer.made.unchanged;
    sampler->counters.walked = sampler->observer.made.walked;
    sampler->counters.answered = sampler->observer.made.answered;
    sampler->counters.unanswered = sampler->observer.made.unanswered;
    sampler->counters.stray = sig_handler_stray_count() - before->stray;
    sampler->counters.answers_cpu_ns = sampler->observer.answers_cpu_ns - before->answers_cpu_ns;
    sampler->counters.sampler_cpu_ns =
        sampler->former_cpu_ns + clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - before->sampler_cpu_ns;
}

/* The threads' names are read there. Whether it was open already. */
static bool open_for_names(struct wp_sampler *sampler)
{
    bool was_open = sampler->census.task_directory >= 0;
    if (!was_open)
        sampler->census.task_directory = tasks_open();
    return was_open;
}

void sampler_settle(struct wp_sampler *sampler, uint64_t now_ns)
{
    sampler_gather(sampler, now_ns);
    sampler_refresh_modules(sampler);
    bool was_open = open_for_names(sampler);
    for (uint32_t i = 0; i < sampler->threads->live_count; i++)
        settle_live(sampler, sampler->threads->live[i], now_ns);
    if (!was_open)
        close_directory(sampler);
    sampler_count_up(sampler);
}

void sampler_close(struct wp_sampler *sampler, uint64_t now_ns)
{
    sampler_gather(sampler, now_ns);
    sampler_refresh_modules(sampler);
    family_leave(&sampler->family);
    bool was_open = open_for_names(sampler);
    while (sampler->threads->live_count > 0)
        close_live(sampler, sampler->threads->live[sampler->threads->live_count - 1], now_ns);
    if (!was_open)
        close_directory(sampler);
    sampler_count_up(sampler);
}
