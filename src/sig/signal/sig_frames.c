/*
 * What only this thread can give back is read in place, and each page of it is probed once, as a page of the
 * stack is (sig_stack.h). All other memory is copied by the kernel, a page at a time: frames lie close
 * together. Another thread may end this one's state at any moment, and Python's end gives back its chunk of
 * frames.
 */
#include "sig_frames.h"

#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "sig/sys/sig_memory.h"

enum { PAGE_BYTES = SIG_SLOT_COPY_WORDS * 8, WORD_BYTES = 8 };

struct own_memory {
    struct sig_interp_memory memory; /* first: `read` finds the rest by it */
    struct sig_slot_interp *interp;
};

/* Both by their number; 0: none. */
static void forget_pages(struct sig_slot_interp *interp)
{
    for (size_t i = 0; i < SIG_SLOT_HELD_PAGES; i++)
        interp->held_pages[i] = 0;
    for (size_t i = 0; i < SIG_SLOT_COPIES; i++)
        interp->copied_pages[i] = 0;
}

/* The page where it can be read in place; NULL if it cannot. */
static const volatile uint64_t *held_page(struct sig_slot_interp *interp, uint64_t page)
{
    uint64_t *known = &interp->held_pages[page % SIG_SLOT_HELD_PAGES];
    if (*known != page && !sig_memory_is_readable(page * PAGE_BYTES))
        return NULL;
    *known = page;
    return (const volatile uint64_t *)(uintptr_t)(page * PAGE_BYTES);
}

/* The copy of the page; NULL if it cannot be read. */
static const volatile uint64_t *copied_page(struct sig_slot_interp *interp, uint64_t page)
{
    const size_t at = page % SIG_SLOT_COPIES;
    if (interp->copied_pages[at] != page) {
        interp->copied_pages[at] = 0;
        if (!sig_memory_peek((uint8_t *)interp->copies[at], page * PAGE_BYTES, PAGE_BYTES))
            return NULL;
        interp->copied_pages[at] = page;
    }
    return interp->copies[at];
}

/* Address and size are multiples of 8, as of all records. */
static bool read_own(const struct sig_interp_memory *memory, void *to, uint64_t from, size_t bytes,
                     bool is_held)
{
    struct sig_slot_interp *interp = ((const struct own_memory *)(const void *)memory)->interp;
    const volatile uint64_t *words = NULL;
    if (from % WORD_BYTES != 0 || bytes % WORD_BYTES != 0)
        return false;
    for (size_t i = 0; i < bytes / WORD_BYTES; i++) {
        const uint64_t address = from + i * WORD_BYTES;
        if (!words || address % PAGE_BYTES == 0)
            words = (is_held ? held_page : copied_page)(interp, address / PAGE_BYTES);
        if (!words)
            return false;
        ((uint64_t *)to)[i] = words[address % PAGE_BYTES / WORD_BYTES];
    }
    return true;
}

void sig_frames_sample(struct sig_slot *slot, const ucontext_t *context)
{
    struct sig_slot_interp *interp = sig_load_relaxed(&slot->interp); /* the signal's delivery orders it */
    if (!interp)
        return;
    const struct own_memory own = {.memory = {.read = read_own}, .interp = interp};
    interp->thread.stack_low = slot->sp; /* from the interrupted stack pointer on it is mapped for certain */
    interp->thread.stack_high = slot->sp >= slot->stack_low ? slot->stack_high : 0;
    if (!sig_leaf_register(context, SIG_PHP_INSTRUCTION_REGISTER, &interp->thread.instruction))
        interp->thread.instruction = 0;
    forget_pages(interp);
    interp->is_its_state =
        sig_walk_frames(&interp->layout, &interp->thread, &own.memory, &interp->scratch, &interp->stack);
}
