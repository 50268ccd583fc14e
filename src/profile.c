#include "profile.h"

#include <stddef.h>

const struct wp_thread_record *profile_thread(const struct wp_profile *profile, uint32_t number)
{
    if (number == 0 || number > profile->thread_count)
        return NULL;
    arena_ref ref = profile->thread_of_number[number];
    return ref ? arena_at(profile->arena, ref) : NULL;
}
