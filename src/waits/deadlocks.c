#include "deadlocks.h"

#include <stdio.h>
#include <string.h>

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014): the finalizer. */
static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
    value = (value ^ value >> 27) * 0x94d049bb133111ebU;
    return value ^ value >> 31;
}

uint64_t deadlocks_key(const struct deadlock_member *members, uint32_t count)
{
    uint64_t sum = count;
    for (uint32_t i = 0; i < count; i++)
        sum += mix(mix(mix((uint64_t)members[i].tid) + members[i].runs) + members[i].lock_at);
    return sum;
}

/* Its place in the list; DEADLOCKS_KEPT if it is not there. */
static uint32_t find(const struct deadlocks *deadlocks, uint64_t key)
{
    uint32_t at = 0;
    while (at < DEADLOCKS_KEPT && (deadlocks->seen[at].tick == 0 || deadlocks->seen[at].key != key))
        at++;
    return at;
}

bool deadlocks_see(struct deadlocks *deadlocks, uint64_t key, uint64_t tick)
{
    const uint32_t at = find(deadlocks, key);
    if (at < DEADLOCKS_KEPT)
        return deadlocks->seen[at].tick < tick && !deadlocks->seen[at].is_said;
    deadlocks->seen[deadlocks->next].key = key;
    deadlocks->seen[deadlocks->next].tick = tick;
    deadlocks->seen[deadlocks->next].is_said = false;
    deadlocks->next = (deadlocks->next + 1) % DEADLOCKS_KEPT;
    return false;
}

void deadlocks_begin_text(struct deadlocks *deadlocks, uint64_t key)
{
    deadlocks->seen[find(deadlocks, key) % DEADLOCKS_KEPT].is_said = true;
    strcpy(deadlocks->text, "deadlock");
}

static void add(struct deadlocks *deadlocks, const char *text)
{
    static const char cut[] = "...";
    const size_t used = strlen(deadlocks->text), left = sizeof deadlocks->text - used;
    if ((size_t)snprintf(deadlocks->text + used, left, "%s", text) >= left)
        strcpy(deadlocks->text + sizeof deadlocks->text - sizeof cut, cut);
}

static void add_thread(struct deadlocks *deadlocks, pid_t tid, const char *name)
{
    char number[32];
    snprintf(number, sizeof number, " (%d)", (int)tid);
    add(deadlocks, name);
    add(deadlocks, number);
}

void deadlocks_add_text(struct deadlocks *deadlocks, pid_t tid, const char *name, const char *function,
                        const char *on)
{
    const bool is_first = strcmp(deadlocks->text, "deadlock") == 0;
    add(deadlocks, is_first ? ": " : "");
    add_thread(deadlocks, tid, name);
    add(deadlocks, is_first ? " waits in " : ", which waits in ");
    add(deadlocks, function);
    add(deadlocks, " for ");
    add(deadlocks, on);
    add(deadlocks, ", held by ");
}

void deadlocks_end_text(struct deadlocks *deadlocks, pid_t tid, const char *name)
{
    add_thread(deadlocks, tid, name);
}
