#include "socket_rows.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { STATE_LISTEN = 10, WORD_DIGITS = 8, WORD_BYTES = 4 };

/* Programs are given higher ports by the kernel. */
enum { PORT_CHOSEN_BELOW = 32768 };

/* Of a row of unix. */
enum { FLAG_LISTENING = 1 << 16, TYPE_STREAM = 1 };

/* ---- fields ---- */

/* The next field; its end, NULL if there is none. */
static const char *next_field(const char **at, const char *end)
{
    while (*at < end && **at == ' ')
        (*at)++;
    const char *field_end = *at;
    while (field_end < end && *field_end != ' ')
        field_end++;
    return field_end > *at ? field_end : NULL;
}

static bool skip_fields(const char **at, const char *end, int count)
{
    for (const char *field_end; count > 0; count--, *at = field_end) {
        field_end = next_field(at, end);
        if (!field_end)
            return false;
    }
    return true;
}

static bool read_number(const char **at, const char *end, unsigned base, uint64_t *ret)
{
    return next_field(at, end) && lines_read_number(at, end, base, ret);
}

/* 0100007F:1F90: words as they lie in memory, and a port. */
static bool read_end(const char **at, const char *end, bool is_v6, struct socket_end *ret)
{
    const int words = is_v6 ? SOCKET_ADDRESS_BYTES / WORD_BYTES : 1;
    const char *field_end = next_field(at, end);
    uint64_t number;
    if (!field_end || field_end - *at != words * WORD_DIGITS + 1 + 4)
        return false;
    for (int i = 0; i < words; i++) {
        if (!lines_read_number(at, *at + WORD_DIGITS, 16, &number))
            return false;
        const uint32_t word = (uint32_t)number;
        memcpy(ret->address + i * WORD_BYTES, &word, sizeof word);
    }
    if (**at != ':')
        return false;
    ++*at;
    if (!lines_read_number(at, field_end, 16, &number))
        return false;
    ret->port = (uint16_t)number;
    return true;
}

/* ---- the Internet's ---- */

/* "  0: LOCAL REMOTE STATE TX:RX TR:WHEN RETRANSMITS UID TIMEOUT INODE ..." */
bool socket_row_read(const struct line *line, enum socket_table table, struct socket_row *ret)
{
    const char *at = line->text, *end = at + line->bytes;
    uint64_t state;
    *ret = (struct socket_row){.is_tcp = table == SOCKET_TCP || table == SOCKET_TCP6,
                               .is_v6 = table == SOCKET_TCP6 || table == SOCKET_UDP6};
    if (!skip_fields(&at, end, 1) || !read_end(&at, end, ret->is_v6, &ret->local) ||
        !read_end(&at, end, ret->is_v6, &ret->remote) || !read_number(&at, end, 16, &state) ||
        !skip_fields(&at, end, 5) || !read_number(&at, end, 10, &ret->inode))
        return false;
    ret->is_listening = ret->is_tcp && state == STATE_LISTEN;
    return true;
}

static void print_end(const struct socket_end *at, bool is_v6, char *ret, size_t bytes)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}; /* ::ffff:0:0/96 */
    const bool is_mapped = is_v6 && memcmp(at->address, mapped, sizeof mapped) == 0;
    char address[INET6_ADDRSTRLEN];
    inet_ntop(is_v6 && !is_mapped ? AF_INET6 : AF_INET, at->address + (is_mapped ? sizeof mapped : 0),
              address, sizeof address);
    snprintf(ret, bytes, is_v6 && !is_mapped ? "[%s]:%u" : "%s:%u", address, at->port);
}

void socket_row_name(const struct socket_row *row, bool is_listened_on, char ret[SOCKET_NAME_BYTES])
{
    char end[INET6_ADDRSTRLEN + 16];
    const char *word = row->is_tcp ? "tcp" : "udp";
    const bool is_connected = row->remote.port != 0;
    print_end(is_connected ? &row->remote : &row->local, row->is_v6, end, sizeof end);
    if (row->is_listening)
        snprintf(ret, SOCKET_NAME_BYTES, "%s listening %s", word, end);
    else if (row->is_tcp && is_connected && is_listened_on)
        snprintf(ret, SOCKET_NAME_BYTES, "%s :%u clients", word, row->local.port);
    else if (is_connected || (!row->is_tcp && row->local.port && row->local.port < PORT_CHOSEN_BELOW))
        snprintf(ret, SOCKET_NAME_BYTES, "%s %s", word, end);
    else
        strcpy(ret, word);
}

/* ---- unix ---- */

/* "NUM: REFERENCES PROTOCOL FLAGS TYPE STATE INODE PATH": who accepts has the path of the socket that it
 * accepts from. */
bool socket_row_read_unix(const struct line *line, uint64_t *ret_inode, char ret[SOCKET_NAME_BYTES])
{
    const char *at = line->text, *end = at + line->bytes;
    uint64_t flags, type;
    if (!skip_fields(&at, end, 3) || !read_number(&at, end, 16, &flags) ||
        !read_number(&at, end, 16, &type) || !skip_fields(&at, end, 1) ||
        !read_number(&at, end, 10, ret_inode))
        return false;
    at += at < end;
    const int bytes = end - at < SOCKET_NAME_BYTES - 32 ? (int)(end - at) : SOCKET_NAME_BYTES - 32;
    const bool is_listening = flags & FLAG_LISTENING;
    snprintf(ret, SOCKET_NAME_BYTES, "unix%s%s%.*s%s", is_listening ? " listening" : "", bytes > 0 ? " " : "",
             bytes, at, bytes > 0 && !is_listening && type == TYPE_STREAM ? " clients" : "");
    return true;
}
