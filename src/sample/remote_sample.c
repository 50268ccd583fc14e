/* See remote_sample.h. The rules for what is proof and what is not are in docs/design/sample.md. */
#include "remote_sample.h"
#include "base/arena.h"
#include "base/clock.h"
#include "sig/sys/sig_atomic.h"
#include "sig/sys/sig_memory.h"
#include "sig/sys/sig_arch.h"
#include "sig/signal/sig_slots.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>

/* A thread that has run while it was sampled may be blocked again: it is tried twice. */
enum { TRIES = 2, COPY_BYTES = 256 * 1024 };

/* How often the CPU clock may stand for the run count. */
enum { TRUSTED_MAX = 15 };

int remote_sample_init(struct remote_sampler *sampler, uint32_t depth)
{
    *sampler = (struct remote_sampler){.capacity = depth,
                                       .copy = {.capacity_bytes = COPY_BYTES, .mem_descriptor = -1}};
    thread_stats_init(&sampler->stats, -1, false);
    sampler->addresses = scratch_alloc(sizeof(uint64_t) * depth);
    sampler->copy.words = scratch_alloc(COPY_BYTES);
    if (sampler->addresses && sampler->copy.words)
        return 0;
    remote_sample_deinit(sampler);
    return -ENOMEM;
}

void remote_sample_deinit(struct remote_sampler *sampler)
{
    scratch_free(sampler->addresses, sizeof(uint64_t) * sampler->capacity);
    scratch_free(sampler->copy.words, COPY_BYTES);
    scratch_free(sampler->interp_stack.frames, sizeof(struct sig_interp_frame) * sampler->capacity);
    sampler->interp_stack.frames = NULL;
    sampler->addresses = NULL;
    sampler->copy.words = NULL;
}

void remote_sample_use_interp(struct remote_sampler *sampler, struct interp *interp)
{
    if (sampler->interp)
        return;
    sampler->interp = interp;
    sampler->interp_stack.capacity = sampler->capacity;
    sampler->interp_stack.frames = scratch_alloc(sizeof(struct sig_interp_frame) * sampler->capacity);
}

void remote_sample_open_memory(struct remote_sampler *sampler)
{
    uint64_t word = 0, copied;
    bool is_copied = sig_memory_copy(&copied, (uint64_t)(uintptr_t)&word, sizeof(word));
    if (!is_copied && !sig_memory_has_copies())
        sampler->copy.mem_descriptor = open("/proc/thread-self/mem", O_RDONLY | O_CLOEXEC);
}

/* FNV-1a over words: tells stacks of one thread apart. The first word, where it is blocked, is left out: a
 * restarted call shows another of its instructions. */
static uint64_t hash_stack(const uint64_t *addresses, size_t depth)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 1; i < depth; i++)
        hash = (hash ^ addresses[i]) * 0x100000001b3U;
    return hash ^ depth;
}

/* A wait for a futex is restarted, unless it has a timeout. */
static bool is_timed_futex(long number, const uint64_t arguments[6])
{
    uint64_t operation = arguments[1] & (uint64_t)FUTEX_CMD_MASK;
    bool is_wait = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
    return number == SYS_futex && is_wait && arguments[3] != 0;
}

static const long never_restarted[] = {
    SYS_clock_nanosleep, SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_io_getevents, SYS_io_uring_enter,
    SYS_msgrcv,          SYS_msgsnd,          SYS_nanosleep,    SYS_ppoll,        SYS_pselect6,
    SYS_restart_syscall, /* one of these, after a stop */
    SYS_rt_sigsuspend,   SYS_rt_sigtimedwait, SYS_semop,        SYS_semtimedop,
#ifdef SYS_poll /* not on machines that Linux came to late */
    SYS_epoll_wait,      SYS_pause,           SYS_poll,         SYS_select,
#endif
};

bool remote_sample_is_cut_short(long number, const uint64_t arguments[6])
{
    for (size_t i = 0; i < sizeof(never_restarted) / sizeof(never_restarted[0]); i++) {
        if (number == never_restarted[i])
            return true;
    }
    return is_timed_futex(number, arguments);
}

static bool is_whole(enum sig_unwind_end end)
{
    return end == SIG_UNWIND_ROOT || end == SIG_UNWIND_DEPTH;
}

/* The words of a lock come with the first piece of the stack. */
static void walk_stack(struct sig_remote_walk *walk, struct sig_memory_piece *beside)
{
    if (beside)
        beside->copied = 0;
    walk->copy->beside = beside;
    sig_remote_walk(walk);
    walk->copy->beside = NULL;
}

