#include "sockets.h"
#include "base/arena.h"
#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINES_PER_CHECK = 64 };

static const uint64_t reading_max_ns = 10 * NS_PER_MS, fresh_ns = NS_PER_S;

static const char *const files[SOCKET_TABLES] = {[SOCKET_TCP] = "tcp",
                                                 [SOCKET_TCP6] = "tcp6",
                                                 [SOCKET_UDP] = "udp",
                                                 [SOCKET_UDP6] = "udp6",
                                                 [SOCKET_UNIX] = "unix"};

struct socket_memory {
    struct socket_name {
        uint64_t inode; /* 0: none */
        uint64_t until_ns;
        char name[SOCKET_NAME_BYTES];     /* "": no table had it */
    } names[SOCKETS_NAMED];               /* of those that were asked for, by inode */
    struct socket_row rows[SOCKETS_KEPT]; /* of the last reading of TCP's tables, by inode */
    uint8_t listened_on[SOCKETS_PORT_BYTES];
};

/* ---- what is kept ---- */

static struct socket_name *name_at(struct socket_memory *memory, uint64_t inode)
{
    return &memory->names[inode % SOCKETS_NAMED];
}

static struct socket_row *row_at(struct socket_memory *memory, uint64_t inode)
{
    return &memory->rows[inode % SOCKETS_KEPT];
}

static bool is_listened_on(const struct socket_memory *memory, uint16_t port)
{
    return memory->listened_on[port / 8] >> port % 8 & 1;
}

/* ---- a table ---- */

struct reading {
    struct socket_memory *memory;
    enum socket_table table;
    uint64_t inode;  /* that is looked for */
    char *name;      /* its name */
    uint64_t end_ns; /* of the CPU clock */
};

/* The one that is looked for is not displaced. What is left of a connection has no inode. */
static void keep_row(const struct reading *reading, const struct socket_row *row)
{
    struct socket_memory *memory = reading->memory;
    struct socket_row *kept = row_at(memory, row->inode);
    if (row->is_listening)
        memory->listened_on[row->local.port / 8] |= (uint8_t)(1 << row->local.port % 8);
    if (row->is_tcp && row->inode && kept->inode != reading->inode)
        *kept = *row;
}

/* True if that is the one that is looked for, and the others are not wanted. */
static bool take_line(const struct reading *reading, const struct line *line)
{
    struct socket_row row;
    uint64_t inode;
    char name[SOCKET_NAME_BYTES];
    if (reading->table == SOCKET_UNIX) {
        if (!socket_row_read_unix(line, &inode, name) || inode != reading->inode)
            return false;
        strcpy(reading->name, name);
        return true;
    }
    if (!socket_row_read(line, reading->table, &row))
        return false;
    keep_row(reading, &row);
    if (row.is_tcp || row.inode != reading->inode)
        return false;
    socket_row_name(&row, false, reading->name);
    return true;
}

static void read_table(const struct reading *reading, int task_directory, pid_t tid)
{
    struct lines lines;
    struct line line;
    char path[48];
    uint32_t count = 0;
    snprintf(path, sizeof path, "%d/net/%s", (int)tid, files[reading->table]);
    int fd = openat(task_directory, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return;
    if (lines_init(&lines, fd, 0, UINT64_MAX) == 0) {
        while (lines_next(&lines, &line) && !take_line(reading, &line)) {
            if (++count % LINES_PER_CHECK == 0 && clock_read_ns(CLOCK_THREAD_CPUTIME_ID) >= reading->end_ns)
                break;
        }
        lines_deinit(&lines);
    }
    close(fd);
}

/* ---- all of them ---- */

static bool name_by_row(struct socket_memory *memory, uint64_t inode, char ret[SOCKET_NAME_BYTES])
{
    const struct socket_row *row = row_at(memory, inode);
    if (row->inode != inode)
        return false;
    socket_row_name(row, is_listened_on(memory, row->local.port), ret);
    return true;
}

/* The cheapest first. Listening sockets are the first of their table. */
static void read_tables(struct socket_memory *memory, int task_directory, pid_t tid, uint64_t inode,
                        char ret[SOCKET_NAME_BYTES])
{
    static const enum socket_table small[] = {SOCKET_UNIX, SOCKET_UDP, SOCKET_UDP6};
    struct reading reading = {.memory = memory,
                              .inode = inode,
                              .name = ret,
                              .end_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + reading_max_ns};
    for (size_t i = 0; i < sizeof small / sizeof *small && !*ret; i++) {
        reading.table = small[i];
        read_table(&reading, task_directory, tid);
    }
    if (*ret)
        return;
    memset(memory->rows, 0, sizeof memory->rows);
    memset(memory->listened_on, 0, sizeof memory->listened_on);
    for (reading.table = SOCKET_TCP; reading.table <= SOCKET_TCP6; reading.table++)
        read_table(&reading, task_directory, tid);
}

void sockets_find(struct sockets *sockets, int task_directory, pid_t tid, uint64_t inode, uint64_t now_ns,
                  char ret[SOCKET_NAME_BYTES])
{
    *ret = '\0';
    sockets->again_ns = UINT64_MAX;
    if (!sockets->memory)
        sockets->memory = scratch_alloc(sizeof *sockets->memory);
    if (!sockets->memory)
        return;
    struct socket_name *kept = name_at(sockets->memory, inode);
    if (kept->inode == inode && now_ns < kept->until_ns) {
        strcpy(ret, kept->name);
        return;
    }
    bool is_tcp = name_by_row(sockets->memory, inode, ret);
    if (!is_tcp) {
        if (!reading_credit_is_left(&sockets->credit, now_ns)) {
            sockets->again_ns = now_ns + fresh_ns;
            return;
        }
        const uint64_t begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
        read_tables(sockets->memory, task_directory, tid, inode, ret);
        reading_credit_pay(&sockets->credit, begin_ns);
        is_tcp = !*ret && name_by_row(sockets->memory, inode, ret);
    }
    *kept = (struct socket_name){.inode = inode, .until_ns = is_tcp ? UINT64_MAX : now_ns + fresh_ns};
    strcpy(kept->name, ret);
}

void sockets_deinit(struct sockets *sockets)
{
    scratch_free(sockets->memory, sizeof *sockets->memory);
    sockets->memory = NULL;
}
