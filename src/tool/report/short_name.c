#include "short_name.h"
#include "base/name_pattern.h"
#include "tool/io/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* operator< and its like, operator() and operator->: their signs are no brackets. */
static size_t operator_bytes(const char *text)
{
    static const char word[] = "operator";
    size_t bytes = sizeof word - 1;
    if (strncmp(text, word, bytes) != 0)
        return 0;
    if (strncmp(text + bytes, "()", 2) == 0)
        return bytes + 2;
    return bytes + strspn(text + bytes, "<>=-");
}

/* The end of a bracketed part that begins here, after its bracket; NULL if it has none. */
static char *end_of_brackets(char *text)
{
    const char open = *text, close = open == '(' ? ')' : '>';
    int depth = 0;
    for (; *text; text++) {
        if (*text == '-' && text[1] == '>')
            text++;
        else if (*text == open)
            depth++;
        else if (*text == close && --depth == 0)
            return text + 1;
    }
    return NULL;
}

/* Removes what is between such brackets, and with is_whole the brackets. (anonymous namespace) is a name. */
static void remove_brackets(char *name, char bracket, bool is_whole)
{
    for (char *at = name; *at;) {
        size_t skipped = operator_bytes(at);
        bool is_name = *at == '(' && (strncmp(at, "(anonymous", 10) == 0 || at == name);
        char *end = *at == bracket && !is_name && at > name && !skipped ? end_of_brackets(at) : NULL;
        if (!end) {
            at += skipped ? skipped : 1;
            continue;
        }
        char *kept = is_whole ? at : at + 1, *rest = is_whole ? end : end - 1;
        memmove(kept, rest, strlen(rest) + 1);
        at = is_whole ? kept : kept + 1;
    }
}

/* " const", " [clone .part.0]" after the arguments. */
static void remove_after_arguments(char *name)
{
    char *clone = strstr(name, " [clone");
    if (clone)
        *clone = '\0';
    size_t length = strlen(name);
    if (length > 6 && strcmp(name + length - 6, " const") == 0)
        name[length - 6] = '\0';
}

/* The result's type, which demanglers write before templates: up to the last blank outside of brackets. */
static const char *without_result(const char *name)
{
    const char *ret = name;
    int depth = 0;
    for (const char *at = name; *at; at++) {
        size_t skipped = operator_bytes(at);
        if (skipped) /* a conversion's type follows a blank */
            break;
        depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
        if (*at == ' ' && depth == 0 && at[1] && at[1] != '[')
            ret = at + 1;
    }
    return ret;
}

/* After the outermost namespace; NULL if there is none. */
static const char *after_namespace(const char *name)
{
    int depth = 0;
    for (const char *at = name; *at && !operator_bytes(at); at++) {
        depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
        if (depth == 0 && at[0] == ':' && at[1] == ':' && at[2])
            return at + 2;
    }
    return NULL;
}

/*
 * V8's names of JavaScript: "JS:*handle /srv/app/server.js:2:21". The sign says how it was compiled. False
 * for another name.
 */
static bool write_javascript(const char *name, char ret[SHORT_NAME_BYTES])
{
    static const char *const kinds[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t bytes = strlen(kinds[i]);
        if (strncmp(name, kinds[i], bytes) != 0)
            continue;
        const char *function = name + bytes + strspn(name + bytes, "*~^+"), *place = strchr(function, ' ');
        if (!place)
            return false;
        const char *file = name_last_part(place + 1), *column = strrchr(file, ':'); /* after the line */
        snprintf(ret, SHORT_NAME_BYTES, "%.*s %.*s", place > function ? (int)(place - function) : 11,
                 place > function ? function : "(anonymous)",
                 (int)(column ? column - file : (long)strlen(file)), file);
        return true;
    }
    return false;
}

static void remove_word(char *text, const char *word)
{
    const size_t bytes = strlen(word);
    for (char *at = text; (at = strstr(at, word)) != NULL;)
        memmove(at, at + bytes, strlen(at + bytes) + 1);
}

/* CPython's names with -X perf: "py::fetch.<locals>.get:/srv/app/shop.py". False for another name. */
static bool write_python(const char *name, char ret[SHORT_NAME_BYTES])
{
    static const char mark[] = "py::";
    const size_t bytes = sizeof mark - 1;
    const char *function = strncmp(name, mark, bytes) == 0 ? name + bytes : "",
               *place = strchr(function, ':');
    if (!place)
        return false;
    snprintf(ret, SHORT_NAME_BYTES, "%.*s %s", (int)(place - function), function, name_last_part(place + 1));
    remove_word(ret, ".<locals>");
    return true;
}

/* Titles of a script's functions (report_title.h): a blank, and a file, mostly with a line. */
static bool has_place(const char *name)
{
    const char *colon = strrchr(name, ':'), *dot = strrchr(name, '.');
    const bool has_line = colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
    return strchr(name, ' ') && (has_line || (dot && strcmp(dot, ".py") == 0));
}

const char *short_name(const char *name, int columns, char ret[SHORT_NAME_BYTES])
{
    if (write_javascript(name, ret) || write_python(name, ret))
        return ret;
    snprintf(ret, SHORT_NAME_BYTES, "%s", name);
    if (has_place(name)) {
        remove_word(ret, ".<locals>");
        return ret;
    }
    if (columns < 0 || *name == '[' || text_width(ret) <= columns)
        return ret;
    remove_brackets(ret, '(', true);
    remove_after_arguments(ret);
    const char *plain = without_result(ret);
    memmove(ret, plain, strlen(plain) + 1);
    if (text_width(ret) > columns)
        remove_brackets(ret, '<', false);
    for (const char *inner; text_width(ret) > columns && (inner = after_namespace(ret));)
        memmove(ret, inner, strlen(inner) + 1);
    return ret;
}
