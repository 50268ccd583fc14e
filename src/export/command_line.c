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

/* What follows an option or its attached rest, and which part of it is secret. */
struct option {
    const char *program; /* what the name of the program's file begins with */
    char letter;         /* of the option; 0: any word of the program that is no option */
    char mark;           /* the secret comes after it; 0: all is secret */
    bool is_attached;    /* only in the same word, as in -pSECRET */
};

static const struct option letter_options[] = {
    {"curl", 'u', ':', false},      {"curl", 'U', ':', false},  {"mysql", 'p', 0, true},
    {"mariadb", 'p', 0, true},      {"7z", 'p', 0, true},       {"sshpass", 'p', 0, false},
    {"redis-cli", 'a', 0, false},   {"ldap", 'w', 0, false},    {"zip", 'P', 0, false},
    {"unzip", 'P', 0, false},       {"mongosh", 'p', 0, false}, {"mosquitto_", 'P', 0, false},
    {"smbclient", 'U', '%', false}, {"sqlplus", 0, '/', false},
};

/* --user NAME:SECRET, --auth NAME:SECRET, and what ends so, of any program. */
static const struct option name_option = {.mark = ':'};

static const char blanks[] = " \t\r\n";

/* How far the arguments have been read. */
struct reader {
    const char *program;          /* the last word with the file name of one that letter_options has, or "" */
    const struct option *pending; /* the next word is its value; or NULL */
};

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

/* After the next = or colon, as it is or percent-encoded, or blank; NULL if there is none. */
static const char *after_delimiter(const char *at)
{
    for (; *at; at++) {
        if (strchr("=: \t\r\n", *at))
            return at + 1;
        if (strncasecmp(at, "%3d", 3) == 0 || strncasecmp(at, "%3a", 3) == 0)
            return at + 3;
    }
    return NULL;
}

/* What is to be masked at the end of an argument because of a word in it, or NULL. */
static const char *find_value(const char *argument)
{
    const char *word = find_word_of_secret(argument);
    const char *value = word ? after_delimiter(word) : NULL;
    if (value)
        value += strspn(value, blanks);
    return value && *value ? value : NULL;
}

/* Whether the next argument is the value. */
static bool wants_value(const char *argument)
{
    const char *word = find_word_of_secret(argument);
    if (!word || after_delimiter(word))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(argument, words[i]) == 0)
            return true;
    }
    return *argument == '-';
}

/* ---- options of a letter, and names with a secret after them ---- */

/* Where the secret of a value begins, or NULL. An address is no name, nor are two numbers, as of a user and a
 * group. */
static const char *secret_of(const struct option *option, const char *value, const char *end)
{
    const char *mark = option->mark ? memchr(value, option->mark, (size_t)(end - value)) : value - 1;
    bool is_numbers = !option->program && strspn(value, "0123456789:") >= (size_t)(end - value);
    if (!mark || mark + 1 >= end || is_numbers)
        return NULL;
    return option->mark == ':' && strncmp(mark + 1, "//", 2) == 0 ? NULL : mark + 1;
}

/* Whether a program's word is NAME/SECRET@DATABASE. "/ as sysdba" and "@file" are none. */
static bool is_login(const char *word)
{
    size_t name_bytes = strcspn(word, "/@-");
    return name_bytes > 0 && word[name_bytes] == '/';
}

static const char *find_by_letter(struct reader *reader, const struct option *option, const char *word,
                                  const char *end)
{
    if (!option->letter)
        return is_login(word) ? secret_of(option, word, end) : NULL;
    if (*word != '-' || word[1] == '-' || end - word < 2)
        return NULL;
    if (word[1] == option->letter && end - word > 2)
        return secret_of(option, word + 2, end);
    if (end[-1] == option->letter && !option->is_attached)
        reader->pending = option;
    return NULL;
}

