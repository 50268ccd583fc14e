#include "blame_report.h"
#include "tool/io/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_COLUMNS = 10, PARTS_SHOWN = 3, INDENT = 4, WORD_COLUMNS = 11, ENDING_COLUMNS = 6 };

/* ---- order ---- */

static int compare_culprits(const void *left, const void *right)
{
    const struct blame_culprit *a = *(const struct blame_culprit *const *)left,
                               *b = *(const struct blame_culprit *const *)right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return (a > b) - (a < b);
}

const struct blame_culprit **blame_sorted(const struct blame_sums *sums)
{
    const uint32_t count = sums->culprits.count;
    const struct blame_culprit **ret = calloc((size_t)count + 1, sizeof *ret);
    for (uint32_t i = 0; ret && i < count; i++)
        ret[i] = intern_table_at(&sums->culprits, i);
    if (ret)
        qsort(ret, count, sizeof *ret, compare_culprits);
    return ret;
}

/* A part of a culprit: a stack or a waiter. */
struct part {
    uint64_t ns;
    const void *of;
};

struct parts {
    struct part *parts; /* owned; the longest first */
    size_t count;
};

static int compare_parts(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return (a->of > b->of) - (a->of < b->of);
}

/* All of a culprit. */
struct found {
    struct parts stacks, locks, waiters;
};

static bool begin_parts(struct parts *parts, uint32_t most)
{
    parts->parts = calloc((size_t)most + 1, sizeof *parts->parts);
    return parts->parts != NULL;
}

static void add_part(struct parts *parts, uint64_t ns, const void *of)
{
    parts->parts[parts->count++] = (struct part){ns, of};
}

static void sort_parts(struct parts *parts)
{
    qsort(parts->parts, parts->count, sizeof *parts->parts, compare_parts);
}

static bool waits_for(const struct blame_waiter *waiter, const struct blame_culprit *culprit,
                      const struct parts *locks)
{
    for (size_t i = 0; i < locks->count && waiter->key.process == culprit->key.process; i++) {
        const struct blame_lock *lock = locks->parts[i].of;
        if (waiter->key.on == lock->key.on && waiter->key.holder == lock->key.holder)
            return true;
    }
    return false;
}

static void free_found(const struct found *found)
{
    free(found->stacks.parts);
    free(found->locks.parts);
    free(found->waiters.parts);
}

static void fill_found(const struct blame_sums *sums, const struct blame_culprit *culprit,
                       struct found *found)
{
    for (uint32_t i = 0; i < sums->stacks.count; i++) {
        const struct blame_stack *stack = intern_table_at(&sums->stacks, i);
        if (intern_table_at(&sums->culprits, stack->key.culprit) == culprit)
            add_part(&found->stacks, stack->ns, stack);
    }
    for (uint32_t i = 0; i < sums->locks.count; i++) {
        const struct blame_lock *lock = intern_table_at(&sums->locks, i);
        if (intern_table_at(&sums->culprits, lock->key.culprit) == culprit)
            add_part(&found->locks, lock->ns, lock);
    }
    for (uint32_t i = 0; i < sums->waiters.count; i++) {
        const struct blame_waiter *waiter = intern_table_at(&sums->waiters, i);
        if (waits_for(waiter, culprit, &found->locks))
            add_part(&found->waiters, waiter->ns, waiter);
    }
}

/* 0 or -ENOMEM; free_found in any case. */
static int find(const struct blame_sums *sums, const struct blame_culprit *culprit, struct found *ret)
{
    *ret = (struct found){.stacks = {.count = 0}};
    if (!begin_parts(&ret->stacks, sums->stacks.count) || !begin_parts(&ret->locks, sums->locks.count) ||
        !begin_parts(&ret->waiters, sums->waiters.count))
        return -ENOMEM;
    fill_found(sums, culprit, ret);
    sort_parts(&ret->stacks);
    sort_parts(&ret->locks);
    sort_parts(&ret->waiters);
    return 0;
}

/* ---- text ---- */

static const char *function_of(const struct blame_sums *sums, uint32_t text)
{
    return text ? blame_text(sums, text) : "[unknown]";
}

static void put(FILE *stream, const char *text)
{
    text_put(stream, text, -1, TEXT_CUT_END);
}

static void put_time(FILE *stream, uint64_t ns, int columns)
{
    char number[TEXT_NUMBER_BYTES];
    text_time(number, ns);
    text_put_number(stream, number, columns);
}

