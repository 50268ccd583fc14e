#include "profile.h"
#include "utf8.h"

#include <stddef.h>
#include <string.h>

const struct wp_thread_record *profile_thread(const struct wp_profile *profile, uint32_t number)
{
    if (number == 0 || number > profile->thread_count)
        return NULL;
    arena_ref ref = profile->thread_of_number[number];
    return ref ? arena_at(profile->arena, ref) : NULL;
}

void profile_thread_name(const struct wp_thread_record *thread, char ret[THREAD_NAME_BYTES + 1])
{
    memcpy(ret, thread->name, THREAD_NAME_BYTES);
    ret[THREAD_NAME_BYTES] = '\0';
    utf8_repair(ret);
    if (!*ret)
        strcpy(ret, "[nameless]");
}