/* Walks with the registers of its last reply, if it is blocked at the same place. They are right if they lead
 * through the same calls. */
static bool walk_as_replied(const struct remote_memory *memory, struct sig_remote_walk *walk,
                            struct sig_memory_piece *beside)
{
    if (memory->replied.pc != walk->blocked_regs.pc || memory->replied.sp != walk->blocked_regs.sp)
        return false;
    walk->blocked_regs.fp = &memory->replied.fp;
    walk_stack(walk, beside);
    return hash_stack(walk->addresses, walk->depth) == memory->replied.stack;
}

/* Walks the stack of a thread blocked in a call: false when the thread needs a request. */
static bool walk_call(const struct remote_thread *thread, const struct thread_stat_call *call,
                      struct sig_remote_walk *walk, struct sig_memory_piece *beside)
{
    struct remote_memory *memory = thread->memory;
    bool is_cut_short = remote_sample_is_cut_short(call->number, call->arguments);
    walk->blocked_regs = (struct sig_blocked_regs){
        .pc = call->pc, .sp = call->sp, .arguments = call->number >= 0 ? call->arguments : NULL};
    walk->copy->expected_bytes = memory->stack_bytes;
    walk_stack(walk, beside);
    memory->stack_bytes = (uint32_t)walk->bytes;
    memory->lacks_register = walk->end == SIG_UNWIND_INEXPRESSIBLE;
    if (is_whole(walk->end) || walk_as_replied(memory, walk, beside))
        return true;
    if (walk->blocked_regs.fp) {
        walk->blocked_regs.fp = NULL;
        walk_stack(walk, beside);
    }
    return is_cut_short || thread->is_silent;
}

struct gil_wait {
    bool is_gil;
    pid_t holder; /* 0: not known */
};

/* The frames of the interpreter, while the thread stands still. NULL without. */
static const struct sig_interp_stack *read_frames(struct remote_sampler *sampler,
                                                  const struct remote_thread *thread)
{
    struct sig_interp_stack *stack = &sampler->interp_stack;
    if (!stack->frames)
        return NULL;
    interp_find_state(sampler->interp, thread->interp, thread->tid);
    interp_walk(sampler->interp, thread->interp, thread->tid, stack);
    return stack->count > 0 ? stack : NULL;
}

static bool has_all_frames(const struct remote_sampler *sampler, const struct remote_thread *thread)
{
    return !sampler->interp || !interp_is_unsure(sampler->interp, thread->interp);
}

static bool has_same_clock(pid_t tid, const struct thread_stat *stat, struct remote_memory *memory)
{
    if (!memory->is_reference || stat->schedstat || memory->trusted == TRUSTED_MAX)
        return false;
    memory->trusted++;
    return clock_read_ns(clock_of_thread(tid)) == memory->reference_cpu_ns;
}

static void refer_to(struct remote_memory *memory, const struct thread_stat_runs *runs, bool is_whole_stack)
{
    memory->is_reference = is_whole_stack;
    memory->reference = runs->count;
    memory->reference_cpu_ns = runs->cpu_ns;
    memory->trusted = 0;
}

/* The words that may be a lock's, to be copied; NULL: the call waits for no lock. */
static struct sig_memory_piece *words_of_lock(struct remote_sampler *sampler,
                                              const struct thread_stat_call *call)
{
    struct lock_words *words = &sampler->lock_words;
    bool is_wanted = sampler->waits && lock_words_wanted(call->number, call->arguments, words);
    return is_wanted ? &words->piece : NULL;
}

/* Whether the thread waits for the interpreter's lock, and who has it, while the thread stands still. */
static struct gil_wait read_gil(const struct remote_sampler *sampler, const struct thread_stat_call *call)
{
    if (!sampler->interp || call->number != SYS_futex || !interp_is_gil(sampler->interp, call->arguments))
        return (struct gil_wait){.is_gil = false};
    return (struct gil_wait){true, interp_gil_holder(sampler->interp, call->arguments)};
}

/* What the interpreter of a thread runs. */
struct running_script {
    struct interp *interp;
    const struct sig_interp_stack *stack; /* NULL: nothing */
};

static bool find_script(void *context, arena_ref module, char *ret, size_t bytes)
{
    const struct running_script *script = context;
    return script->stack && interp_caller(script->interp, script->stack, module, ret, bytes);
}

