/*
 * For fuzzers of interpreters: words of a sound one's memory are overwritten, and what is found in it keeps
 * its promises.
 */
#ifndef WALLPROF_FUZZ_INTERP_H
#define WALLPROF_FUZZ_INTERP_H

#include "fuzz.h"
#include "interp/interp_merge.h"
#include "lib/fake_memory.h"

#include <string.h>

enum { CAPACITY = 64, CHANGES_MAX = 64 };

/* Overwrites words, each with its new value. A number that is small enough is the address of a word. */
static inline void change_words(struct fuzz_input *input, struct fake_memory *block)
{
    for (int i = 0; i < CHANGES_MAX && input->at < input->end; i++) {
        const uint64_t at = take_fixed(input, 2) % block->used, number = take_number(input);
        block->words[at] = number > 0 && number < 0x80 ? (uintptr_t)&block->words[number * 4] : number;
    }
}

static inline void check_stack(const struct sig_interp_stack *stack)
{
    FUZZ_ASSERT(stack->count <= stack->capacity);
    for (uint32_t i = 0; i < stack->count; i++)
        FUZZ_ASSERT(stack->frames[i].code ? stack->frames[i].check != 0 : stack->frames[i].is_entry);
}

static inline void check_text(const struct interp_names *names)
{
    FUZZ_ASSERT(names->function[0] && strlen(names->function) < sizeof names->function);
    FUZZ_ASSERT(strlen(names->file) < sizeof names->file);
    FUZZ_ASSERT(names->line <= INT32_MAX && names->first_line <= INT32_MAX);
}

static inline void check_merge(struct fuzz_input *input, const struct sig_interp_stack *stack)
{
    arena_ref path[CAPACITY], frames[CAPACITY], merged[2 * CAPACITY];
    uint8_t roles[CAPACITY];
    uint8_t marks[CAPACITY];
    bool is_misfit;
    struct interp_stacks stacks = {.mode = take_u8(input) % 2 ? INTERP_MERGED : INTERP_ALL,
                                   .path = path,
                                   .roles = roles,
                                   .depth = take_u8(input) % CAPACITY,
                                   .frames = frames,
                                   .marks = marks,
                                   .frame_count = stack->count,
                                   .is_cut = stack->end == SIG_INTERP_CUT};
    size_t folded = 0;
    for (size_t i = 0; i < stacks.depth; i++) {
        path[i] = (arena_ref)i + 1;
        roles[i] = take_u8(input) % (INTERP_SWITCHER + 1);
        folded += roles[i] != INTERP_NATIVE && roles[i] != INTERP_SWITCHER;
    }
    stacks.is_truncated = stacks.depth > 0 && take_u8(input) % 2;
    for (size_t i = 0; i < stacks.frame_count; i++) {
        frames[i] = 1000 + (arena_ref)i; /* those without code too */
        marks[i] = take_u8(input) % 16;
        if (stack->frames[i].is_entry)
            marks[i] |= INTERP_ENTRY;
    }
    const size_t count = interp_merge(&stacks, merged, 2 * CAPACITY, &is_misfit);
    FUZZ_ASSERT(count <= stacks.depth + stacks.frame_count);
    FUZZ_ASSERT(count + folded >= stacks.depth + stacks.frame_count);
    for (size_t i = 0, next = 0; i < count; i++) /* no frame is lost, and their order is kept */
        FUZZ_ASSERT(merged[i] < 1000 || merged[i] == 1000 + next++);
}

#endif
