#include "sig_jit_code.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_memory.h"

#include <stddef.h>

enum { PAGE_BYTES = 4096 };

bool sig_jit_code_follows_call(uint64_t address)
{
    uint8_t code[SIG_CALL_BYTES_MAX];
    return address >= PAGE_BYTES && sig_memory_peek(code, address - sizeof(code), sizeof(code)) &&
           sig_ends_in_call(code);
}

/* Reads only the page of pc, which is mapped if the thread executes there. */
int sig_jit_code_words_on_return_address(uint64_t pc)
{
    uint8_t code[SIG_LOOK_BACK_BYTES + SIG_LOOK_AHEAD_BYTES];
    uint64_t in_page = pc % PAGE_BYTES;
    size_t before = in_page < SIG_LOOK_BACK_BYTES ? (size_t)in_page : SIG_LOOK_BACK_BYTES;
    size_t ahead =
        PAGE_BYTES - in_page < SIG_LOOK_AHEAD_BYTES ? (size_t)(PAGE_BYTES - in_page) : SIG_LOOK_AHEAD_BYTES;
    if (!sig_memory_peek(code, pc - before, before + ahead))
        return 0;
    return sig_words_on_return_address(code, before, before + ahead);
}
