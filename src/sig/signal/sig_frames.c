/*
 * What the thread's own frames hold on to is read in place: nobody else can give it back. Each page of it is
 * probed once, as a page of the stack is (sig_stack.h). All other memory is copied by the kernel, because
 * another thread may end this one's state at any moment.
 */
#include "sig_frames.h"

#include "sig/sys/sig_atomic.h"
#include "sig/sys/sig_memory.h"

enum { PAGE_BYTES = 4096, WORD_BYTES = 8 };

struct own_memory {
    struct sig_interp_memory memory; /* first: `read` finds the rest by it */
    uint64_t *pages;                 /* probed: by their number, 0 for none */
};

/* Whether memory that begins at a multiple of 8 can be read: at most a page of it. */
static bool is_held_readable(const struct own_memory *own, uint64_t from, size_t bytes)
{
    for (uint64_t page = from / PAGE_BYTES; page <= (from + bytes - 1) / PAGE_BYTES; page++) {
        uint64_t *known = &own->pages[page % SIG_SLOT_HELD_PAGES];
        if (*known != page && !sig_memory_is_readable(page * PAGE_BYTES))
            return false;
        *known = page;
    }
    return true;
}

/* bytes is a multiple of 8, as all records are read. */
static void copy_words(uint64_t *to, uint64_t from, size_t bytes)
{
    for (size_t i = 0; i < bytes / WORD_BYTES; i++)
        to[i] = ((const volatile uint64_t *)(uintptr_t)from)[i];
}

static bool read_own(const struct sig_interp_memory *memory, void *to, uint64_t from, size_t bytes,
                     bool is_held)
{
    const struct own_memory *own = (const struct own_memory *)(const void *)memory;
    if (!is_held)
        return sig_memory_peek(to, from, bytes);
    if (bytes > PAGE_BYTES || bytes % WORD_BYTES != 0 || !is_held_readable(own, from, bytes))
        return false;
    copy_words(to, from, bytes);
    return true;
}

void sig_frames_sample(struct sig_slot *slot)
{
    struct sig_slot_interp *interp = sig_load_relaxed(&slot->interp); /* the signal's delivery orders it */
    if (!interp)
        return;
    const struct own_memory own = {.memory = {.read = read_own}, .pages = interp->held_pages};
    interp->thread.stack_low = slot->sp; /* from the interrupted stack pointer on it is mapped for certain */
    interp->thread.stack_high = slot->sp >= slot->stack_low ? slot->stack_high : 0;
    for (size_t i = 0; i < SIG_SLOT_HELD_PAGES; i++)
        interp->held_pages[i] = 0;
    interp->is_its_state =
        sig_python_walk(&interp->layout, &interp->thread, &own.memory, &interp->scratch, &interp->stack);
}
