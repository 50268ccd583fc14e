#include "sig_setup.h"
#include "sig/ground/sig_unloads.h"
#include "sig/sys/sig_arch.h"
#include "sig/walk/sig_walk_tables.h"
#include "sig_handler.h"
#include "sig_numbers.h"
#include "sig_process.h"
#include "sig_request.h"

enum { LEAST_REAL_TIME = 34 }; /* of the program's: the C library has 32 and 33 */

static bool hold_if_default(int number)
{
    return sig_action_is_default(number) && sig_action_hold(number);
}

/* An emulator may lack the highest real-time signals. If one can be used, those below it can. */
static bool hold_first_if_default(int number)
{
    static bool sig_real_time_is_known;
    bool is_real_time = number >= LEAST_REAL_TIME;
    if (!hold_if_default(number))
        return false;
    if (!is_real_time || sig_real_time_is_known || sig_action_is_taken_away(number))
        return true;
    sig_real_time_is_known = sig_request_can_use(number);
    return sig_real_time_is_known;
}

int sig_setup_install(int signal_number, struct sig_slots *slots, uint32_t cookie,
                      sig_sigaction_fn *real_sigaction)
{
    uint64_t blocked = 0;
    sig_request_use_slots(slots, cookie);
    sig_action_init(sig_handler, real_sigaction);
    sig_process_begin();
    sig_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, 0, (long)&blocked, sizeof(blocked));
    uint64_t mask = sig_action_lock();
    sig_numbers_choose(0, signal_number, blocked, hold_first_if_default);
    bool is_held = sig_numbers_current() != 0 && sig_action_hold(sig_numbers_current());
    sig_action_settle();
    sig_action_unlock(mask);
    return is_held ? 0 : -EINVAL;
}

void sig_setup_connect(struct sig_slots *slots, uint32_t cookie)
{
    sig_request_use_slots(slots, cookie);
}

/* After this the kernel calls the program's handlers. Ours would need system calls for it. */
void sig_setup_retire(void)
{
    bool may_be_late = sig_request_await_arrivals();
    uint64_t mask = sig_action_lock();
    mask = sig_numbers_to_program(mask);
    sig_action_release_all(may_be_late);
    sig_numbers_stop();
    sig_process_end();
    sig_action_unlock(mask);
}

void sig_setup_uninstall(void)
{
    uint64_t mask = sig_action_lock();
    sig_action_release_all(false);
    sig_numbers_stop();
    sig_process_end();
    sig_action_unlock(mask);
}

void sig_setup_give_back(uint64_t numbers, uint64_t blocked)
{
    uint64_t mask = sig_action_lock();
    sig_numbers_choose(numbers, 0, blocked, hold_if_default);
    sig_action_settle();
    sig_action_unlock(mask);
    sig_request_await_sending();
}

/* The kernel's action and ours do not change in one step, so it is checked again under the lock. */
static bool is_taken_away(int number)
{
    if (number == 0 || !sig_action_is_taken_away(number))
        return false;
    uint64_t mask = sig_action_lock();
    bool is_taken = sig_action_is_taken_away(number);
    sig_action_unlock(mask);
    return is_taken;
}

uint64_t sig_setup_settle_numbers(void)
{
    /* What could not be given back, because no other number is free, is not tried again. */
    static uint64_t sig_tried;
    uint64_t asked = sig_numbers_asked_back(), taken = 0;
    int current = sig_numbers_current();
    if (is_taken_away(current))
        taken = sig_numbers_bit(current);
    if ((asked | taken) & ~sig_tried)
        sig_setup_give_back(asked | taken, 0);
    sig_tried |= asked | taken;
    if (taken && sig_numbers_current() == current)
        sig_numbers_stop();
    return taken;
}

bool sig_setup_show_ignored(void)
{
    return sig_action_show_ignored(sig_numbers_current());
}

void sig_setup_hide_ignored(void)
{
    bool is_own = sig_process_is_this();
    uint64_t mask = is_own ? sig_action_lock() : 0;
    sig_action_settle();
    if (is_own)
        sig_action_unlock(mask);
}

void sig_setup_forget_parent(void)
{
    sig_action_forget_parent();
    sig_process_begin();
    sig_request_forget_parent();
    sig_walk_tables_forget_parent();
    sig_unloads_forget_parent();
}
