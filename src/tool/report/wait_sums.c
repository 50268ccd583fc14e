#include "wait_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wait_sums_init(struct wait_sums *sums)
{
    string_table_init(&sums->texts);
    return intern_table_init(&sums->all, sizeof(struct wait_sum), sizeof((struct wait_sum){0}.key));
}

void wait_sums_deinit(struct wait_sums *sums)
{
    intern_table_deinit(&sums->all);
    string_table_deinit(&sums->texts);
}

static uint32_t intern(struct wait_sums *sums, const char *text)
{
    return text ? string_table_intern(&sums->texts, text) : 0;
}

/* PostgreSQL's row locks are told by a signal: the epoll set that it is waited for with is not what it is
 * waited for. */
static bool is_told_by_events(enum wait_kind kind, const char *on)
{
    static const char *const events[] = {"epoll", "poll", "select", "eventfd", "signalfd", "pipe", "unix"};
    for (size_t i = 0; on && kind == WAIT_LOCK && i < sizeof events / sizeof *events; i++) {
        const size_t bytes = strlen(events[i]);
        if (strncmp(on, events[i], bytes) == 0 && (on[bytes] == '\0' || on[bytes] == ' '))
            return true;
    }
    return false;
}

void wait_sums_add(struct wait_sums *sums, enum wait_kind kind, const struct wait_labels *waited, uint64_t ns)
{
    if (ns == 0)
        return;
    const char *on = is_told_by_events(kind, waited->on) ? NULL : waited->on;
    const uint32_t key[] = {kind, intern(sums, on), intern(sums, waited->holder)};
    struct wait_sum *sum = intern_table_at(&sums->all, intern_table_intern(&sums->all, key));
    sum->ns += ns;
}

const char *wait_sum_text(const struct wait_sums *sums, uint32_t text)
{
    return text ? string_table_at(&sums->texts, text) : NULL;
}

/* ---- things ---- */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static bool is_idle(const struct wait_sum *sum)
{
    return sum->key.kind == WAIT_IDLE;
}

/* A thing that is known is one whatever stacks it was waited for in, but for waits for work. */
static int compare_things(const struct wait_sum *a, const struct wait_sum *b)
{
    const int order = compare(a->key.on, b->key.on);
    return order ? order : a->key.on ? compare(is_idle(a), is_idle(b)) : compare(a->key.kind, b->key.kind);
}

static int compare_sums(const void *left, const void *right)
{
    const struct wait_sum *a = left, *b = right;
    int order = compare_things(a, b);
    order = order ? order : compare(a->key.holder, b->key.holder);
    return order ? order : compare(a->key.kind, b->key.kind);
}

/* All sums, in malloc'd memory; NULL without. */
static struct wait_sum *sorted_sums(const struct wait_sums *sums,
                                    int (*order)(const void *left, const void *right))
{
    struct wait_sum *ret = calloc((size_t)sums->all.count + 1, sizeof *ret);
    for (uint32_t i = 0; ret && i < sums->all.count; i++)
        ret[i] = *wait_sum_at(sums, i);
    if (ret)
        qsort(ret, sums->all.count, sizeof *ret, order);
    return ret;
}

/* The sums of a thing stand together, and in them those of a holder. */
static struct wait_thing thing_of(const struct wait_sums *sums, const struct wait_sum *first, size_t count)
{
    struct wait_thing thing = {.on = wait_sum_text(sums, first->key.on)};
    uint64_t of_kind[WAIT_KIND_COUNT] = {0}, of_holder = 0;
    for (size_t i = 0; i < count; i++) {
        const struct wait_sum *sum = &first[i];
        of_holder = (i > 0 && sum->key.holder == sum[-1].key.holder ? of_holder : 0) + sum->ns;
        of_kind[sum->key.kind] += sum->ns;
        thing.ns += sum->ns;
        thing.held_ns += sum->key.holder ? sum->ns : 0;
        if (of_kind[sum->key.kind] > of_kind[thing.kind] || i == 0)
            thing.kind = (enum wait_kind)sum->key.kind;
        if (sum->key.holder && of_holder > thing.holder_ns) {
            thing.holder_ns = of_holder;
            thing.holder = wait_sum_text(sums, sum->key.holder);
        }
    }
    return thing;
}

/* Keeps it among the longest, which stand in order. Returns how many there are. */
static size_t keep(struct wait_thing *longest, size_t count, size_t most, const struct wait_thing *thing)
{
    size_t at = count;
    while (at > 0 && longest[at - 1].ns < thing->ns)
        at--;
    if (at == most)
        return count;
    count += count < most;
    memmove(&longest[at + 1], &longest[at], (count - at - 1) * sizeof *longest);
    longest[at] = *thing;
    return count;
}

size_t wait_sums_things(const struct wait_sums *sums, struct wait_thing *ret, size_t most)
{
    struct wait_sum *sorted = sorted_sums(sums, compare_sums);
    size_t count = 0;
    for (size_t first = 0, end; sorted && first < sums->all.count; first = end) {
        for (end = first + 1; end < sums->all.count && compare_things(&sorted[first], &sorted[end]) == 0;)
            end++;
        const struct wait_thing thing = thing_of(sums, &sorted[first], end - first);
        count = keep(ret, count, most, &thing);
    }
    free(sorted);
    return count;
}

/* ---- JSON ---- */

static int compare_lengths(const void *left, const void *right)
{
    const struct wait_sum *a = left, *b = right;
    const int order = compare(b->ns, a->ns);
    return order ? order : compare_sums(left, right);
}

bool wait_sums_json(const struct wait_sums *sums, struct json *json, const char *key)
{
    struct wait_sum *sorted = sorted_sums(sums, compare_lengths);
    json_member_array(json, key);
    for (uint32_t i = 0; sorted && i < sums->all.count; i++) {
        json_begin_object(json);
        json_member_string(json, "kind", wait_kind_words[sorted[i].key.kind]);
        json_member_text(json, WAIT_LABEL_ON, wait_sum_text(sums, sorted[i].key.on));
        json_member_text(json, WAIT_LABEL_HOLDER, wait_sum_text(sums, sorted[i].key.holder));
        json_member_uint(json, "wall_ns", sorted[i].ns);
        json_end_object(json);
    }
    json_end_array(json);
    free(sorted);
    return sorted;
}
