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
        paths->marks = scratch_alloc(sizeof *paths->marks * paths->capacity);
        paths->native_starts = scratch_alloc(sizeof *paths->native_starts * paths->capacity);
    }
    return paths->merged && paths->frames && paths->roles && paths->marks && paths->native_starts;
}

void interp_stack_deinit(struct account *account)
{
    struct interp_paths *paths = &account->interp_paths;
    scratch_free(paths->merged, sizeof *paths->merged * paths->capacity);
    scratch_free(paths->frames, sizeof *paths->frames * paths->capacity);
    scratch_free(paths->roles, sizeof *paths->roles * paths->capacity);
    scratch_free(paths->marks, sizeof *paths->marks * paths->capacity);
    scratch_free(paths->native_starts, sizeof *paths->native_starts * paths->capacity);
    *paths = (struct interp_paths){0};
}

static arena_ref module_of(const struct account *account, arena_ref ref)
{
    const struct location *location = ref ? tree_location_at(account->locate.tree, ref) : NULL;
    return location && !location->pseudo ? location->module : 0;
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

/* Parts of the function that runs frames are known by who calls them: they are static, and many. */
static void find_handlers(const struct account *account, uint8_t *roles, size_t depth)
{
    for (size_t i = 0; i + 1 < depth; i++) {
        if (roles[i] == INTERP_NATIVE && roles[i + 1] == INTERP_EVAL &&
            interp_has_handlers(account->interp, module_of(account, account->path[i])))
            roles[i] = INTERP_MACHINERY;
    }
}

/*
 * Perl's eval {...} that is called natively runs the rest of its function in a native call of its own, and
 * the call that it is in ends with that one. So these two are one call, and the inner one has its frames.
 */
static void join_calls(uint8_t *roles, size_t depth)
{
    enum { BETWEEN_MAX = 1 }; /* S_docatch */
    for (size_t i = 2; i < depth; i++) {
        size_t inner = i - 2;
        if (roles[i] != INTERP_EVAL || roles[i - 1] != INTERP_NESTER)
            continue;
        if (roles[inner] == INTERP_NATIVE && inner >= BETWEEN_MAX)
            inner -= BETWEEN_MAX;
        if (roles[inner] != INTERP_EVAL)
            continue;
        for (size_t at = inner + 1; at <= i; at++)
            roles[at] = INTERP_MACHINERY;
    }
}

/* Returns whether the program's own code is run, and leaves roles that interp_merge() knows. */
static bool settle_roles(uint8_t *roles, size_t depth)
{
    bool is_main = false;
    join_calls(roles, depth);
    for (size_t i = 0; i < depth; i++) {
        is_main |= roles[i] == INTERP_MAIN;
        if (roles[i] == INTERP_MAIN)
            roles[i] = INTERP_MACHINERY;
        if (roles[i] == INTERP_NESTER)
            roles[i] = INTERP_NATIVE;
    }
    return is_main;
}

static uint8_t marks_of(const struct sig_interp_frame *frame)
{
    return (uint8_t)((frame->is_entry ? INTERP_ENTRY : 0) | (frame->is_native ? INTERP_UNCALLED : 0) |
                     (frame->is_switch ? INTERP_SWITCH : 0));
}

/* Locates the frames. Returns how many there is room for. */
static size_t locate_frames(struct account *account, const struct sig_interp_stack *interp)
{
    struct interp_paths *paths = &account->interp_paths;
    size_t count = 0;
    for (; count < interp->count && count < account->path_capacity; count++) {
        const struct sig_interp_frame *frame = &interp->frames[count];
        paths->native_starts[count] = 0;
        paths->frames[count] = frame->code
                                   ? interp_locate(account->interp, frame, &paths->native_starts[count])
                                   : INTERP_NO_FRAME;
        paths->marks[count] = marks_of(frame);
    }
    return count;
}

static uint64_t start_of(const struct account *account, arena_ref ref)
{
    return ref ? tree_location_at(account->locate.tree, ref)->function_start : 0;
}

/* Finds the native frames of native functions that the interpreter has called. */
static void find_called(const struct account *account, const struct interp_stacks *stacks)
{
    const struct interp_paths *paths = &account->interp_paths;
    size_t at = 0;
    for (size_t i = 0; i < stacks->frame_count; i++) {
        size_t found = at;
        if (!paths->native_starts[i])
            continue;
        while (found < stacks->depth && start_of(account, stacks->path[found]) != paths->native_starts[i])
            found++;
        if (found == stacks->depth)
            continue;
        paths->roles[found] = INTERP_CALLED;
        paths->marks[i] |= INTERP_OWN;
        at = found + 1;
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
                                   .marks = paths->marks,
                                   .is_cut = interp->end == SIG_INTERP_CUT};
    stacks.depth = locate_path(&account->locate, &native, account->path);
    name_gil(account->interp, paths->roles, account->path, stacks.depth);
    find_handlers(account, paths->roles, stacks.depth);
    const bool is_main = settle_roles(paths->roles, stacks.depth) || stack->is_truncated;
    stacks.frame_count = locate_frames(account, interp);
    if (stacks.frame_count > 0 && interp->frames[stacks.frame_count - 1].is_main && !is_main)
        stacks.frame_count--;
    find_called(account, &stacks);
    size_t depth = interp_merge(&stacks, paths->merged, paths->capacity - LABELS_DEPTH_MAX, &is_mismatch);
    account->interp->counts.stacks++;
    account->interp->counts.misfits += is_mismatch;
    *ret = paths->merged;
    return depth;
}
