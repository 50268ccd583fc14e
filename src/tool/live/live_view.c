#include "live_view.h"

#include <stdio.h>
#include <string.h>

void live_view_deinit(struct live_view *view)
{
    if (*view->filter_text)
        regfree(&view->filter);
    *view->filter_text = '\0';
    view->request.focus = NULL;
}

bool live_view_filter(struct live_view *view, const char *text)
{
    regex_t filter;
    char reason[128];
    const int error = *text ? regcomp(&filter, text, REG_EXTENDED | REG_NOSUB) : 0;
    if (error) {
        regerror(error, &filter, reason, sizeof reason);
        snprintf(view->message, sizeof view->message, "'%.100s': %s", text, reason);
        return false;
    }
    live_view_deinit(view);
    if (*text) {
        view->filter = filter;
        snprintf(view->filter_text, sizeof view->filter_text, "%s", text);
        view->request.focus = &view->filter;
    }
    return true;
}

/* ---- a line that is typed ---- */

static void ask(struct live_view *view, enum live_prompt prompt, const char *text)
{
    view->prompt = prompt;
    snprintf(view->typed, sizeof view->typed, "%s", text);
}

/* Up to the first byte of a letter. */
static void delete_letter(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && ((unsigned char)text[length - 1] & 0xc0) == 0x80)
        length--;
    text[length ? length - 1 : 0] = '\0';
}

static enum live_act finish(struct live_view *view)
{
    const enum live_prompt prompt = view->prompt;
    view->prompt = LIVE_NO_PROMPT;
    if (prompt == LIVE_FILE)
        return *view->typed ? LIVE_WRITE : LIVE_NOTHING;
    live_view_filter(view, view->typed);
    return LIVE_NOTHING;
}

static enum live_act type(struct live_view *view, int key)
{
    const size_t length = strlen(view->typed);
    if (key == LIVE_KEY_ENTER || key == '\n')
        return finish(view);
    if (key == LIVE_KEY_ESCAPE)
        view->prompt = LIVE_NO_PROMPT;
    else if (key == LIVE_KEY_DELETE || key == LIVE_KEY_BACKSPACE)
        delete_letter(view->typed);
    else if (key >= ' ' && length + 1 < sizeof view->typed) {
        view->typed[length] = (char)key;
        view->typed[length + 1] = '\0';
    }
    return LIVE_NOTHING;
}

/* ---- one key ---- */

static enum live_act freeze(struct live_view *view)
{
    view->is_frozen = !view->is_frozen;
    return view->is_frozen ? LIVE_NOTHING : LIVE_THAW;
}

static enum live_act command(struct live_view *view, int key, const char *file)
{
    switch (key) {
    case 'q':
        return LIVE_QUIT;
    case 'h':
    case '?':
        view->is_help = true;
        return LIVE_NOTHING;
    case 'w':
        view->metric = METRIC_WALL;
        return LIVE_NOTHING;
    case 'c':
        view->metric = METRIC_CPU;
        return LIVE_NOTHING;
    case 'o':
        view->metric = METRIC_OFFCPU;
        return LIVE_NOTHING;
    case 'v':
        view->what = (view->what + 1) % LIVE_WHAT_COUNT;
        return LIVE_NOTHING;
    case '1':
    case '2':
    case '3':
        view->what = (enum live_what)(key - '1');
        return LIVE_NOTHING;
    case 'm':
        view->by_cum = !view->by_cum;
        return LIVE_NOTHING;
    case 'i':
        view->request.shows_idle = !view->request.shows_idle;
        return LIVE_NOTHING;
    case '/':
        ask(view, LIVE_FILTER, view->filter_text);
        return LIVE_NOTHING;
    case 's':
        ask(view, LIVE_FILE, file);
        return LIVE_NOTHING;
    case ' ':
        return freeze(view);
    case 'r':
        return LIVE_RESET;
    default:
        return LIVE_NOTHING;
    }
}

enum live_act live_view_key(struct live_view *view, int key, const char *file)
{
    *view->message = '\0';
    if (view->prompt)
        return type(view, key);
    if (view->is_help && key != 'q') {
        view->is_help = false;
        return LIVE_NOTHING;
    }
    return command(view, key, file);
}
