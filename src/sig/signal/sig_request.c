#include "sig_request.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig/sys/sig_clock.h"
#include "sig_action.h"
#include "sig_numbers.h"
#include "sig_process.h"

#include <time.h>

/* si_value: 16 bits of cookie, 36 of generation, 12 of slot index. */
enum { SLOT_BITS = 12, GENERATION_BITS = 36, COOKIE_BITS = 16 };

/* Yields of the CPU before a wait is given up, and signals that sig_request_drop_pending
 * takes. */
enum { YIELDS_MAX = 1000, PENDING_MAX = 4 };

static const uint64_t generation_mask = ((uint64_t)1 << GENERATION_BITS) - 1;

/* NULL until the sampler sets itself up. The cookie is written first, and read by a handler that has seen the
 * slots. */
static struct sig_slots *sig_slots_in_use; /* atomic */
static uint32_t sig_cookie;

static uint64_t sig_stray;
static uint32_t sig_on_the_way; /* sent and not arrived; requests that never arrive stay counted */

/* The sampler is between reading the current number and sending. seq_cst with the choice of another number:
 * the thread that chooses sees this, or the sampler reads the new number. */
static uint32_t sig_sending;

void sig_request_use_slots(struct sig_slots *slots, uint32_t cookie)
{
    sig_cookie = cookie & ((1 << COOKIE_BITS) - 1);
    sig_store_release(&sig_slots_in_use, slots); /* partner: the acquire in slots_in_use */
}

static struct sig_slots *slots_in_use(void)
{
    return sig_load_acquire(&sig_slots_in_use);
}

static int32_t own_tid(void)
{
    return (int32_t)sig_syscall4(SYS_gettid, 0, 0, 0, 0);
}

/* ---- sending ---- */

static void *value_for(uint32_t slot_index, uint64_t generation)
{
    uint64_t value = (uint64_t)sig_cookie << (SLOT_BITS + GENERATION_BITS) |
                     (generation & generation_mask) << SLOT_BITS | slot_index;
    return (void *)(uintptr_t)value;
}

int sig_request_send(pid_t tid, uint32_t slot_index, uint64_t generation)
{
    siginfo_t info = {.si_code = SI_QUEUE};
    info.si_pid = (pid_t)sig_syscall4(SYS_getpid, 0, 0, 0, 0);
    info.si_value.sival_ptr = value_for(slot_index, generation);
    if (sig_numbers_current() == 0)
        return -EAGAIN;
    sig_slots_address(slots_in_use(), slot_index, tid);
    sig_add_relaxed(&sig_on_the_way, 1);
    sig_store_seq_cst(&sig_sending, 1); /* partner: the load in sig_request_await_sending */
    info.si_signo = sig_numbers_current();
    int status = (int)sig_action_queue(tid, info.si_signo, &info);
    sig_store_seq_cst(&sig_sending, 0);
    if (status < 0)
        sig_add_relaxed(&sig_on_the_way, -1U);
    return status;
}

void sig_request_await_sending(void)
{
    for (int i = 0; i < YIELDS_MAX && sig_load_seq_cst(&sig_sending); i++) /* partner: the stores in send */
        sig_syscall4(SYS_sched_yield, 0, 0, 0, 0);
}

static bool are_on_the_way(void)
{
    return (int32_t)sig_load_relaxed(&sig_on_the_way) > 0; /* only a number: nothing is ordered by it */
}

bool sig_request_await_arrivals(void)
{
    for (int i = 0; i < YIELDS_MAX && are_on_the_way(); i++)
        sig_syscall4(SYS_sched_yield, 0, 0, 0, 0);
    return are_on_the_way();
}

void sig_request_await_replies(uint64_t deadline_ns)
{
    const struct sig_slots *slots = slots_in_use();
    while (slots && sig_load_seq_cst(&slots->pending) != 0 && sig_clock_ns(CLOCK_MONOTONIC) < deadline_ns)
        sig_syscall4(SYS_sched_yield, 0, 0, 0, 0);
}

