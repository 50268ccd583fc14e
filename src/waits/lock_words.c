#include "lock_words.h"
#include "sig/sys/sig_arch.h"

#include <gnu/libc-version.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

enum { WORD_BYTES = 4, PAGE_BYTES = 4096, ARGUMENT_WORD = 0, ARGUMENT_OPERATION, ARGUMENT_VALUE };

/* Of a mutex (nptl/pthreadP.h). Bits 8 and 9 say whether its lock may be elided. */
enum { KIND_TYPE = 3, KIND_ROBUST = 16, KIND_INHERIT = 32, KIND_PROTECT = 64, KIND_SHARED = 128 };
enum { KIND_ELISION = 256 | 512, USERS_MAX = 1 << 22 };

/* The word of a mutex that is waited for, and of one with a priority ceiling, which has the ceiling above. */
enum { MUTEX_CONTENDED = 2, CEILING_SHIFT = 19 };

/* Of a lock for readers and writers. */
enum { RWLOCK_USED = 2, RWLOCK_PHASE = 1, RWLOCK_WAITING = 4, RWLOCK_READER = 8 };

/* Of a condition: where the words of its two groups of waiters are. */
enum { CONDITION_AT = 40, CONDITION_AT_NOW = 32, CONDITION_ALIGNMENT = 8, BARRIER_ALIGNMENT = 8 };

#define MUTEX_AT(member)  offsetof(pthread_mutex_t, __data.member)
#define RWLOCK_AT(member) offsetof(pthread_rwlock_t, __data.member)

_Static_assert(RWLOCK_AT(__writers_futex) == LOCK_BYTES_BEFORE,
               "the words before the one that is waited for");
_Static_assert(RWLOCK_AT(__shared) + WORD_BYTES <= LOCK_BYTES - LOCK_BYTES_BEFORE &&
                   MUTEX_AT(__kind) + WORD_BYTES <= LOCK_BYTES - LOCK_BYTES_BEFORE,
               "the words after it");

static uint32_t operation_of(const uint64_t arguments[6])
{
    return (uint32_t)arguments[ARGUMENT_OPERATION] & (uint32_t)FUTEX_CMD_MASK;
}

static bool is_inheriting(const uint64_t arguments[6])
{
    return operation_of(arguments) == FUTEX_LOCK_PI || operation_of(arguments) == FUTEX_LOCK_PI2;
}

static bool is_wait(const uint64_t arguments[6])
{
    return operation_of(arguments) == FUTEX_WAIT || operation_of(arguments) == FUTEX_WAIT_BITSET;
}

bool lock_words_wanted(long number, const uint64_t arguments[6], struct lock_words *ret)
{
    const uint64_t word = arguments[ARGUMENT_WORD];
    if (number != SYS_futex || word % WORD_BYTES != 0 || word < PAGE_BYTES || word > INT64_MAX ||
        !(is_wait(arguments) || is_inheriting(arguments)))
        return false;
    const uint64_t into_page = word % PAGE_BYTES; /* the page before may not be there */
    const uint64_t before = into_page < LOCK_BYTES_BEFORE ? into_page : LOCK_BYTES_BEFORE;
    ret->piece = (struct sig_memory_piece){
        .from = word - before, .to = ret->bytes, .bytes = LOCK_BYTES - LOCK_BYTES_BEFORE + before};
    return true;
}

/* False if that word was not copied. */
static bool word_at(const struct lock_words *words, uint64_t address, uint32_t *ret)
{
    const uint64_t into = address - words->piece.from;
    if (into > words->piece.copied || words->piece.copied - into < WORD_BYTES)
        return false;
    memcpy(ret, words->bytes + into, WORD_BYTES);
    return true;
}

pid_t lock_words_holder(uint32_t word, bool is_futex)
{
    if (is_futex && word & FUTEX_OWNER_DIED)
        return 0;
    return (pid_t)(is_futex ? word & FUTEX_TID_MASK : word & INT32_MAX);
}

static void take_holder(const struct lock_words *words, uint64_t at, bool is_futex, struct lock_found *ret)
{
    if (!word_at(words, at, &ret->holder_word))
        return;
    ret->holder_at = at;
    ret->holder = lock_words_holder(ret->holder_word, is_futex);
}

/* ---- mutexes ---- */

