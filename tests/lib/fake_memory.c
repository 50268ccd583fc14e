#include "lib/fake_memory.h"

#include <string.h>

static bool read_block(const struct sig_interp_memory *memory, void *to, uint64_t from, size_t bytes,
                       bool is_held)
{
    struct fake_memory *block = (struct fake_memory *)(uintptr_t)memory;
    const uint64_t low = (uintptr_t)block->words, high = low + sizeof block->words;
    block->reads++;
    if ((is_held && block->refuses_held) || from < low || from > high || bytes > high - from)
        return false;
    memcpy(to, (const char *)block->words + (from - low), bytes);
    return true;
}

void fake_memory_init(struct fake_memory *block)
{
    memset(block, 0, sizeof *block);
    block->memory.read = read_block;
    block->used = 16;
}

uint64_t fake_alloc(struct fake_memory *block, uint32_t words)
{
    uint64_t address = (uintptr_t)&block->words[block->used];
    block->used += words;
    return address;
}

uint64_t *fake_at(struct fake_memory *block, uint64_t address)
{
    return &block->words[(address - (uintptr_t)block->words) / FAKE_WORD_BYTES];
}

void fake_set(struct fake_memory *block, uint64_t address, uint64_t value)
{
    *fake_at(block, address) = value;
}

void fake_set_half(struct fake_memory *block, uint64_t address, uint32_t value)
{
    memcpy((char *)fake_at(block, address) + address % FAKE_WORD_BYTES, &value, sizeof value);
}
