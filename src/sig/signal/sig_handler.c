/*
 * What runs in a profiled thread: claim the slot, read two clocks, walk the stack, publish. Everything it
 * needs comes with the slot or stands in the statics below.
 *
 * All signals are blocked while it runs, so no handler of the program can jump out of it.
 */
#include "sig_handler.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig/sys/sig_clock.h"
#include "sig/walk/sig_fp_offset_cache.h"
#include "sig_numbers.h"
#include "sig_process.h"
#include "sig_restart.h"
#include "sig/walk/sig_rules.h"
#include "sig_wait.h"

#include <time.h>

/* si_value: 16 bits of cookie, 36 of generation, 12 of slot index. */
enum { SLOT_BITS = 12, GENERATION_BITS = 36, COOKIE_BITS = 16 };

enum { WAIT_FRAMES_MAX = 6 };

static const uint64_t generation_mask = ((uint64_t)1 << GENERATION_BITS) - 1;

/* Written before the handler is installed, read by it. */
static struct sig_slots *sig_slots_in_use;
static uint32_t sig_cookie;

/* Replaced by the sampler (sig_handler_publish_modules), read by handlers. */
static const struct sig_modules_table *sig_modules_in_use;

/* Handlers between their first and last look at shared tables. seq_cst against sig_cache_off: a handler
 * counts itself in, then looks at the flag; the other side sets the flag, then looks at the count. One of the
 * two sees the other. */
static uint32_t sig_in_flight;
static uint32_t sig_cache_off = 1; /* non-zero while the cache is cleared, and before the first table */
static bool sig_cache_is_used;     /* the sampler's: there may be something in it */
static uint32_t sig_unloads_begun, sig_unloads_ended, sig_unloads_strange; /* struct sig_unloads */
static uint32_t sig_life;      /* a number of this process's own among its ancestors */
static uint64_t sig_unloaded;  /* objects, as of the last end */
static uint32_t sig_published; /* sig_unloads_ended as of the look at the loader that the table comes from */
static uint64_t sig_stray;
static uint32_t sig_on_the_way; /* sent, and not seen; it stays too high by those that never arrive */

/* The sampler is between the choice of a number and its sending. seq_cst against the choice of another one:
 * who has made it sees this, or is seen by the next look at the numbers. */
static uint32_t sig_sending;

int sig_handler_signal(void)
{
    return sig_numbers_current();
}

/* So that a handler of the program's is called by the kernel, and not by ours, which needs system calls. */
void sig_handler_retire(void)
{
    for (int i = 0; i < 1000 && (int32_t)sig_load_relaxed(&sig_on_the_way) > 0; i++)
        sig_syscall4(SYS_sched_yield, 0, 0, 0, 0);
    bool may_be_late = (int32_t)sig_load_relaxed(&sig_on_the_way) > 0;
    uint64_t mask = sig_action_lock();
    mask = sig_numbers_to_program(mask);
    sig_action_release_all(may_be_late);
    sig_numbers_stop();
    sig_process_end();
    sig_action_unlock(mask);
}

uint64_t sig_handler_stray_count(void)
{
    return sig_load_relaxed(&sig_stray);
}

/*
 * What a walk may rely on from now on. Once the table may name a library that is gone, and other code may
 * have its addresses, so may the cache.
 */
static struct sig_unloads prepare(struct sig_unwind_request *request)
{
    struct sig_unloads unloads = sig_handler_unloads();
    request->use_cache = unloads.begun == sig_load_seq_cst(&sig_published) &&
                         unloads.ended == unloads.begun && !sig_load_seq_cst(&sig_cache_off);
    request->modules = sig_load_seq_cst(&sig_modules_in_use);
    return unloads;
}

/*
 * Whether a hook has made the call behind which the handler finds itself. A hook is a few frames away; what
 * cannot be walked that far is taken for one.
 */
static bool was_called_by_hook(const ucontext_t *context, const struct sig_slot *slot)
{
    uint64_t addresses[WAIT_FRAMES_MAX];
    struct sig_unwind_request request = {
        .stack_low = slot ? slot->stack_low : 0,
        .stack_high = slot ? slot->stack_high : 0,
        .rows = slot && slot->scratch ? slot->scratch->rows : NULL,
        .addresses = addresses,
        .capacity = WAIT_FRAMES_MAX,
    };
    enum sig_unwind_end end;
    bool is_hook = false;
    sig_add_seq_cst(&sig_in_flight, 1); /* partner: the loads in wait_for_flights */
    prepare(&request);
    size_t depth = sig_unwind(&request, context, &end);
    sig_sub_seq_cst(&sig_in_flight, 1);
    for (size_t i = 0; i < depth; i++)
        is_hook |= sig_wait_is_hook(addresses[i]);
    return is_hook || (end != SIG_UNWIND_ROOT && end != SIG_UNWIND_DEPTH);
}

