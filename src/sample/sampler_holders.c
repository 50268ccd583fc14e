/* Holders of locks: what they are called, and what they do while others wait for them. */
#include "sampler_internal.h"
#include "base/clock.h"
#include "base/smaller.h"
#include "sig/sys/sig_atomic.h"
#include "proc/proc_tasks.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { LINKS_MAX = 16, FRAMES_NAMED_MAX = 64, NOTES_BYTES_MAX = 4096 };

static const uint64_t holder_name_min_ns = 50 * NS_PER_MS;

/* ---- names ---- */

/* As for a mapped store, a name is read again whenever its thread's age has doubled. */
static void label_holder(struct sampler *sampler, struct thread *thread, uint64_t now_ns)
{
    char name[THREAD_NAME_BYTES + 1] = "";
    const uint64_t age_ns = since(thread->start_ns, now_ns);
    thread->holder.due_ns = now_ns + (age_ns > holder_name_min_ns ? age_ns : holder_name_min_ns);
    if (!thread_annotations_name(&thread->annotations, name))
        proc_tasks_name(sampler->thread_scan.task_directory, thread->tid, name, THREAD_NAME_BYTES);
    if (!*name && thread->holder.label)
        return;
    thread->holder.label = *name ? waits_holder_label(&sampler->waits, name) : 0;
}

arena_ref sampler_find_holder(void *context, pid_t tid, uint64_t other_ns)
{
    struct sampler *sampler = context;
    struct thread *thread = threads_find(sampler->threads, tid);
    sampler->holder = NULL;
    if (!thread || (thread->holder.shares_tid && thread->start_ns >= other_ns))
        return 0;
    const uint64_t now_ns = sampler->waits.tick_ns;
    if (!thread->holder.label || now_ns >= thread->holder.due_ns)
        label_holder(sampler, thread, now_ns);
    sampler->holder = thread;
    return thread->holder.label;
}

/* ---- what holders do ---- */

/* A sample that found it blocked says where it is as long as it has not run, and costs nothing more. */
static void look_as_sampled(struct thread *thread)
{
    const struct remote_memory *sampled = &thread->remote;
    struct remote_memory *looked = &thread->look.memory;
    if (sampled->is_reference && !(looked->is_reference && looked->reference == sampled->reference)) {
        *looked = *sampled;
        thread->look.node = thread->fold.node;
    }
    looked->replied = sampled->replied;
}

/* It runs. If this tick has a sample of it yet to come, that will be seen; else it is asked. */
static enum look ask(struct sampler *sampler, struct thread *thread)
{
    const bool is_due =
        thread->schedule.due <= sampler->schedule.tick && thread->schedule.sample_ns < sampler->waits.tick_ns;
    if (!sampler->may_ask)
        return LOOK_NONE;
    return is_due || observe_ask(&sampler->observer, thread, sampler->waits.tick_ns) ? LOOK_COMES : LOOK_NONE;
}

/* *wait: what the thread waits for. With a holder, sampler->holder is that. */
static enum look look_at(struct sampler *sampler, struct thread *thread, struct wait_locations *wait)
{
    struct observation seen;
    if (sig_load_relaxed(&thread->annotations.is_uninteresting)) /* its stacks are not to be read */
        return LOOK_NONE;
    look_as_sampled(thread);
    enum look look = observe_look(&sampler->observer, thread, sampler->waits.tick_ns, &seen);
    if (look == LOOK_RUNS)
        return ask(sampler, thread);
    if (look == LOOK_WALKED) {
        sampler_refresh_modules(sampler);
        thread->look.node = account_find_node(&sampler->account, &thread->fold, &seen.stack);
    }
    if (look == LOOK_WALKED || look == LOOK_UNCHANGED)
        *wait = seen.sample.wait;
    return look;
}

/* Who waits for whom: the first waits for a lock that the second holds, and so on. */
struct chain {
    struct thread *threads[1 + LINKS_MAX];
    arena_ref on[1 + LINKS_MAX]; /* the labels of these locks */
    uint32_t count;
    enum look look;  /* what the last one does */
    bool is_circle;  /* the last one waits for one of them: */
    uint32_t closes; /* which */
};

static bool is_among(const struct chain *chain, const struct thread *thread, uint32_t *at)
{
    for (*at = 0; *at < chain->count; ++*at) {
        if (chain->threads[*at] == thread)
            return true;
    }
    return false;
}

