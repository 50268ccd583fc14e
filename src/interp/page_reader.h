/*
 * Reading memory of the process by whole pages: what lies on one page is copied once.
 *
 * For one walk of a thread that stands still. What other threads change meanwhile may be seen old or new, as
 * with single reads: code objects are checked by what they say of themselves.
 *
 * Called from: the sampler thread. Through the kernel (sig_memory.h).
 */
#ifndef WALLPROF_PAGE_READER_H
#define WALLPROF_PAGE_READER_H

#include "sig/interp/sig_interp.h"

#include <stdint.h>

enum { PAGE_READER_PAGES = 32, PAGE_READER_WORDS = 512 };

struct page_reader {
    struct sig_interp_memory memory;   /* first: `read` finds the rest by it */
    uint64_t pages[PAGE_READER_PAGES]; /* by their number, 0 for none */
    uint64_t words[PAGE_READER_PAGES][PAGE_READER_WORDS];
};

/* Begins a walk: nothing is copied yet. */
void page_reader_begin(struct page_reader *reader);

#endif