static void find_wait(struct remote_sampler *sampler, const struct remote_thread *thread,
                      const struct thread_stat_call *call, const struct sig_remote_walk *walk,
                      struct remote_sample *ret)
{
    struct running_script script = {sampler->interp, ret->interp};
    const struct waits_walk seen = {.tid = thread->tid,
                                    .words = &sampler->lock_words,
                                    .arguments = call->arguments,
                                    .stack = {walk->addresses, walk->depth, find_script, &script}};
    waits_find(sampler->waits, &seen, &thread->memory->wait, &ret->wait);
}

/* That takes some microseconds. So it is done when the sample is there, and counts if the thread has still
 * not run. */
static void find_object(struct remote_sampler *sampler, const struct remote_thread *thread,
                        const struct thread_stat_call *call, struct wait_locations *ret)
{
    struct remote_memory *memory = thread->memory;
    struct thread_stat_runs runs;
    const struct object_wait seen = {.task_directory = sampler->stats.task_directory,
                                     .tid = thread->tid,
                                     .number = call->number,
                                     .arguments = call->arguments};
    if (!waits_find_object(sampler->waits, &seen, &memory->wait, ret))
        return;
    if (thread_stat_runs(&sampler->stats, thread->stat, thread->tid, &runs) == THREAD_STAT_KNOWN &&
        runs.count == memory->reference)
        return;
    *ret = (struct wait_locations){0};
    memory->wait.is_waiting = false;
}

/* Of one that has not run since. What it waits for may be called otherwise now. */
static void find_object_again(struct remote_sampler *sampler, const struct remote_thread *thread,
                              struct wait_locations *ret)
{
    struct wait_locations now = {0};
    struct thread_stat_call call;
    thread->memory->wait.object_due_ns = 0;
    if (thread_stat_call(&sampler->stats, thread->stat, thread->tid, &call) == THREAD_STAT_KNOWN)
        find_object(sampler, thread, &call, &now);
    if (now.on)
        *ret = now;
}

/* A walk that was of a thread that stood still. */
static void take_walk(const struct remote_sampler *sampler, const struct remote_thread *thread,
                      const struct gil_wait *gil, const struct sig_remote_walk *walk,
                      const struct thread_stat_runs *runs)
{
    struct remote_memory *memory = thread->memory;
    if (walk->blocked_regs.arguments && !remote_sample_waits_at(memory, walk->blocked_regs.pc))
        memory->waits_at[memory->places++ % REMOTE_PLACES] = walk->blocked_regs.pc;
    if (gil->is_gil)
        interp_note_gil(sampler->interp, walk->addresses, walk->depth);
    refer_to(memory, runs, is_whole(walk->end) && has_all_frames(sampler, thread));
    memory->wait.is_waiting = false;
}

/* A thread that runs goes on meanwhile: the less is read before its request, the better does that find it
 * where it was. */
static bool is_still_running(struct thread_stats *stats, const struct remote_thread *thread)
{
    struct thread_stat_call call;
    return thread->may_run &&
           thread_stat_call(stats, thread->stat, thread->tid, &call) == THREAD_STAT_RUNNING;
}

