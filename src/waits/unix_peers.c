#include "unix_peers.h"
#include "unix_diag.h"
#include "base/raw_calls.h"
#include "proc/proc_tasks.h"
#include "sig/sys/sig_memory.h"

#include <errno.h>
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

/* Of an answer that is an error. No socket is there, or the kernel does not want to be asked. */
static bool is_refusal(const struct answer *answer)
{
    const struct nlmsgerr *error = NLMSG_DATA((const void *)answer->bytes);
    return answer->length >= NLMSG_LENGTH(sizeof *error) && error->error != -ENOENT;
}

/* The kernel answers before the write returns. */
static bool ask(struct unix_peers *peers, int diag, uint32_t inode, struct answer *ret)
{
    const struct question question = {.header = {.nlmsg_len = sizeof question,
                                                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                                 .nlmsg_flags = NLM_F_REQUEST},
                                      .request = {.sdiag_family = AF_UNIX,
                                                  .udiag_states = ~0U,
                                                  .udiag_ino = inode,
                                                  .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER,
                                                  .udiag_cookie = {~0U, ~0U}}};
    if (raw_write(diag, &question, sizeof question) != sizeof question) {
        peers->state = UNIX_PEERS_REFUSED;
        return false;
    }
    const ssize_t bytes = raw_read(diag, ret->bytes, sizeof ret->bytes);
    const struct nlmsghdr *header = (const void *)ret->bytes;
    ret->length = bytes > 0 ? (size_t)bytes : 0;
    if (ret->length >= sizeof *header && header->nlmsg_type == NLMSG_ERROR && is_refusal(ret))
        peers->state = UNIX_PEERS_REFUSED;
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
static bool find(struct unix_peers *peers, int diag, uint32_t inode, struct unix_peer *ret)
{
    struct answer answer;
    size_t bytes;
    const char *peer = ask(peers, diag, inode, &answer)
                           ? attribute(&answer, UNIX_DIAG_PEER, sizeof ret->inode, &bytes)
                           : NULL;
    if (!peer)
        return false;
    memcpy(&ret->inode, peer, sizeof ret->inode);
    if (ret->inode && ask(peers, diag, ret->inode, &answer))
        take_path(&answer, ret->path);
    return ret->inode != 0;
}

/* The sampler's own thread is looked at once: a filter that comes later is there for all threads. */
static bool may_ask(struct unix_peers *peers, int task_directory, pid_t tid)
{
    if (peers->state == UNIX_PEERS_NEW) {
        const bool is_refused = sig_memory_subject() || proc_tasks_is_filtered(task_directory, raw_gettid());
        peers->state = is_refused                                  ? UNIX_PEERS_REFUSED
                       : unix_diag_is_built_in(task_directory, "") ? UNIX_PEERS_THERE
                                                                   : UNIX_PEERS_ABSENT;
    }
    if (peers->state == UNIX_PEERS_ABSENT && unix_diag_is_loaded(""))
        peers->state = UNIX_PEERS_THERE;
    return peers->state == UNIX_PEERS_THERE && !proc_tasks_is_filtered(task_directory, tid);
}

bool unix_peer_find(struct unix_peers *peers, int task_directory, pid_t tid, uint64_t inode,
                    struct unix_peer *ret)
{
    *ret = (struct unix_peer){.inode = 0};
    if (!may_ask(peers, task_directory, tid))
        return false;
    const int diag = (int)sig_syscall4(SYS_socket, AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                       NETLINK_SOCK_DIAG, 0);
    if (diag < 0) {
        peers->state = UNIX_PEERS_REFUSED;
        return false;
    }
    const bool is_found = find(peers, diag, (uint32_t)inode, ret);
    close(diag);
    return is_found;
}
