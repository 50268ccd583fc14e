/*
 * The live oracle: a preload library that walks the stacks of a real program twice, with our walk and with
 * libunwind's, from the same interrupted context, and counts how they compare.
 *
 * A helper thread stands in for the sampler: it keeps the modules up to date and signals one thread at a
 * time, so that a handler has the statics below to itself. SIGURG, because one that is still pending when the
 * program execs is ignored there.
 *
 * libunwind is loaded privately. In a handler it would deadlock in dl_iterate_phdr, so this library has one
 * of its own: it serves the walking thread a copy of the loader's list and passes everybody else on.
 *
 * A thread that waits is also walked from outside, before its signal (oracle_live_other.h).
 *
 * ORACLE_LIVE_OUT   where the result goes: this and the process id; without it nothing is done
 * ORACLE_LIVE_NAME  only in programs whose file has this name
 * ORACLE_LIVE_US    microseconds between two signals, 250
 * ORACLE_LIVE_WAITING  if set, threads that wait are signalled as often as others
 *
 * The result is text for oracle_live_report.py: counts, groups of stacks that do not agree or end early with
 * one example each, and the memory map that their addresses belong to.
 */
#include "base/arena.h"
#include "modules/modules.h"
#include "oracle_live_other.h"
#include "sig/sys/sig_atomic.h"
#include "sig/cfi/sig_cfi.h"
#include "sig/walk/sig_fp_offset_cache.h"
#include "sig/walk/sig_unwind_slow.h"
#include "sig/walk/sig_stack_cache.h"
#include "sig/walk/sig_rules.h"
#include "sig/walk/sig_unwind.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    CAPACITY = 1024, /* frames of a stack */
    KEPT = 48,       /* frames of an example, from the innermost */
    GROUPS = 512,
    OBJECTS = 512,
    HEADERS = 16,     /* program headers kept of an object */
    TASKS = 256,      /* threads that are signalled */
    RELIST_EVERY = 64 /* signals between two readings of the list of threads */
};

/* ---- libunwind ---- */

#define NAME_OF(symbol)  NAME_OF_(symbol)
#define NAME_OF_(symbol) #symbol

static struct {
    __typeof__(&unw_init_local2) init;
    __typeof__(&unw_step) step;
    __typeof__(&unw_get_reg) get_reg;
    __typeof__(&unw_is_signal_frame) is_signal_frame;
    __typeof__(&unw_set_caching_policy) set_caching_policy;
    unw_addr_space_t *address_space;
} libunwind;

static bool load_libunwind(void)
{
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    libunwind.init = (__typeof__(libunwind.init))dlsym(library, NAME_OF(unw_init_local2));
    libunwind.step = (__typeof__(libunwind.step))dlsym(library, NAME_OF(unw_step));
    libunwind.get_reg = (__typeof__(libunwind.get_reg))dlsym(library, NAME_OF(unw_get_reg));
    libunwind.is_signal_frame =
        (__typeof__(libunwind.is_signal_frame))dlsym(library, NAME_OF(unw_is_signal_frame));
    libunwind.set_caching_policy =
        (__typeof__(libunwind.set_caching_policy))dlsym(library, NAME_OF(unw_set_caching_policy));
    libunwind.address_space = dlsym(library, NAME_OF(unw_local_addr_space));
    if (!libunwind.init || !libunwind.step || !libunwind.get_reg || !libunwind.is_signal_frame ||
        !libunwind.set_caching_policy || !libunwind.address_space)
        return false;
    libunwind.set_caching_policy(*libunwind.address_space, UNW_CACHE_NONE); /* every rule is its own */
    return true;
}