/* The wait of a hook's that a signal has cut short, or NULL. slot: NULL without. */
static const struct sig_waiting *wait_cut_short(const ucontext_t *context, const struct sig_slot *slot)
{
    return sig_wait_may_be_cut_short(context) && was_called_by_hook(context, slot) ? sig_wait_here.waits
                                                                                   : NULL;
}

/* A signal that the program is not to see may have cut one of its waits short. */
static void interrupt_wait(ucontext_t *context, const struct sig_slot *slot)
{
    const struct sig_waiting *wait = wait_cut_short(context, slot);
    if (wait && wait->mask)
        *wait->mask = sig_numbers_renew(*wait->mask);
    if (wait)
        sig_wait_interrupt(context);
}

void sig_handler_spare_wait(ucontext_t *context)
{
    interrupt_wait(context, NULL);
}

static uint64_t *mask_of(ucontext_t *context)
{
    return (uint64_t *)context->uc_sigmask.__val;
}

/* The mask that a signal has come through: of the thread, or of its wait, where the thread's may be another.
 */
static uint64_t *mask_in_force(ucontext_t *context)
{
    const struct sig_waiting *wait = wait_cut_short(context, NULL);
    return wait && wait->mask ? wait->mask : mask_of(context);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    sig_clock_read(clock, &now); /* where a filter forbids it: 0 */
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Fast, and for the rare stack that needs it once more with every register. */
static void walk_self(const struct sig_unwind_request *request, const ucontext_t *context,
                      struct sig_slot *slot)
{
    enum sig_unwind_end end;
    size_t depth = sig_unwind(request, context, &end);
    slot->by_full_walk = false;
    if (end == SIG_UNWIND_INEXPRESSIBLE && slot->scratch) {
        size_t fast_depth = depth;
        depth = sig_full_walk(request, context, slot->scratch, fast_depth, &end);
        slot->by_full_walk = depth > fast_depth || end == SIG_UNWIND_ROOT;
    }
    slot->depth = (uint32_t)depth;
    slot->end = (uint8_t)end;
    slot->by_memo = request->memo && request->memo->count > 0;
}

static void note_place(struct sig_slot *slot, const ucontext_t *context)
{
    struct sig_regs regs;
    sig_regs_from_context(&regs, context);
    slot->sp = regs.sp;
    slot->pc = sig_behind_system_call(context);
    slot->fp = regs.fp;
    slot->was_blocked = slot->pc != 0 || sig_wait_here.was_given;
}

/* What the interrupted thread's labels are: it writes the word in one instruction. */
static void note_labels(struct sig_slot *slot)
{
    const uint32_t *labels_at = sig_load_relaxed(&slot->labels_at);
    slot->labels = labels_at ? sig_load_acquire(labels_at) : 0;
}

static void observe_self(struct sig_slot *slot, const ucontext_t *context)
{
    struct sig_unwind_request request = {
        .stack_low = slot->stack_low,
        .stack_high = slot->stack_high,
        .rows = slot->scratch ? slot->scratch->rows : NULL,
        .addresses = slot->addresses,
        .capacity = sig_slots_in_use->capacity,
    };
    slot->time_ns = clock_ns(CLOCK_MONOTONIC);
    slot->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    note_place(slot, context);
    note_labels(slot);
    sig_add_seq_cst(&sig_in_flight, 1); /* partner: the loads in wait_for_flights */
    slot->unloads = prepare(&request);
    request.learns = request.use_cache && sig_load_relaxed(&slot->learns);
    request.memo = request.use_cache && !request.learns ? slot->memo : NULL;
    walk_self(&request, context, slot);
    sig_sub_seq_cst(&sig_in_flight, 1);
    slot->took_ns = clock_ns(CLOCK_MONOTONIC) - slot->time_ns;
}

void sig_handler_walk_other(struct sig_other *other)
{
    struct sig_unwind_request request = {
        .stack_low = other->stack_low,
        .stack_high = other->stack_high,
        .copy = other->copy,
        .addresses = other->addresses,
        .capacity = other->capacity,
    };
    other->unloads = prepare(&request);
    struct sig_unwind_course course;
    other->depth = (uint32_t)sig_unwind_other(&request, &other->place, &course);
    other->end = course.end;
    other->bytes = course.bytes;
    other->by_distance = course.by_distance;
}

static uint64_t value_of(const siginfo_t *info)
{
    return (uint64_t)(uintptr_t)info->si_value.sival_ptr;
}

/* Whether a signal is one of the sampler's, by what only the sampler of this process puts into it. */
static bool is_ours(const siginfo_t *info)
{
    return info->si_code == SI_QUEUE && value_of(info) >> (SLOT_BITS + GENERATION_BITS) == sig_cookie;
}

/*
 * One that holds nothing (sig_action_queue) looks as if the program had sent it to a thread of its own. Of a
 * number that the program uses it is ours only if this thread is asked, or if it would end the program.
 */
static bool is_sent_plainly(const siginfo_t *info)
{
    int number = info->si_signo;
    if (info->si_code != SI_TKILL || info->si_pid != sig_process_pid())
        return false;
    return !(sig_numbers_given() & sig_numbers_bit(number)) || sig_action_is_default_of_program(number) ||
           (sig_slots_in_use &&
            sig_slots_is_addressed(sig_slots_in_use, (pid_t)sig_syscall4(SYS_gettid, 0, 0, 0, 0)));
}

/*
 * Where the user's pending signals are at their limit (RLIMIT_SIGPENDING), the kernel delivers a signal of
 * ours but loses what is in it, and writes this instead (__send_signal_locked and collect_signal in
 * kernel/signal.c). So does a kill from outside the process's namespace, so ours must be on the way.
 */
static bool may_be_ours(const siginfo_t *info)
{
    if ((int32_t)sig_load_relaxed(&sig_on_the_way) <= 0) /* only a number: nothing is ordered by it */
        return false;
    if (info->si_code == SI_USER)
        return info->si_pid == 0 && info->si_uid == 0;
    return is_sent_plainly(info) && sig_action_sends_plainly();
}

/* The slot that a signal of ours is for, or NULL. It has arrived. */
__attribute__((noinline)) static struct sig_slot *claim(const siginfo_t *info)
{
    uint64_t value = value_of(info);
    struct sig_slot *slot = NULL;
    sig_add_relaxed(&sig_on_the_way, -1U);
    if (sig_slots_in_use && is_ours(info))
        slot = sig_slots_claim(sig_slots_in_use, value & ((1 << SLOT_BITS) - 1),
                               value >> SLOT_BITS & generation_mask);
    else if (sig_slots_in_use)
        slot = sig_slots_claim_of(sig_slots_in_use, (pid_t)sig_syscall4(SYS_gettid, 0, 0, 0, 0));
    if (!slot)
        sig_add_relaxed(&sig_stray, 1);
    return slot;
}

/* Takes ours from those that are pending; the program's stay, and *mask, which will be in force, blocks them.
 */
static __attribute__((noinline)) void drop_ours(uint64_t numbers, uint64_t *mask)
{
    siginfo_t info;
    struct timespec at_once = {0};
    long number;
    for (int i = 0; i < 4; i++) {
        number =
            sig_syscall4(SYS_rt_sigtimedwait, (long)&numbers, (long)&info, (long)&at_once, sizeof(numbers));
        if (number <= 0)
            return;
        if (is_ours(&info) || may_be_ours(&info))
            sig_add_relaxed(&sig_on_the_way, -1U); /* the sampler will find it lost, and ask again */
        else
            sig_action_hold_back((int)number, &info, mask);
    }
}

/* Of the thread that returns to this context: it may have been made when other numbers were ours. Those that
 * were sent before their number was given back are not left pending where it is blocked now. */
static void renew_mask(ucontext_t *context)
{
    uint64_t mask = sig_set_bits(&context->uc_sigmask), renewed = sig_numbers_renew(mask);
    if (renewed == mask)
        return;
    sig_set_assign(&context->uc_sigmask, renewed);
    drop_ours(renewed & ~mask, mask_of(context));
}

/*
 * A signal of the program's own. Where the program means it to be blocked, it is made so; but a mask that has
 * it for the kernel, too, is not the one it has come through: of that nothing is known. (Not inline: a walk
 * needs the stack that its variables would take.)
 */
static __attribute__((noinline)) void take_foreign(int number, siginfo_t *info, ucontext_t *context)
{
    uint64_t bit = sig_numbers_bit(number), *mask = mask_in_force(context);
    bool is_held_back = !(*mask & bit) && (sig_numbers_to_program(*mask) & bit);
    if (!(sig_numbers_given() & bit))
        sig_numbers_ask_back(number);
    if (is_held_back)
        sig_action_hold_back(number, info, mask);
    if (is_held_back || !sig_action_pass(number, info, context, *mask))
        interrupt_wait(context, NULL); /* without us the kernel would not have delivered it */
}

static void handle(int number, siginfo_t *info, void *context)
{
    if (!is_ours(info) && !may_be_ours(info)) {
        take_foreign(number, info, context);
        return;
    }
    renew_mask(context);
    struct sig_slot *slot = claim(info);
    interrupt_wait(context, slot);
    sig_restart_note(context);
    if (!slot)
        return;
    observe_self(slot, context);
    sig_slots_finish(sig_slots_in_use, slot);
}

bool sig_handler_answer(siginfo_t *info, ucontext_t *context)
{
    uint64_t all = ~(uint64_t)0, mask = 0;
    if (!is_ours(info) && !may_be_ours(info))
        return false;
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&mask, sizeof(mask));
    sig_wait_here.was_given = true;
    handle(info->si_signo, info, context);
    sig_wait_here.was_given = false;
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof(mask));
    return true;
}

