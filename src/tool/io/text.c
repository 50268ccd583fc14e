#include "text.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

enum { COLUMNS_MIN = 20, COLUMNS_MAX = 10000 };

static const char ellipsis[] = "…";

void text_init(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
}

int text_columns(FILE *stream)
{
    struct winsize size;
    const char *wish = getenv("COLUMNS");
    int columns = wish ? atoi(wish) : 0;
    if (columns <= 0 && isatty(fileno(stream)) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0)
        columns = size.ws_col;
    if (columns <= 0)
        columns = TEXT_DEFAULT_COLUMNS;
    return columns < COLUMNS_MIN ? COLUMNS_MIN : columns > COLUMNS_MAX ? COLUMNS_MAX : columns;
}

bool text_colour_of_word(const char *word, FILE *stream, bool *ret)
{
    const char *never = getenv("NO_COLOR"), *terminal = getenv("TERM");
    *ret = strcmp(word, "always") == 0;
    if (strcmp(word, "auto") == 0)
        *ret = isatty(fileno(stream)) && !(never && *never) && !(terminal && strcmp(terminal, "dumb") == 0);
    return *ret || strcmp(word, "auto") == 0 || strcmp(word, "never") == 0;
}

/* ---- characters ---- */

struct character {
    size_t bytes; /* 0 at the end */
    int columns;
    bool is_shown; /* else '?' is shown */
};

static struct character character_at(const char *text)
{
    wchar_t wide;
    mbstate_t state = {0};
    size_t left = strnlen(text, 8);
    if (!left)
        return (struct character){.bytes = 0};
    size_t bytes = mbrtowc(&wide, text, left, &state);
    if (bytes == (size_t)-1 || bytes == (size_t)-2)
        return (struct character){.bytes = 1, .columns = 1};
    int columns = wcwidth(wide);
    return (struct character){bytes, columns < 0 ? 1 : columns, columns >= 0};
}

/* Writes at most `columns` columns of text; a wide character that does not fit is left out. */
static int put_columns(FILE *stream, const char *text, int columns)
{
    int used = 0;
    for (;;) {
        struct character character = character_at(text);
        if (!character.bytes || used + character.columns > columns)
            return used;
        if (character.is_shown)
            fwrite(text, 1, character.bytes, stream);
        else
            fputc('?', stream);
        used += character.columns;
        text += character.bytes;
    }
}

/* Where the last `columns` columns of a text begin. */
static const char *last_columns(const char *text, int columns)
{
    int left = text_width(text) - columns;
    while (left > 0) {
        struct character character = character_at(text);
        left -= character.columns;
        text += character.bytes;
    }
    while (*text && character_at(text).columns == 0) /* it would combine with the ellipsis */
        text += character_at(text).bytes;
    return text;
}

int text_width(const char *text)
{
    int width = 0;
    for (struct character character; (character = character_at(text)).bytes; text += character.bytes)
        width += character.columns;
    return width;
}

int text_put(FILE *stream, const char *text, int columns, enum text_cut cut)
{
    int width = text_width(text);
    if (columns < 0 || width <= columns)
        return put_columns(stream, text, width);
    if (columns == 0)
        return 0;
    int before = cut == TEXT_CUT_END ? columns - 1 : cut == TEXT_CUT_MIDDLE ? columns / 2 : 0;
    int used = put_columns(stream, text, before);
    fputs(ellipsis, stream);
    const char *rest = last_columns(text, columns - 1 - before);
    return used + 1 + put_columns(stream, rest, columns - 1 - before);
}

void text_put_wrapped(FILE *stream, const char *text, int columns)
{
    char word[1024];
    int used = 0;
    while (*text) {
        size_t bytes = strcspn(text, " "), kept = bytes < sizeof word ? bytes : sizeof word - 1;
        memcpy(word, text, kept);
        word[kept] = '\0';
        bool is_new = used > 0 && columns > 0 && used + 1 + text_width(word) > columns;
        if (is_new)
            fputs("\n  ", stream);
        else if (used > 0)
            fputc(' ', stream);
        used = (is_new ? 2 : used + (used > 0)) + text_put(stream, word, -1, TEXT_CUT_END);
        text += kept + (text[kept] == ' ');
    }
    fputc('\n', stream);
}