/* Run count, registers, walk, run count: what was seen is valid if the run count is the same. */
static enum remote_result sample_by_runs(struct remote_sampler *sampler, const struct remote_thread *thread,
                                         struct remote_sample *ret)
{
    struct thread_stats *stats = &sampler->stats;
    struct remote_memory *memory = thread->memory;
    struct thread_stat_runs before, after;
    struct thread_stat_call call;
    struct sig_remote_walk walk = {.stack_low = thread->stack_low,
                                   .stack_high = thread->stack_high,
                                   .copy = &sampler->copy,
                                   .addresses = sampler->addresses,
                                   .capacity = sampler->capacity};
    if (is_still_running(stats, thread)) {
        memory->is_reference = false;
        ret->is_runnable = true;
        return REMOTE_SIGNAL;
    }
    enum thread_stat_state state = thread_stat_runs(stats, thread->stat, thread->tid, &before);
    for (int i = 0; i < TRIES && state == THREAD_STAT_KNOWN; i++, before = after) {
        ret->cpu_ns = before.cpu_ns;
        ret->delay_ns = before.delay_ns;
        if (memory->is_reference && memory->reference == before.count) {
            refer_to(memory, &before, true);
            if (waits_is_object_due(sampler->waits, &memory->wait))
                find_object_again(sampler, thread, &ret->wait);
            return REMOTE_UNCHANGED;
        }
        memory->is_reference = false;
        state = thread_stat_call(stats, thread->stat, thread->tid, &call);
        struct sig_memory_piece *lock = state == THREAD_STAT_KNOWN ? words_of_lock(sampler, &call) : NULL;
        if (state != THREAD_STAT_KNOWN || !walk_call(thread, &call, &walk, lock))
            break;
        ret->interp = read_frames(sampler, thread);
        const struct gil_wait gil = read_gil(sampler, &call);
        ret->labels = thread->labels_at ? sig_load_acquire(thread->labels_at) : 0;
        state = thread_stat_runs(stats, thread->stat, thread->tid, &after);
        if (state != THREAD_STAT_KNOWN || after.count != before.count)
            continue;
        take_walk(sampler, thread, &gil, &walk, &after);
        ret->wait = (struct wait_locations){0};
        memory->wait.object_due_ns = 0;
        if (gil.is_gil && sampler->waits)
            waits_find_named(sampler->waits, "GIL", gil.holder, &ret->wait);
        else if (lock)
            find_wait(sampler, thread, &call, &walk, ret);
        else if (sampler->waits)
            find_object(sampler, thread, &call, &ret->wait);
        ret->depth = walk.depth;
        ret->end = walk.end;
        ret->unloads = walk.unloads;
        ret->addresses = walk.addresses;
        return REMOTE_WALKED;
    }
    ret->is_runnable = state == THREAD_STAT_RUNNING;
    return state == THREAD_STAT_GONE ? REMOTE_GONE : REMOTE_SIGNAL;
}

enum remote_result remote_sample(struct remote_sampler *sampler, const struct remote_thread *thread,
                                 struct remote_sample *ret)
{
    *ret = (struct remote_sample){.cpu_ns = thread->memory->reference_cpu_ns, .delay_ns = FOLD_NO_DELAY};
    if (sampler->waits && thread->memory->is_reference) /* before it is known whether it has run */
        waits_find_again(sampler->waits, thread->tid, &thread->memory->wait, &ret->wait);
    if (!waits_is_object_due(sampler->waits, &thread->memory->wait) &&
        has_same_clock(thread->tid, thread->stat, thread->memory))
        return REMOTE_UNCHANGED;
    ret->cpu_ns = 0;
    enum remote_result result = sample_by_runs(sampler, thread, ret);
    thread_stat_let_go(&sampler->stats);
    return result;
}

bool remote_sample_has_not_run(struct remote_sampler *sampler, pid_t tid, struct thread_stat *stat,
                               struct remote_memory *memory)
{
    struct thread_stat_runs runs;
    if (!memory->is_reference || has_same_clock(tid, stat, memory))
        return memory->is_reference;
    bool is_known = thread_stat_runs(&sampler->stats, stat, tid, &runs) == THREAD_STAT_KNOWN;
    thread_stat_let_go(&sampler->stats);
    return is_known && runs.count == memory->reference;
}

uint64_t remote_sample_delay(struct remote_sampler *sampler, pid_t tid, struct thread_stat *stat)
{
    struct thread_stat_runs runs;
    enum thread_stat_state state = thread_stat_runs(&sampler->stats, stat, tid, &runs);
    thread_stat_let_go(&sampler->stats);
    return state == THREAD_STAT_KNOWN ? runs.delay_ns : FOLD_NO_DELAY;
}

uint64_t remote_sample_cpu(struct remote_sampler *sampler, pid_t tid, struct thread_stat *stat,
                           uint64_t known_ns)
{
    struct thread_stat_runs runs;
    enum thread_stat_state state = thread_stat_runs(&sampler->stats, stat, tid, &runs);
    thread_stat_let_go(&sampler->stats);
    return state == THREAD_STAT_KNOWN ? runs.cpu_ns : known_ns;
}

bool remote_sample_waits_at(const struct remote_memory *memory, uint64_t pc)
{
    for (uint32_t i = 0; i < REMOTE_PLACES; i++) {
        if (pc && memory->waits_at[i] == pc)
            return true;
    }
    return false;
}

void remote_sample_learn(struct remote_memory *memory, const struct sig_slot *reply)
{
    const bool is_usable = reply->was_blocked && !reply->by_stack_cache;
    memory->replied.sp = is_usable ? reply->sp : 0;
    memory->replied.pc = is_usable ? reply->pc : 0;
    memory->replied.fp = reply->fp;
    memory->replied.stack = hash_stack(reply->addresses, reply->depth);
}
