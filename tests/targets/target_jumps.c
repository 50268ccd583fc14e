/*
 * A handler that interrupts a call of the program and leaves it by a jump, many times, for e2e_jumps.sh:
 *
 *     target_jumps sigaltstack | sigaction | exec
 *
 * Afterwards the thread works for longer than it is left alone: after an exec for 1 s of CPU time, and then,
 * as after calls that were no moment for a request, for up to 1 s until the sampler tries again. Prints "all
 * right".
 */
#include "target.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { STACK_BYTES = 65536, WORK_MS = 3000 };

static sigjmp_buf before_call;
static volatile sig_atomic_t is_in_call;
static stack_t stack;

static void on_alarm(int number)
{
    (void)number;
    if (is_in_call)
        siglongjmp(before_call, 1);
}

static void do_nothing(int number)
{
    (void)number;
}

/* All handlers are on signal stacks, or not all are: our handler goes along. */
static void change_handlers(void)
{
    static const struct sigaction beside = {.sa_handler = do_nothing}, none = {.sa_handler = SIG_DFL};
    sigaction(SIGUSR2, &beside, NULL);
    sigaction(SIGUSR2, &none, NULL);
}

static void call(const char *name)
{
    char *const arguments[] = {(char *)"nothing", NULL};
    if (!strcmp(name, "sigaltstack"))
        sigaltstack(&stack, NULL);
    else if (!strcmp(name, "sigaction"))
        change_handlers();
    else
        execv("/nonexistent/program", arguments);
}

static void set_timer(long interval_us)
{
    const struct itimerval timer = {.it_interval = {0, interval_us}, .it_value = {0, interval_us}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void jump_out_of_calls(const char *name)
{
    volatile int jumps = 0;
    const int wanted = !strcmp(name, "exec") ? 1 : 200; /* a later exec ends what an earlier one has begun */
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = (int)SA_ONSTACK};
    sigaction(SIGALRM, &action, NULL);
    set_timer(300);
    while (jumps < wanted) {
        if (sigsetjmp(before_call, 1)) {
            is_in_call = 0;
            jumps++;
            continue;
        }
        is_in_call = 1;
        call(name);
        is_in_call = 0;
    }
    set_timer(0);
}

KEEP_FRAME static void work(void)
{
    uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + WORK_MS * NS_PER_MS;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        KEEP_CALL();
}

int main(int count, char **arguments)
{
    stack.ss_size = STACK_BYTES;
    stack.ss_sp = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (count < 2 || stack.ss_sp == MAP_FAILED)
        die("target_jumps sigaltstack | sigaction | exec");
    sigaltstack(&stack, NULL);
    jump_out_of_calls(arguments[1]);
    work();
    puts("all right");
    return 0;
}