static void put_lock(const struct blame_sums *sums, const struct blame_lock *lock, FILE *stream)
{
    put(stream, lock->key.on ? blame_text(sums, lock->key.on) : "a lock");
    if (lock->is_direct)
        return;
    fputs(", which ", stream);
    put(stream, blame_text(sums, lock->key.holder));
    fputs(" holds and waits itself", stream);
}

static void put_culprit(const struct blame_sums *sums, const struct blame_culprit *culprit,
                        const char *innermost, FILE *stream)
{
    const char *function = function_of(sums, culprit->key.function);
    put(stream, function);
    if (innermost && strcmp(innermost, function) != 0) {
        fputs(" (", stream);
        put(stream, innermost);
        fputc(')', stream);
    }
    fputs(" in ", stream);
    put(stream, blame_text(sums, culprit->key.thread));
}

/* The innermost function of a stack. */
static const char *innermost_of(const struct profile *profile, arena_ref leaf)
{
    const struct tree *tree = profile->tree;
    uint32_t count;
    return blame_frame_name(profile, tree_location_at(tree, tree_node(tree, leaf)->location), &count, 0);
}

/* The answer: who, how much, and for what. */
static void put_answer(const struct blame_report *report, const struct found *found, FILE *stream)
{
    const struct blame_sums *sums = report->sums;
    const struct blame_culprit *worst = report->culprits[0];
    const struct blame_stack *stack = found->stacks.parts[0].of;
    char part[TEXT_NUMBER_BYTES], whole[TEXT_NUMBER_BYTES];
    text_time(part, worst->ns);
    text_time(whole, sums->blame_ns);
    put_culprit(sums, worst, innermost_of(report->profile, stack->leaf), stream);
    fprintf(stream, " made others wait %s of %s: for ", part, whole);
    put_lock(sums, found->locks.parts[0].of, stream);
    if (found->locks.count > 1)
        fprintf(stream, ", and %zu more", found->locks.count - 1);
    fputc('\n', stream);
}

static void put_stack(const struct profile *profile, arena_ref leaf, int columns, FILE *stream)
{
    const struct tree *tree = profile->tree;
    bool is_first = true;
    for (arena_ref at = leaf; tree_node(tree, at)->parent; at = tree_node(tree, at)->parent) {
        const struct location *location = tree_location_at(tree, tree_node(tree, at)->location);
        uint32_t count = tree_is_label(location) ? 0 : 1;
        for (uint32_t i = 0; i < count; i++) {
            const char *name = blame_frame_name(profile, location, &count, i);
            const int width = text_width(name) + (is_first ? 0 : 3);
            if (columns >= 0 && width > columns && !is_first) {
                fputs(" < ...", stream);
                return;
            }
            fputs(is_first ? "" : " < ", stream);
            text_put(stream, name, columns >= 0 ? columns : -1, TEXT_CUT_MIDDLE);
            columns -= columns >= 0 ? (width < columns ? width : columns) : 0;
            is_first = false;
        }
    }
}

/* The first of a list has a word before it. Returns false after the last one that is shown. */
static bool begin_line(const struct parts *parts, size_t index, const char *word, FILE *stream)
{
    if (index == parts->count || index == PARTS_SHOWN)
        return false;
    fprintf(stream, "%*s%-*s", INDENT, "", WORD_COLUMNS, index ? "" : word);
    put_time(stream, parts->parts[index].ns, CELL_COLUMNS);
    fputs("  ", stream);
    return true;
}

static void put_stacks(const struct blame_report *report, const struct parts *stacks, int columns,
                       FILE *stream)
{
    const int left = columns - INDENT - WORD_COLUMNS - CELL_COLUMNS - 2 - ENDING_COLUMNS;
    for (size_t i = 0; begin_line(stacks, i, "it did", stream); i++) {
        put_stack(report->profile, ((const struct blame_stack *)stacks->parts[i].of)->leaf,
                  columns ? left : -1, stream);
        fputc('\n', stream);
    }
}

static void put_locks(const struct blame_sums *sums, const struct parts *locks, FILE *stream)
{
    for (size_t i = 0; begin_line(locks, i, "for", stream); i++) {
        put_lock(sums, locks->parts[i].of, stream);
        fputc('\n', stream);
    }
}

static void put_waiters(const struct blame_sums *sums, const struct parts *waiters, FILE *stream)
{
    for (size_t i = 0; begin_line(waiters, i, "who waited", stream); i++) {
        const struct blame_waiter *waiter = waiters->parts[i].of;
        put(stream, function_of(sums, waiter->key.function));
        fputs(" in ", stream);
        put(stream, blame_text(sums, waiter->key.thread));
        fputc('\n', stream);
    }
}

