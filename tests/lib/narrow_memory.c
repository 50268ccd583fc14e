#include "narrow_memory.h"

#include <stdio.h>

static uint64_t narrow_address_space(void)
{
    unsigned long pages;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return (uint64_t)pages * 4096;
}

struct rlimit narrow_memory_begin(uint64_t bytes)
{
    struct rlimit before, narrow;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    narrow = before;
    narrow.rlim_cur = narrow_address_space() + bytes;
    assert_int_equal(setrlimit(RLIMIT_AS, &narrow), 0);
    void *too_much = scratch_alloc(bytes + (1 << 20));
    if (too_much) {
        scratch_free(too_much, bytes + (1 << 20));
        setrlimit(RLIMIT_AS, &before);
        skip();
    }
    return before;
}

void narrow_memory_end(struct rlimit before)
{
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}
