#include "wait_texts.h"
#include "base/utf8.h"
#include "profile/wait_labels.h"
#include "tool/debug/demangle.h"

#include <stdbool.h>
#include <string.h>

/* Where a name as the linker has it begins; the end of the text if there is none. */
static const char *find_mangled(const char *text)
{
    for (const char *at = text; *at; at++) {
        const bool is_first = at == text || at[-1] == ' ';
        if (is_first && (strncmp(at, "_Z", 2) == 0 || strncmp(at, "_R", 2) == 0))
            return at;
    }
    return text + strlen(text);
}

/* The length of a name without its parameters: f of f(int), but all of f(int)::lock. */
static size_t without_parameters(const char *name, size_t bytes)
{
    int depth = 0;
    if (bytes == 0 || name[bytes - 1] != ')')
        return bytes;
    for (size_t at = bytes; at-- > 0;) {
        depth += (name[at] == ')') - (name[at] == '(');
        if (depth == 0)
            return at ? at : bytes;
    }
    return bytes;
}

/* Appends what there is room for, up to a whole letter. */
static void append(char ret[LABELS_VALUE_BYTES], const char *text, size_t bytes)
{
    const size_t used = strlen(ret), room = LABELS_VALUE_BYTES - 1 - used;
    bytes = bytes < room ? bytes : room;
    while (bytes > 0 && utf8_is_inside(text[bytes]))
        bytes--;
    memcpy(ret + used, text, bytes);
    ret[used + bytes] = '\0';
}

const char *wait_text_spell(const char *text, char ret[LABELS_VALUE_BYTES])
{
    static char demangled[DEMANGLED_MAX_BYTES];
    char name[LABELS_VALUE_BYTES];
    const char *mangled = find_mangled(text), *rest = mangled + strcspn(mangled, " +");
    if (!*mangled && strlen(text) < LABELS_VALUE_BYTES)
        return text;
    *ret = *name = '\0';
    append(name, mangled, (size_t)(rest - mangled));
    const size_t bytes = strlen(name) == (size_t)(rest - mangled) ? demangle(name, demangled) : 0;
    append(ret, text, (size_t)(mangled - text));
    if (bytes > 0)
        append(ret, demangled, without_parameters(demangled, bytes));
    else
        append(ret, mangled, (size_t)(rest - mangled));
    append(ret, rest, strlen(rest));
    utf8_repair(ret);
    return ret;
}

static void spell(struct recording *recording, struct location *label)
{
    char value[LABELS_VALUE_BYTES];
    struct arena *arena = &recording->arena;
    const char *key = tree_label_key(arena, label), *text = tree_label_value(arena, label);
    const size_t key_bytes = strlen(key) + 1;
    if (wait_text_spell(text, value) == text)
        return;
    const arena_ref ref = arena_alloc(arena, key_bytes + strlen(value) + 1);
    if (!ref)
        return;
    strcpy(arena_at(arena, ref), key);
    strcpy((char *)arena_at(arena, ref) + key_bytes, value);
    label->address = TREE_LABEL_ADDRESS | ref;
}

void wait_texts_spell(struct recording *recording)
{
    const struct tree *tree = &recording->tree;
    for (arena_ref ref = tree->newest_location; ref; ref = tree_location_at(tree, ref)->next) {
        if (wait_label_is(tree, tree_location_at(tree, ref)))
            spell(recording, tree_location_at(tree, ref));
    }
}
