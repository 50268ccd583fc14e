/*
 * Two tables with open addressing that only grow. An entry is complete before one step puts it into its slot.
 * The loser of a race for a slot finds the winner's entry there, and its own record of a label is lost.
 */
#include "labels.h"
#include "profile/wait_labels.h"
#include "sig/sys/sig_arch.h"
#include "sig/sys/sig_atomic.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

/* A slot holds a stack: the number of the stack below, and the label on top, which is 0 for a hole. A stack's
 * number is its slot and its depth. 0 is the empty stack, whose slot stays empty. */
enum { LABEL_BITS = 24, SLOT_BITS = 16 };

/* Set in every used slot: a hole on the empty stack sets no other bit. */
#define USED (UINT64_C(1) << 63)

_Static_assert(LABELS_STACKS == 1 << SLOT_BITS, "a number has room for a slot");

/* A token: the depth in the stack, and the label there. */
enum { TOKEN_LABEL_BITS = 16 };

_Static_assert(LABELS_MAX < 1 << TOKEN_LABEL_BITS, "a token has room for a label");

/* ---- labels ---- */

bool labels_is_reserved(const char *key)
{
    static const char *const reserved[] = {"thread",         "thread_id", "process",          "pid",
                                           "rank",           "wait",      "end_timestamp_ns", WAIT_LABEL_ON,
                                           WAIT_LABEL_HOLDER};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (strcmp(key, reserved[i]) == 0)
            return true;
    }
    return false;
}

const char *labels_key(const struct label_table *labels, uint32_t label)
{
    return labels->text + sig_load_relaxed(&labels->records[label].text);
}

const char *labels_value(const struct label_table *labels, uint32_t label)
{
    const char *key = labels_key(labels, label);
    return key + strlen(key) + 1;
}

/* Copies a text as it will be written. False if it is too long. */
static bool copy_text(const char *from, char *to, size_t bytes)
{
    size_t length = strnlen(from, bytes);
    if (length == bytes)
        return false;
    for (size_t i = 0; i <= length; i++)
        to[i] = (from[i] > 0 && from[i] < ' ') || from[i] == 0x7f ? '?' : from[i];
    utf8_repair(to);
    return true;
}

/* FNV-1a (Fowler, Noll, Vo) of both, each with its terminator. */
static uint32_t hash_of(const char *key, const char *value)
{
    uint32_t hash = 2166136261U;
    const char *const texts[] = {key, value};
    for (int i = 0; i < 2; i++) {
        const unsigned char *at = (const unsigned char *)texts[i];
        do
            hash = (hash ^ *at) * 16777619U;
        while (*at++);
    }
    return hash ^ hash >> 15;
}

/* Reserves `count` things of which there are `max`. Returns the first of them, or 0 if fewer are left. */
static uint32_t reserve(uint32_t *used, uint32_t count, uint32_t max)
{
    uint32_t before = sig_load_relaxed(used);
    do {
        if (count > max - before)
            return 0;
    } while (!sig_cas_acq_rel(used, &before, before + count));
    return before + 1;
}

/* A record that no other thread knows yet; 0 if the table is full. */
static uint32_t make_label(struct label_table *labels, uint32_t hash, const char *key, const char *value)
{
    uint32_t key_bytes = (uint32_t)strlen(key) + 1, value_bytes = (uint32_t)strlen(value) + 1;
    uint32_t label = reserve(&labels->count, 1, LABELS_MAX);
    uint32_t text = label ? reserve(&labels->text_used, key_bytes + value_bytes, LABELS_TEXT_BYTES - 1) : 0;
    if (!text)
        return 0;
    memcpy(labels->text + text, key, key_bytes);
    memcpy(labels->text + text + key_bytes, value, value_bytes);
    labels->records[label].hash = hash;
    sig_store_release(&labels->records[label].text, text); /* partner: the acquire in label_at */
    return label;
}

static bool is_label(const struct label_table *labels, uint32_t label, uint32_t hash, const char *key,
                     const char *value)
{
    return labels->records[label].hash == hash && strcmp(labels_key(labels, label), key) == 0 &&
           strcmp(labels_value(labels, label), value) == 0;
}

