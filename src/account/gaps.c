#include "gaps.h"
#include "base/smaller.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void gaps_add(struct gaps *gaps, uint64_t begin_ns, uint64_t end_ns, enum gap_kind kind)
{
    if (gaps->count > 0)
        begin_ns = larger(begin_ns, gaps->newest[(gaps->count - 1) % GAPS_MAX].end_ns);
    if (end_ns <= begin_ns)
        return;
    gaps->newest[gaps->count++ % GAPS_MAX] = (struct gap){begin_ns, end_ns, kind};
    gaps->total_ns[kind] += end_ns - begin_ns;
}

struct gap_times gaps_between(const struct gaps *gaps, uint64_t from_ns, uint64_t to_ns)
{
    struct gap_times ret = {{0}};
    uint64_t kept = smaller(gaps->count, GAPS_MAX);
    for (uint64_t i = 1; i <= kept; i++) {
        const struct gap *gap = &gaps->newest[(gaps->count - i) % GAPS_MAX];
        if (gap->end_ns <= from_ns)
            break;
        uint64_t begin_ns = larger(gap->begin_ns, from_ns), end_ns = smaller(gap->end_ns, to_ns);
        if (begin_ns < end_ns)
            ret.wall_ns[gap->kind] += end_ns - begin_ns;
    }
    return ret;
}
