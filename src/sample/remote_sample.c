/* See blocked.h. The rules for what is proof and what is not are in docs/design.md. */
#include "remote_sample.h"
#include "base/arena.h"
#include "cut_short.h"
#include "sig/sys/sig_atomic.h"
#include "sig/sys/sig_memory.h"

#include <errno.h>
#include <fcntl.h>

/* A thread that has run while it was looked at may be blocked again. */
enum { TRIES = 2, COPY_BYTES = 256 * 1024 };

int blocked_init(struct wp_blocked *blocked, uint32_t depth)
{
    *blocked =
        (struct wp_blocked){.capacity = depth, .copy = {.capacity_bytes = COPY_BYTES, .mem_descriptor = -1}};
    watch_init(&blocked->watches, -1, false);
    blocked->addresses = scratch_alloc(sizeof(uint64_t) * depth);
    blocked->copy.words = scratch_alloc(COPY_BYTES);
    if (blocked->addresses && blocked->copy.words)
        return 0;
    blocked_deinit(blocked);
    return -ENOMEM;
}

void blocked_deinit(struct wp_blocked *blocked)
{
    scratch_free(blocked->addresses, sizeof(uint64_t) * blocked->capacity);
    scratch_free(blocked->copy.words, COPY_BYTES);
    blocked->addresses = NULL;
    blocked->copy.words = NULL;
}

void blocked_open_memory(struct wp_blocked *blocked)
{
    uint64_t word = 0, copied;
    bool is_copied = sig_memory_copy(&copied, (uint64_t)(uintptr_t)&word, sizeof(word));
    if (!is_copied && !sig_memory_has_copies())
        blocked->copy.mem_descriptor = open("/proc/thread-self/mem", O_RDONLY | O_CLOEXEC);
}

/* FNV-1a over words: to tell one stack from another of the same thread at the same place. (That is the first
 * word, which a call that was restarted shows at another of its instructions.) */
static uint64_t hash_stack(const uint64_t *addresses, size_t depth)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 1; i < depth; i++)
        hash = (hash ^ addresses[i]) * 0x100000001b3U;
    return hash ^ depth;
}

static bool is_whole(enum sig_unwind_end end)
{
    return end == SIG_UNWIND_ROOT || end == SIG_UNWIND_DEPTH;
}

/* With the registers of its last answer, if it stands where it stood then. They are right if they lead
 * through the same calls. */
static bool walk_as_answered(const struct blocked_memory *memory, struct sig_other *other)
{
    if (memory->answered.pc != other->place.pc || memory->answered.sp != other->place.sp)
        return false;
    other->place.fp = &memory->answered.fp;
    sig_handler_walk_other(other);
    return hash_stack(other->addresses, other->depth) == memory->answered.stack;
}

/* The stack of a thread that stands still there: false when it has to be asked. */
static bool walk_call(const struct blocked_thread *thread, const struct watch_call *call,
                      struct sig_other *other)
{
    struct blocked_memory *memory = thread->memory;
    bool is_cut_short = cut_short_by_signal(call->number, call->arguments);
    other->place = (struct sig_place){
        .pc = call->pc, .sp = call->sp, .arguments = call->number >= 0 ? call->arguments : NULL};
    other->copy->expected_bytes = memory->stack_bytes;
    sig_handler_walk_other(other);
    memory->stack_bytes = (uint32_t)other->bytes;
    memory->lacks_register = other->end == SIG_UNWIND_INEXPRESSIBLE;
    if (is_whole(other->end) || walk_as_answered(memory, other))
        return true;
    if (other->place.fp) {
        other->place.fp = NULL;
        sig_handler_walk_other(other);
    }
    return is_cut_short || thread->is_silent;
}

/* Reference, place, walk, and the run count again: what was seen holds if it has not moved. */
enum blocked_result blocked_look(struct wp_blocked *blocked, const struct blocked_thread *thread,
                                 struct blocked_look *ret)
{
    struct wp_watches *watches = &blocked->watches;
    struct blocked_memory *memory = thread->memory;
    struct watch_runs before, after;
    struct watch_call call;
    struct sig_other other = {.stack_low = thread->stack_low,
                              .stack_high = thread->stack_high,
                              .copy = &blocked->copy,
                              .addresses = blocked->addresses,
                              .capacity = blocked->capacity};
    enum watch_state state = watch_runs(watches, thread->watch, thread->tid, &before);
    ret->cpu_ns = 0;
    for (int i = 0; i < TRIES && state == WATCH_KNOWN; i++, before = after) {
        ret->cpu_ns = before.cpu_ns;
        if (memory->is_reference && memory->reference == before.count)
            return BLOCKED_UNCHANGED;
        memory->is_reference = false;
        state = watch_call(watches, thread->watch, thread->tid, &call);
        if (state != WATCH_KNOWN || !walk_call(thread, &call, &other))
            break;
        ret->labels = thread->labels_at ? sig_load_acquire(thread->labels_at) : 0;
        state = watch_runs(watches, thread->watch, thread->tid, &after);
        if (state != WATCH_KNOWN || after.count != before.count)
            continue;
        memory->is_reference = is_whole(other.end);
        memory->reference = after.count;
        ret->depth = other.depth;
        ret->end = other.end;
        ret->unloads = other.unloads;
        ret->addresses = other.addresses;
        return BLOCKED_WALKED;
    }
    return state == WATCH_GONE ? BLOCKED_GONE : BLOCKED_ASK;
}

bool blocked_has_not_run(struct wp_blocked *blocked, pid_t tid, struct watch *watch,
                         const struct blocked_memory *memory)
{
    struct watch_runs runs;
    return memory->is_reference && watch_runs(&blocked->watches, watch, tid, &runs) == WATCH_KNOWN &&
           runs.count == memory->reference;
}

void blocked_learn(struct blocked_memory *memory, const struct sig_slot *slot)
{
    bool is_usable = slot->was_blocked && !slot->by_memo;
    memory->answered.sp = is_usable ? slot->sp : 0;
    memory->answered.pc = is_usable ? slot->pc : 0;
    memory->answered.fp = slot->fp;
    memory->answered.stack = hash_stack(slot->addresses, slot->depth);
}
