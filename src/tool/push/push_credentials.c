#include "push_credentials.h"
#include "push_body.h"
#include "base/number_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES = 3 * PUSH_SECRET_BYTES };

/* ---- checks ---- */

/* Credentials are sent in a header, which must stay one line. */
static bool is_sendable(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    }
    return true;
}

static int refuse(struct push_credentials *credentials, char reason[PUSH_REASON_BYTES], const char *why)
{
    push_credentials_wipe(credentials);
    snprintf(reason, PUSH_REASON_BYTES, "%s", why);
    return -EINVAL;
}

static int check_credentials(struct push_credentials *credentials, char reason[PUSH_REASON_BYTES])
{
    if (!is_sendable(credentials->token) || !is_sendable(credentials->user) ||
        !is_sendable(credentials->password))
        return refuse(credentials, reason, "a control character is in the credentials");
    if (*credentials->token && (*credentials->user || *credentials->password))
        return refuse(credentials, reason,
                      "there is a token and a user or password; one of the two is wanted");
    if (!*credentials->user != !*credentials->password)
        return refuse(credentials, reason, "a user and a password go together");
    if (strchr(credentials->user, ':'))
        return refuse(credentials, reason, "a user's name cannot have a colon in it");
    return 0;
}

bool push_credentials_are_there(const struct push_credentials *credentials)
{
    return *credentials->token || *credentials->user;
}

void push_credentials_wipe(struct push_credentials *credentials)
{
    explicit_bzero(credentials, sizeof *credentials);
}

/* ---- from the environment ---- */

/* Moves a variable out of the environment, and out of /proc/self/environ too. */
static bool take_variable(const char *name, char *ret, size_t capacity)
{
    char *value = getenv(name);
    size_t bytes = value ? strlen(value) : 0;
    bool fits = bytes < capacity;
    if (value && fits)
        memcpy(ret, value, bytes + 1);
    if (value)
        explicit_bzero(value, bytes);
    unsetenv(name);
    return fits;
}

int push_credentials_from_environment(struct push_credentials *credentials, char reason[PUSH_REASON_BYTES])
{
    struct push_credentials *ret = credentials;
    *ret = (struct push_credentials){.token = ""};
    bool fits = take_variable("WALLPROF_PUSH_TOKEN", ret->token, sizeof ret->token);
    fits &= take_variable("WALLPROF_PUSH_USER", ret->user, sizeof ret->user);
    fits &= take_variable("WALLPROF_PUSH_PASSWORD", ret->password, sizeof ret->password);
    return fits ? check_credentials(ret, reason)
                : refuse(ret, reason, "the credentials in the environment are too long");
}

/* ---- from a file ---- */

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t bytes = strlen(text);
    while (bytes > 0 && strchr(" \t\r", text[bytes - 1]))
        text[--bytes] = '\0';
    return text;
}

static bool set_field(struct push_credentials *credentials, const char *key, const char *value)
{
    static const struct {
        const char *key;
        size_t offset, capacity;
    } fields[] = {{"token", offsetof(struct push_credentials, token), PUSH_SECRET_BYTES},
                  {"user", offsetof(struct push_credentials, user), PUSH_USER_BYTES},
                  {"password", offsetof(struct push_credentials, password), PUSH_SECRET_BYTES}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(key, fields[i].key) == 0 && strlen(value) < fields[i].capacity) {
            strcpy((char *)credentials + fields[i].offset, value);
            return true;
        }
    }
    return false;
}

static bool parse_lines(struct push_credentials *credentials, char *text)
{
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *equals = strchr(line, '=');
        line = trim(line);
        if (!*line || *line == '#')
            continue;
        if (!equals)
            return false;
        *equals = '\0';
        if (!set_field(credentials, trim(line), trim(equals + 1)))
            return false;
    }
    return true;
}

/* Why the file is not used; NULL if it is. Another user's file may have false credentials. */
static const char *objection_to_file(int fd)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return "it is not a file";
    if (status.st_uid != geteuid() && status.st_uid != 0)
        return "it belongs to another user";
    return status.st_mode & 077 ? "others can read or write it; it must have mode 0600 or 0400" : NULL;
}

static int read_credentials_file(struct push_credentials *credentials, int fd, char reason[PUSH_REASON_BYTES])
{
    char text[FILE_BYTES];
    const char *why = objection_to_file(fd);
    if (why)
        return refuse(credentials, reason, why);
    ssize_t bytes = read(fd, text, sizeof text - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
    bool is_understood = bytes > 0 && parse_lines(credentials, text);
    explicit_bzero(text, sizeof text);
    if (!is_understood)
        return refuse(credentials, reason,
                      "its lines are to be 'token = ...', or 'user = ...' and 'password = ...'");
    int status = check_credentials(credentials, reason);
    if (status == 0 && !push_credentials_are_there(credentials))
        return refuse(credentials, reason, "there are no credentials in it");
    return status;
}

int push_credentials_from_file(struct push_credentials *credentials, const char *path,
                               char reason[PUSH_REASON_BYTES])
{
    *credentials = (struct push_credentials){.token = ""};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        int error = -errno;
        snprintf(reason, PUSH_REASON_BYTES, "%s", error_text(-error));
        return error;
    }
    int status = read_credentials_file(credentials, fd, reason);
    close(fd);
    return status;
}

/* ---- whether a message shows them ---- */

static bool is_secret_in(const char *secret, const char *text)
{
    return *secret && strstr(text, secret);
}

/* In a Basic authorization (RFC 7617). */
static bool is_encoded_in(const struct push_credentials *credentials, const char *text)
{
    char plain[PUSH_USER_BYTES + PUSH_SECRET_BYTES + 1], encoded[2 * sizeof plain];
    int bytes = snprintf(plain, sizeof plain, "%s:%s", credentials->user, credentials->password);
    const struct push_body body = {.before = "",
                                   .after = "",
                                   .profile = (unsigned char *)plain,
                                   .profile_bytes = (size_t)bytes,
                                   .is_base64 = true};
    encoded[push_body_read(&body, 0, encoded, sizeof encoded - 1)] = '\0';
    bool is_shown = is_secret_in(encoded, text);
    explicit_bzero(plain, sizeof plain);
    explicit_bzero(encoded, sizeof encoded);
    return is_shown;
}

bool push_credentials_shown(const struct push_credentials *credentials, const char *text)
{
    return is_secret_in(credentials->token, text) || is_secret_in(credentials->password, text) ||
           (*credentials->user && is_encoded_in(credentials, text));
}