/* Addresses as sig_unwind gives them: exact where interrupted, a call's return address - 1. */
static size_t walk_theirs(ucontext_t *context, uint64_t *addresses)
{
    unw_cursor_t cursor;
    unw_word_t pc = 0;
    size_t count = 0;
    bool interrupted = true;
    if (libunwind.init(&cursor, context, UNW_INIT_SIGNAL_FRAME) < 0)
        return 0;
    while (count < CAPACITY && libunwind.get_reg(&cursor, UNW_REG_IP, &pc) == 0 && pc != 0) {
        addresses[count++] = pc - !interrupted;
        if (libunwind.step(&cursor) <= 0)
            break;
        interrupted = libunwind.is_signal_frame(&cursor) > 0; /* true of the frame below a trampoline */
    }
    return count;
}

/* ---- the loader's list, for libunwind ---- */

typedef int visit_fn(struct dl_phdr_info *info, size_t size, void *data);
typedef int iterate_fn(visit_fn *visit, void *data);

static struct {
    struct dl_phdr_info info;
    ElfW(Phdr) headers[HEADERS];
} objects[OBJECTS];
static size_t object_count;
static pid_t walker; /* thread that is walking now */

static int copy_object(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)data;
    if (object_count == OBJECTS || size < sizeof(*info) || info->dlpi_phnum > HEADERS)
        return 0;
    objects[object_count].info = *info;
    memcpy(objects[object_count].headers, info->dlpi_phdr, sizeof(*info->dlpi_phdr) * info->dlpi_phnum);
    objects[object_count].info.dlpi_phdr = objects[object_count].headers;
    object_count++;
    return 0;
}

static int iterate_copies(visit_fn *visit, void *data)
{
    int result = 0;
    for (size_t i = 0; i < object_count && result == 0; i++)
        result = visit(&objects[i].info, sizeof(objects[i].info), data);
    return result;
}

static iterate_fn *real_dl_iterate_phdr(void)
{
    static iterate_fn *found;
    if (!found)
        found = (iterate_fn *)dlsym(RTLD_NEXT, "dl_iterate_phdr");
    return found;
}

__attribute__((visibility("default"))) int dl_iterate_phdr(visit_fn *visit, void *data)
{
    pid_t walking = sig_load_relaxed(&walker);
    if (walking && walking == (pid_t)syscall(SYS_gettid))
        return iterate_copies(visit, data);
    return real_dl_iterate_phdr()(visit, data);
}

/* ---- counting ---- */

/* CALLER_ADDED: ours has the caller of code that has not set up its frame yet, where libunwind, without
 * unwind information, follows the frame pointer and skips it. */
enum outcome { EQUAL, OURS_SHORTER, THEIRS_SHORTER, CALLER_ADDED, DIFFERENT, OUTSIDE_DIFFERENT, OUTCOMES };
static const char *const outcome_names[OUTCOMES] = {"equal",        "ours_shorter", "theirs_shorter",
                                                    "caller_added", "different",    "theirs_from_outside"};
static const char *const end_names[] = {"root", "depth", "truncated"};

struct stack {
    size_t count;
    uint64_t addresses[CAPACITY];
};

/* Stacks with the same outcome and end that go wrong in the same function: the last frame both agree on. */
struct group {
    uint64_t count;
    uint64_t function;
    uint8_t outcome, end;
    bool is_leaf;
    size_t agreed; /* frames both have, of the example */
    size_t ours_count, theirs_count;
    uint64_t ours[KEPT], theirs[KEPT];
};

static struct arena arena;
static struct modules modules;
static const struct sig_modules_table *table;
static uint64_t stack_low, stack_high; /* of the main thread */
static _Alignas(
    struct sig_stack_cache) char cache_memory[sizeof(struct sig_stack_cache) +
                                              2 * CAPACITY * sizeof(struct sig_stack_cache_frame)];
static struct sig_stack_cache *const stack_cache = (struct sig_stack_cache *)(void *)cache_memory;
static pid_t process;
static uint64_t stacks, frames, late, outcomes[OUTCOMES], ends[3], lost_groups;
static uint64_t full_walks, cached_stacks, cached_shared, cached_different;
static struct group groups[GROUPS];
static struct stack ours, theirs;

