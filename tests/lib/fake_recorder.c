#include "fake_recorder.h"
#include "sample/sampler_internal.h"
#include "fake_module.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

arena_ref fake_recorder_module(struct fake_recorder *recorder, const char *path)
{
    struct sampler *sampler = &recorder->sampler;
    arena_ref ref = fake_module(&sampler->modules.list, path, 0);
    struct module *module = arena_at(&sampler->arena, ref);
    module->start_pc = 0x1000;
    module->end_pc = 0x100000;
    module->is_sampled = true;
    return ref;
}

void fake_recorder_init(struct fake_recorder *recorder, size_t arena_bytes, size_t timeline_bytes)
{
    struct sampler *sampler = &recorder->sampler;
    memset(recorder, 0, sizeof(*recorder));
    if (arena_init(&sampler->arena, arena_bytes) < 0 || tree_init(&sampler->tree, &sampler->arena) < 0 ||
        threads_init(&recorder->threads) < 0)
        abort();
    sampler->threads = &recorder->threads;
    sampler->start_ns = FAKE_START_NS;
    sampler->modules.list.arena = &sampler->arena;
    sampler->thread_scan.task_directory = -1;
    random_init(&sampler->random, 1);
    if (timeline_bytes > 0)
        sampler->timeline = timeline_create(timeline_bytes, FAKE_START_NS, 1);
    sampler->account.fold =
        (struct fold){.tree = &sampler->tree, .period_ns = FAKE_PERIOD_NS, .timeline = sampler->timeline};
    recorder->module = fake_recorder_module(recorder, "/bin/fake");
    recorder->fd = -1;
}

void fake_recorder_deinit(struct fake_recorder *recorder)
{
    mapped_store_drop(&recorder->sampler.mapped_store);
    timeline_destroy(recorder->sampler.timeline);
    tree_deinit(&recorder->sampler.tree);
    arena_deinit(&recorder->sampler.arena);
    threads_deinit(&recorder->threads);
    if (recorder->fd >= 0)
        close(recorder->fd);
}

int fake_recorder_keep(struct fake_recorder *recorder, const char *path, uint64_t time_ns)
{
    struct store_header header = {.start_utc_ns = UINT64_C(1764000000000000000)};
    recorder->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return recorder->fd < 0
               ? -1
               : sampler_keep(&recorder->sampler, recorder->fd, &header, FAKE_START_NS + time_ns);
}

struct thread *fake_recorder_begin(struct fake_recorder *recorder, uint64_t time_ns, bool is_shared)
{
    struct sampler *sampler = &recorder->sampler;
    struct thread *thread = threads_acquire(&recorder->threads);
    if (!thread)
        abort();
    thread->number = 0;
    thread->record = thread_records_take(&sampler->records, &sampler->arena, &thread->number);
    thread->tid = 1000 + (int)thread->number;
    thread->start_ns = FAKE_START_NS + time_ns;
    if (threads_add(&recorder->threads, thread) < 0)
        abort();
    arena_ref root = is_shared ? sampler->tree.spare_root : tree_root(&sampler->tree, thread->number);
    struct thread_record *record = arena_at(&sampler->arena, thread->record);
    record->root = root;
    record->tid = thread->tid;
    record->start_ns = thread->start_ns;
    thread_records_link(&sampler->records, &sampler->arena, thread->record);
    fold_thread_begin(&thread->fold, root, &(struct fold_clocks){thread->start_ns, 0, FOLD_NO_DELAY});
    thread->schedule.begin = sampler->schedule.tick;
    timeline_begin(&thread->fold.timeline, thread->number, thread->schedule.begin);
    sampler_show_thread(sampler, thread, thread->start_ns);
    return thread;
}

static struct fake_path fake_recorder_path(struct fake_recorder *recorder, const char *stack)
{
    struct fake_path path = {.depth = fake_depth(stack)};
    for (size_t i = path.depth; i-- > 0;) {
        uint64_t address = fake_frame(&stack);
        path.locations[i] =
            tree_location(&recorder->sampler.tree, recorder->module, address, address & ~UINT64_C(0xff));
    }
    return path;
}

void fake_recorder_fold(struct fake_recorder *recorder, struct thread *thread, uint64_t time_ns,
                        uint64_t until_ns, uint64_t cpu_ns, bool is_running, const char *stack)
{
    struct fake_path path = fake_recorder_path(recorder, stack);
    struct fold_observation observation = {
        .time_ns = FAKE_START_NS + time_ns,
        .until_ns = until_ns == FOLD_GOES_ON || until_ns == 0 ? until_ns : FAKE_START_NS + until_ns,
        .cpu_clock_ns = cpu_ns,
        .is_running = is_running,
        .path = path.locations,
        .depth = path.depth,
        .until_tick = recorder->sampler.schedule.tick,
    };
    fold_stretch_ended(&thread->fold, FAKE_START_NS + time_ns);
    fold_observe(&recorder->sampler.account.fold, &thread->fold, &observation);
}

void fake_recorder_observe(struct fake_recorder *recorder, struct thread *thread, uint64_t time_ns,
                           uint64_t until_ns, uint64_t cpu_ns, bool is_running, const char *stack)
{
    fake_recorder_fold(recorder, thread, time_ns, until_ns, cpu_ns, is_running, stack);
    sampler_show_thread(&recorder->sampler, thread, FAKE_START_NS + time_ns);
}

void fake_recorder_end(struct fake_recorder *recorder, struct thread *thread, uint64_t time_ns,
                       uint64_t cpu_ns)
{
    struct sampler *sampler = &recorder->sampler;
    struct thread_record *record = arena_at(&sampler->arena, thread->record);
    fold_stretch_ended(&thread->fold, FAKE_START_NS + time_ns);
    fold_thread_end(&sampler->account.fold, &thread->fold,
                    &(struct fold_clocks){FAKE_START_NS + time_ns, cpu_ns, FOLD_NO_DELAY},
                    FOLD_REST_UNSAMPLED);
    if (sampler->timeline)
        timeline_end(sampler->timeline, &thread->fold.timeline);
    sampler_show_end(sampler, thread);
    record->end_ns = FAKE_START_NS + time_ns;
    thread_records_end(&sampler->records, record, record->end_ns - record->start_ns, cpu_ns);
    threads_remove(&recorder->threads, thread);
    threads_release(&recorder->threads, thread);
}

void fake_recorder_tick(struct fake_recorder *recorder, uint64_t time_ns)
{
    recorder->sampler.schedule.tick = time_ns / FAKE_PERIOD_NS;
    if (recorder->sampler.timeline)
        recorder->sampler.timeline->tick = recorder->sampler.schedule.tick;
    sampler_show(&recorder->sampler, FAKE_START_NS + time_ns);
}