/* 0 if it is not there, and may not be made or the table is full. */
static uint32_t find_label(struct label_table *labels, const char *key, const char *value, bool is_made)
{
    const uint32_t mask = sizeof labels->slots / sizeof *labels->slots - 1, hash = hash_of(key, value);
    uint32_t made = 0;
    for (uint32_t at = hash & mask;; at = (at + 1) & mask) {
        uint32_t label = sig_load_acquire(&labels->slots[at]); /* partner: the release below */
        if (!label && !made && is_made)
            made = make_label(labels, hash, key, value);
        if (!label && !made)
            return 0;
        if (!label && sig_cas_acq_rel(&labels->slots[at], &label, made))
            return made;
        if (is_label(labels, label, hash, key, value))
            return label;
    }
}

/* Whether a key may have one value more. */
static bool has_room(const struct label_table *labels, uint32_t other)
{
    const uint32_t values = sig_load_relaxed(&labels->records[other].values);
    return values < LABELS_OF_KEY_MIN || values < LABELS_MAX - sig_load_relaxed(&labels->count);
}

/* A label that is new, or [other]; 0 if there is no room for that either. */
static uint32_t new_label(struct label_table *labels, const char *key, const char *value)
{
    uint32_t other = find_label(labels, key, LABELS_OTHER, true);
    uint32_t label = other && has_room(labels, other) ? find_label(labels, key, value, true) : 0;
    if (label)
        sig_add_relaxed(&labels->records[other].values, 1);
    return label ? label : other;
}

int labels_intern(struct label_table *labels, const char *key, const char *value,
                  const struct wallprof_label_t **ret)
{
    char own_key[LABELS_KEY_BYTES], own_value[LABELS_VALUE_BYTES];
    if (!key || !*key || !value || !*value)
        return -EINVAL;
    if (!copy_text(key, own_key, sizeof own_key) || !copy_text(value, own_value, sizeof own_value))
        return -ENAMETOOLONG;
    if (strchr(own_key, '=') || labels_is_reserved(own_key))
        return -EINVAL;
    uint32_t label = find_label(labels, own_key, own_value, false);
    if (!label)
        label = new_label(labels, own_key, own_value);
    if (!label)
        return -ENOSPC;
    *ret = &labels->records[label];
    return 0;
}

/* The label that a pointer of the program leads to; 0: none. */
static uint32_t label_at(const struct label_table *labels, const struct wallprof_label_t *label)
{
    uintptr_t distance = (uintptr_t)label - (uintptr_t)labels->records;
    bool is_one = distance < sizeof labels->records && distance % sizeof *label == 0 &&
                  sig_load_acquire(&label->text) != 0; /* partner: the release in make_label */
    return is_one ? (uint32_t)(distance / sizeof *label) : 0;
}

/* ---- stacks ---- */

static uint32_t label_of(uint64_t stack)
{
    return (uint32_t)(stack & ((1 << LABEL_BITS) - 1));
}

static uint32_t below_of(uint64_t stack)
{
    return (uint32_t)(stack >> LABEL_BITS); /* cuts off USED, which is above these bits */
}

static uint32_t depth_of(uint32_t number)
{
    return number >> SLOT_BITS;
}

static uint64_t stack_at(const struct label_table *labels, uint32_t number)
{
    return sig_load_acquire(&labels->stacks[number % LABELS_STACKS]); /* partner: the release in fill_slot */
}

/* Fibonacci hashing (Knuth, TAOCP 3, 6.4): the high bits of the product. */
static uint32_t slot_of(uint64_t stack)
{
    return (uint32_t)(stack * 0x9e3779b97f4a7c15U >> (64 - SLOT_BITS));
}

/* *found: 0, and on return what the slot holds. False if there are `max` stacks, or more. */
static bool fill_slot(struct label_table *labels, uint32_t max, uint64_t *slot, uint64_t *found,
                      uint64_t wanted)
{
    if (sig_load_relaxed(&labels->stack_count) >= max || !reserve(&labels->stack_count, 1, LABELS_STACKS_MAX))
        return false;
    if (sig_cas_acq_rel(slot, found, wanted)) /* release: partner in stack_at */
        *found = wanted;
    else
        sig_add_relaxed(&labels->stack_count, -1U);
    return true;
}

/* The number of the stack with a label, or a hole, on the one below; 0 if it is too deep, or a new one where
 * there are `max`. */
