/*
 * What runs in a profiled thread: claim the slot, read two clocks, walk the stack, publish. Everything it
 * needs comes with the slot or stands in the statics below.
 *
 * All signals are blocked while it runs, so no handler of the program can jump out of it.
 */
#include "sig_handler.h"
#include "sig_arch.h"
#include "sig_atomic.h"
#include "sig_clock.h"
#include "sig_counted.h"
#include "sig_distance.h"
#include "sig_restart.h"
#include "sig_rules.h"
#include "sig_wait.h"

#include <time.h>

/* si_value: 16 bits of cookie, 36 of generation, 12 of slot index. */
enum { SLOT_BITS = 12, GENERATION_BITS = 36, COOKIE_BITS = 16 };

enum { KERNEL_SIGSET_BYTES = 8, WAIT_FRAMES_MAX = 6 };

static const uint64_t generation_mask = ((uint64_t)1 << GENERATION_BITS) - 1;

/* Written before the handler is installed, read by it. */
static struct sig_slots *sig_slots_in_use;
static uint32_t sig_cookie;
static int sig_number;
static int32_t sig_pid;

/* Replaced by the sampler (sig_handler_publish_modules), read by handlers. */
static const struct sig_modules_table *sig_modules_in_use;

/* Handlers between their first and last look at shared tables. seq_cst against sig_cache_off: a handler
 * counts itself in, then looks at the flag; the other side sets the flag, then looks at the count. One of the
 * two sees the other. */
static uint32_t sig_in_flight;
static uint32_t sig_cache_off; /* non-zero while the cache is cleared */
static uint32_t sig_unloads_begun, sig_unloads_ended, sig_unloads_strange; /* struct sig_unloads */
static uint32_t sig_life;      /* a number of this process's own among its ancestors */
static uint64_t sig_unloaded;  /* objects, as of the last end */
static uint32_t sig_published; /* sig_unloads_ended as of the look at the loader that the table comes from */
static uint64_t sig_stray;
static uint32_t sig_on_the_way; /* sent, and not seen; it stays too high by those that never arrive */

/* The program's action, under a sequence lock: odd while being written. Writers exclude each other by the odd
 * value. */
static struct sigaction sig_program_action;
static uint32_t sig_program_sequence;

int sig_handler_signal(void)
{
    return sig_load_relaxed(&sig_number);
}

bool sig_handler_is_of_this_process(void)
{
    return sig_load_relaxed(&sig_pid) == sig_syscall4(SYS_getpid, 0, 0, 0, 0);
}

void sig_handler_retire(void)
{
    sig_store_relaxed(&sig_number, 0);
}

uint64_t sig_handler_stray_count(void)
{
    return sig_load_relaxed(&sig_stray);
}

/* Reads the program's action whole: a copy taken while the sequence was even and unchanged. */
static void program_action(struct sigaction *ret)
{
    uint32_t before, after;
    do {
        before =
            sig_load_acquire(&sig_program_sequence); /* partner: the release in sig_handler_swap_action */
        *ret = *(volatile struct sigaction *)&sig_program_action;
        __atomic_thread_fence(__ATOMIC_ACQUIRE); /* partner: the fence in sig_handler_swap_action */
        after = sig_load_relaxed(&sig_program_sequence);
    } while ((before & 1) || before != after);
}

static uint64_t block_all_signals(void)
{
    uint64_t all = ~(uint64_t)0, old = 0;
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, KERNEL_SIGSET_BYTES);
    return old;
}

static void restore_signals(uint64_t mask)
{
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, KERNEL_SIGSET_BYTES);
}

void sig_handler_swap_action(const struct sigaction *action, struct sigaction *old)
{
    struct sigaction before,
        after; /* copies: the program's pointers are not touched while the sequence is odd */
    if (action)
        after = *action;
    uint64_t mask =
        block_all_signals(); /* a reader in a handler of this thread would spin for ever on an odd value */
    uint32_t sequence = sig_load_relaxed(&sig_program_sequence) & ~1U;
    while (!sig_cas_acq_rel(&sig_program_sequence, &sequence, sequence | 1U))
        sequence &= ~1U;
    /* The odd value before what it guards: an acquiring exchange orders what follows it after its load only,
     * not after its store. Partner: the fence in program_action. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    before = sig_program_action;
    if (action)
        sig_program_action = after;
    sig_store_release(&sig_program_sequence, sequence + 2); /* partner: the acquire in program_action */
    restore_signals(mask);
    if (old)
        *old = before;
}

