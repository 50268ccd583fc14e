#include "push_status.h"

static const struct status {
    long status;
    enum push_outcome outcome;
    const char *hint;
} statuses[] = {
    {401, PUSH_DENIED, "the server wants other credentials than it was given"},
    {403, PUSH_DENIED, "the server does not allow this with the credentials it was given"},
    {404, PUSH_DENIED, "there is no such interface at that address"},
    {405, PUSH_DENIED, "there is no such interface at that address"},
    {407, PUSH_DENIED, "a proxy wants credentials"},
    {408, PUSH_LATER, ""},
    {413, PUSH_REFUSED, "the profile is too large for the server"},
    {421, PUSH_DENIED, "that address is not this server's"},
    {425, PUSH_LATER, ""},
    {429, PUSH_LATER, "the server takes no more for now"},
};

enum push_outcome push_status_outcome(long status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        if (statuses[i].status == status)
            return statuses[i].outcome;
    }
    if (status >= 200 && status < 300)
        return PUSH_SENT;
    if (status >= 300 && status < 400)
        return PUSH_DENIED;
    return status >= 400 && status < 500 ? PUSH_REFUSED : PUSH_LATER;
}

const char *push_status_hint(long status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        if (statuses[i].status == status)
            return statuses[i].hint;
    }
    return status >= 300 && status < 400 ? "redirections are not followed" : "";
}
