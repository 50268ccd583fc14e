/*
 * How long was waited for each thing, and who held it meanwhile (profile/wait_labels.h).
 *
 * A thing is the text of `on`. Where that is not known, all waits of one kind are one thing. Waits for work
 * are things of their own. A lock that is waited for by events (an epoll set, a pipe) is not called by these.
 *
 * Called from: report_walk.c and finding.c add, the reports read. Memory: for each thing and holder.
 */
#ifndef WALLPROF_WAIT_SUMS_H
#define WALLPROF_WAIT_SUMS_H

#include "base/intern_table.h"
#include "base/json.h"
#include "base/string_table.h"
#include "profile/wait_labels.h"
#include "tool/meaning/wait_kind.h"

#include <stddef.h>

struct wait_sums {
    struct intern_table all; /* struct wait_sum */
    struct string_table texts;
};

struct wait_sum {
    struct {
        uint32_t kind, on, holder; /* enum wait_kind, and numbers of texts: "" for what is not known */
    } key;
    uint64_t ns;
};

/* 0 or -ENOMEM; deinit in any case. */
int wait_sums_init(struct wait_sums *sums);
void wait_sums_deinit(struct wait_sums *sums);
void wait_sums_add(struct wait_sums *sums, enum wait_kind kind, const struct wait_labels *waited,
                   uint64_t ns);

static inline bool wait_sums_have_failed(const struct wait_sums *sums)
{
    return sums->all.failed || sums->texts.failed;
}

static inline const struct wait_sum *wait_sum_at(const struct wait_sums *sums, uint32_t number)
{
    return intern_table_at(&sums->all, number);
}

/* A text of a sum; NULL where it is not known. */
const char *wait_sum_text(const struct wait_sums *sums, uint32_t text);

struct wait_thing {
    enum wait_kind kind; /* of most of the time */
    const char *on;      /* NULL: not known */
    uint64_t ns;
    const char *holder; /* who held it for most of that time; NULL: nobody is known */
    uint64_t holder_ns;
    uint64_t held_ns; /* of that time: somebody is known */
};

/* The things, the longest first, at most so many. Returns how many. */
size_t wait_sums_things(const struct wait_sums *sums, struct wait_thing *ret, size_t most);

/* "KEY": [{"kind": .., "on": .., "holder": .., "wall_ns": ..}, ..]: all sums, the longest first. False
 * without memory. */
bool wait_sums_json(const struct wait_sums *sums, struct json *json, const char *key);

#endif