/* A holder that waits for a lock with a holder leads on to that. */
static void follow(struct sampler *sampler, struct thread *waiter, const struct wait_locations *wait,
                   struct chain *chain)
{
    struct wait_locations next = *wait;
    *chain = (struct chain){.threads = {waiter}, .on = {wait->on}, .count = 1};
    while (chain->count <= LINKS_MAX && next.holder && sampler->holder) {
        struct thread *holder = sampler->holder;
        chain->is_circle = is_among(chain, holder, &chain->closes);
        if (chain->is_circle)
            return;
        next = (struct wait_locations){0};
        chain->look = look_at(sampler, holder, &next);
        chain->on[chain->count] = next.on;
        chain->threads[chain->count++] = holder;
    }
}

/* What one of a chain waits for. */
static const struct waits_memory *wait_of(const struct chain *chain, uint32_t index)
{
    const struct thread *thread = chain->threads[index];
    return index == 0 ? &thread->remote.wait : &thread->look.memory.wait;
}

/* Whether each of them holds the lock still, after the looks. A lock that was handed over meanwhile says
 * nothing of its holder then. */
static bool is_still(struct sampler *sampler, const struct chain *chain)
{
    for (uint32_t i = 0; i + 1 < chain->count; i++) {
        if (!waits_is_held(&sampler->waits, wait_of(chain, i), chain->threads[i + 1]->tid))
            return false;
    }
    return true;
}

/* ---- deadlocks ---- */

static struct remote_memory *memory_of(const struct chain *chain, uint32_t index)
{
    return index == 0 ? &chain->threads[0]->remote : &chain->threads[index]->look.memory;
}

/* False if one of the circle may go on by itself. */
static bool list_circle(const struct chain *chain, struct deadlock_member *ret)
{
    for (uint32_t i = chain->closes; i < chain->count; i++, ret++) {
        const struct remote_memory *memory = memory_of(chain, i);
        if (!memory->is_reference || !memory->wait.is_waiting || memory->wait.is_timed ||
            !memory->wait.holder_at)
            return false;
        *ret = (struct deadlock_member){chain->threads[i]->tid, memory->reference, memory->wait.holder_at};
    }
    return true;
}

/* Whether none has run since it was found waiting, by the run counts themselves, and each holds its lock. */
static bool is_stuck(struct sampler *sampler, const struct chain *chain)
{
    struct thread_stats *stats = &sampler->observer.remote.stats;
    struct thread_stat_runs runs;
    const pid_t first = chain->threads[chain->closes]->tid;
    if (!is_still(sampler, chain) || !waits_is_held(&sampler->waits, wait_of(chain, chain->count - 1), first))
        return false;
    for (uint32_t i = chain->closes; i < chain->count; i++) {
        struct thread *thread = chain->threads[i];
        const bool is_known = thread_stat_runs(stats, &thread->stat, thread->tid, &runs) == THREAD_STAT_KNOWN;
        thread_stat_let_go(stats);
        if (!is_known || runs.count != memory_of(chain, i)->reference)
            return false;
    }
    return true;
}

static void name_waiter(struct sampler *sampler, arena_ref node, char ret[LOCK_NAME_BYTES])
{
    const struct tree *tree = &sampler->tree;
    uint64_t addresses[FRAMES_NAMED_MAX];
    uint32_t depth = 0;
    for (; depth < FRAMES_NAMED_MAX && node && tree_node(tree, node)->parent;
         node = tree_node(tree, node)->parent) {
        const struct location *location = tree_location_at(tree, tree_node(tree, node)->location);
        if (!location->pseudo && location->module)
            addresses[depth++] = location->address;
    }
    const struct lock_stack stack = {.addresses = addresses, .depth = depth};
    known_locks_waiter(&sampler->waits.names, &sampler->waits.functions, &stack, ret);
}

static const char *name_of_label(const struct sampler *sampler, arena_ref label, const char *otherwise)
{
    return label ? tree_label_value(&sampler->arena, tree_location_at(&sampler->tree, label)) : otherwise;
}

/* For the recording, of a program that is killed too. */
static void note_deadlock(struct sampler *sampler)
{
    const char *before = sampler->deadlock_notes ? arena_at(&sampler->arena, sampler->deadlock_notes) : "";
    const size_t bytes = strlen(before) + strlen(sampler->deadlocks.text) + 2;
    const arena_ref notes = bytes <= NOTES_BYTES_MAX ? arena_alloc(&sampler->arena, bytes) : 0;
    if (!notes)
        return;
    snprintf(arena_at(&sampler->arena, notes), bytes, "%s%s\n", before, sampler->deadlocks.text);
    sampler->deadlock_notes = notes;
    if (mapped_store_is_kept(&sampler->mapped_store))
        sampler->mapped_store.header->messages = notes;
}