/* What the kernel does for SIG_DFL on a terminating signal: end the process by it. */
static void die_by(int signal_number)
{
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } action = {0};
    uint64_t mask = ~((uint64_t)1 << (signal_number - 1));
    sig_syscall4(SYS_rt_sigaction, signal_number, (long)&action, 0, KERNEL_SIGSET_BYTES);
    sig_syscall4(SYS_tgkill, sig_syscall4(SYS_getpid, 0, 0, 0, 0), sig_syscall4(SYS_gettid, 0, 0, 0, 0),
                 signal_number, 0);
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, KERNEL_SIGSET_BYTES);
}

static bool ends_the_process_by_default(int signal_number)
{
    return signal_number != SIGCHLD && signal_number != SIGURG && signal_number != SIGWINCH &&
           signal_number != SIGCONT;
}

static uint64_t mask_of(const sigset_t *set)
{
    return *(const uint64_t *)(const void *)set;
}

/* Calls the program's handler as the kernel would have: its mask, SA_NODEFER and SA_RESETHAND as it asked
 * for. */
static void call_program_handler(const struct sigaction *action, int number, siginfo_t *info,
                                 ucontext_t *context)
{
    uint64_t mask = mask_of(&context->uc_sigmask) | mask_of(&action->sa_mask);
    if (!(action->sa_flags & SA_NODEFER))
        mask |= (uint64_t)1 << (number - 1);
    if (action->sa_flags & (int)SA_RESETHAND) {
        struct sigaction plain = {.sa_handler = SIG_DFL};
        sig_handler_swap_action(&plain, NULL);
    }
    restore_signals(mask);
    sig_wait_here.handled++;
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(number, info, context);
    else
        action->sa_handler(number);
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

/* A signal that the program is not to see may have cut one of its waits short. slot: NULL without. */
static void interrupt_wait(ucontext_t *context, const struct sig_slot *slot)
{
    if (sig_wait_may_be_cut_short(context) && was_called_by_hook(context, slot))
        sig_wait_interrupt(context);
}

static void pass_to_program(int number, siginfo_t *info, ucontext_t *context)
{
    struct sigaction action;
    program_action(&action);
    bool is_dropped = !(action.sa_flags & SA_SIGINFO) &&
                      (action.sa_handler == SIG_IGN ||
                       (action.sa_handler == SIG_DFL && !ends_the_process_by_default(number)));
    if (is_dropped)
        interrupt_wait(context, NULL); /* without us the kernel would not have delivered it */
    else if (action.sa_handler != SIG_DFL || (action.sa_flags & SA_SIGINFO))
        call_program_handler(&action, number, info, context);
    else
        die_by(number);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    sig_clock_read(clock, &now); /* does not fail */
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
    slot->was_blocked = slot->pc != 0;
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
 * Where the user's pending signals are at their limit (RLIMIT_SIGPENDING), the kernel delivers a signal of
 * ours but loses what is in it, and writes this instead (__send_signal_locked and collect_signal in
 * kernel/signal.c). So does a kill from outside the process's namespace, so ours must be on the way.
 */
static bool may_be_ours(const siginfo_t *info)
{
    return info->si_code == SI_USER && info->si_pid == 0 && info->si_uid == 0 &&
           (int32_t)sig_load_relaxed(&sig_on_the_way) > 0; /* only a number: nothing is ordered by it */
}

__attribute__((noinline)) static struct sig_slot *claim(const siginfo_t *info)
{
    uint64_t value = value_of(info);
    if (!sig_slots_in_use)
        return NULL;
    if (!is_ours(info))
        return sig_slots_claim_of(sig_slots_in_use, (pid_t)sig_syscall4(SYS_gettid, 0, 0, 0, 0));
    return sig_slots_claim(sig_slots_in_use, value & ((1 << SLOT_BITS) - 1),
                           value >> SLOT_BITS & generation_mask);
}

static void handle(int number, siginfo_t *info, void *context)
{
    if (!is_ours(info) && !may_be_ours(info)) {
        pass_to_program(number, info, context);
        return;
    }
    sig_add_relaxed(&sig_on_the_way, -1U);
    struct sig_slot *slot = claim(info);
    interrupt_wait(context, slot);
    sig_restart_note(context);
    if (!slot) {
        sig_add_relaxed(&sig_stray, 1);
        return;
    }
    observe_self(slot, context);
    sig_slots_finish(sig_slots_in_use, slot);
}

static int set_kernel_action(int signal_number, sig_sigaction_fn *real_sigaction, struct sigaction *ret_old)
{
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART}, program;
    program_action(&program);
    action.sa_flags |= program.sa_flags & (int)SA_ONSTACK;
    for (size_t i = 0; i < sizeof(action.sa_mask.__val) / sizeof(action.sa_mask.__val[0]); i++)
        action.sa_mask.__val[i] =
            ~0UL; /* what sigfillset does, without a call the allow-list would have to name */
    return real_sigaction(signal_number, &action, ret_old);
}

void sig_handler_follow_action(sig_sigaction_fn *real_sigaction)
{
    set_kernel_action(sig_load_relaxed(&sig_number), real_sigaction, NULL);
}

int sig_handler_install(int signal_number, struct sig_slots *slots, uint32_t cookie,
                        sig_sigaction_fn *real_sigaction)
{
    struct sigaction old;
    sig_slots_in_use = slots;
    sig_cookie = cookie & ((1 << COOKIE_BITS) - 1);
    if (set_kernel_action(signal_number, real_sigaction, &old) < 0)
        return -EINVAL;
    old.sa_handler =
        (void (*)(int))sig_uncounted((uintptr_t)old.sa_handler); /* of a constructor before ours */
    if (sig_load_relaxed(&sig_number) != signal_number)
        sig_handler_swap_action(&old, NULL);
    sig_store_relaxed(&sig_pid, (int32_t)sig_syscall4(SYS_getpid, 0, 0, 0, 0));
    sig_store_relaxed(&sig_number, signal_number);
    sig_handler_follow_action(real_sigaction);
    return 0;
}

void sig_handler_uninstall(sig_sigaction_fn *real_sigaction)
{
    struct sigaction program;
    int number = sig_number;
    program_action(&program);
    sig_store_relaxed(&sig_number, 0);
    sig_store_relaxed(&sig_pid, 0);
    real_sigaction(number, &program, NULL);
}

void sig_handler_translate(struct sigaction *action)
{
    if (action->sa_sigaction == handle)
        program_action(action);
}

bool sig_handler_show_ignored(sig_sigaction_fn *real_sigaction)
{
    struct sigaction program, kernel;
    int number = sig_load_relaxed(&sig_number);
    program_action(&program);
    if (number == 0 || program.sa_handler != SIG_IGN || real_sigaction(number, NULL, &kernel) < 0 ||
        kernel.sa_sigaction != handle)
        return false;
    return real_sigaction(number, &program, NULL) == 0;
}

void sig_handler_hide_ignored(sig_sigaction_fn *real_sigaction)
{
    set_kernel_action(sig_load_relaxed(&sig_number), real_sigaction, NULL);
}

int sig_handler_send(pid_t tid, uint32_t slot_index, uint64_t generation)
{
    long pid = sig_syscall4(SYS_getpid, 0, 0, 0, 0);
    uint64_t value = (uint64_t)sig_cookie << (SLOT_BITS + GENERATION_BITS) |
                     (generation & generation_mask) << SLOT_BITS | slot_index;
    siginfo_t info = {.si_signo = sig_number, .si_code = SI_QUEUE};
    info.si_pid = (pid_t)pid;
    info.si_value.sival_ptr = (void *)(uintptr_t)value;
    sig_slots_address(sig_slots_in_use, slot_index, tid);
    sig_add_relaxed(&sig_on_the_way, 1);
    int status = (int)sig_syscall4(SYS_rt_tgsigqueueinfo, pid, tid, sig_number, (long)&info);
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
        return false; /* the cache stays off: correct, only slower */
    sig_rules_clear();
    sig_distance_clear();
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
    sig_program_sequence =
        (sig_program_sequence + 1) & ~1U; /* a writer of the parent's is not here to finish */
    sig_store_relaxed(&sig_pid, (int32_t)sig_syscall4(SYS_getpid, 0, 0, 0, 0));
    sig_in_flight = sig_cache_off = sig_on_the_way = 0;
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
