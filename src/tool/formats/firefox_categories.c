/* The categories of a Firefox profile: what time is spent on, with the colours that readers have. */
#include "firefox_categories.h"

static const struct category {
    const char *name, *color;
    const char *frame; /* the frame that stands for it where a stack has another category */
} categories[CATEGORY_COUNT] = {
    [CATEGORY_RUNNING] = {"Running", "yellow", "(running)"},
    [CATEGORY_OTHER] = {"Other", "grey", "(other)"},
    [CATEGORY_WAITS + WAIT_OTHER] = {"Waiting: other", "darkgrey", "(other wait)"},
    [CATEGORY_WAITS + WAIT_LOCK] = {"Waiting: lock", "red", "(lock)"},
    [CATEGORY_WAITS + WAIT_CONDITION] = {"Waiting: condition", "orange", "(condition)"},
    [CATEGORY_WAITS + WAIT_SLEEP] = {"Waiting: sleep", "lightblue", "(sleep)"},
    [CATEGORY_WAITS + WAIT_POLL] = {"Waiting: poll", "blue", "(poll)"},
    [CATEGORY_WAITS + WAIT_EVENTS] = {"Waiting: events", "blue", "(events)"},
    [CATEGORY_WAITS + WAIT_SOCKET] = {"Waiting: network", "purple", "(network)"},
    [CATEGORY_WAITS + WAIT_FILE] = {"Waiting: file", "green", "(file)"},
    [CATEGORY_WAITS + WAIT_CHILD] = {"Waiting: child", "brown", "(child)"},
    [CATEGORY_WAITS + WAIT_SIGNAL] = {"Waiting: signal", "magenta", "(signal)"},
    [CATEGORY_WAITS + WAIT_CPU] = {"Waiting for a CPU", "lightred", "(waiting for a CPU)"},
    [CATEGORY_WAITS + WAIT_IDLE] = {"Idle", "transparent", "(idle)"},
    [CATEGORY_WAITS + WAIT_STOPPED] = {"Stopped", "grey", "(stopped)"},
    [CATEGORY_WAITS + WAIT_UNSEEN] = {"Not seen", "grey", "(not seen)"},
};

const char *firefox_category_name(uint32_t category)
{
    return categories[category].name;
}

const char *firefox_category_frame(uint32_t category)
{
    return categories[category].frame;
}

void firefox_write_categories(struct json *json)
{
    json_member_array(json, "categories");
    for (int i = 0; i < CATEGORY_COUNT; i++) {
        json_begin_object(json);
        json_member_string(json, "name", categories[i].name);
        json_member_string(json, "color", categories[i].color);
        json_member_array(json, "subcategories");
        json_string(json, "Other");
        json_end_array(json);
        json_end_object(json);
    }
    json_end_array(json);
}
