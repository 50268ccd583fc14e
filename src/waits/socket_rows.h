/*
 * A row of the kernel's tables of sockets, /proc/net/tcp, tcp6, udp, udp6 and unix, and what such a socket is
 * called.
 *
 * A connection that somebody else made is called by the port that it came to, as there may be many of them:
 * "tcp :8080 clients". That is one whose local port is listened on. Others are called by their peer.
 *
 * Pure functions. Source: net/ipv4/tcp_ipv4.c (tcp4_seq_show), net/ipv6/tcp_ipv6.c, net/ipv4/udp.c,
 * net/unix/af_unix.c (unix_seq_show).
 */
#ifndef WALLPROF_SOCKET_ROWS_H
#define WALLPROF_SOCKET_ROWS_H

#include "base/lines.h"

#include <stdbool.h>
#include <stdint.h>

enum { SOCKET_NAME_BYTES = 160, SOCKET_ADDRESS_BYTES = 16, SOCKET_PORTS = 1 << 16 };

enum socket_table { SOCKET_TCP, SOCKET_TCP6, SOCKET_UDP, SOCKET_UDP6, SOCKET_UNIX, SOCKET_TABLES };

struct socket_end {
    uint8_t address[SOCKET_ADDRESS_BYTES]; /* the first four of an IPv4 address */
    uint16_t port;
};

struct socket_row {
    uint64_t inode;
    struct socket_end local, remote;
    bool is_tcp, is_v6, is_listening;
};

/* A row of tcp, tcp6, udp or udp6. False for a line that is none. */
bool socket_row_read(const struct line *line, enum socket_table table, struct socket_row *ret);

/* is_listened_on: its local port. */
void socket_row_name(const struct socket_row *row, bool is_listened_on, char ret[SOCKET_NAME_BYTES]);

/* A row of unix: its inode and its name. */
bool socket_row_read_unix(const struct line *line, uint64_t *ret_inode, char ret[SOCKET_NAME_BYTES]);

#endif