static void say_deadlock(struct sampler *sampler, const struct chain *chain, uint64_t key)
{
    char function[LOCK_NAME_BYTES];
    const struct thread *first = chain->threads[chain->closes];
    deadlocks_begin_text(&sampler->deadlocks, key);
    for (uint32_t i = chain->closes; i < chain->count; i++) {
        const struct thread *thread = chain->threads[i];
        name_waiter(sampler, i == 0 ? thread->fold.node : thread->look.node, function);
        deadlocks_add_text(&sampler->deadlocks, thread->tid,
                           name_of_label(sampler, thread->holder.label, "a thread"), function,
                           name_of_label(sampler, chain->on[i], "a lock"));
    }
    deadlocks_end_text(&sampler->deadlocks, first->tid,
                       name_of_label(sampler, first->holder.label, "a thread"));
    note_deadlock(sampler);
}

static void see_circle(struct sampler *sampler, const struct chain *chain)
{
    struct deadlock_member members[1 + LINKS_MAX];
    if (*sampler->deadlocks.text || !list_circle(chain, members)) /* one is to be said yet */
        return;
    const uint64_t key = deadlocks_key(members, chain->count - chain->closes);
    if (deadlocks_see(&sampler->deadlocks, key, sampler->waits.tick) && is_stuck(sampler, chain))
        say_deadlock(sampler, chain, key);
}

/* ---- blame ---- */

static void blame_last(struct sampler *sampler, const struct wait_locations *wait, const struct chain *chain)
{
    struct fold_thread *waiter = &chain->threads[0]->fold;
    struct thread *last = chain->threads[chain->count - 1];
    if (chain->look == LOOK_COMES)
        blames_await(&sampler->blames, waiter, wait, &last->fold, wait_of(chain, chain->count - 2));
    else
        blames_give(&sampler->account.fold, waiter, wait, (struct blamed){last->look.node, last->fold.root});
    last->look.was_blamed = true;
}

void sampler_blame(struct sampler *sampler, struct thread *waiter, const struct wait_locations *wait)
{
    struct chain chain;
    if (waiter->fold.blame.node || waiter->fold.blame.is_awaited)
        blames_end_stretch(&sampler->blames, &waiter->fold);
    if (!wait->holder || !sampler->holder)
        return;
    follow(sampler, waiter, wait, &chain);
    if (chain.is_circle)
        see_circle(sampler, &chain);
    else if (chain.look != LOOK_NONE && is_still(sampler, &chain))
        blame_last(sampler, wait, &chain);
}

void sampler_take_blame(struct sampler *sampler, struct thread *holder, const struct observation *seen)
{
    arena_ref node = 0;
    if (sampler->blames.count == 0)
        return;
    if (seen->is_look && fold_has_stack(&seen->sample) && !sampler->is_stopped) {
        sampler_refresh_modules(sampler);
        node = account_find_node(&sampler->account, &holder->fold, &seen->stack);
    } else if (!seen->is_look && !seen->sample.is_unknown && !seen->sample.is_left_out)
        node = holder->fold.node;
    blames_reply(&sampler->blames, &sampler->account.fold, &holder->fold, node);
}

void sampler_end_blame(struct sampler *sampler, struct thread *thread)
{
    blames_forget(&sampler->blames, &thread->fold);
    for (uint32_t i = 0; thread->look.was_blamed && i < sampler->threads->live_count; i++) {
        struct fold_blame *blame = &sampler->threads->live[i]->fold.blame;
        blame->is_orphan |= blame->node && blame->root == thread->fold.root;
    }
}

void sampler_void_blame(struct sampler *sampler)
{
    for (uint32_t i = 0; i < sampler->threads->live_count; i++) {
        struct fold_blame *blame = &sampler->threads->live[i]->fold.blame;
        if (blame->is_orphan)
            blame->node = 0;
    }
}

static struct thread *thread_of_fold(const struct fold_thread *fold)
{
    return (struct thread *)((char *)(uintptr_t)fold - offsetof(struct thread, fold));
}

/* Most replies have come by now, and are taken before the next tick. A holder that holds the lock still has
 * held it when it replied. */
void sampler_end_looks(struct sampler *sampler)
{
    for (uint32_t i = sampler->blames.count; i-- > 0;) {
        struct blame *entry = &sampler->blames.entries[i];
        const struct thread *holder = thread_of_fold(entry->holder);
        const struct waits_memory *link = entry->link;
        entry->link = NULL;
        if (holder->observe.slot < 0 || (link && !waits_is_held(&sampler->waits, link, holder->tid)))
            blames_drop(&sampler->blames, i);
    }
}
