#include "interp.h"

#include "base/arena.h"
#include "base/name_pattern.h"
#include "sig/sys/sig_memory.h"

#include <stdio.h>
#include <string.h>

enum {
    CACHED_MAX = INTERP_CACHE_SLOTS / 4 * 3, /* a cache that is fuller is emptied */
    OFTEN = 32                               /* samples of a thread before it counts as one without a state */
};

static bool read_through_kernel(const struct sig_interp_memory *memory, void *to, uint64_t from, size_t bytes,
                                bool is_held)
{
    (void)memory;
    (void)is_held;
    return sig_memory_copy(to, from, bytes);
}

static const struct sig_interp_memory kernel_memory = {.read = read_through_kernel};

void interp_init(struct interp *interp, enum interp_mode mode, struct tree *tree,
                 const struct modules *modules)
{
    *interp = (struct interp){.mode = mode, .tree = tree, .modules = modules};
}

void interp_deinit(struct interp *interp)
{
    scratch_free(interp->cache, sizeof *interp->cache * INTERP_CACHE_SLOTS);
    scratch_free(interp->walk, sizeof *interp->walk);
    interp->cache = NULL;
    interp->walk = NULL;
}

static void empty_cache(struct interp *interp)
{
    if (interp->cache)
        memset(interp->cache, 0, sizeof *interp->cache * INTERP_CACHE_SLOTS);
    interp->cached = 0;
}

void interp_forget(struct interp *interp)
{
    empty_cache(interp);
    interp->module = 0;
    interp->switcher = 0;
    interp->searched = 0;
}

/* ---- where it is ---- */

/* The library is loaded after the interpreter, by one of its scripts. */
static void look_for_switcher(struct interp *interp, arena_ref ref)
{
    const struct module *module = arena_at(interp->modules->list.arena, ref);
    if (module->is_loaded && interp_runtime_is_switcher(interp->modules, ref))
        interp->switcher = ref;
}

static void take_runtime(struct interp *interp, arena_ref module, enum interp_found found,
                         const struct interp_runtime *runtime)
{
    interp->is_unready |= found == INTERP_UNREADY;
    if (found == INTERP_UNKNOWN) {
        interp->refused_version = runtime->version;
        interp->refused = runtime->language;
    }
    if (found != INTERP_FOUND)
        return;
    interp->module = module;
    interp->runtime = *runtime;
    interp->gil_start = 0;
}

/* It may be loaded again, with the same record. */
static void drop_unloaded(struct interp *interp)
{
    const struct arena *arena = interp->modules->list.arena;
    if (!interp->module || ((const struct module *)arena_at(arena, interp->module))->is_loaded)
        return;
    interp->module = 0;
    interp->searched = 0;
}

void interp_modules_changed(struct interp *interp)
{
    const struct arena *arena = interp->modules->list.arena;
    if (interp->mode == INTERP_OFF)
        return;
    drop_unloaded(interp);
    if (interp->is_unready)
        interp->searched = 0;
    interp->is_unready = false;
    for (arena_ref ref = interp->modules->list.newest; ref && ref != interp->searched;) {
        const struct module *module = arena_at(arena, ref);
        struct interp_runtime runtime;
        look_for_switcher(interp, ref);
        if (module->is_loaded && !interp->module)
            take_runtime(interp, ref, interp_runtime_find(interp->modules, ref, &runtime), &runtime);
        ref = module->next;
    }
    interp->searched = interp->modules->list.newest;
}

static bool has(const uint64_t *starts, uint32_t count, uint64_t start)
{
    for (uint32_t i = 0; i < count; i++) {
        if (starts[i] == start)
            return true;
    }
    return false;
}

enum interp_role interp_role_of(const struct interp *interp, arena_ref module, uint64_t function_start)
{
    if (interp->module && !module)
        return INTERP_GENERATED;
    if (interp->module && module == interp->switcher)
        return INTERP_SWITCHER;
    if (!interp->module || module != interp->module || function_start == 0)
        return INTERP_NATIVE;
    if (function_start == interp->runtime.eval_start || function_start == interp->runtime.cold_start)
        return INTERP_EVAL;
    if (function_start == interp->gil_start)
        return INTERP_GIL;
    if (function_start == interp->runtime.main_start)
        return INTERP_MAIN;
    if (has(interp->runtime.nesters, interp->runtime.nester_count, function_start))
        return INTERP_NESTER;
    return has(interp->runtime.machinery, interp->runtime.machinery_count, function_start) ? INTERP_MACHINERY
                                                                                           : INTERP_NATIVE;
}

bool interp_is_gil(const struct interp *interp, const uint64_t arguments[6])
{
    enum { FUTEX_TIMEOUT = 3 };
    return interp->module && arguments[FUTEX_TIMEOUT] && arguments[0] >= interp->runtime.lock_low &&
           arguments[0] < interp->runtime.lock_high;
}

pid_t interp_gil_holder(const struct interp *interp, const uint64_t arguments[6])
{
    const struct interp_runtime *runtime = &interp->runtime;
    return runtime->language->find_holder
               ? (pid_t)runtime->language->find_holder(runtime, &kernel_memory, arguments[0])
               : 0;
}

void interp_note_gil(struct interp *interp, const uint64_t *addresses, size_t depth)
{
    const struct module *module = arena_at(interp->modules->list.arena, interp->module);
    for (size_t i = 0; i < depth && !interp->gil_start; i++) {
        if (addresses[i] >= module->start_pc && addresses[i] < module->end_pc)
            interp->gil_start = modules_function_start(interp->modules, interp->module, addresses[i]);
    }
}

