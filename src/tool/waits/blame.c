#include "blame.h"
#include "profile/wait_labels.h"
#include "tool/meaning/meaning.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of a stack's text: equal innermost parts so long are equal enough. */
enum { STACK_TEXT_BYTES = 4096 };

struct making {
    struct blame_sums *sums;
    const struct profile *profile;
    const struct meaning *meaning;
};

static uint32_t text_of(const struct making *making, const char *text)
{
    return string_table_intern(&making->sums->texts, text ? text : "");
}

static uint32_t process_of(const struct making *making, const struct thread_record *thread)
{
    char title[PROCESS_TITLE_BYTES];
    return text_of(making, profile_process_title(making->profile, thread, title));
}

static uint32_t thread_of(const struct making *making, const struct thread_record *thread)
{
    char title[THREAD_TITLE_BYTES];
    profile_thread_title(making->profile, thread, title);
    return text_of(making, *title ? title : "[all threads]");
}

static uint32_t function_of(const struct making *making, arena_ref leaf)
{
    return text_of(making, meaning_function(making->meaning, making->profile, leaf));
}

const char *blame_frame_name(const struct profile *profile, const struct location *location,
                             uint32_t *frame_count, uint32_t frame)
{
    const struct symbol_frame *frames = symbols_frames(profile->symbols, location->index, frame_count);
    return profile->symbols->functions[frames[frame].function].name;
}

/* All names of a stack, innermost first. Labels are none of it. */
static uint32_t stack_text(const struct making *making, arena_ref leaf)
{
    const struct tree *tree = making->profile->tree;
    char text[STACK_TEXT_BYTES] = "";
    size_t used = 0;
    for (arena_ref at = leaf; tree_node(tree, at)->parent; at = tree_node(tree, at)->parent) {
        const struct location *location = tree_location_at(tree, tree_node(tree, at)->location);
        uint32_t count = tree_is_label(location) ? 0 : 1;
        for (uint32_t i = 0; i < count && used < sizeof text - 1; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s\n",
                                     blame_frame_name(making->profile, location, &count, i));
    }
    return text_of(making, text);
}

static void add_blame(const struct making *making, const struct thread_record *thread, arena_ref node,
                      uint64_t ns)
{
    char name[THREAD_NAME_BYTES + 1];
    struct blame_sums *sums = making->sums;
    const struct tree *tree = making->profile->tree;
    const arena_ref leaf = wait_label_leaf(tree, tree, node);
    const struct wait_labels wait = wait_labels_of(tree, tree, node);
    const uint32_t key[] = {process_of(making, thread), thread_of(making, thread), function_of(making, leaf)};
    const uint32_t number = intern_table_intern(&sums->culprits, key);
    const uint32_t stack_key[] = {number, stack_text(making, leaf)};
    const uint32_t lock_key[] = {number, text_of(making, wait.on), text_of(making, wait.holder)};
    struct blame_culprit *culprit = intern_table_at(&sums->culprits, number);
    struct blame_stack *stack = intern_table_at(&sums->stacks, intern_table_intern(&sums->stacks, stack_key));
    struct blame_lock *lock = intern_table_at(&sums->locks, intern_table_intern(&sums->locks, lock_key));
    if (thread)
        profile_thread_name(thread, name);
    lock->is_direct = !thread || !wait.holder || strcmp(name, wait.holder) == 0;
    lock->ns += ns;
    culprit->ns += ns;
    stack->leaf = leaf;
    stack->ns += ns;
    sums->blame_ns += ns;
}

static void add_wait(const struct making *making, const struct thread_record *thread, arena_ref node,
                     uint64_t ns)
{
    struct blame_sums *sums = making->sums;
    const struct tree *tree = making->profile->tree;
    const struct wait_labels wait = wait_labels_of(tree, tree, node);
    if (!wait.on || !wait.holder)
        return;
    const uint32_t key[] = {process_of(making, thread), text_of(making, wait.on),
                            text_of(making, wait.holder), thread_of(making, thread),
                            function_of(making, wait_label_leaf(tree, tree, node))};
    struct blame_waiter *waiter = intern_table_at(&sums->waiters, intern_table_intern(&sums->waiters, key));
    waiter->ns += ns;
    sums->waited_ns += ns;
}

static void add_trees(const struct making *making)
{
    const struct tree *tree = making->profile->tree;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        const struct thread_record *thread = profile_thread(making->profile, tree_node(tree, root)->thread);
        for (arena_ref node = tree_next(tree, root, root); node; node = tree_next(tree, root, node)) {
            const uint64_t blame_ns = wait_label_blame(tree, tree, node),
                           waited_ns = tree_wall_ns(&tree_node(tree, node)->self);
            if (blame_ns)
                add_blame(making, thread, node, blame_ns);
            if (waited_ns)
                add_wait(making, thread, node, waited_ns);
        }
    }
}

int blame_make(struct blame_sums *sums, const struct profile *profile)
{
    struct meaning meaning;
    *sums = (struct blame_sums){.blame_ns = 0};
    string_table_init(&sums->texts);
    int status = meaning_init(&meaning, profile);
    if (intern_table_init(&sums->culprits, sizeof(struct blame_culprit),
                          sizeof((struct blame_culprit){0}.key)) < 0 ||
        intern_table_init(&sums->locks, sizeof(struct blame_lock), sizeof((struct blame_lock){0}.key)) < 0 ||
        intern_table_init(&sums->stacks, sizeof(struct blame_stack), sizeof((struct blame_stack){0}.key)) <
            0 ||
        intern_table_init(&sums->waiters, sizeof(struct blame_waiter), sizeof((struct blame_waiter){0}.key)) <
            0)
        status = -ENOMEM;
    if (status == 0)
        add_trees(&(struct making){sums, profile, &meaning});
    meaning_deinit(&meaning);
    const bool has_failed = sums->texts.failed || sums->culprits.failed || sums->locks.failed ||
                            sums->stacks.failed || sums->waiters.failed;
    return status < 0 ? status : has_failed ? -ENOMEM : 0;
}

void blame_free(struct blame_sums *sums)
{
    intern_table_deinit(&sums->culprits);
    intern_table_deinit(&sums->locks);
    intern_table_deinit(&sums->stacks);
    intern_table_deinit(&sums->waiters);
    string_table_deinit(&sums->texts);
    *sums = (struct blame_sums){.blame_ns = 0};
}
