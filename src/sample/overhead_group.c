#include "overhead_group.h"
#include "base/arena.h"
#include "sig/sys/sig_atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

/* The words of a page are atomic: all members write them, and nothing else depends on them. */
static const size_t page_bytes = sizeof(uint64_t) * OVERHEAD_GROUP_MARKS;

/* In place of scratch memory, which is not in the program's way. NULL and errno without memory. */
static void *map_page(int flags, int fd)
{
    void *page = scratch_alloc(page_bytes);
    if (page &&
        mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | flags, fd, 0) != MAP_FAILED)
        return page;
    int error = page ? errno : ENOMEM;
    scratch_free(page, page_bytes);
    errno = error;
    return NULL;
}

void overhead_group_begin(struct overhead_group *group)
{
    uint64_t *none = NULL, *page = sig_load_acquire(&group->page) ? NULL : map_page(MAP_ANONYMOUS, -1);
    if (page && !sig_cas_acq_rel(&group->page, &none, page))
        scratch_free(page, page_bytes); /* another thread was first */
}

void overhead_group_join(struct overhead_group *group, const struct overhead_group *parent)
{
    *group = (struct overhead_group){.page = parent->page};
}

/* Disk space is allocated beforehand: without it a write would be a SIGBUS (mapped_store.h). */
int overhead_group_share(struct overhead_group *group, int fd)
{
    void *page = NULL;
    if (group->is_shared)
        return 0;
    if (fallocate(fd, 0, 0, page_bytes) == 0)
        page = map_page(0, fd);
    if (!page)
        return -errno;
    overhead_group_leave(group);
    group->is_shared = true;
    sig_store_relaxed(&group->page,
                      page); /* the old page stays mapped: overhead_group_pause may be writing there */
    return 0;
}

static bool is_alive(uint64_t told_ns, uint64_t now_ns)
{
    return told_ns != 0 && told_ns + OVERHEAD_GROUP_SILENT_NS > now_ns;
}

/* Takes the first free mark; 0: there is none. */
static uint32_t take_mark(uint64_t *page, uint64_t now_ns)
{
    for (uint32_t i = 0; i < OVERHEAD_GROUP_MARKS; i++) {
        uint64_t told_ns = sig_load_relaxed(&page[i]);
        if (!is_alive(told_ns, now_ns) && sig_cas_acq_rel(&page[i], &told_ns, now_ns))
            return i + 1;
    }
    return 0;
}

uint32_t overhead_group_tell(struct overhead_group *group, uint64_t now_ns)
{
    uint32_t count = 0;
    uint64_t *page = sig_load_acquire(&group->page); /* partner: the exchange in overhead_group_begin */
    if (!page)
        return 1;
    if (group->mark == 0)
        sig_store_relaxed(&group->mark, take_mark(page, now_ns));
    else
        sig_store_relaxed(&page[group->mark - 1], now_ns);
    for (uint32_t i = 0; i < OVERHEAD_GROUP_MARKS; i++)
        count += is_alive(sig_load_relaxed(&page[i]), now_ns);
    return count > 0 ? count : 1;
}

void overhead_group_pause(const struct overhead_group *group)
{
    uint64_t *page = sig_load_relaxed(&group->page);
    uint32_t mark = sig_load_relaxed(&group->mark);
    if (page && mark > 0)
        sig_store_relaxed(&page[mark - 1], 0);
}

void overhead_group_leave(struct overhead_group *group)
{
    overhead_group_pause(group);
    sig_store_relaxed(&group->mark, 0);
}
