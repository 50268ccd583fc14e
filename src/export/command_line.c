#include "command_line.h"
#include "base/raw_calls.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 16384 };

static const char *const words[] = {"password", "passwd", "passphrase", "pass",       "pwd",
                                    "token",    "secret", "key",        "credential", "authorization",
                                    "bearer",   "cookie", "signature"};

struct text {
    char *at;
    size_t used, capacity;
};

static void add_bytes(struct text *text, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count && text->used + 1 < text->capacity; i++)
        text->at[text->used++] = (unsigned char)bytes[i] < ' ' ? ' ' : bytes[i];
}

static void add_mask(struct text *text)
{
    add_bytes(text, "***", 3);
}

/* Where the first of the words begins, whatever its case, or NULL. */
static const char *find_word_of_secret(const char *argument)
{
    for (; *argument; argument++) {
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            if (strncasecmp(argument, words[i], strlen(words[i])) == 0)
                return argument;
        }
    }
    return NULL;
}

/* What is to be masked at the end of an argument, or NULL. */
static const char *find_value(const char *argument)
{
    const char *word = find_word_of_secret(argument);
    const char *value = word ? strpbrk(word, "=: \t\r\n") : NULL;
    if (value)
        value += 1 + strspn(value + 1, " \t\r\n");
    return value && *value ? value : NULL;
}

/* Whether the next argument is the value. */
static bool wants_value(const char *argument)
{
    const char *word = find_word_of_secret(argument);
    if (!word || strpbrk(word, "=: \t\r\n"))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(argument, words[i]) == 0)
            return true;
    }
    return *argument == '-';
}

/* Whether an address that has its "://" here is of http or https. */
static bool is_of_web(const char *begin, const char *at)
{
    size_t bytes = (size_t)(at - begin);
    return (bytes >= 4 && strncasecmp(at - 4, "http", 4) == 0) ||
           (bytes >= 5 && strncasecmp(at - 5, "https", 5) == 0);
}

/*
 * From after the "://": the password, if there is one, which may have any character but blanks and quotes. A
 * web address without a colon there has a token.
 */
static bool find_password(const char *at, const char *end, bool is_web, const char **ret_begin,
                          const char **ret_end)
{
    size_t bytes = strcspn(at, " \t\r\n\"'");
    if (bytes > (size_t)(end - at))
        bytes = (size_t)(end - at);
    *ret_end = memrchr(at, '@', bytes);
    const char *colon = *ret_end ? memchr(at, ':', (size_t)(*ret_end - at)) : NULL;
    *ret_begin = colon ? colon + 1 : at;
    return colon || (*ret_end && is_web);
}

/* A part of an argument, without the passwords in its addresses. */
static void add_addresses(struct text *text, const char *at, const char *end)
{
    for (const char *address, *password, *rest; (address = memmem(at, (size_t)(end - at), "://", 3));
         at = rest) {
        rest = address + 3;
        if (!find_password(rest, end, is_of_web(at, address), &password, &rest)) {
            rest = address + 3;
            add_bytes(text, at, (size_t)(rest - at));
            continue;
        }
        add_bytes(text, at, (size_t)(password - at));
        add_mask(text);
    }
    add_bytes(text, at, (size_t)(end - at));
}

static void add_argument(struct text *text, const char *argument)
{
    const char *value = find_value(argument);
    add_addresses(text, argument, value ? value : argument + strlen(argument));
    if (value)
        add_mask(text);
}

void command_line_describe(const char *arguments, size_t bytes, enum config_arguments shown, char *ret,
                           size_t capacity)
{
    struct text text = {.at = ret, .capacity = capacity};
    const char *end = arguments + bytes, *next;
    bool is_value = false;
    for (const char *at = arguments; (next = memchr(at, '\0', (size_t)(end - at))); at = next + 1) {
        if (at > arguments)
            add_bytes(&text, " ", 1);
        if (shown == ARGUMENTS_ALL)
            add_bytes(&text, at, (size_t)(next - at));
        else if (is_value)
            add_mask(&text);
        else
            add_argument(&text, at);
        is_value = wants_value(at); /* of a value too: "--ask-password --token x" */
        if (shown == ARGUMENTS_PROGRAM)
            break;
    }
    ret[text.used] = '\0';
}

void command_line_read(enum config_arguments shown, char *ret, size_t capacity)
{
    char arguments[READ_BYTES];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? 0 : raw_read(fd, arguments, sizeof arguments);
    if (fd >= 0)
        close(fd);
    command_line_describe(arguments, bytes > 0 ? (size_t)bytes : 0, shown, ret, capacity);
}