/* Whether the kernel takes signals of that number: an emulator may have fewer than the machine. All are
 * blocked; it is taken back, as a debugger would stop at its arrival. */
static bool can_be_sent(int number)
{
    uint64_t unused = 0;
    siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};
    uint64_t value = (uint64_t)sig_cookie << (SLOT_BITS + GENERATION_BITS) | generation_mask << SLOT_BITS;
    info.si_value.sival_ptr = (void *)(uintptr_t)value;
    sig_add_relaxed(&sig_on_the_way, 1);
    long status = sig_action_queue(sig_syscall4(SYS_gettid, 0, 0, 0, 0), number, &info);
    if (status < 0)
        sig_add_relaxed(&sig_on_the_way, -1U);
    else
        drop_ours(sig_numbers_bit(number), &unused);
    return status != -EINVAL;
}

static bool can_be_had(int number)
{
    return sig_action_is_default(number) && sig_action_hold(number);
}

static bool can_be_had_first(int number)
{
    return can_be_had(number) && (sig_action_is_taken_away(number) || can_be_sent(number));
}

int sig_handler_install(int signal_number, struct sig_slots *slots, uint32_t cookie,
                        sig_sigaction_fn *real_sigaction)
{
    uint64_t blocked = 0;
    sig_slots_in_use = slots;
    sig_cookie = cookie & ((1 << COOKIE_BITS) - 1);
    sig_action_init(handle, real_sigaction);
    sig_process_begin();
    if (sig_numbers_current() != 0)
        return 0; /* inherited, with the actions */
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, 0, (long)&blocked, sizeof(blocked));
    uint64_t mask = sig_action_lock();
    sig_numbers_choose(0, signal_number, blocked, can_be_had_first);
    bool is_held = sig_numbers_current() != 0 && sig_action_hold(sig_numbers_current());
    sig_action_settle();
    sig_action_unlock(mask);
    return is_held ? 0 : -EINVAL;
}

