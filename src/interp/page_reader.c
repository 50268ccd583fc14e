#include "page_reader.h"

#include "sig/sys/sig_memory.h"

#include <string.h>

enum { PAGE_BYTES = PAGE_READER_WORDS * 8 };

/* The copy of a page; NULL if it cannot be read. */
static const unsigned char *page_at(struct page_reader *reader, uint64_t page)
{
    const size_t at = page % PAGE_READER_PAGES;
    if (reader->pages[at] != page) {
        reader->pages[at] = 0;
        if (!sig_memory_copy(reader->words[at], page * PAGE_BYTES, PAGE_BYTES))
            return NULL;
        reader->pages[at] = page;
    }
    return (const unsigned char *)reader->words[at];
}

static bool read_pages(const struct sig_interp_memory *memory, void *to, uint64_t from, size_t bytes,
                       bool is_held)
{
    struct page_reader *reader = (struct page_reader *)(uintptr_t)memory;
    (void)is_held;
    for (size_t done = 0, now; done < bytes; done += now) {
        const size_t offset = (from + done) % PAGE_BYTES, left = bytes - done;
        const unsigned char *page = page_at(reader, (from + done) / PAGE_BYTES);
        now = left < PAGE_BYTES - offset ? left : PAGE_BYTES - offset;
        if (!page)
            return false;
        memcpy((unsigned char *)to + done, page + offset, now);
    }
    return true;
}

void page_reader_begin(struct page_reader *reader)
{
    reader->memory = (struct sig_interp_memory){.read = read_pages};
    memset(reader->pages, 0, sizeof reader->pages);
}