void text_put_left(FILE *stream, const char *text, int columns, enum text_cut cut)
{
    for (int used = text_put(stream, text, columns, cut); used < columns; used++)
        fputc(' ', stream);
}

void text_put_number(FILE *stream, const char *number, int columns)
{
    for (int used = text_width(number); used < columns; used++)
        fputc(' ', stream);
    fputs(number, stream);
}

/* ---- numbers ---- */

/* The place of the last digit that an error leaves, at most that of the first digit. */
static double last_place(double value, double error)
{
    double most = value > 0 ? pow(10, floor(log10(value))) : 1;
    double place = error > 0 ? pow(10, floor(log10(error))) : 0;
    return place < most ? place : most;
}

/* place: of the last digit, in ns. */
static void put_time(char ret[TEXT_NUMBER_BYTES], uint64_t ns, double place_ns)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}};
    if (ns < 1000) {
        snprintf(ret, TEXT_NUMBER_BYTES, ns ? "%u ns" : "%u", (unsigned)ns);
        return;
    }
    int unit = 0;
    while (unit < 2 && (double)ns < 0.9995 * units[unit].ns) /* 999.6 ms are 1 s */
        unit++;
    double value = (double)ns / units[unit].ns;
    int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    while (digits > 0 && place_ns > 1.5 * units[unit].ns / pow(10, digits))
        digits--;
    snprintf(ret, TEXT_NUMBER_BYTES, "%.*f %s", digits, value, units[unit].unit);
}

void text_time(char ret[TEXT_NUMBER_BYTES], uint64_t ns)
{
    put_time(ret, ns, 0);
}

void text_amount(char ret[TEXT_NUMBER_BYTES], uint64_t value, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    const bool is_bytes = strcmp(unit, "bytes") == 0;
    size_t prefix = 0;
    double shown = (double)value;
    if (strcmp(unit, "nanoseconds") == 0) {
        text_time(ret, value);
        return;
    }
    for (; shown >= 999.5 && prefix + 1 < sizeof prefixes / sizeof *prefixes; prefix++)
        shown /= 1000;
    const int digits = prefix == 0 || shown >= 99.95 ? 0 : shown < 9.995 ? 2 : 1;
    snprintf(ret, TEXT_NUMBER_BYTES, "%.*f%s%s%s", digits, shown,
             value > 0 && (prefix > 0 || is_bytes) ? " " : "", prefixes[prefix],
             value > 0 && is_bytes ? "B" : "");
}

void text_time_within(char ret[TEXT_NUMBER_BYTES], uint64_t ns, uint64_t error_ns)
{
    double place_ns = last_place((double)ns, (double)error_ns);
    if (place_ns >= 1)
        ns = (uint64_t)(floor((double)ns / place_ns + 0.5) * place_ns);
    put_time(ret, ns, place_ns);
}

void text_time_change_within(char ret[TEXT_NUMBER_BYTES], int64_t ns, uint64_t error_ns)
{
    char number[TEXT_NUMBER_BYTES];
    text_time_within(number, ns < 0 ? -(uint64_t)ns : (uint64_t)ns, error_ns);
    snprintf(ret, TEXT_NUMBER_BYTES, "%s%.24s", ns > 0 ? "+" : ns < 0 ? "-" : "", number);
}

void text_time_change(char ret[TEXT_NUMBER_BYTES], int64_t ns)
{
    text_time_change_within(ret, ns, 0);
}

void text_share(char ret[TEXT_NUMBER_BYTES], uint64_t part, uint64_t whole)
{
    double share = whole ? 100 * (double)part / (double)whole : 0;
    *ret = '\0';
    if (whole)
        snprintf(ret, TEXT_NUMBER_BYTES, "%.*f%%", share < 99.95 ? 1 : 0, share);
}

void text_share_within(char ret[TEXT_NUMBER_BYTES], uint64_t part, uint64_t whole, uint64_t error)
{
    double share = whole ? 100 * (double)part / (double)whole : 0;
    double place = last_place(share, whole ? 100 * (double)error / (double)whole : 0);
    if (place < 0.5) {
        text_share(ret, part, whole);
        return;
    }
    snprintf(ret, TEXT_NUMBER_BYTES, "%.0f%%", floor(share / place + 0.5) * place);
}
