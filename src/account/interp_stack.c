#include "interp_stack.h"

#include "base/arena.h"
#include "interp/interp_merge.h"

static bool provide(struct account *account)
{
    struct interp_paths *paths = &account->interp_paths;
    if (!paths->merged) {
        paths->capacity = 2 * account->path_capacity;
        paths->merged = scratch_alloc(sizeof *paths->merged * paths->capacity);
        paths->frames = scratch_alloc(sizeof *paths->frames * paths->capacity);
        paths->roles = scratch_alloc(sizeof *paths->roles * paths->capacity);
        paths->is_entry = scratch_alloc(sizeof *paths->is_entry * paths->capacity);
    }
    return paths->merged && paths->frames && paths->roles && paths->is_entry;
}

void interp_stack_deinit(struct account *account)
{
    struct interp_paths *paths = &account->interp_paths;
    scratch_free(paths->merged, sizeof *paths->merged * paths->capacity);
    scratch_free(paths->frames, sizeof *paths->frames * paths->capacity);
    scratch_free(paths->roles, sizeof *paths->roles * paths->capacity);
    scratch_free(paths->is_entry, sizeof *paths->is_entry * paths->capacity);
    *paths = (struct interp_paths){0};
}

static void name_gil(struct interp *interp, uint8_t *roles, arena_ref *path, size_t depth)
{
    for (size_t i = 0; i < depth; i++) {
        if (roles[i] != INTERP_GIL)
            continue;
        roles[i] = INTERP_NATIVE;
        path[i] = interp_gil_location(interp);
    }
}

size_t interp_stack_path(struct account *account, const struct locate_stack *stack,
                         const struct sig_interp_stack *interp, arena_ref **ret)
{
    struct interp_paths *paths = &account->interp_paths;
    struct locate_stack native = *stack;
    bool is_mismatch;
    if (!provide(account))
        return 0;
    native.roles = paths->roles;
    struct interp_stacks stacks = {.mode = account->interp->mode,
                                   .path = account->path,
                                   .roles = paths->roles,
                                   .is_truncated = stack->is_truncated,
                                   .frames = paths->frames,
                                   .is_entry = paths->is_entry,
                                   .is_cut = interp->end == SIG_INTERP_CUT};
    stacks.depth = locate_path(&account->locate, &native, account->path);
    name_gil(account->interp, paths->roles, account->path, stacks.depth);
    for (; stacks.frame_count < interp->count && stacks.frame_count < account->path_capacity;
         stacks.frame_count++) {
        const struct sig_interp_frame *frame = &interp->frames[stacks.frame_count];
        paths->frames[stacks.frame_count] =
            frame->code ? interp_locate(account->interp, frame) : INTERP_NO_FRAME;
        paths->is_entry[stacks.frame_count] = frame->is_entry;
    }
    size_t depth = interp_merge(&stacks, paths->merged, paths->capacity - LABELS_DEPTH_MAX, &is_mismatch);
    account->interp->counts.stacks++;
    account->interp->counts.misfits += is_mismatch;
    *ret = paths->merged;
    return depth;
}