/* --user=NAME:SECRET, or the next word is the value. */
static const char *find_by_name(struct reader *reader, const char *word, const char *end)
{
    const char *name_end = word + strcspn(word, "= \t\r\n");
    if (strncmp(word, "--", 2) != 0 || name_end - word < 6 ||
        (strncmp(name_end - 4, "user", 4) != 0 && strncmp(name_end - 4, "auth", 4) != 0))
        return NULL;
    if (name_end < end)
        return secret_of(&name_option, name_end + 1, end);
    reader->pending = &name_option;
    return NULL;
}

static bool is_of_program(const char *name, const struct option *option)
{
    return strncmp(name, option->program, strlen(option->program)) == 0;
}

/* Where a secret begins in a word, or NULL. */
static const char *find_in_word(struct reader *reader, const char *word, const char *end)
{
    const struct option *option = reader->pending;
    const char *slash = memrchr(word, '/', (size_t)(end - word)), *name = slash ? slash + 1 : word;
    reader->pending = NULL;
    if (option && (option->program || *word != '-')) /* --user may be an option without a value */
        return secret_of(option, word, end);
    const char *secret = find_by_name(reader, word, end);
    for (size_t i = 0; i < sizeof letter_options / sizeof *letter_options && !secret; i++) {
        option = &letter_options[i];
        if (is_of_program(name, option))
            reader->program = name;
        else if (is_of_program(reader->program, option))
            secret = find_by_letter(reader, option, word, end);
    }
    return secret;
}

/* Where a secret begins that no word tells, or NULL. The value of the argument before may have blanks. */
static const char *find_by_option(struct reader *reader, const char *argument)
{
    const char *secret = NULL, *end = argument + strlen(argument);
    if (reader->pending)
        return find_in_word(reader, argument, end);
    for (const char *word = argument; *word && !secret; word = end + strspn(end, blanks)) {
        end = word + strcspn(word, blanks);
        secret = find_in_word(reader, word, end);
    }
    if (secret)
        reader->pending = NULL;
    return secret;
}

/* jdbc:oracle:thin:NAME/SECRET@HOST */
static const char *find_of_oracle(const char *argument)
{
    const char *address = strcasestr(argument, "jdbc:oracle:");
    const char *end = address ? address + strcspn(address, "/@") : NULL;
    return end && *end == '/' && strchr(end, '@') ? end + 1 : NULL;
}

static const char *earlier(const char *one, const char *other)
{
    return !one || (other && other < one) ? other : one;
}

/* ---- addresses ---- */

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

static void add_argument(struct text *text, struct reader *reader, const char *argument)
{
    const char *value = earlier(find_value(argument), find_of_oracle(argument));
    value = earlier(find_by_option(reader, argument), value);
    add_addresses(text, argument, value ? value : argument + strlen(argument));
    if (value)
        add_mask(text);
}

/* A title that a program has written over its arguments has its name first: "postgres: walwriter". */
static size_t program_bytes(const char *argument, const char *end)
{
    const char *colon = memmem(argument, (size_t)(end - argument), ": ", 2);
    return (size_t)((colon ? colon : end) - argument);
}

void command_line_describe(const char *arguments, size_t bytes, enum config_arguments shown, char *ret,
                           size_t capacity)
{
    struct text text = {.at = ret, .capacity = capacity};
    struct reader reader = {.program = ""};
    const char *end = arguments + bytes, *next;
    bool is_value = false;
    while (end - arguments > 1 && !end[-1] && !end[-2]) /* a title that is shorter than the arguments were */
        end--;
    for (const char *at = arguments; (next = memchr(at, '\0', (size_t)(end - at))); at = next + 1) {
        if (at > arguments)
            add_bytes(&text, " ", 1);
        if (shown == ARGUMENTS_ALL)
            add_bytes(&text, at, (size_t)(next - at));
        else if (shown == ARGUMENTS_PROGRAM)
            add_bytes(&text, at, program_bytes(at, next));
        else if (is_value)
            add_mask(&text);
        else
            add_argument(&text, &reader, at);
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