/* Code without unwind information counts as one function per module, or per process where there is none. */
static uint64_t function_around(uint64_t address)
{
    const struct sig_module *module = sig_modules_find(table, address);
    uint64_t start = module ? sig_eh_frame_function_start(module, address) : 0;
    return start ? start : module ? module->start_pc : 0;
}

static void keep_stack(uint64_t *kept, size_t *kept_count, const struct stack *stack)
{
    *kept_count = stack->count < KEPT ? stack->count : KEPT;
    memcpy(kept, stack->addresses, *kept_count * sizeof(*kept));
}

static void note_group(enum outcome outcome, enum sig_unwind_end end, size_t agreed)
{
    uint64_t function = agreed ? function_around(ours.addresses[agreed - 1]) : 0;
    for (struct group *group = groups; group < groups + GROUPS; group++) {
        if (group->count == 0) {
            *group = (struct group){.function = function,
                                    .outcome = (uint8_t)outcome,
                                    .end = (uint8_t)end,
                                    .is_leaf = agreed == 1,
                                    .agreed = agreed};
            keep_stack(group->ours, &group->ours_count, &ours);
            keep_stack(group->theirs, &group->theirs_count, &theirs);
        }
        if (group->function == function && group->outcome == outcome && group->end == end &&
            group->is_leaf == (agreed == 1)) {
            group->count++;
            return;
        }
    }
    lost_groups++;
}

static bool has_added_caller(void)
{
    return theirs.count > 1 && ours.count == theirs.count + 1 && ours.addresses[0] == theirs.addresses[0] &&
           !memcmp(ours.addresses + 2, theirs.addresses + 1, (theirs.count - 1) * sizeof(uint64_t));
}

static void count_stack(enum sig_unwind_end end)
{
    size_t agreed = 0;
    while (agreed < ours.count && agreed < theirs.count && ours.addresses[agreed] == theirs.addresses[agreed])
        agreed++;
    enum outcome outcome = has_added_caller() ? CALLER_ADDED : DIFFERENT;
    if (agreed == ours.count)
        outcome = agreed == theirs.count ? EQUAL : OURS_SHORTER;
    else if (agreed == theirs.count)
        outcome = THEIRS_SHORTER;
    stacks++;
    frames += ours.count;
    outcomes[outcome]++;
    ends[end]++;
    if (outcome != EQUAL || end != SIG_UNWIND_ROOT)
        note_group(outcome, end, agreed);
}

/* With a stack cache of the main thread's last stack the walk must find the same. */
static void walk_with_cache(const struct sig_unwind_request *request, ucontext_t *context,
                            enum sig_unwind_end expected_end)
{
    static uint64_t addresses[CAPACITY];
    struct sig_unwind_request own = *request;
    enum sig_unwind_end end;
    own.stack_cache = stack_cache;
    own.addresses = addresses;
    size_t count = sig_unwind(&own, context, &end);
    cached_shared += end == SIG_UNWIND_ROOT ? stack_cache->shared : 0;
    for (uint32_t i = end == SIG_UNWIND_ROOT ? stack_cache->shared : 0; i-- > 0 && count < CAPACITY;)
        addresses[count++] = stack_cache->frames[i].address;
    cached_stacks++;
    cached_different += end != expected_end || count != ours.count ||
                        memcmp(addresses, ours.addresses, count * sizeof(addresses[0])) != 0;
}

static void compare_with_outside(const ucontext_t *context, enum sig_unwind_end end)
{
    size_t agreed = 1;
    if (oracle_other_compare(context, ours.addresses, ours.count, end))
        return;
    theirs.count = oracle_other.count;
    memcpy(theirs.addresses, oracle_other.addresses, theirs.count * sizeof(theirs.addresses[0]));
    while (agreed < ours.count && agreed < theirs.count && ours.addresses[agreed] == theirs.addresses[agreed])
        agreed++;
    outcomes[OUTSIDE_DIFFERENT]++;
    note_group(OUTSIDE_DIFFERENT, end, agreed);
}