void sig_handler_give_back(uint64_t numbers, uint64_t blocked)
{
    uint64_t mask = sig_action_lock();
    sig_numbers_choose(numbers, 0, blocked, can_be_had);
    sig_action_settle();
    sig_action_unlock(mask);
    for (int i = 0; i < 1000 && sig_load_seq_cst(&sig_sending); i++) /* partner: the stores in send */
        sig_syscall4(SYS_sched_yield, 0, 0, 0, 0);
}

/* Looked at under the lock only where it seems so: the kernel's action and what is kept here are not changed
 * in one step. */
static bool is_taken_away(int number)
{
    if (number == 0 || !sig_action_is_taken_away(number))
        return false;
    uint64_t mask = sig_action_lock();
    bool is_taken = sig_action_is_taken_away(number);
    sig_action_unlock(mask);
    return is_taken;
}

uint64_t sig_handler_settle_numbers(void)
{
    static uint64_t
        tried; /* what could not be given back, because nothing else is free, is not tried again */
    uint64_t asked = sig_numbers_asked_back(), taken = 0;
    int current = sig_numbers_current();
    if (is_taken_away(current))
        taken = sig_numbers_bit(current);
    if ((asked | taken) & ~tried)
        sig_handler_give_back(asked | taken, 0);
    tried |= asked | taken;
    if (taken && sig_numbers_current() == current)
        sig_numbers_stop();
    return taken;
}

void sig_handler_uninstall(void)
{
    uint64_t mask = sig_action_lock();
    sig_action_release_all(false);
    sig_numbers_stop();
    sig_process_end();
    sig_action_unlock(mask);
}

bool sig_handler_show_ignored(void)
{
    return sig_action_show_ignored(sig_numbers_current());
}

void sig_handler_hide_ignored(void)
{
    bool is_own = sig_process_is_this();
    uint64_t mask = is_own ? sig_action_lock() : 0;
    sig_action_settle();
    if (is_own)
        sig_action_unlock(mask);
}

