#include "overhead_group.h"
#include "sig/sys/sig_atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

/* When each was last told of, CLOCK_MONOTONIC; 0: nobody's. Atomic; partners are the members among
 * themselves: they agree on no more than the words. */
struct family_page {
    uint64_t told_ns[FAMILY_MARKS];
};

void family_begin(struct wp_family *family)
{
    void *page =
        mmap(NULL, sizeof(struct family_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *family = (struct wp_family){.page = page == MAP_FAILED ? NULL : page, .mark = FAMILY_MARKS};
}

void family_join(struct wp_family *family, const struct wp_family *parent)
{
    *family = (struct wp_family){.page = parent->page, .mark = FAMILY_MARKS};
}

/* Room for it is asked of the file system beforehand: there must be some when it is written to (live.h). */
int family_share(struct wp_family *family, int fd)
{
    void *page = MAP_FAILED;
    if (family->is_shared)
        return 0;
    if (fallocate(fd, 0, 0, sizeof(struct family_page)) == 0)
        page = mmap(NULL, sizeof(struct family_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return -errno;
    family_leave(family);
    family->is_shared = true;
    sig_store_relaxed(&family->page, page); /* the one before stays: family_pause may be writing there */
    return 0;
}

static bool is_there(uint64_t told_ns, uint64_t now_ns)
{
    return told_ns != 0 && told_ns + FAMILY_SILENT_NS > now_ns;
}

/* The first mark that is nobody's any more. */
static uint32_t take_mark(struct family_page *page, uint64_t now_ns)
{
    for (uint32_t i = 0; i < FAMILY_MARKS; i++) {
        uint64_t told_ns = sig_load_relaxed(&page->told_ns[i]);
        if (!is_there(told_ns, now_ns) && sig_cas_acq_rel(&page->told_ns[i], &told_ns, now_ns))
            return i;
    }
    return FAMILY_MARKS;
}

uint32_t family_tell(struct wp_family *family, uint64_t now_ns)
{
    uint32_t count = 0;
    if (!family->page)
        return 1;
    if (family->mark == FAMILY_MARKS)
        sig_store_relaxed(&family->mark, take_mark(family->page, now_ns));
    else
        sig_store_relaxed(&family->page->told_ns[family->mark], now_ns);
    for (uint32_t i = 0; i < FAMILY_MARKS; i++)
        count += is_there(sig_load_relaxed(&family->page->told_ns[i]), now_ns);
    return count > 0 ? count : 1;
}

void family_pause(const struct wp_family *family)
{
    struct family_page *page = sig_load_relaxed(&family->page);
    uint32_t mark = sig_load_relaxed(&family->mark);
    if (page && mark < FAMILY_MARKS)
        sig_store_relaxed(&page->told_ns[mark], 0);
}

void family_leave(struct wp_family *family)
{
    family_pause(family);
    sig_store_relaxed(&family->mark, FAMILY_MARKS);
}