static void walk_twice(ucontext_t *context)
{
    static struct sig_unwind_slow_scratch scratch;
    enum sig_unwind_end end;
    bool is_main = walker == process;
    struct sig_unwind_request request = {.modules = table,
                                         .stack_low = is_main ? stack_low : 0,
                                         .stack_high = is_main ? stack_high : 0,
                                         .use_cache = true,
                                         .addresses = ours.addresses,
                                         .capacity = CAPACITY};
    request.learns = oracle_other.is_to_learn;
    ours.count = sig_unwind(&request, context, &end);
    request.learns = false;
    compare_with_outside(context, end);
    if (is_main)
        walk_with_cache(&request, context, end);
    if (end == SIG_UNWIND_INEXPRESSIBLE) {
        ours.count = sig_unwind_slow(&request, context, &scratch, ours.count, &end);
        full_walks++;
    }
    theirs.count = walk_theirs(context, theirs.addresses);
    count_stack(end);
}

/* ---- helper and handler ---- */

/* Only one thread walks at a time: the helper arms, a handler claims. */
enum { IDLE, ARMED, WALKING };
static uint32_t state;
static uint32_t stop;

static void handle(int number, siginfo_t *info, void *context)
{
    uint32_t expected = ARMED;
    int saved_errno = errno;
    (void)number;
    (void)info;
    if (!sig_cas_acq_rel(&state, &expected, WALKING))
        return;
    sig_store_relaxed(&walker, (pid_t)syscall(SYS_gettid));
    walk_twice(context);
    sig_store_relaxed(&walker, 0);
    sig_store_release(&state, IDLE); /* partner: the acquire in request_sample */
    errno = saved_errno;
}

static void refresh(void)
{
    if (!modules_refresh(&modules) && table)
        return;
    table = modules_table(&modules);
    sig_rules_clear();
    sig_fp_offset_clear();
    object_count = 0;
    real_dl_iterate_phdr()(copy_object, NULL);
}

/* A thread that is off the CPU for long does not hold up the others. */
static void request_sample(pid_t tid)
{
    uint32_t expected = ARMED;
    refresh();
    oracle_remote_walk(tid, (struct sig_unwind_request){.modules = table,
                                                        .stack_low = tid == process ? stack_low : 0,
                                                        .stack_high = tid == process ? stack_high : 0,
                                                        .use_cache = true});
    sig_store_release(&state, ARMED); /* partner: the compare-and-exchange in handle */
    if (syscall(SYS_tgkill, process, tid, SIGURG) < 0) {
        sig_store_release(&state, IDLE);
        return;
    }
    for (int i = 0; i < 2000 && sig_load_acquire(&state) == ARMED; i++)
        usleep(20);
    late += sig_cas_acq_rel(&state, &expected, IDLE);
    while (sig_load_acquire(&state) == WALKING) /* partner: the release in handle */
        usleep(10);
}

/* The program's threads; sleeping ones are only now and then worth a signal. */
static size_t list_tasks(pid_t *tids)
{
    DIR *directory = opendir("/proc/self/task");
    size_t count = 0;
    for (struct dirent *entry; directory && count < TASKS && (entry = readdir(directory));) {
        pid_t tid = atoi(entry->d_name);
        if (tid > 0 && tid != gettid())
            tids[count++] = tid;
    }
    if (directory)
        closedir(directory);
    return count;
}

static bool is_running(pid_t tid)
{
    char path[64], line[256];
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, line, sizeof(line) - 1);
    if (file >= 0)
        close(file);
    line[length > 0 ? length : 0] = 0;
    const char *after_name = strrchr(line, ')');
    return after_name && strncmp(after_name, ") R", 3) == 0;
}

static bool asks_waiting;

