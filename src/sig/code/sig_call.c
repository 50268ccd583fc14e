/*
 * Two forms of call name their target: by its distance, or by the distance of a slot (-fno-plt). The target
 * may be an entry of a linkage table, which is a jump through a slot. Linkers make such tables (x86-64
 * psABI 5.2), and so does GMP, which chooses code by the processor.
 */
#include "sig_call.h"
#include "sig/sys/sig_arch.h"
#include "sig/cfi/sig_eh_frame.h"
#include "sig/sys/sig_memory.h"

#include <stdbool.h>

uint64_t sig_call_function_start(const struct sig_modules_table *modules, uint64_t lookup_pc)
{
    const struct sig_module *module = sig_modules_find(modules, lookup_pc);
    return module ? sig_eh_frame_function_start(module, lookup_pc) : 0;
}

#if defined(__x86_64__)

enum {
    CALL_NEAR_BYTES = 5, /* e8 rel32 */
    CALL_SLOT_BYTES = 6, /* ff 15 rel32 */
    JUMP_SLOT_BYTES = 6, /* ff 25 rel32 */
    ENDBR_BYTES = 4,     /* f3 0f 1e fa */
    ENTRY_BYTES = 11,    /* endbr64; bnd jmp *slot(%rip) */
    MAX_JUMPS = 4,
    WORD_BYTES = 8,
};

/* A permanent module stays mapped, but its code need not be readable. */
static bool read_code(const struct sig_modules_table *modules, uint64_t address, uint8_t *to, uint64_t bytes)
{
    const struct sig_module *module = sig_modules_find(modules, address);
    if (!module || module->end_pc - address < bytes)
        return false;
    return module->is_permanent ? sig_memory_probe(to, address, bytes) : sig_memory_copy(to, address, bytes);
}

/* The address at a distance from the end of an instruction; the distance is its last four bytes. */
static uint64_t at_distance(uint64_t end_of_instruction, const uint8_t *distance)
{
    return end_of_instruction + (uint64_t)(int64_t)(int32_t)sig_little_endian_32(distance);
}

static uint64_t read_slot(uint64_t address)
{
    uint64_t target;
    bool is_read = address % WORD_BYTES == 0 && sig_memory_peek((uint8_t *)&target, address, sizeof(target));
    return is_read ? target : 0;
}

static uint64_t follow_jumps(const struct sig_modules_table *modules, uint64_t target)
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

static bool is_call_somewhere(const struct sig_modules_table *modules, uint64_t return_address)
{
    uint8_t code[SIG_CALL_BYTES_MAX];
    return read_code(modules, return_address - sizeof(code), code, sizeof(code)) && sig_ends_in_call(code);
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
    return follow_jumps(modules, target);
}

#else

uint64_t sig_call_target(const struct sig_modules_table *modules, uint64_t return_address)
{
    (void)modules;
    (void)return_address;
    return 0; /* SIG_DECODES_CALLS is 0: never called */
}

#endif
