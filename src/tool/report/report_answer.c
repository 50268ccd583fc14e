#include "report_answer.h"
#include "short_name.h"
#include "base/utf8.h"
#include "tool/io/text.h"

#include <string.h>

enum { FINDINGS = 3, LEAST_PARTS = 50, PARTS_SHOWN = 3, NAME_COLUMNS = 40 };

/* What time is spent on: a kind of wait, or running. */
enum { RUNNING = WAIT_KIND_COUNT, SPENT_COUNT };

static const char *const phrases[SPENT_COUNT] = {
    [WAIT_OTHER] = "waiting",
    [WAIT_LOCK] = "waiting for a lock",
    [WAIT_CONDITION] = "waiting for a condition",
    [WAIT_SLEEP] = "asleep",
    [WAIT_POLL] = "polling",
    [WAIT_EVENTS] = "waiting for events",
    [WAIT_SOCKET] = "waiting for the network",
    [WAIT_FILE] = "in files",
    [WAIT_CHILD] = "waiting for a thread or process to end",
    [WAIT_SIGNAL] = "waiting for a signal",
    [WAIT_IDLE] = "idle",
    [WAIT_CPU] = "waiting for a CPU",
    [WAIT_STOPPED] = "stopped",
    [WAIT_UNSEEN] = "not seen",
    [RUNNING] = "running",
};

static const char *word_of(unsigned spent)
{
    return spent == RUNNING ? phrases[RUNNING] : wait_kind_words[spent];
}

static void append(char *text, const char *before, const char *what, const char *number)
{
    size_t length = strlen(text);
    snprintf(text + length, ANSWER_TEXT_BYTES - length, "%s%s%s%s", length ? before : "", what,
             *number ? " " : "", number);
}

/* Takes the largest part that is left and at least `least_ns`: what it is spent on, or SPENT_COUNT. */
static unsigned take_largest(uint64_t parts_ns[SPENT_COUNT], uint64_t least_ns, uint64_t *ret_ns)
{
    unsigned largest = 0;
    for (unsigned spent = 1; spent < SPENT_COUNT; spent++)
        largest = parts_ns[spent] > parts_ns[largest] ? spent : largest;
    *ret_ns = parts_ns[largest];
    parts_ns[largest] = 0;
    return *ret_ns > 0 && *ret_ns >= least_ns ? largest : SPENT_COUNT;
}

void answer_where(const struct report *report, bool shows_idle, char ret[ANSWER_TEXT_BYTES])
{
    char time[TEXT_NUMBER_BYTES];
    uint64_t parts_ns[SPENT_COUNT], part_ns;
    memcpy(parts_ns, report->waited_ns, sizeof report->waited_ns);
    parts_ns[WAIT_IDLE] = 0;
    parts_ns[RUNNING] = 0;
    text_time(time, report->selected.cpu_ns);
    *ret = '\0';
    append(ret, "", word_of(RUNNING), time);
    for (unsigned spent; (spent = take_largest(parts_ns, 0, &part_ns)) < SPENT_COUNT;) {
        text_time(time, part_ns);
        append(ret, " | ", spent == WAIT_CPU ? phrases[spent] : word_of(spent), time);
    }
    text_time(time, report->waited_ns[WAIT_IDLE]);
    if (report->waited_ns[WAIT_IDLE] > 0)
        append(ret, " | ", shows_idle ? "idle" : "idle (hidden)", time);
}

/* ---- what was waited for ---- */

const char *answer_thing(const char *name, char ret[ANSWER_THING_BYTES])
{
    enum { BEGIN_BYTES = 24, END_BYTES = ANSWER_THING_BYTES - BEGIN_BYTES - 4 };
    const size_t bytes = strlen(name);
    const char *begin_end = name + BEGIN_BYTES, *end = name + bytes - END_BYTES;
    if (bytes < ANSWER_THING_BYTES)
        return strcpy(ret, name);
    while (begin_end > name && utf8_is_inside(*begin_end))
        begin_end--;
    while (utf8_is_inside(*end))
        end++;
    snprintf(ret, ANSWER_THING_BYTES, "%.*s...%s", (int)(begin_end - name), name, end);
    return ret;
}

/* Who waits for work is not held up. Nor is who waits for others to end: that is told only if nothing else
 * is. */
static bool is_told(const struct wait_thing *thing, bool is_of_others)
{
    return thing->kind != WAIT_IDLE && thing->kind != WAIT_STOPPED && thing->kind != WAIT_UNSEEN &&
           (thing->kind == WAIT_CHILD) == is_of_others;
}

static void append_thing(const struct wait_thing *thing, uint64_t whole_ns, const char *words, char *text)
{
    char share[TEXT_NUMBER_BYTES], part[TEXT_NUMBER_BYTES], name[ANSWER_THING_BYTES],
        holder[ANSWER_THING_BYTES], held[ANSWER_THING_BYTES + 48] = "";
    const size_t length = strlen(text);
    if (thing->holder) {
        text_share(part, thing->holder_ns, thing->ns);
        snprintf(held, sizeof held, " (held by %s %s)", answer_thing(thing->holder, holder), part);
    }
    text_share(share, thing->ns, whole_ns);
    snprintf(text + length, ANSWER_TEXT_BYTES - length, "%s %s %s%s", *text ? "," : words, share,
             answer_thing(thing->on ?: wait_kind_words[thing->kind], name), held);
}

