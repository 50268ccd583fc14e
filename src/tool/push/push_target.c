#include "push_target.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

__attribute__((format(printf, 2, 3))) static int refuse_target(struct push_target *target, const char *format,
                                                               ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(target->reason, sizeof target->reason, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

static bool is_letter(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* ---- the address ---- */

/* A character of a host with a port, IPv6 addresses included. */
static bool is_of_host(char character)
{
    return is_letter(character) || is_digit(character) || (character && strchr("._-:[]", character));
}

static bool is_loopback(const char *host, size_t bytes)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (bytes >= length && strncasecmp(host, names[i], length) == 0 &&
            (bytes == length || host[length] == ':'))
            return true;
    }
    return false;
}

/* Graphic ASCII without what begins a query or a fragment, or what readers disagree about. */
static bool is_path(const char *path)
{
    for (; *path; path++) {
        if (*path <= ' ' || *path >= 0x7f || strchr("?#\\\"<>{}|^`@", *path))
            return false;
    }
    return true;
}

int push_target_set_address(struct push_target *target, const char *address)
{
    target->is_encrypted = strncasecmp(address, "https://", 8) == 0;
    if (!target->is_encrypted && strncasecmp(address, "http://", 7) != 0)
        return refuse_target(target, "the server's address must begin with https:// or http://");
    const char *host = address + (target->is_encrypted ? 8 : 7);
    size_t host_bytes = strcspn(host, "/"), bytes = strlen(address);
    if (memchr(host, '@', strcspn(host, "/?#")))
        return refuse_target(
            target, "the server's address has a user or a password in it, which others can read there; "
                    "'wallprof push --help' says where they belong");
    if (host_bytes == 0 || *host == ':')
        return refuse_target(target, "the server's address names no host");
    for (size_t i = 0; i < host_bytes; i++) {
        if (!is_of_host(host[i]))
            return refuse_target(target,
                                 "the server's address is wrong: before the path come a host and a port");
    }
    if (!is_path(host + host_bytes))
        return refuse_target(target, "the server's address is wrong: it ends with a path, without a query");
    while (address[bytes - 1] == '/' && bytes > (size_t)(host - address) + host_bytes)
        bytes--;
    if (bytes > 2000)
        return refuse_target(target, "the server's address is too long");
    target->address = address;
    target->address_bytes = (uint32_t)bytes;
    target->is_loopback = is_loopback(host, host_bytes);
    return 0;
}

/* ---- names and labels ---- */

static bool is_of_name(char character)
{
    return is_letter(character) || is_digit(character) || (character && strchr("_./-", character));
}

int push_target_set_name(struct push_target *target, const char *name)
{
    size_t bytes = strlen(name);
    for (size_t i = 0; i < bytes; i++) {
        if (!is_of_name(name[i]))
            return refuse_target(target, "a service is called by letters, digits and _ . / - only");
    }
    if (bytes == 0 || bytes > PUSH_LABEL_VALUE_BYTES)
        return refuse_target(target, "a service's name has 1 to %d characters", PUSH_LABEL_VALUE_BYTES);
    target->name = name;
    return 0;
}

void push_target_make_name(const char *program, char *ret, uint32_t capacity)
{
    uint32_t used = 0;
    for (; *program && used + 1 < capacity; program++)
        ret[used++] = is_of_name(*program) ? *program : '_';
    ret[used] = '\0';
    if (used == 0)
        snprintf(ret, capacity, "unknown");
}

/* Prometheus' rule, for all three interfaces. Names that begin with two underscores are reserved. */
static bool is_label_name(const char *name, size_t bytes)
{
    if (bytes == 0 || bytes > PUSH_LABEL_NAME_BYTES || is_digit(*name) || strncmp(name, "__", 2) == 0)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        if (!is_letter(name[i]) && !is_digit(name[i]) && name[i] != '_')
            return false;
    }
    return true;
}

static bool is_label_value(const char *value)
{
    size_t bytes;
    if (!*value || strlen(value) > PUSH_LABEL_VALUE_BYTES)
        return false;
    for (; *value; value += bytes) {
        bytes = utf8_length(value);
        if (bytes == 0 || (unsigned char)*value < ' ' || *value == 0x7f)
            return false;
    }
    return true;
}

int push_target_add_label(struct push_target *target, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals)
        return refuse_target(target, "a label is NAME=VALUE");
    size_t bytes = (size_t)(equals - text);
    if (!is_label_name(text, bytes))
        return refuse_target(
            target,
            "a label's name has letters, digits and _ only, begins with no digit and not with "
            "two underscores, and has 1 to %d characters",
            PUSH_LABEL_NAME_BYTES);
    if (!is_label_value(equals + 1))
        return refuse_target(
            target, "the value of label %.*s must be 1 to %d bytes of text without control characters",
            (int)(bytes < 64 ? bytes : 64), text, PUSH_LABEL_VALUE_BYTES);
    if (target->label_count == PUSH_LABELS_MAX)
        return refuse_target(target, "more than %d labels", PUSH_LABELS_MAX);
    struct push_label *label = &target->labels[target->label_count];
    snprintf(label->name, sizeof label->name, "%.*s", (int)bytes, text);
    label->value = equals + 1;
    for (uint32_t i = 0; i < target->label_count; i++) {
        if (strcmp(target->labels[i].name, label->name) == 0)
            return refuse_target(target, "there are two labels %.64s", label->name);
    }
    if (strcmp(label->name, "service_name") == 0)
        return refuse_target(target, "service_name is what --name says");
    target->label_count++;
    return 0;
}

/* In name{a=b,c=d} a value ends at a comma or brace, and loses blanks around it. */
static bool fits_ingest(const char *value)
{
    return !strpbrk(value, ",}") && *value != ' ' && value[strlen(value) - 1] != ' ';
}

int push_target_check(struct push_target *target)
{
    for (uint32_t i = 0; target->interface == PUSH_PYROSCOPE_INGEST && i < target->label_count; i++) {
        if (!fits_ingest(target->labels[i].value))
            return refuse_target(
                target,
                "Pyroscope's /ingest cannot carry the value of label %.64s (a comma, a brace, or "
                "a blank at an end); --pyroscope-api push can",
                target->labels[i].name);
    }
    return 0;
}
