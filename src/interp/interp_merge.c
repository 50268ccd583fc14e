#include "interp_merge.h"

struct merging {
    const struct interp_stacks *stacks;
    arena_ref *ret;
    size_t capacity, count;
    size_t next;  /* frame */
    size_t spare; /* calls without a segment, which are the innermost ones */
    size_t own;   /* locations: those further out are of another stack */
    size_t left;  /* of the calls in these */
    size_t more;  /* segments than calls */
};

static void put(struct merging *merging, arena_ref location)
{
    if (merging->count < merging->capacity)
        merging->ret[merging->count++] = location;
}

static size_t count_calls(const struct interp_stacks *stacks, size_t depth)
{
    size_t count = 0;
    for (size_t i = 0; i < depth; i++)
        count += stacks->roles[i] == INTERP_EVAL;
    return count;
}

/* Frames that no entry follows are a segment too: the rest of them could not be read. Segments whose calls
 * are on another stack do not count. */
static size_t count_segments(const struct interp_stacks *stacks)
{
    size_t count = 0;
    bool is_open = false;
    for (size_t i = 0; i < stacks->frame_count; i++) {
        is_open |= !(stacks->marks[i] & INTERP_UNCALLED);
        if (!is_open || !(stacks->marks[i] & (INTERP_ENTRY | INTERP_SWITCH)))
            continue;
        count++;
        is_open = false;
        if (stacks->marks[i] & INTERP_SWITCH)
            break;
    }
    return count + is_open;
}

/* How many locations are of the stack that the segments are of. */
static size_t count_own(const struct interp_stacks *stacks, size_t segments)
{
    bool has_call = false;
    if (stacks->is_cut || count_calls(stacks, stacks->depth) <= segments)
        return stacks->depth;
    for (size_t i = 0; i < stacks->depth; i++) {
        if (has_call && stacks->roles[i] == INTERP_SWITCHER)
            return i;
        has_call |= stacks->roles[i] == INTERP_EVAL;
    }
    return stacks->depth;
}

/* Up to the next frame with one of the marks, and with that. call: the location of the native call; 0 for
 * none. */
static void put_frames(struct merging *merging, unsigned marks, arena_ref call)
{
    const struct interp_stacks *stacks = merging->stacks;
    bool is_last = false;
    while (merging->next < stacks->frame_count && !is_last) {
        is_last = (stacks->marks[merging->next] & marks) != 0;
        const arena_ref frame = stacks->frames[merging->next++];
        if (frame != INTERP_NO_FRAME || call)
            put(merging, frame != INTERP_NO_FRAME ? frame : call);
    }
}

/* Whether a native frame is shown in merged stacks. */
static bool is_shown(const struct interp_stacks *stacks, size_t i)
{
    const enum interp_role role = (enum interp_role)stacks->roles[i];
    const bool is_trampoline = role == INTERP_GENERATED && i > 0 && stacks->roles[i - 1] == INTERP_EVAL;
    return role == INTERP_NATIVE || role == INTERP_SWITCHER || (role == INTERP_GENERATED && !is_trampoline);
}

static void put_segments(struct merging *merging, size_t count, arena_ref call)
{
    for (size_t i = 0; i < count; i++)
        put_frames(merging, INTERP_ENTRY, call);
}

static void put_native(struct merging *merging, size_t i)
{
    const struct interp_stacks *stacks = merging->stacks;
    const bool is_call = stacks->roles[i] == INTERP_EVAL;
    if (stacks->roles[i] == INTERP_CALLED)
        put_frames(merging, INTERP_OWN, 0);
    const bool has_segment =
        is_call && i < merging->own && merging->spare == 0 && merging->next < stacks->frame_count;
    merging->left -= is_call && i < merging->own;
    if (has_segment)
        put_segments(merging, merging->left == 0 ? merging->more + 1 : 1,
                     stacks->mode == INTERP_MERGED ? stacks->path[i] : 0);
    if (stacks->mode == INTERP_ALL || is_shown(stacks, i) || (is_call && !has_segment))
        put(merging, stacks->path[i]);
    merging->spare -= is_call && merging->spare > 0;
}

size_t interp_merge(const struct interp_stacks *stacks, arena_ref *ret, size_t capacity,
                    bool *ret_is_mismatch)
{
    struct merging merging = {.stacks = stacks, .ret = ret, .capacity = capacity};
    const size_t segments = count_segments(stacks);
    merging.own = count_own(stacks, segments);
    const size_t calls = count_calls(stacks, merging.own);
    const size_t native_depth = stacks->depth - stacks->is_truncated;
    merging.left = calls;
    merging.more = segments > calls && !stacks->is_truncated ? segments - calls : 0;
    merging.spare = calls > segments && !stacks->is_cut ? calls - segments : 0;
    *ret_is_mismatch = merging.spare > 1 || (calls < segments && !stacks->is_truncated);
    for (size_t i = 0; i < native_depth; i++)
        put_native(&merging, i);
    while (merging.next < stacks->frame_count)
        put_frames(&merging, INTERP_ENTRY, 0);
    if (stacks->is_truncated)
        put(&merging, stacks->path[native_depth]);
    return merging.count;
}