int sig_handler_send(pid_t tid, uint32_t slot_index, uint64_t generation)
{
    long pid = sig_syscall4(SYS_getpid, 0, 0, 0, 0);
    uint64_t value = (uint64_t)sig_cookie << (SLOT_BITS + GENERATION_BITS) |
                     (generation & generation_mask) << SLOT_BITS | slot_index;
    siginfo_t info = {.si_code = SI_QUEUE};
    info.si_pid = (pid_t)pid;
    info.si_value.sival_ptr = (void *)(uintptr_t)value;
    if (sig_numbers_current() == 0)
        return -EAGAIN;
    sig_slots_address(sig_slots_in_use, slot_index, tid);
    sig_add_relaxed(&sig_on_the_way, 1);
    sig_store_seq_cst(&sig_sending, 1); /* partner: the load in sig_handler_give_back */
    info.si_signo = sig_numbers_current();
    int status = (int)sig_action_queue(tid, info.si_signo, &info);
    sig_store_seq_cst(&sig_sending, 0);
    if (status < 0)
        sig_add_relaxed(&sig_on_the_way, -1U);
    return status;
}

/* Until every handler that was in flight at the call has left; handlers wait for nobody, so only the
 * scheduler can make this long. */
static bool wait_for_flights(uint64_t deadline_ns)
{
    while (sig_load_seq_cst(&sig_in_flight) != 0) { /* partner: the increment in observe_self */
        if (clock_ns(CLOCK_MONOTONIC) >= deadline_ns)
            return false;
        sig_syscall4(SYS_sched_yield, 0, 0, 0, 0);
    }
    return true;
}

/* In this order: a call that is under way at the first reading has begun by the second and has not ended. */
struct sig_unloads sig_handler_unloads(void)
{
    struct sig_unloads unloads;
    unloads.ended = sig_load_seq_cst(&sig_unloads_ended); /* partners: the increments of the hook */
    unloads.objects = sig_load_seq_cst(&sig_unloaded);
    unloads.strange = sig_load_seq_cst(&sig_unloads_strange);
    unloads.begun = sig_load_seq_cst(&sig_unloads_begun);
    return unloads;
}

bool sig_handler_publish_modules(const struct sig_modules_table *table, uint32_t ended, uint64_t deadline_ns)
{
    sig_store_seq_cst(&sig_cache_off, 1);
    sig_store_seq_cst(&sig_modules_in_use, table);
    if (!wait_for_flights(deadline_ns))
        return false;        /* the cache stays off: correct, only slower */
    if (sig_cache_is_used) { /* else to clear it would only take its memory */
        sig_rules_clear();
        sig_distance_clear();
    }
    sig_cache_is_used = true;
    sig_store_seq_cst(&sig_published, ended);
    sig_store_seq_cst(&sig_cache_off, 0);
    return true;
}

void sig_handler_confirm_modules(uint32_t ended)
{
    sig_store_seq_cst(&sig_published, ended);
}

void sig_handler_forget_parent(void)
{
    sig_action_forget_parent();
    sig_process_begin();
    sig_in_flight = sig_on_the_way = sig_sending = 0;
    sig_cache_off = 1;
    sig_unloads_begun = sig_unloads_ended; /* what threads of the parent's were in */
    sig_life++;
    sig_modules_in_use = NULL;
    sig_slots_in_use = NULL;
}

/*
 * From the moment that begun differs from ended, nothing is concluded from equal numbers; so only what was
 * unloaded before that moment is strange. What is unloaded between it and the reading is taken for strange
 * too, if the call is the first of several that overlap.
 */
uint32_t sig_handler_unload_begin(sig_unloaded_fn *unloaded)
{
    uint32_t life = sig_load_relaxed(&sig_life); /* changes only while this is the process's one thread */
    uint32_t begun = sig_add_seq_cst(&sig_unloads_begun, 1);
    bool is_first = begun == sig_load_seq_cst(&sig_unloads_ended);
    if (is_first && unloaded() != sig_load_seq_cst(&sig_unloaded))
        sig_add_seq_cst(&sig_unloads_strange, 1);
    return life;
}

void sig_handler_unload_end(uint32_t begun_in, sig_unloaded_fn *unloaded)
{
    uint64_t now = unloaded(), known = sig_load_seq_cst(&sig_unloaded);
    if (begun_in != sig_load_relaxed(&sig_life))
        return;
    while (known < now && !sig_cas_acq_rel(&sig_unloaded, &known, now))
        ;
    sig_add_seq_cst(&sig_unloads_ended, 1);
}