/* Whether the word is as it is while a mutex of that kind is waited for. */
static bool is_contended(uint32_t kind, uint32_t word)
{
    if (kind & KIND_ROBUST)
        return (word & FUTEX_WAITERS) != 0;
    return kind & KIND_PROTECT ? (word & ((1U << CEILING_SHIFT) - 1)) == MUTEX_CONTENDED
                               : word == MUTEX_CONTENDED;
}

static bool is_kind(uint32_t kind)
{
    const uint32_t known = KIND_TYPE | KIND_ROBUST | KIND_INHERIT | KIND_PROTECT | KIND_SHARED | KIND_ELISION;
    return (kind & ~known) == 0;
}

/* Whether all words are those of a locked mutex. The plainest kinds keep no count. */
static bool do_agree(const struct lock_words *words, uint64_t address, uint32_t kind, uint32_t expected)
{
    uint32_t count, users;
    return word_at(words, address + MUTEX_AT(__count), &count) &&
           word_at(words, address + MUTEX_AT(__nusers), &users) && is_contended(kind, expected) &&
           users >= 1 && users <= USERS_MAX &&
           (count == 0 || kind & (KIND_ROBUST | KIND_INHERIT) ||
            (kind & KIND_TYPE) == PTHREAD_MUTEX_RECURSIVE_NP);
}

static void read_mutex(const struct lock_words *words, const uint64_t arguments[6], bool is_certain,
                       struct lock_found *ret)
{
    const uint64_t address = arguments[ARGUMENT_WORD];
    uint32_t kind, expected = (uint32_t)arguments[ARGUMENT_VALUE];
    bool is_known = word_at(words, address + MUTEX_AT(__kind), &kind) && is_kind(kind);
    if (!is_certain && !(is_known && do_agree(words, address, kind, expected)))
        return;
    ret->kind = LOCK_MUTEX;
    ret->address = address;
    ret->needs_holder = !is_certain;
    if (!is_known)
        return;
    ret->is_shared = kind & KIND_SHARED;
    bool is_futex = kind & (KIND_ROBUST | KIND_INHERIT);
    take_holder(words, is_futex ? address : address + MUTEX_AT(__owner), is_futex, ret);
}

/* The kernel demands that the word names the holder, whoever made the lock. */
static void read_inheriting(const struct lock_words *words, const uint64_t arguments[6],
                            struct lock_found *ret)
{
    ret->kind = LOCK_MUTEX;
    ret->address = arguments[ARGUMENT_WORD];
    ret->is_inherited = true;
    ret->is_shared = !(arguments[ARGUMENT_OPERATION] & FUTEX_PRIVATE_FLAG);
    take_holder(words, ret->address, true, ret);
}

/* ---- locks for readers and writers ---- */

/* Which of its words is waited for shows in what is expected there. */
static uint64_t rwlock_of(const uint64_t arguments[6], enum lock_role role)
{
    const uint64_t word = arguments[ARGUMENT_WORD];
    const uint32_t expected = (uint32_t)arguments[ARGUMENT_VALUE];
    if (role == LOCK_ROLE_READER && expected >= RWLOCK_READER && expected & RWLOCK_WAITING)
        return word - RWLOCK_AT(__readers);
    if (expected == (role == LOCK_ROLE_READER ? RWLOCK_USED | RWLOCK_PHASE : RWLOCK_USED))
        return word - RWLOCK_AT(__wrphase_futex);
    if (role == LOCK_ROLE_WRITER && expected == (RWLOCK_USED | RWLOCK_PHASE))
        return word - RWLOCK_AT(__writers_futex);
    return 0;
}

static void read_rwlock(const struct lock_words *words, const uint64_t arguments[6], enum lock_role role,
                        struct lock_found *ret)
{
    uint32_t is_shared = 0;
    const uint64_t address = rwlock_of(arguments, role);
    if (!address)
        return;
    ret->kind = LOCK_RWLOCK;
    ret->address = address;
    ret->is_shared = word_at(words, address + RWLOCK_AT(__shared), &is_shared) && is_shared;
    take_holder(words, address + RWLOCK_AT(__cur_writer), false, ret);
}

/* ---- what nobody holds ---- */

static uint64_t condition_of(uint64_t word)
{
    static const char changed[] = "2.41";
    const bool is_changed = strverscmp(gnu_get_libc_version(), changed) >= 0;
    return word / CONDITION_ALIGNMENT * CONDITION_ALIGNMENT - (is_changed ? CONDITION_AT_NOW : CONDITION_AT);
}