/* ---- arriving ---- */

static uint64_t value_of(const siginfo_t *info)
{
    return (uint64_t)(uintptr_t)info->si_value.sival_ptr;
}

static bool has_cookie(const siginfo_t *info)
{
    return info->si_code == SI_QUEUE && value_of(info) >> (SLOT_BITS + GENERATION_BITS) == sig_cookie;
}

/*
 * A request without a value (sig_action_queue) looks as if the program had sent it to its own thread. If the
 * program uses the number, it is a request only if this thread has one outstanding, or if the signal would
 * end the program.
 */
static bool is_sent_plainly(const siginfo_t *info)
{
    int number = info->si_signo;
    if (info->si_code != SI_TKILL || info->si_pid != sig_process_pid())
        return false;
    return !(sig_numbers_given() & sig_numbers_bit(number)) || sig_action_is_default_of_program(number) ||
           (slots_in_use() && sig_slots_is_addressed(slots_in_use(), own_tid()));
}

/*
 * At the user's limit of pending signals (RLIMIT_SIGPENDING) the kernel delivers a request without its value
 * (__send_signal_locked and collect_signal in kernel/signal.c). A kill from outside the process's namespace
 * looks the same, so a request must be on the way.
 */
static bool has_lost_its_value(const siginfo_t *info)
{
    if (!are_on_the_way())
        return false;
    if (info->si_code == SI_USER)
        return info->si_pid == 0 && info->si_uid == 0;
    return is_sent_plainly(info) && sig_action_sends_plainly();
}

bool sig_request_is_one(const siginfo_t *info)
{
    return has_cookie(info) || has_lost_its_value(info);
}

struct sig_slot *sig_request_claim(const siginfo_t *info)
{
    uint64_t value = value_of(info);
    struct sig_slots *slots = slots_in_use();
    struct sig_slot *slot = NULL;
    sig_add_relaxed(&sig_on_the_way, -1U);
    if (slots && has_cookie(info))
        slot = sig_slots_claim(slots, value & ((1 << SLOT_BITS) - 1), value >> SLOT_BITS & generation_mask);
    else if (slots)
        slot = sig_slots_claim_of(slots, own_tid());
    if (!slot)
        sig_add_relaxed(&sig_stray, 1);
    return slot;
}

void sig_request_finish(struct sig_slot *slot)
{
    sig_slots_finish(slots_in_use(), slot);
}

uint32_t sig_request_capacity(void)
{
    return slots_in_use()->capacity;
}

/* Not inline: its variables would take stack from a walk. */
__attribute__((noinline)) void sig_request_drop_pending(uint64_t numbers, uint64_t *mask)
{
    siginfo_t info;
    struct timespec at_once = {0};
    for (int i = 0; i < PENDING_MAX; i++) {
        long number =
            sig_syscall4(SYS_rt_sigtimedwait, (long)&numbers, (long)&info, (long)&at_once, sizeof(numbers));
        if (number <= 0)
            return;
        if (sig_request_is_one(&info))
            sig_add_relaxed(&sig_on_the_way, -1U); /* the sampler will find it lost, and send another */
        else
            sig_action_hold_back((int)number, &info, mask);
    }
}

bool sig_request_can_use(int number)
{
    uint64_t unused = 0;
    siginfo_t info = {.si_signo = number, .si_code = SI_QUEUE};
    info.si_value.sival_ptr = value_for(0, generation_mask);
    sig_add_relaxed(&sig_on_the_way, 1);
    long status = sig_action_queue(own_tid(), number, &info);
    if (status < 0)
        sig_add_relaxed(&sig_on_the_way, -1U);
    else
        sig_request_drop_pending(sig_numbers_bit(number), &unused);
    return status != -EINVAL;
}

uint64_t sig_request_stray_count(void)
{
    return sig_load_relaxed(&sig_stray);
}

void sig_request_forget_parent(void)
{
    sig_on_the_way = sig_sending = 0;
    sig_slots_in_use = NULL;
}