static void *help(void *period_us)
{
    pid_t tids[TASKS];
    size_t count = 0;
    for (uint32_t turn = 0; !sig_load_acquire(&stop); turn++) {
        if (turn % RELIST_EVERY == 0 || count == 0)
            count = list_tasks(tids);
        pid_t tid = count ? tids[turn % count] : 0;
        if (tid && (turn % RELIST_EVERY < count || asks_waiting || is_running(tid)))
            request_sample(tid);
        usleep((useconds_t)(uintptr_t)period_us);
    }
    return NULL;
}

/* ---- life ---- */

static void find_main_stack(void)
{
    char line[512];
    struct rlimit limit;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof(line), maps)) {
        if (strstr(line, "[stack]"))
            sscanf(line, "%*x-%lx", &stack_high);
    }
    if (maps)
        fclose(maps);
    bool has_limit = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    stack_cache->capacity = 2 * CAPACITY;
    stack_low = stack_high - (has_limit ? limit.rlim_cur : (uint64_t)8 << 20);
}

static bool is_wanted(void)
{
    char path[4096];
    const char *name = getenv("ORACLE_LIVE_NAME");
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = 0;
    const char *base = strrchr(path, '/');
    return getenv("ORACLE_LIVE_OUT") && (!name || (base && !strcmp(base + 1, name)));
}

static pthread_t helper;

static void start_helper(uintptr_t period_us)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    process = pthread_create(&helper, NULL, help, (void *)period_us) == 0 ? getpid() : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

__attribute__((constructor)) static void start(void)
{
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};
    const char *period = getenv("ORACLE_LIVE_US");
    if (!is_wanted() || !load_libunwind() || arena_init(&arena, 16 << 20) < 0 ||
        modules_init(&modules, &arena) < 0)
        return;
    find_main_stack();
    asks_waiting = getenv("ORACLE_LIVE_WAITING");
    refresh();
    sigfillset(&action.sa_mask);
    sigaction(SIGURG, &action, NULL);
    start_helper(period ? strtoul(period, NULL, 10) : 250);
}

/* ---- the result ---- */

static void write_stack(FILE *out, const char *name, const uint64_t *addresses, size_t count)
{
    fprintf(out, " %s", name);
    for (size_t i = 0; i < count; i++)
        fprintf(out, " %lx", addresses[i]);
    fputc('\n', out);
}

static void write_group(FILE *out, const struct group *group)
{
    fprintf(out, "group %s %s %lu %zu %d\n", outcome_names[group->outcome], end_names[group->end],
            group->count, group->agreed, group->is_leaf);
    write_stack(out, "ours", group->ours, group->ours_count);
    write_stack(out, "theirs", group->theirs, group->theirs_count);
}

static void write_maps(FILE *out)
{
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof(line), maps))
        fprintf(out, "map %s", line);
    if (maps)
        fclose(maps);
}

static void write_result(FILE *out)
{
    fprintf(out,
            "count full_walks %lu\ncount cached_stacks %lu\ncount cached_shared %lu\ncount cached_different "
            "%lu\n",
            full_walks, cached_stacks, cached_shared, cached_different);
    fprintf(out, "count stacks %lu\ncount frames %lu\ncount late %lu\ncount lost_groups %lu\n", stacks,
            frames, late, lost_groups);
    for (int i = 0; i < OUTCOMES; i++)
        fprintf(out, "count %s %lu\n", outcome_names[i], outcomes[i]);
    oracle_other_write(out);
    for (int i = 0; i < 3; i++)
        fprintf(out, "count %s %lu\n", end_names[i], ends[i]);
    for (const struct group *group = groups; group < groups + GROUPS && group->count; group++)
        write_group(out, group);
    write_maps(out);
}

__attribute__((destructor)) static void finish(void)
{
    char path[4096];
    if (!process || process != getpid())
        return;
    sig_store_release(&stop, 1); /* partner: the acquire in help */
    pthread_join(helper, NULL);
    snprintf(path, sizeof(path), "%s.%d", getenv("ORACLE_LIVE_OUT"), process);
    FILE *out = fopen(path, "we");
    if (!out)
        return;
    write_result(out);
    fclose(out);
}