static void read_condition(const struct lock_words *words, const uint64_t arguments[6],
                           struct lock_found *ret)
{
    read_mutex(words, arguments, false, ret);
    if (ret->kind == LOCK_UNKNOWN)
        *ret = (struct lock_found){.kind = LOCK_CONDITION, .address = condition_of(arguments[ARGUMENT_WORD])};
}

/* Of a semaphore: how many wait, and whether it is between processes. */
enum { SEMAPHORE_WAITERS_AT = 4, SEMAPHORE_SHARED_AT = 8, SEMAPHORE_SHARED = 128 };

/* Whether the words are those of a semaphore that is waited for. */
static bool is_semaphore(const struct lock_words *words, const uint64_t arguments[6])
{
    const uint64_t word = arguments[ARGUMENT_WORD];
    const bool is_private = arguments[ARGUMENT_OPERATION] & FUTEX_PRIVATE_FLAG;
    uint32_t value, waiters, shared;
    return (uint32_t)arguments[ARGUMENT_VALUE] == 0 && word_at(words, word, &value) && value == 0 &&
           word_at(words, word + SEMAPHORE_WAITERS_AT, &waiters) && waiters >= 1 && waiters <= USERS_MAX &&
           word_at(words, word + SEMAPHORE_SHARED_AT, &shared) &&
           shared == (is_private ? 0 : SEMAPHORE_SHARED);
}

/* In a function without a name. The kernel clears the tid of a thread that ends, and wakes processes too. */
static void read_library(const struct lock_words *words, const uint64_t arguments[6], struct lock_found *ret)
{
    const uint64_t word = arguments[ARGUMENT_WORD];
    const uint32_t expected = (uint32_t)arguments[ARGUMENT_VALUE];
    uint32_t value;
    read_mutex(words, arguments, false, ret);
    if (ret->kind != LOCK_UNKNOWN)
        return;
    if (is_semaphore(words, arguments))
        *ret = (struct lock_found){.kind = LOCK_SEMAPHORE, .address = word};
    else if (!(arguments[ARGUMENT_OPERATION] & FUTEX_PRIVATE_FLAG) && expected > 0 &&
             expected <= FUTEX_TID_MASK && word_at(words, word, &value) && value == expected)
        *ret = (struct lock_found){
            .kind = LOCK_JOIN, .address = word, .joined = (pid_t)expected, .needs_holder = true};
}

/* ---- any ---- */

static void read_role(const struct lock_words *words, const uint64_t arguments[6], enum lock_role role,
                      struct lock_found *ret)
{
    const uint64_t word = arguments[ARGUMENT_WORD];
    switch (role) {
    case LOCK_ROLE_MUTEX:
        read_mutex(words, arguments, true, ret);
        break;
    case LOCK_ROLE_LIBRARY:
        read_library(words, arguments, ret);
        break;
    case LOCK_ROLE_READER:
    case LOCK_ROLE_WRITER:
        read_rwlock(words, arguments, role, ret);
        break;
    case LOCK_ROLE_FUTEX:
        *ret = (struct lock_found){.kind = LOCK_FUTEX, .address = word};
        break;
    case LOCK_ROLE_CONDITION:
        read_condition(words, arguments, ret);
        break;
    case LOCK_ROLE_SEMAPHORE:
        *ret = (struct lock_found){.kind = LOCK_SEMAPHORE, .address = word};
        break;
    case LOCK_ROLE_BARRIER:
        *ret = (struct lock_found){.kind = LOCK_BARRIER,
                                   .address = word / BARRIER_ALIGNMENT * BARRIER_ALIGNMENT};
        break;
    case LOCK_ROLE_JOIN:
        *ret = (struct lock_found){
            .kind = LOCK_JOIN, .address = word, .joined = (pid_t)arguments[ARGUMENT_VALUE]};
        break;
    }
}

void lock_words_read(const struct lock_words *words, const uint64_t arguments[6], enum lock_role role,
                     struct lock_found *ret)
{
    *ret = (struct lock_found){.kind = LOCK_UNKNOWN};
    if (is_inheriting(arguments))
        read_inheriting(words, arguments, ret);
    else
        read_role(words, arguments, role, ret);
}
