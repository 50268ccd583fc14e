#include "watched_stores.h"
#include "unit.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifdef __x86_64__
enum { TRAP_FLAG = 0x100, PARTS = 1 + MAPPED_PART_COUNT };

static struct {
    watched_stores_fn *check;
    void *context;
    struct mapped_memory parts[PARTS];
    const struct mapped_memory *open; /* the one that is being stored to */
    unsigned stores;
} watched;

static void protect(const struct mapped_memory *part, int protection)
{
    if (part->bytes > 0)
        assert_int_equal(mprotect(part->base, part->bytes, protection), 0);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    ucontext_t *thread = context;
    const uintptr_t address = (uintptr_t)info->si_addr;
    for (int i = 0; i < PARTS; i++) {
        const struct mapped_memory *part = &watched.parts[i];
        if (address - (uintptr_t)part->base < part->bytes)
            watched.open = part;
    }
    if (!watched.open) {
        raise(SIGABRT);
        return;
    }
    (void)signal;
    protect(watched.open, PROT_READ | PROT_WRITE);
    thread->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    ucontext_t *thread = context;
    (void)signal;
    (void)info;
    thread->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    protect(watched.open, PROT_READ);
    watched.open = NULL;
    watched.stores++;
    watched.check(watched.context);
}

bool watch_stores(const struct mapped_store *store, watched_stores_fn *check, void *context)
{
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    watched.check = check;
    watched.context = context;
    watched.stores = 0;
    watched.parts[0] = (struct mapped_memory){store->header, STORE_HEADER_BYTES, 0, NULL};
    for (int i = 0; i < MAPPED_PART_COUNT; i++)
        watched.parts[1 + i] = store->parts[i].memory;
    assert_int_equal(sigaction(SIGSEGV, &fault, NULL), 0);
    assert_int_equal(sigaction(SIGTRAP, &trap, NULL), 0);
    for (int i = 0; i < PARTS; i++)
        protect(&watched.parts[i], PROT_READ);
    return true;
}

unsigned watch_no_more(void)
{
    for (int i = 0; i < PARTS; i++)
        protect(&watched.parts[i], PROT_READ | PROT_WRITE);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGTRAP, SIG_DFL);
    return watched.stores;
}
#else
bool watch_stores(const struct mapped_store *store, watched_stores_fn *check, void *context)
{
    (void)store;
    (void)check;
    (void)context;
    return false; /* there is no trap flag */
}

unsigned watch_no_more(void)
{
    return 0;
}
#endif
