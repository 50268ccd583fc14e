#include "unix_peers.h"
#include "base/raw_calls.h"
#include "proc/proc_tasks.h"

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES = 1024 };

struct answer {
    _Alignas(NLMSG_ALIGNTO) char bytes[ANSWER_BYTES];
    size_t length;
};

struct question {
    struct nlmsghdr header;
    struct unix_diag_req request;
};

/* The kernel answers before the write returns. */
static bool ask(int diag, uint32_t inode, struct answer *ret)
{
    const struct question question = {.header = {.nlmsg_len = sizeof question,
                                                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                                 .nlmsg_flags = NLM_F_REQUEST},
                                      .request = {.sdiag_family = AF_UNIX,
                                                  .udiag_states = ~0U,
                                                  .udiag_ino = inode,
                                                  .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER,
                                                  .udiag_cookie = {~0U, ~0U}}};
    if (raw_write(diag, &question, sizeof question) != sizeof question)
        return false;
    const ssize_t bytes = raw_read(diag, ret->bytes, sizeof ret->bytes);
    const struct nlmsghdr *header = (const void *)ret->bytes;
    ret->length = bytes > 0 ? (size_t)bytes : 0;
    return ret->length >= NLMSG_SPACE(sizeof(struct unix_diag_msg)) && header->nlmsg_len <= ret->length &&
           header->nlmsg_type == SOCK_DIAG_BY_FAMILY;
}

/* NULL: it is not there, or shorter than that. */
static const char *attribute(const struct answer *answer, uint16_t type, size_t least, size_t *ret_bytes)
{
    size_t at = NLMSG_SPACE(sizeof(struct unix_diag_msg));
    const size_t end = ((const struct nlmsghdr *)(const void *)answer->bytes)->nlmsg_len;
    while (at + NLA_HDRLEN <= end) {
        const struct nlattr *header = (const void *)(answer->bytes + at);
        if (header->nla_len < NLA_HDRLEN || header->nla_len > end - at)
            return NULL;
        *ret_bytes = header->nla_len - NLA_HDRLEN;
        if (header->nla_type == type)
            return *ret_bytes >= least ? answer->bytes + at + NLA_HDRLEN : NULL;
        at += NLA_ALIGN(header->nla_len);
    }
    return NULL;
}

static void take_path(const struct answer *answer, char ret[UNIX_PATH_BYTES])
{
    size_t bytes;
    const char *name = attribute(answer, UNIX_DIAG_NAME, 1, &bytes);
    if (!name || bytes >= UNIX_PATH_BYTES)
        return;
    memcpy(ret, name, bytes);
    ret[bytes] = '\0';
    if (*name == '\0' && bytes > 1)
        *ret = '@';
}

/* Where the peer has no path, it may still be somebody's. */
static bool find(int diag, uint32_t inode, struct unix_peer *ret)
{
    struct answer answer;
    size_t bytes;
    const char *peer =
        ask(diag, inode, &answer) ? attribute(&answer, UNIX_DIAG_PEER, sizeof ret->inode, &bytes) : NULL;
    if (!peer)
        return false;
    memcpy(&ret->inode, peer, sizeof ret->inode);
    if (ret->inode && ask(diag, ret->inode, &answer))
        take_path(&answer, ret->path);
    return ret->inode != 0;
}

bool unix_peer_find(int task_directory, uint64_t inode, struct unix_peer *ret)
{
    *ret = (struct unix_peer){.inode = 0};
    if (proc_tasks_is_filtered(task_directory))
        return false;
    const int diag = (int)sig_syscall4(SYS_socket, AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                       NETLINK_SOCK_DIAG, 0);
    if (diag < 0)
        return false;
    const bool is_found = find(diag, (uint32_t)inode, ret);
    close(diag);
    return is_found;
}
