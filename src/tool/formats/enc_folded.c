/*
 * A profile as folded stacks, which flame graph programs read: "root;caller;leaf MILLISECONDS", a line for
 * each stack of names.
 *
 * First the trees of all threads are merged by the names of their frames, so that every stack of names is one
 * line. Then that tree is walked with the names from the root to the present node as one text. Milliseconds
 * are rounded on the running sum: a stack is off by less than 1 ms, and the file by less than 0.5 ms.
 *
 * With has_wait_frames the time that is waited at a node is below it, in a frame such as (lock); and below
 * that in (mutex journal_mutex) and (held by writer-2), where this is known.
 *
 * Source: the input of Gregg's flamegraph.pl. docs/formats.md has what its readers make of it.
 */
#include "formats.h"
#include "base/clock.h"
#include "base/intern_table.h"
#include "base/string_table.h"
#include "profile/wait_labels.h"
#include "tool/meaning/wait_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A stack of names. Record 0 is the empty one. */
struct folded_stack {
    uint32_t caller, name; /* the key: a record, and a number in the string table */
    uint32_t first_callee, next_callee;
    uint32_t text_used; /* how much of the present text its names take */
    uint64_t wall_ns;
};
enum { STACK_KEY_BYTES = 2 * sizeof(uint32_t) };

struct folded_writer {
    const struct profile *profile;
    struct sink *sink;
    struct string_table names;
    struct intern_table stacks;
    uint32_t *name_of_function; /* by function: its number in names; 0 before it is met */
    uint32_t *at_depth;         /* by depth: the stack of the present node, and of each of its callers */
    size_t depth_bytes;         /* that it has room for */
    char *text;                 /* the names from the root to the present node */
    size_t text_bytes;          /* that it has room for */
    uint64_t passed_ns;         /* the sum of all stacks up to here */
    struct wait_words waits;    /* only with has_wait_frames */
    bool failed;
};

/* ---- names ---- */

static bool reserve_text(struct folded_writer *writer, size_t bytes)
{
    writer->text = scratch_reserve(writer->text, &writer->text_bytes, bytes, SCRATCH_FIRST_BYTES);
    writer->failed |= !writer->text;
    return !writer->failed;
}

/* What would end a frame or a line is replaced. */
static char plain_letter(char letter)
{
    return letter == ';' ? ':' : (unsigned char)letter < ' ' || letter == 0x7f ? '?' : letter;
}

static uint32_t intern(struct folded_writer *writer, const char *name)
{
    size_t bytes = strlen(name);
    if (bytes == 0)
        return string_table_intern(&writer->names, "[unknown]");
    if (!reserve_text(writer, bytes + 1))
        return 0;
    for (size_t i = 0; i <= bytes; i++)
        writer->text[i] = name[i] ? plain_letter(name[i]) : '\0';
    return string_table_intern(&writer->names, writer->text);
}

static uint32_t name_of(struct folded_writer *writer, uint32_t function)
{
    uint32_t *name = &writer->name_of_function[function];
    if (*name == 0)
        *name = intern(writer, writer->profile->symbols->functions[function].name);
    return *name;
}

/* ---- merging ---- */

static struct folded_stack *stack_at(const struct folded_writer *writer, uint32_t number)
{
    return intern_table_at(&writer->stacks, number);
}

static uint32_t callee_of(struct folded_writer *writer, uint32_t caller, uint32_t name)
{
    const uint32_t key[] = {caller, name};
    uint32_t count = writer->stacks.count, number = intern_table_intern(&writer->stacks, key);
    if (writer->stacks.count > count) {
        stack_at(writer, number)->next_callee = stack_at(writer, caller)->first_callee;
        stack_at(writer, caller)->first_callee = number;
    }
    return number;
}

static uint32_t callee_at(struct folded_writer *writer, uint32_t caller, arena_ref ref)
{
    const struct location *location = tree_location_at(writer->profile->tree, ref);
    uint32_t count;
    if (wait_label_is(writer->profile->tree, location))
        return caller;
    const struct symbol_frame *frames = symbols_frames(writer->profile->symbols, location->index, &count);
    for (uint32_t i = count; i-- > 0;)
        caller = callee_of(writer, caller, name_of(writer, frames[i].function));
    return caller;
}

/* Where there are several processes, the process is the first frame. */
static uint32_t stack_of_process(struct folded_writer *writer, const struct thread_record *thread)
{
    char title[PROCESS_TITLE_BYTES], frame[sizeof title + sizeof "[]"];
    if (!*profile_process_title(writer->profile, thread, title))
        return 0;
    snprintf(frame, sizeof frame, "[%s]", title);
    return callee_of(writer, 0, intern(writer, frame));
}

/* The thread comes next, in the form that async-profiler has for it. */
static uint32_t stack_of_thread(struct folded_writer *writer, uint32_t thread_number)
{
    const struct thread_record *thread = profile_thread(writer->profile, thread_number);
    const uint32_t process = stack_of_process(writer, thread);
    char name[THREAD_NAME_BYTES + 1], frame[sizeof name + sizeof "[ tid=-2147483648]"];
    if (!profile_tells_thread(writer->profile, thread))
        return process;
    profile_thread_name(thread, name);
    if (writer->profile->labels == LABELS_ID && thread->tid)
        snprintf(frame, sizeof frame, "[%s tid=%" PRId32 "]", name, thread->tid);
    else
        snprintf(frame, sizeof frame, "[%s]", name);
    return callee_of(writer, process, intern(writer, frame));
}

static bool reserve_depth(struct folded_writer *writer, uint32_t depth)
{
    writer->at_depth = scratch_reserve(writer->at_depth, &writer->depth_bytes,
                                       (depth + (size_t)1) * sizeof *writer->at_depth, SCRATCH_FIRST_BYTES);
    writer->failed |= !writer->at_depth;
    return !writer->failed;
}