static uint32_t stack_with(struct label_table *labels, uint32_t below, uint32_t label, uint32_t max)
{
    const uint64_t wanted = USED | (uint64_t)below << LABEL_BITS | label;
    const uint32_t depth = depth_of(below) + 1;
    if (depth > LABELS_DEPTH_MAX)
        return 0;
    for (uint32_t at = slot_of(wanted);; at = (at + 1) % LABELS_STACKS) {
        uint64_t found = stack_at(labels, at);
        if (at == 0)
            continue;
        if (found == 0 && !fill_slot(labels, max, &labels->stacks[at], &found, wanted))
            return 0;
        if (found == wanted)
            return depth << SLOT_BITS | at;
    }
}

/* With [other] of the label's key instead, for which there is more room. *label is what is on top then. */
static uint32_t stack_with_label(struct label_table *labels, uint32_t below, uint32_t *label)
{
    uint32_t stack = stack_with(labels, below, *label, LABELS_STACKS_MAX - LABELS_STACKS_KEPT);
    if (stack || depth_of(below) >= LABELS_DEPTH_MAX)
        return stack;
    *label = find_label(labels, labels_key(labels, *label), LABELS_OTHER, false);
    return stack_with(labels, below, *label, LABELS_STACKS_MAX);
}

int labels_push(struct label_table *labels, uint32_t *number, const struct wallprof_label_t *label)
{
    uint32_t wanted = label_at(labels, label), top, before, after;
    if (!wanted)
        return -EINVAL;
    do {
        before = sig_load_relaxed(number);
        top = wanted;
        after = stack_with_label(labels, before, &top);
        if (!after)
            return -ENOSPC;
    } while (!sig_replace_own(number, before, after)); /* a handler came between */
    return (int)(depth_of(after) << TOKEN_LABEL_BITS | top);
}

/* The stack without its top, and without the holes below that. */
static uint32_t without_top(const struct label_table *labels, uint32_t number)
{
    do
        number = below_of(stack_at(labels, number));
    while (number && label_of(stack_at(labels, number)) == 0);
    return number;
}

/* The stack with a hole at a depth that is not its top; 0 if the table is full. */
static uint32_t with_hole(struct label_table *labels, uint32_t number, uint32_t depth)
{
    uint32_t above[LABELS_DEPTH_MAX], count = 0;
    for (; depth_of(number) > depth; number = below_of(stack_at(labels, number)))
        above[count++] = label_of(stack_at(labels, number));
    number = stack_with(labels, below_of(stack_at(labels, number)), 0, LABELS_STACKS_MAX);
    while (number && count > 0)
        number = stack_with(labels, number, above[--count], LABELS_STACKS_MAX);
    return number;
}

static bool has_at_depth(const struct label_table *labels, uint32_t number, uint32_t depth, uint32_t label)
{
    while (depth_of(number) > depth)
        number = below_of(stack_at(labels, number));
    return depth_of(number) == depth && label_of(stack_at(labels, number)) == label;
}

int labels_pop(struct label_table *labels, uint32_t *number, int token)
{
    uint32_t depth = (uint32_t)token >> TOKEN_LABEL_BITS, before, after;
    uint32_t label = (uint32_t)token & ((1 << TOKEN_LABEL_BITS) - 1);
    if (token <= 0 || depth == 0 || depth > LABELS_DEPTH_MAX || label == 0)
        return -EINVAL;
    do {
        before = sig_load_relaxed(number);
        if (!has_at_depth(labels, before, depth, label))
            return -ENOENT;
        bool is_top = depth_of(before) == depth;
        after = is_top ? without_top(labels, before) : with_hole(labels, before, depth);
        if (!is_top && !after)
            return -ENOSPC;
    } while (!sig_replace_own(number, before, after)); /* a handler came between */
    return 0;
}

/* ---- the labels of a stack ---- */

/* Inserts a label in the order of keys, unless its key is there already. Returns how many there are. */
static size_t insert_label(const struct label_table *labels, uint32_t *set, size_t count, uint32_t label)
{
    size_t at = count;
    for (int order; at > 0; at--) {
        order = strcmp(labels_key(labels, label), labels_key(labels, set[at - 1]));
        if (order == 0)
            return count;
        if (order > 0)
            break;
    }
    memmove(&set[at + 1], &set[at], (count - at) * sizeof *set);
    set[at] = label;
    return count + 1;
}

size_t labels_of_stack(const struct label_table *labels, uint32_t number, uint32_t ret[LABELS_DEPTH_MAX])
{
    size_t count = 0;
    for (uint64_t stack; (stack = stack_at(labels, number)) != 0; number = below_of(stack)) {
        if (label_of(stack))
            count = insert_label(labels, ret, count, label_of(stack));
    }
    return count;
}
