/*
 * Instructions of x86_64 are not decoded one after the other: each byte may begin a jump. What is no jump
 * leads anywhere, and many of them to one place are no accident.
 */
#include "cold_part.h"

#include "sig/sys/sig_memory.h"

#include <string.h>

enum {
    PIECE_BYTES = 4096,
    JUMP_BYTES_MAX = 6,
    CANDIDATES_MAX = 32,
    JUMPS_MIN = 4,
    FUNCTION_BYTES_MAX = 1 << 20
};

struct candidates {
    const struct modules *modules;
    arena_ref module;
    uint64_t low, high, module_low, module_high;
    uint32_t count;
    struct {
        uint64_t start;
        uint32_t jumps;
    } list[CANDIDATES_MAX];
};

/* Where the jump at the bytes leads, if there is one; 0 if not. */
static uint64_t jump_at(const uint8_t *bytes, uint64_t address)
{
#ifdef __aarch64__
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    if (address % sizeof word != 0)
        return 0;
    if ((word & 0xfc000000U) == 0x14000000U) /* b: 26 bits */
        return address + (uint64_t)((int64_t)(int32_t)(word << 6) >> 6) * 4;
    if ((word & 0xff000010U) == 0x54000000U || (word & 0x7e000000U) == 0x34000000U) /* b.cond, cbz: 19 bits */
        return address + (uint64_t)((int64_t)(int32_t)(word << 8) >> 13) * 4;
    return 0;
#else
    const bool is_conditional = bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80; /* jcc rel32 */
    int32_t distance;
    if (!is_conditional && bytes[0] != 0xe9) /* jmp rel32 */
        return 0;
    memcpy(&distance, bytes + 1 + is_conditional, sizeof distance);
    return address + 5 + is_conditional + (uint64_t)(int64_t)distance;
#endif
}

static void add_target(struct candidates *candidates, uint64_t target)
{
    uint32_t i = 0;
    if (target - candidates->low < candidates->high - candidates->low || target < candidates->module_low ||
        target >= candidates->module_high)
        return;
    const uint64_t start = modules_function_start(candidates->modules, candidates->module, target);
    if (start == 0 || start == target) /* there functions are called */
        return;
    while (i < candidates->count && candidates->list[i].start != start)
        i++;
    if (i == CANDIDATES_MAX)
        return;
    candidates->list[i].start = start;
    candidates->list[i].jumps++;
    candidates->count += i == candidates->count;
}

static void scan(struct candidates *candidates)
{
    uint8_t piece[PIECE_BYTES + JUMP_BYTES_MAX];
    for (uint64_t at = candidates->low; at < candidates->high; at += PIECE_BYTES) {
        if (!sig_memory_copy(piece, at, sizeof piece)) /* a little beyond the end: of the same segment */
            return;
        for (uint64_t i = 0; i < PIECE_BYTES && at + i < candidates->high; i++) {
            const uint64_t target = jump_at(piece + i, at + i);
            if (target)
                add_target(candidates, target);
        }
    }
}

uint64_t cold_part_of(const struct modules *modules, arena_ref ref, uint64_t low, uint64_t high)
{
    const struct module *module = arena_at(modules->list.arena, ref);
    struct candidates candidates = {.modules = modules,
                                    .module = ref,
                                    .low = low,
                                    .high = high,
                                    .module_low = module->start_pc,
                                    .module_high = module->end_pc};
    uint32_t best = 0;
    if (high <= low || high - low > FUNCTION_BYTES_MAX)
        return 0;
    scan(&candidates);
    for (uint32_t i = 1; i < candidates.count; i++)
        best = candidates.list[i].jumps > candidates.list[best].jumps ? i : best;
    return candidates.count > 0 && candidates.list[best].jumps >= JUMPS_MIN ? candidates.list[best].start : 0;
}