/* A frame in brackets below a stack: why its time was waited. */
static uint32_t waiting_of(struct folded_writer *writer, uint32_t stack, const char *before, const char *what)
{
    char frame[LABELS_VALUE_BYTES + 16];
    if (!what)
        return stack;
    snprintf(frame, sizeof frame, "(%s%s)", before, what);
    return callee_of(writer, stack, intern(writer, frame));
}

static void add_time(struct folded_writer *writer, uint32_t stack, arena_ref node)
{
    struct values self = tree_node(writer->profile->tree, node)->self;
    const char *word = writer->profile->has_wait_frames && self.blocked_ns
                           ? writer->waits.waits.word(&writer->waits.waits, writer->profile->tree, node)
                           : NULL;
    if (word) {
        const struct tree *tree = writer->profile->tree;
        const struct wait_labels waited = wait_labels_of(tree, tree, node);
        uint32_t waiting = waiting_of(writer, stack, "", word);
        waiting = waiting_of(writer, waiting, "", waited.on);
        waiting = waiting_of(writer, waiting, "held by ", waited.holder);
        stack_at(writer, waiting)->wall_ns += tree_take_waited(&self).blocked_ns;
    }
    stack_at(writer, stack)->wall_ns += tree_wall_ns(&self);
}

static void add_tree(struct folded_writer *writer, arena_ref root)
{
    const struct tree *tree = writer->profile->tree;
    const struct tree_node *node = tree_node(tree, root);
    if (!reserve_depth(writer, 0))
        return;
    writer->at_depth[0] = stack_of_thread(writer, node->thread);
    if (tree_wall_ns(&node->self) > 0) /* when there was no memory for a pseudo-frame below it */
        stack_at(writer, callee_at(writer, writer->at_depth[0], tree->pseudo[PSEUDO_OVERFLOW]))->wall_ns +=
            tree_wall_ns(&node->self);
    for (arena_ref ref = tree_next(tree, root, root); ref; ref = tree_next(tree, root, ref)) {
        node = tree_node(tree, ref);
        if (!reserve_depth(writer, node->depth))
            return;
        uint32_t stack = callee_at(writer, writer->at_depth[node->depth - 1], node->location);
        add_time(writer, stack, ref);
        writer->at_depth[node->depth] = stack;
    }
}

/* ---- writing ---- */

/* Adds the stack's name after those of its caller. */
static void append_name(struct folded_writer *writer, struct folded_stack *stack)
{
    uint32_t used = stack_at(writer, stack->caller)->text_used;
    const char *name = string_table_at(&writer->names, stack->name);
    size_t bytes = strlen(name);
    if (!reserve_text(writer, used + 1 + bytes))
        return;
    if (used > 0)
        writer->text[used++] = ';';
    memcpy(writer->text + used, name, bytes);
    stack->text_used = used + (uint32_t)bytes;
}

/* Milliseconds; of another program's measure that is no time the value itself. */
static uint64_t count_of(const struct folded_writer *writer, uint64_t ns)
{
    const struct profile_measure *measure = writer->profile->measure;
    return measure && strcmp(measure->unit, "nanoseconds") != 0 ? ns : (ns + NS_PER_MS / 2) / NS_PER_MS;
}

static void write_stack(struct folded_writer *writer, const struct folded_stack *stack)
{
    char number[32];
    uint64_t before = count_of(writer, writer->passed_ns);
    writer->passed_ns += stack->wall_ns;
    uint64_t count = count_of(writer, writer->passed_ns) - before;
    if (count == 0)
        return;
    sink_write(writer->sink, writer->text, stack->text_used);
    snprintf(number, sizeof number, " %" PRIu64 "\n", count);
    sink_write(writer->sink, number, strlen(number));
}

static void write_stacks(struct folded_writer *writer)
{
    uint32_t number = stack_at(writer, 0)->first_callee;
    while (number && !writer->failed) {
        struct folded_stack *stack = stack_at(writer, number);
        append_name(writer, stack);
        write_stack(writer, stack);
        uint32_t next = stack->first_callee;
        while (!next && number) {
            next = stack_at(writer, number)->next_callee;
            number = stack_at(writer, number)->caller;
        }
        number = next;
    }
}

static int write_all(struct folded_writer *writer)
{
    const struct tree *tree = writer->profile->tree;
    const struct folded_stack empty = {0};
    intern_table_intern(&writer->stacks, &empty);
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling)
        add_tree(writer, root);
    writer->failed |= writer->stacks.failed || writer->names.failed;
    if (!writer->failed)
        write_stacks(writer);
    return writer->failed ? -ENOMEM : 0;
}

int enc_folded_write(const struct profile *profile, struct sink *sink)
{
    struct folded_writer writer = {.profile = profile, .sink = sink};
    size_t function_bytes = sizeof(uint32_t) * profile->symbols->function_count;
    string_table_init(&writer.names);
    writer.name_of_function = scratch_alloc(function_bytes);
    int status = intern_table_init(&writer.stacks, sizeof(struct folded_stack), STACK_KEY_BYTES);
    if (status == 0 && profile->has_wait_frames)
        status = wait_words_init(&writer.waits, profile);
    if (status == 0)
        status = writer.name_of_function ? write_all(&writer) : -ENOMEM;
    scratch_free(writer.text, writer.text_bytes);
    scratch_free(writer.at_depth, writer.depth_bytes);
    scratch_free(writer.name_of_function, function_bytes);
    wait_words_deinit(&writer.waits);
    intern_table_deinit(&writer.stacks);
    string_table_deinit(&writer.names);
    return status;
}