/* What of the sums is told. */
struct telling {
    const struct wait_thing *things; /* the longest first */
    size_t count;
    uint64_t whole_ns;
    const char *words; /* before the first thing */
    bool is_of_others; /* who is waited for to end, else the rest */
};

/* Whether any of them is known. */
static bool write_things(const struct telling *telling, char ret[ANSWER_TEXT_BYTES])
{
    enum { SHOWN = 4 };
    bool is_known = false;
    *ret = '\0';
    for (size_t i = 0, shown = 0; i < telling->count && shown < SHOWN; i++) {
        const struct wait_thing *thing = &telling->things[i];
        if (!is_told(thing, telling->is_of_others) || thing->ns < telling->whole_ns / LEAST_PARTS)
            continue;
        append_thing(thing, telling->whole_ns, telling->words, ret);
        is_known |= thing->on != NULL;
        shown++;
    }
    return is_known;
}

bool answer_things(const struct wait_sums *sums, uint64_t whole_ns, const char *words,
                   char ret[ANSWER_TEXT_BYTES])
{
    enum { LOOKED_AT = 16 };
    struct wait_thing things[LOOKED_AT];
    struct telling telling = {.things = things,
                              .count = wait_sums_things(sums, things, LOOKED_AT),
                              .whole_ns = whole_ns,
                              .words = words};
    bool is_known = write_things(&telling, ret);
    telling.is_of_others = true;
    return *ret ? is_known : write_things(&telling, ret);
}

bool answer_waiting(const struct report *report, char ret[ANSWER_TEXT_BYTES])
{
    return answer_things(&report->wait_sums, tree_wall_ns(&report->selected), "waiting:", ret);
}

void answer_waits(const struct report_row *row, char ret[ANSWER_TEXT_BYTES])
{
    uint64_t parts_ns[SPENT_COUNT], part_ns;
    memcpy(parts_ns, row->waited_ns, sizeof row->waited_ns);
    parts_ns[RUNNING] = parts_ns[WAIT_UNSEEN] = 0;
    *ret = '\0';
    for (unsigned spent;
         (spent = take_largest(parts_ns, tree_wall_ns(&row->flat) / 10, &part_ns)) < SPENT_COUNT;)
        append(ret, ", ", word_of(spent), "");
}

/* ---- findings ---- */

/* A wait for the work of others says nothing that the others do not say, where they are in the profile. */
static bool is_finding(const struct report *report, const struct report_row *row, bool is_of_others)
{
    return *row->name != '[' && (row->waited_ns[WAIT_CHILD] > tree_wall_ns(&row->flat) / 2) == is_of_others &&
           tree_wall_ns(&row->flat) >= tree_wall_ns(&report->selected) / LEAST_PARTS;
}

/* The largest finding that comes after another. */
static const struct report_row *next_finding(const struct report *report, const struct report_row *last,
                                             bool is_of_others)
{
    const struct report_row *ret = NULL;
    for (size_t i = 0; i < report->row_count; i++) {
        const struct report_row *row = &report->rows[i];
        bool is_later = !last || tree_wall_ns(&row->flat) < tree_wall_ns(&last->flat) ||
                        (tree_wall_ns(&row->flat) == tree_wall_ns(&last->flat) && row > last);
        if (is_later && is_finding(report, row, is_of_others) &&
            (!ret || tree_wall_ns(&row->flat) > tree_wall_ns(&ret->flat)))
            ret = row;
    }
    return ret;
}

/* Its parts, the largest first, in per cent of what is shown. */
void answer_parts(const struct report *report, const struct report_row *row, char ret[ANSWER_TEXT_BYTES])
{
    char share[TEXT_NUMBER_BYTES];
    uint64_t parts_ns[SPENT_COUNT], part_ns;
    memcpy(parts_ns, row->waited_ns, sizeof row->waited_ns);
    parts_ns[RUNNING] = row->flat.cpu_ns;
    *ret = '\0';
    for (int i = 0; i < PARTS_SHOWN; i++) {
        unsigned spent = take_largest(parts_ns, tree_wall_ns(&row->flat) / 20, &part_ns);
        if (spent == SPENT_COUNT)
            return;
        text_share(share, part_ns, tree_wall_ns(&report->selected));
        append(ret, ", ", phrases[spent], share);
    }
}

size_t answer_choose(const struct report *report, size_t most,
                     const struct report_row *ret[ANSWER_FINDINGS_MAX])
{
    const bool is_of_others = !next_finding(report, NULL, false);
    const struct report_row *row = NULL;
    size_t count = 0;
    while (count < most && (row = next_finding(report, row, is_of_others)))
        ret[count++] = row;
    return count;
}

void answer_findings(const struct report *report, int columns, FILE *stream)
{
    char parts[ANSWER_TEXT_BYTES], name[SHORT_NAME_BYTES], share[TEXT_NUMBER_BYTES],
        line[2 * ANSWER_TEXT_BYTES];
    const struct report_row *rows[ANSWER_FINDINGS_MAX];
    const size_t count = answer_choose(report, FINDINGS, rows);
    for (size_t i = 0; i < count; i++) {
        text_share(share, tree_wall_ns(&rows[i]->flat), tree_wall_ns(&report->selected));
        answer_parts(report, rows[i], parts);
        snprintf(line, sizeof line, "  %s %s: %s", share,
                 short_name(rows[i]->name, columns ? NAME_COLUMNS : -1, name), parts);
        text_put(stream, line, columns ? columns : -1, TEXT_CUT_END);
        fputc('\n', stream);
    }
}
