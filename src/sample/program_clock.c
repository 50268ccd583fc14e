#include "program_clock.h"

bool program_clock_is_due(const struct program_clock *clock, uint64_t now_ns)
{
    return now_ns >= clock->due_ns;
}

void program_clock_note(struct program_clock *clock, uint64_t now_ns, uint64_t cpu_ns, uint64_t took_ns)
{
    if (clock->read_ns && now_ns > clock->read_ns && cpu_ns >= clock->cpu_ns)
        clock->rate = (double)(cpu_ns - clock->cpu_ns) / (double)(now_ns - clock->read_ns);
    clock->read_ns = now_ns;
    clock->cpu_ns = cpu_ns;
    clock->due_ns = now_ns + took_ns * PROGRAM_CLOCK_PARTS;
}

uint64_t program_clock_at(struct program_clock *clock, uint64_t now_ns)
{
    uint64_t cpu_ns = clock->cpu_ns + (uint64_t)(clock->rate * (double)(now_ns - clock->read_ns));
    if (cpu_ns > clock->said_ns)
        clock->said_ns = cpu_ns;
    return clock->said_ns;
}