static int put_one(const struct blame_report *report, size_t index, int columns, FILE *stream)
{
    struct found found;
    const struct blame_culprit *culprit = report->culprits[index];
    const int status = find(report->sums, culprit, &found);
    if (status == 0) {
        if (index == 0)
            put_answer(report, &found, stream);
        fputc('\n', stream);
        put_time(stream, culprit->ns, CELL_COLUMNS);
        fputs("  ", stream);
        put_culprit(report->sums, culprit, NULL, stream);
        fputc('\n', stream);
        put_locks(report->sums, &found.locks, stream);
        put_stacks(report, &found.stacks, columns, stream);
        put_waiters(report->sums, &found.waiters, stream);
    }
    free_found(&found);
    return status;
}

int blame_put_text(const struct blame_report *report, int columns, FILE *stream)
{
    const struct blame_sums *sums = report->sums;
    int status = 0;
    if (sums->culprits.count == 0)
        fputs("nobody is known to have made others wait for a lock\n", stream);
    for (size_t i = 0; status == 0 && i < report->shown; i++)
        status = put_one(report, i, columns, stream);
    if (report->shown < sums->culprits.count)
        fprintf(stream, "\nand %zu more\n", (size_t)sums->culprits.count - report->shown);
    return status;
}

/* ---- JSON ---- */

static void put_json_stacks(const struct blame_report *report, const struct parts *stacks, struct json *json)
{
    const struct tree *tree = report->profile->tree;
    json_member_array(json, "stacks");
    for (size_t i = 0; i < stacks->count; i++) {
        const struct blame_stack *stack = stacks->parts[i].of;
        json_newline(json);
        json_begin_object(json);
        json_member_uint(json, "blame_ns", stack->ns);
        json_member_array(json, "functions");
        for (arena_ref at = stack->leaf; tree_node(tree, at)->parent; at = tree_node(tree, at)->parent) {
            const struct location *location = tree_location_at(tree, tree_node(tree, at)->location);
            uint32_t count = tree_is_label(location) ? 0 : 1;
            for (uint32_t frame = 0; frame < count; frame++)
                json_string(json, blame_frame_name(report->profile, location, &count, frame));
        }
        json_end_array(json);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_json_waiters(const struct blame_sums *sums, const struct parts *waiters, struct json *json)
{
    json_member_array(json, "waiters");
    for (size_t i = 0; i < waiters->count; i++) {
        const struct blame_waiter *waiter = waiters->parts[i].of;
        json_newline(json);
        json_begin_object(json);
        json_member_string(json, "thread", blame_text(sums, waiter->key.thread));
        json_member_text(json, "function",
                         waiter->key.function ? blame_text(sums, waiter->key.function) : NULL);
        json_member_uint(json, "wall_ns", waiter->ns);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_json_locks(const struct blame_sums *sums, const struct parts *locks, struct json *json)
{
    json_member_array(json, "locks");
    for (size_t i = 0; i < locks->count; i++) {
        const struct blame_lock *lock = locks->parts[i].of;
        json_newline(json);
        json_begin_object(json);
        json_member_uint(json, "blame_ns", lock->ns);
        json_member_text(json, "on", lock->key.on ? blame_text(sums, lock->key.on) : NULL);
        json_member_text(json, "holder", lock->key.holder ? blame_text(sums, lock->key.holder) : NULL);
        json_end_object(json);
    }
    json_end_array(json);
}

static int put_json_culprit(const struct blame_report *report, const struct blame_culprit *culprit,
                            struct json *json)
{
    const struct blame_sums *sums = report->sums;
    struct found found;
    const int status = find(sums, culprit, &found);
    if (status == 0) {
        json_newline(json);
        json_begin_object(json);
        json_member_string(json, "thread", blame_text(sums, culprit->key.thread));
        json_member_text(json, "function",
                         culprit->key.function ? blame_text(sums, culprit->key.function) : NULL);
        json_member_uint(json, "blame_ns", culprit->ns);
        put_json_locks(sums, &found.locks, json);
        put_json_stacks(report, &found.stacks, json);
        put_json_waiters(sums, &found.waiters, json);
        json_end_object(json);
    }
    free_found(&found);
    return status;
}

int blame_put_json(const struct blame_report *report, struct json *json)
{
    int status = 0;
    json_member_uint(json, "blame_ns", report->sums->blame_ns);
    json_member_uint(json, "waited_ns", report->sums->waited_ns);
    json_member_array(json, "culprits");
    for (size_t i = 0; status == 0 && i < report->shown; i++)
        status = put_json_culprit(report, report->culprits[i], json);
    json_end_array(json);
    return status;
}
