#include "config_values.h"
#include "base/clock.h"
#include "base/number_names.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static const uint64_t percentage_max_ppm = 100 * PERCENT_PPM;
static const uint64_t size_min_bytes = 1U << 20;
static const uint64_t size_max_bytes = (uint64_t)32 << 30;
static const uint64_t span_max_ns = 10000 * 3600 * (uint64_t)NS_PER_S;

const char *value_in(char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment; environment++) {
        if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
            return *environment + length + 1;
    }
    return NULL;
}

/* A whole number at the start of a text. */
static bool parse_leading_number(const char *text, uint64_t *ret, const char **ret_end)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    *ret_end = at;
    return at != text;
}

bool parse_number(const char *text, uint64_t *ret)
{
    const char *end;
    return parse_leading_number(text, ret, &end) && *end == '\0';
}

bool parse_percentage(const char *text, uint64_t *ret_ppm)
{
    enum { DIGITS = 4 };
    uint64_t whole, fraction = 0;
    const char *end;
    if (!parse_leading_number(text, &whole, &end) || whole > percentage_max_ppm)
        return false; /* or the product would overflow */
    if (*end == '.') {
        const char *digits = end + 1;
        if (!parse_leading_number(digits, &fraction, &end) || end - digits > DIGITS)
            return false;
        for (long i = end - digits; i < DIGITS; i++)
            fraction *= 10;
    }
    *ret_ppm = whole * PERCENT_PPM + fraction;
    return *ret_ppm <= percentage_max_ppm && !strcmp(end, *end == '%' ? "%" : "");
}

/* 64 for an unknown suffix. */
static unsigned suffix_shift(const char *suffix)
{
    if (!strcasecmp(suffix, "k") || !strcasecmp(suffix, "kb") || !strcasecmp(suffix, "kib"))
        return 10;
    if (!strcasecmp(suffix, "m") || !strcasecmp(suffix, "mb") || !strcasecmp(suffix, "mib"))
        return 20;
    if (!strcasecmp(suffix, "g") || !strcasecmp(suffix, "gb") || !strcasecmp(suffix, "gib"))
        return 30;
    return *suffix ? 64 : 0;
}

bool parse_size(const char *text, uint64_t *ret_bytes)
{
    uint64_t number;
    const char *end;
    if (!parse_leading_number(text, &number, &end))
        return false;
    unsigned shift = suffix_shift(end);
    if (shift >= 64 || number > size_max_bytes >> shift || number << shift < size_min_bytes)
        return false;
    *ret_bytes = number << shift;
    return true;
}

int parse_signal(const char *text)
{
    uint64_t number;
    const char *end;
    if (parse_leading_number(text, &number, &end))
        return *end == '\0' && number < NSIG ? (int)number : 0;
    if (!strncasecmp(text, "SIG", 3))
        text += 3;
    bool from_min = !strncasecmp(text, "RTMIN", 5), from_max = !strncasecmp(text, "RTMAX", 5);
    if (from_min || from_max) {
        bool is_base = text[5] == '\0';
        if (!is_base && (text[5] != (from_min ? '+' : '-') || !parse_number(text + 6, &number) ||
                         number > (uint64_t)(SIGRTMAX - SIGRTMIN)))
            return 0;
        int offset = is_base ? 0 : (int)number;
        return from_min ? SIGRTMIN + offset : SIGRTMAX - offset;
    }
    for (int candidate = 1; candidate < SIGRTMIN; candidate++) {
        const char *name = signal_name(candidate);
        if (name && !strcasecmp(name, text))
            return candidate;
    }
    return 0;
}

bool is_usable_signal(int number)
{
    static const int refused[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,  SIGTRAP, SIGABRT,
                                  SIGSYS,  SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGINT,  SIGTERM};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (number == refused[i])
            return false;
    }
    return number > 0 && number < NSIG && (number < 32 || number >= SIGRTMIN);
}

bool parse_span(const char *text, uint64_t *ret_ns)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"", NS_PER_S},
                 {"ms", NS_PER_MS},
                 {"s", NS_PER_S},
                 {"m", 60 * (uint64_t)NS_PER_S},
                 {"h", 3600 * (uint64_t)NS_PER_S}};
    uint64_t number;
    const char *end;
    if (!parse_leading_number(text, &number, &end))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].unit) != 0 || number > span_max_ns / units[i].ns)
            continue;
        *ret_ns = number * units[i].ns;
        return true;
    }
    return false;
}

int find_word(const char *words, const char *word, size_t length)
{
    for (int index = 0;; index++) {
        size_t candidate = strcspn(words, " ");
        if (candidate == length && !strncmp(words, word, length))
            return index;
        if (!words[candidate])
            return -1;
        words += candidate + 1;
    }
}

void list_words(const char *words, char ret[WORDS_TEXT_BYTES])
{
    size_t used = 0;
    for (; *words && used + sizeof(" or ") < WORDS_TEXT_BYTES; words++) {
        const char *comma = strchr(words + 1, ' ') ? ", " : " or ";
        if (*words == ' ')
            used += (size_t)snprintf(ret + used, WORDS_TEXT_BYTES - used, "%s", comma);
        else
            ret[used++] = *words;
    }
    ret[used] = '\0';
}
