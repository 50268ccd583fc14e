/*
 * A library that the modules test loads: one function, named by -DSPIN, that runs for a while. Built twice
 * under two names it gives two libraries of one size, which the kernel puts at one address in turn. With
 * -DCONSTRUCTOR_NS its constructor runs for a while too.
 */
#include <stdint.h>
#include <time.h>

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

uint64_t SPIN(uint64_t ns);

/* Not a tail call anywhere, so that every function on the way stays on the stack. */
uint64_t SPIN(uint64_t ns)
{
    const uint64_t step_ns = 1000000; /* a pause of the machine takes one step, not all */
    volatile uint64_t rounds = 0;
    for (uint64_t done_ns = 0; done_ns < ns; done_ns += step_ns) {
        uint64_t left_ns = ns - done_ns;
        for (uint64_t end = now_ns() + (left_ns < step_ns ? left_ns : step_ns); now_ns() < end;) {
            for (int i = 0; i < 500; i++)
                rounds++;
        }
    }
    return rounds;
}

#ifdef CONSTRUCTOR_NS
static volatile uint64_t constructed;

__attribute__((constructor, noinline)) static void construct(void)
{
    constructed = SPIN(CONSTRUCTOR_NS);
}
#endif
