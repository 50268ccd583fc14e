#include "sig_remote_walk.h"
#include "sig_walk_tables.h"

void sig_remote_walk(struct sig_remote_walk *walk)
{
    struct sig_unwind_request request = {
        .stack_low = walk->stack_low,
        .stack_high = walk->stack_high,
        .copy = walk->copy,
        .addresses = walk->addresses,
        .capacity = walk->capacity,
    };
    walk->unloads = sig_walk_tables_use(&request);
    struct sig_unwind_course course;
    walk->depth = (uint32_t)sig_unwind_remote(&request, &walk->blocked_regs, &course);
    walk->end = course.end;
    walk->bytes = course.bytes;
    walk->by_distance = course.by_distance;
}
