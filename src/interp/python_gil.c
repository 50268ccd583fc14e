#include "python_gil.h"

#include <stddef.h>

/* The words before the condition. */
enum { INTERVAL, LAST_HOLDER, LOCKED, SWITCH_NUMBER, GIL_WORDS };

/* Where the two words that are waited for begin in a condition: up to glibc 2.40, and from 2.41 on. */
static const uint64_t signals_at[] = {40, 32};

static const uint64_t interval_max_us = 3600 * UINT64_C(1000000), id_max = 1 << 22;

static uint64_t id_of_state(const struct sig_python_layout *layout, const struct sig_interp_memory *memory,
                            uint64_t state)
{
    uint64_t id;
    bool is_read = state % sizeof id == 0 && state != 0 &&
                   memory->read(memory, &id, state + layout->state.native_thread_id, sizeof id, false);
    return is_read && id <= id_max ? id : 0;
}

uint64_t python_gil_holder(const struct sig_python_layout *layout, const struct sig_interp_memory *memory,
                           uint64_t futex)
{
    uint64_t gil[GIL_WORDS], id = 0;
    for (size_t i = 0; i < sizeof signals_at / sizeof *signals_at && !id; i++) {
        uint64_t condition = (futex & ~UINT64_C(7)) - signals_at[i];
        if (memory->read(memory, gil, condition - sizeof gil, sizeof gil, false) && gil[INTERVAL] > 0 &&
            gil[INTERVAL] <= interval_max_us && (uint32_t)gil[LOCKED] == 1)
            id = id_of_state(layout, memory, gil[LAST_HOLDER]);
    }
    return id;
}
