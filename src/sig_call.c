/*
 * Two forms of call name their target: by distance, and by a slot at a distance (-fno-plt). The target may be
 * an entry of a linkage table, of the linker's (x86-64 psABI 5.2) or of a library's own (GMP chooses code by
 * processor so): a jump through a slot.
 */
#include "sig_call.h"
#include "sig_arch.h"
#include "sig_memory.h"

#include <stdbool.h>

#if defined(__x86_64__)

enum {
    CALL_NEAR_BYTES = 5, /* e8 rel32 */
    CALL_SLOT_BYTES = 6, /* ff 15 rel32 */
    JUMP_SLOT_BYTES = 6, /* ff 25 rel32 */
    ENDBR_BYTES = 4,     /* f3 0f 1e fa */
    ENTRY_BYTES = 11,    /* endbr64; bnd jmp *slot(%rip) */
    MAX_JUMPS = 4,
    WORD_BYTES = 8,
    PAGE_BYTES = 4096,
};

/* A permanent module stays mapped, but its code may be for execution only. */
static bool is_readable(uint64_t address, uint64_t bytes)
{
    const uint64_t word_mask = WORD_BYTES - 1;
    uint64_t first = address & ~word_mask, last = (address + bytes - 1) & ~word_mask;
    return sig_memory_is_readable(first) &&
           (first / PAGE_BYTES == last / PAGE_BYTES || sig_memory_is_readable(last));
}

static bool read_code(const struct sig_modules_table *modules, uint64_t address, uint8_t *to, uint64_t bytes)
{
    const struct sig_module *module = sig_modules_find(modules, address);
    if (!module || module->end_pc - address < bytes)
        return false;
    if (!module->is_permanent)
        return sig_memory_copy(to, address, bytes);
    if (!is_readable(address, bytes))
        return false;
    for (uint64_t i = 0; i < bytes; i++)
        to[i] = ((const uint8_t *)(uintptr_t)address)[i];
    return true;
}

/* What lies at a distance, the last four bytes of an instruction, from the end of that. */
static uint64_t at_distance(uint64_t end_of_instruction, const uint8_t *distance)
{
    uint32_t bits = (uint32_t)distance[0] | (uint32_t)distance[1] << 8 | (uint32_t)distance[2] << 16 |
                    (uint32_t)distance[3] << 24;
    return end_of_instruction + (uint64_t)(int64_t)(int32_t)bits;
}

static uint64_t read_slot(uint64_t address)
{
    uint64_t target;
    bool is_read = address % WORD_BYTES == 0 && sig_memory_peek((uint8_t *)&target, address, sizeof(target));
    return is_read ? target : 0;
}

/* Through the jumps of linkage tables to where they lead. */
static uint64_t behind_jumps(const struct sig_modules_table *modules, uint64_t target)
{
    uint8_t code[ENTRY_BYTES];
    for (int i = 0; i < MAX_JUMPS && read_code(modules, target, code, sizeof(code)); i++) {
        bool has_endbr = code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa;
        unsigned at = has_endbr ? ENDBR_BYTES : 0;
        at += code[at] == 0xf2; /* bnd */
        if (code[at] != 0xff || code[at + 1] != 0x25)
            break;
        target = read_slot(at_distance(target + at + JUMP_SLOT_BYTES, &code[at + 2]));
    }
    return target;
}

/* ff /2, with the bytes of its operand: two, three with a REX prefix before or a byte behind, and so on. */
static bool is_call_somewhere(const struct sig_modules_table *modules, uint64_t return_address)
{
    static const uint8_t lengths[] = {2, 3, 4, 6, 7};
    uint8_t code[2];
    for (unsigned i = 0; i < sizeof(lengths); i++) {
        if (read_code(modules, return_address - lengths[i], code, sizeof(code)) && code[0] == 0xff &&
            (code[1] >> 3 & 7) == 2)
            return true;
    }
    return false;
}

uint64_t sig_call_target(const struct sig_modules_table *modules, uint64_t return_address)
{
    uint8_t code[CALL_SLOT_BYTES];
    if (!read_code(modules, return_address - CALL_SLOT_BYTES, code, sizeof(code)))
        return 0;
    uint64_t target = at_distance(return_address, &code[2]);
    if (code[0] == 0xff && code[1] == 0x15)
        target = read_slot(target);
    else if (code[CALL_SLOT_BYTES - CALL_NEAR_BYTES] != 0xe8)
        return is_call_somewhere(modules, return_address) ? SIG_CALL_SOMEWHERE : 0;
    return behind_jumps(modules, target);
}

#else

uint64_t sig_call_target(const struct sig_modules_table *modules, uint64_t return_address)
{
    (void)modules;
    (void)return_address;
    return 0; /* SIG_DECODES_CALLS is 0: nobody asks */
}

#endif