arena_ref interp_gil_location(struct interp *interp)
{
    const struct tree_script script = {.function = "take_gil", .file = ""};
    return tree_script(interp->tree, &script);
}

/* ---- threads ---- */

/* A new thread gets its state after it has begun, and other threads never get one: these are looked up less
 * and less often. */
static bool is_due(const struct interp_thread *thread)
{
    return thread->misses < OFTEN || (thread->misses & (thread->misses - 1)) == 0;
}

bool interp_is_unsure(const struct interp *interp, const struct interp_thread *thread)
{
    return interp->module && !thread->state && thread->misses < OFTEN;
}

static bool are_several(const struct interp *interp)
{
    const struct interp_language *language = interp->runtime.language;
    return language->are_several && language->are_several(&interp->runtime, &kernel_memory);
}

void interp_find_state(const struct interp *interp, struct interp_thread *thread, pid_t tid)
{
    struct sig_interp_thread whose = {.native_id = (uint64_t)tid, .thread_id = thread->c_id};
    if (!interp->module)
        return;
    if (thread->state && !thread->others[0] && !are_several(interp))
        return;
    if (thread->state || is_due(thread))
        thread->state = interp->runtime.language->find_state(&interp->runtime, &kernel_memory, &whose);
    memcpy(thread->others, whose.others, sizeof thread->others);
    thread->misses = thread->state ? 0 : thread->misses + 1;
}

struct sig_interp_thread interp_whose(const struct interp_thread *thread, pid_t tid)
{
    struct sig_interp_thread whose = {
        .state = thread->state, .native_id = (uint64_t)tid, .thread_id = thread->c_id};
    memcpy(whose.others, thread->others, sizeof whose.others);
    return whose;
}

void interp_walk(struct interp *interp, struct interp_thread *thread, pid_t tid,
                 struct sig_interp_stack *stack)
{
    const struct sig_interp_thread whose = interp_whose(thread, tid);
    stack->count = 0;
    stack->end = SIG_INTERP_NONE;
    if (!interp->walk)
        interp->walk = scratch_alloc(sizeof *interp->walk);
    if (!interp->walk || !thread->state)
        return;
    page_reader_begin(&interp->walk->reader);
    if (!sig_walk_frames(&interp->runtime.frames, &whose, &interp->walk->reader.memory,
                         &interp->walk->scratch, stack))
        thread->state = 0;
}

/* ---- names ---- */

static struct interp_cache_slot *slot_of(struct interp *interp, const struct sig_interp_frame *frame)
{
    const uint64_t key = frame->code ^ frame->check ^ (uint64_t)(uint32_t)frame->at << 20;
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15U >> 40) % INTERP_CACHE_SLOTS;
    for (;; at = (at + 1) % INTERP_CACHE_SLOTS) {
        struct interp_cache_slot *slot = &interp->cache[at];
        if (!slot->location ||
            (slot->code == frame->code && slot->check == frame->check && slot->at == frame->at))
            return slot;
    }
}

/* Without a name it is counted, and may have one the next time. */
static arena_ref name_frame(struct interp *interp, const struct sig_interp_frame *frame,
                            uint64_t *ret_native_start, bool *ret_is_known)
{
    const struct interp_language *language = interp->runtime.language;
    struct interp_names names;
    struct tree_script script = {.function = language->unknown, .file = ""};
    names.native_start = 0;
    *ret_is_known = language->read_names(&interp->runtime, &kernel_memory, frame, &names);
    if (*ret_is_known)
        script = (struct tree_script){names.function, names.file, names.first_line, names.line};
    *ret_native_start = *ret_is_known ? names.native_start : 0;
    return tree_script(interp->tree, &script);
}

arena_ref interp_locate(struct interp *interp, const struct sig_interp_frame *frame,
                        uint64_t *ret_native_start)
{
    bool is_known;
    if (!interp->cache)
        interp->cache = scratch_alloc(sizeof *interp->cache * INTERP_CACHE_SLOTS);
    if (interp->cached >= CACHED_MAX)
        empty_cache(interp);
    struct interp_cache_slot *slot = interp->cache ? slot_of(interp, frame) : NULL;
    if (slot && slot->location) {
        *ret_native_start = slot->native_start;
        return slot->location;
    }
    arena_ref location = name_frame(interp, frame, ret_native_start, &is_known);
    interp->counts.nameless += !is_known;
    if (slot && location && is_known) {
        *slot = (struct interp_cache_slot){frame->code, frame->check, *ret_native_start, frame->at, location};
        interp->cached++;
    }
    return location;
}

/* ---- what a native function is called for ---- */

static bool is_of_library(const struct interp *interp, const struct tree_script *script)
{
    return interp->runtime.language->is_library && interp->runtime.language->is_library(script->file);
}

bool interp_caller(struct interp *interp, const struct sig_interp_stack *stack, arena_ref module, char *ret,
                   size_t bytes)
{
    bool is_found = false, is_library = true;
    for (uint32_t i = 0; module && module == interp->module && i < stack->count && is_library; i++) {
        uint64_t native_start;
        const arena_ref at =
            stack->frames[i].code ? interp_locate(interp, &stack->frames[i], &native_start) : 0;
        const struct location *location = at ? tree_location_at(interp->tree, at) : NULL;
        if (!location || !tree_is_script(location) || stack->frames[i].is_native)
            continue;
        const struct tree_script script = tree_script_of(interp->tree->arena, location);
        is_library = is_of_library(interp, &script);
        if (!is_found || !is_library)
            snprintf(ret, bytes, "%s %s:%u", script.function, name_last_part(script.file), script.first_line);
        is_found = true;
    }
    return is_found;
}
