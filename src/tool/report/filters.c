#include "filters.h"
#include "short_name.h"
#include "tool/io/command.h"
#include "tool/io/likeness.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 8, NAME_COLUMNS = 40, LIST_BYTES = 1024, FILTER_COUNT = 5 };

/* One filter that a request can have. */
struct filter {
    const char *option, *thing;
    const char *word; /* NULL: the request does not have it */
    struct report_request alone;
};

/* What there is of a kind: the nearest name, and the first ones. */
struct offer {
    struct likeness likeness;
    char best[SHORT_NAME_BYTES], list[LIST_BYTES];
    unsigned shown, more;
};

bool filters_left_nothing(const struct report *report, const struct report_request *request)
{
    const bool has_filters =
        request->thread || request->process || request->label || request->focus || request->ignore;
    return has_filters && !tree_has_weight(&report->selected) && report->waited_ns[WAIT_IDLE] == 0;
}

static void list_filters(const struct report_request *request, struct filter ret[FILTER_COUNT])
{
    const struct report_request all = {.shows_idle = true};
    for (int i = 0; i < FILTER_COUNT; i++)
        ret[i].alone = all;
    ret[0].option = "--thread", ret[0].thing = "thread";
    ret[0].word = ret[0].alone.thread = request->thread;
    ret[1].option = "--process", ret[1].thing = "process";
    ret[1].word = ret[1].alone.process = request->process;
    ret[2].option = "--label", ret[2].thing = "label";
    ret[2].word = ret[2].alone.label = request->label;
    ret[3].option = "--focus", ret[3].thing = "function, file or module";
    ret[3].word = request->focus_text;
    ret[3].alone.focus = request->focus;
    ret[4].option = "--ignore";
    ret[4].word = request->ignore_text;
    ret[4].alone.ignore = request->ignore;
}

static bool leaves_nothing(const struct profile *profile, const struct report_request *request)
{
    struct report report;
    if (report_make(&report, profile, request) < 0)
        return false;
    const bool leaves_nothing = !tree_has_weight(&report.selected);
    report_free(&report);
    return leaves_nothing;
}

/* ---- what there is ---- */

/* A name that is there several times counts once as long as it is shown. */
static bool is_listed(const struct offer *offer, const char *name)
{
    const size_t bytes = strlen(name);
    for (const char *at = offer->list; (at = strstr(at, name)); at++) {
        if ((at == offer->list || at[-1] == ' ') && (!at[bytes] || at[bytes] == ','))
            return true;
    }
    return false;
}

static void add_name(struct offer *offer, const char *name)
{
    char text[SHORT_NAME_BYTES];
    const size_t used = strlen(offer->list);
    if (!*name || *name == '[')
        return;
    short_name(name, NAME_COLUMNS, text);
    if (is_listed(offer, text))
        return;
    if (likeness_add(&offer->likeness, name) || likeness_add(&offer->likeness, text)) {
        strcpy(offer->best, text);
        offer->likeness.best = offer->best;
    }
    if (offer->shown == SHOWN || used + strlen(text) + 3 > sizeof offer->list) {
        offer->more++;
        return;
    }
    sprintf(offer->list + used, "%s%s", used ? ", " : "", text);
    offer->shown++;
}

static void add_names(struct offer *offer, const struct report *report, const struct filter *filter)
{
    for (size_t i = 0; i < report->thread_count; i++) {
        if (filter->alone.thread)
            add_name(offer, report->threads[i].name);
        if (filter->alone.process)
            add_name(offer, report->threads[i].process);
    }
    for (size_t i = 0; i < report->row_count && !filter->alone.thread && !filter->alone.process; i++)
        add_name(offer, report->rows[i].name);
}

static int explain(const struct profile *profile, const struct filter *filter)
{
    static struct offer offer;
    char meant[LIKENESS_TEXT_BYTES], more[32] = "";
    struct report report;
    const struct report_request request = {.by = filter->alone.label ? REPORT_BY_LABEL : REPORT_BY_FUNCTION,
                                           .shows_idle = true};
    if (filter->alone.ignore)
        return command_fail("--ignore '%s' is like something in every stack", filter->word);
    if (report_make(&report, profile, &request) < 0)
        return command_fail("there is not enough memory for the report");
    report_sort(&report, METRIC_WALL, false);
    offer = (struct offer){.likeness = {.word = filter->word}};
    add_names(&offer, &report, filter);
    report_free(&report);
    if (!offer.shown)
        return command_fail("%s '%s': the profile names no %s", filter->option, filter->word, filter->thing);
    if (offer.more)
        snprintf(more, sizeof more, " and %u more", offer.more);
    return command_fail("%s '%s': no %s is like this; there are: %s%s%s", filter->option, filter->word,
                        filter->thing, offer.list, more, likeness_text(&offer.likeness, meant));
}

int filters_explain(const struct profile *profile, const struct report_request *request)
{
    struct filter filters[FILTER_COUNT] = {{0}};
    list_filters(request, filters);
    for (int i = 0; i < FILTER_COUNT; i++) {
        if (filters[i].word && leaves_nothing(profile, &filters[i].alone))
            return explain(profile, &filters[i]);
    }
    return command_fail("no stack passes all these filters; each of them alone leaves some");
}
