/*
 * The tree of entries is walked once for all addresses of the unit, and only below functions that hold some
 * of them. Each function and inlined call claims the addresses in its ranges. Of several claims to one
 * address the smallest range wins, and of equal ranges the inner one: this is the innermost function. Its
 * callers are its ancestors in the tree, up to the function that is not inlined.
 *
 * This walk misses a function that is nested in a function without addresses of ours, or in a type. If an
 * address is left without a function, all entries are walked.
 */
#include "debug_unit.h"

#include "frame_table.h"
#include "tool/io/array.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 512, RANGES_MAX = 1 << 20 };

struct unit_function {
    Dwarf_Die die;
    uint32_t parent; /* 1 + index of the function around it, 0 for none */
    bool is_inlined;
    bool is_read; /* what follows is filled in */
    bool is_mangled;
    const char *name, *call_file, *start_file;
    uint32_t call_line, start_line;
};

/* The function that an address is in, so far. */
struct claim {
    uint32_t function; /* 1 + index, 0 for none */
    uint64_t bytes;    /* of the function's range around the address */
};

struct unit_walk {
    Dwarf_Die *unit;
    uint64_t code_low;
    const uint64_t *addresses;
    size_t count;
    struct claim *claims; /* by index of the address */
    struct unit_function *functions;
    uint32_t function_count, capacity;
    bool is_everywhere; /* all entries are walked */
    bool is_out_of_memory;
};

/* ---- ranges ---- */

static size_t first_not_below(const uint64_t *addresses, size_t count, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (addresses[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t debug_ranges_visit(Dwarf_Die *entry, uint64_t code_low, const uint64_t *addresses, size_t count,
                          debug_range_fn *visit, void *context)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t next = 0;
    size_t ranges = 0;
    while (ranges < RANGES_MAX && (next = dwarf_ranges(entry, next, &base, &start, &end)) > 0) {
        ranges++;
        if (start < code_low || start >= end)
            continue;
        size_t first = first_not_below(addresses, count, start);
        size_t inside = first_not_below(addresses + first, count - first, end);
        if (inside > 0)
            visit(context, first, inside, end - start);
    }
    return ranges;
}

struct claimant {
    struct unit_walk *walk;
    size_t claimed;
};

static void claim_addresses(void *context, size_t first, size_t count, uint64_t bytes)
{
    struct claimant *claimant = context;
    struct unit_walk *walk = claimant->walk;
    for (size_t i = first; i < first + count; i++) {
        if (!walk->claims[i].function || bytes <= walk->claims[i].bytes)
            walk->claims[i] = (struct claim){walk->function_count + 1, bytes};
    }
    claimant->claimed += count;
}

/* ---- the walk ---- */

static bool reserve_function(struct unit_walk *walk)
{
    walk->is_out_of_memory =
        !array_grow(&walk->functions, &walk->capacity, walk->function_count, sizeof *walk->functions);
    return !walk->is_out_of_memory;
}

static void walk_children(struct unit_walk *walk, Dwarf_Die *die, uint32_t parent, int depth);

static void walk_function(struct unit_walk *walk, Dwarf_Die *die, bool is_inlined, uint32_t parent, int depth)
{
    struct claimant claimant = {.walk = walk};
    if (!reserve_function(walk))
        return;
    debug_ranges_visit(die, walk->code_low, walk->addresses, walk->count, claim_addresses, &claimant);
    if (claimant.claimed > 0) {
        walk->functions[walk->function_count++] =
            (struct unit_function){.die = *die, .parent = parent, .is_inlined = is_inlined};
        walk_children(walk, die, walk->function_count, depth);
    } else if (walk->is_everywhere && !is_inlined) {
        walk_children(walk, die, 0, depth);
    }
}

static void walk_entry(struct unit_walk *walk, Dwarf_Die *die, uint32_t parent, int depth)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_subprogram:
    case DW_TAG_entry_point:
        walk_function(walk, die, false, parent, depth);
        return;
    case DW_TAG_inlined_subroutine:
        walk_function(walk, die, true, parent, depth);
        return;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
    case DW_TAG_namespace:
    case DW_TAG_module:
        walk_children(walk, die, parent, depth);
        return;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_enumeration_type:
        if (walk->is_everywhere)
            walk_children(walk, die, parent, depth);
        return;
    default:
        return;
    }
}

/* Entries follow each other in the file. A sibling that lies before its entry could make the walk endless. */
static void walk_children(struct unit_walk *walk, Dwarf_Die *die, uint32_t parent, int depth)
{
    Dwarf_Die child;
    const void *before;
    if (depth == DEPTH_MAX || dwarf_child(die, &child) != 0)
        return;
    do {
        walk_entry(walk, &child, parent, depth + 1);
        before = child.addr;
    } while (!walk->is_out_of_memory && dwarf_siblingof(&child, &child) == 0 &&
             (uintptr_t)child.addr > (uintptr_t)before);
}

/* ---- what is known of a function ---- */

/* Whether the language's names for the linker differ from its plain ones. */
static bool has_mangled_names(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Mips_Assembler:
        return false;
    default:
        return true;
    }
}

static const char *string_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0 || value > INT32_MAX)
        return 0;
    return (uint32_t)value;
}

/* A file's number is an index into the table of the unit that the attribute is in, which may be another unit.
 * (libdw's own dwarf_decl_file cannot be used for split units: it fails an assertion in 0.188.) */
static const char *file_of(Dwarf_Attribute *attribute)
{
    Dwarf_Die unit;
    Dwarf_Files *files;
    size_t count;
    Dwarf_Word index;
    if (!attribute || dwarf_formudata(attribute, &index) != 0 ||
        dwarf_cu_info(attribute->cu, NULL, NULL, &unit, NULL, NULL, NULL, NULL) != 0 ||
        dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count)
        return NULL;
    return dwarf_filesrc(files, index, NULL, NULL);
}

static struct unit_function *read_function(struct unit_walk *walk, uint32_t index)
{
    struct unit_function *function = &walk->functions[index];
    Dwarf_Die *die = &function->die;
    Dwarf_Attribute attribute;
    int line;
    if (function->is_read)
        return function;
    function->is_read = true;
    function->name = string_of(die, DW_AT_linkage_name);
    if (!function->name)
        function->name = string_of(die, DW_AT_MIPS_linkage_name);
    function->is_mangled = function->name != NULL;
    if (!function->name)
        function->name = string_of(die, DW_AT_name);
    if (dwarf_decl_line(die, &line) == 0 && line > 0)
        function->start_line = (uint32_t)line;
    function->start_file = file_of(dwarf_attr_integrate(die, DW_AT_decl_file, &attribute));
    if (function->is_inlined) {
        function->call_line = number_of(die, DW_AT_call_line);
        function->call_file = file_of(dwarf_attr(die, DW_AT_call_file, &attribute));
    }
    return function;
}

/* ---- lines ---- */

struct line_table {
    Dwarf_Lines *lines;
    size_t count;
};

static uint64_t address_of_line(const struct line_table *table, size_t index)
{
    Dwarf_Addr address;
    return dwarf_lineaddr(dwarf_onesrcline(table->lines, index), &address) == 0 ? address : UINT64_MAX;
}

/* The last row at or before the address, if no sequence ends there. */
static Dwarf_Line *find_line(const struct line_table *table, uint64_t address)
{
    size_t low = 0, high = table->count;
    bool is_end = true;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (address_of_line(table, middle) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    Dwarf_Line *line = low > 0 ? dwarf_onesrcline(table->lines, low - 1) : NULL;
    return line && dwarf_lineendsequence(line, &is_end) == 0 && !is_end ? line : NULL;
}

static struct debug_frame place_of(const struct line_table *table, uint64_t address)
{
    struct debug_frame frame = {0};
    Dwarf_Line *line = find_line(table, address);
    int number;
    if (!line)
        return frame;
    frame.file = dwarf_linesrc(line, NULL, NULL);
    if (dwarf_lineno(line, &number) == 0 && number > 0)
        frame.line = (uint32_t)number;
    return frame;
}

/* ---- chains ---- */

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Where a function is entered: where it says so, else at its first range. */
static uint64_t entry_of(Dwarf_Die *die)
{
    Dwarf_Addr entry, base, end;
    if (dwarf_entrypc(die, &entry) == 0 || dwarf_ranges(die, 0, &base, &entry, &end) > 0)
        return entry;
    return 0;
}

/* Adds the function's name to a frame that has its file and line. */
static void name_frame(struct unit_walk *walk, struct debug_frame *frame, struct unit_function *function)
{
    frame->name = function->name;
    if (is_same(frame->file, function->start_file))
        frame->start_line = function->start_line;
    if (!function->is_inlined && !function->is_mangled && (!function->name || has_mangled_names(walk->unit)))
        frame->symbol_at = entry_of(&function->die);
}

static uint32_t list_frames(struct unit_walk *walk, uint32_t innermost, struct debug_frame place,
                            struct debug_frame *frames)
{
    uint32_t count = 0, next = innermost;
    while (next && count < FRAMES_PER_ADDRESS_MAX) {
        struct unit_function *function = read_function(walk, next - 1);
        frames[count] = place;
        name_frame(walk, &frames[count++], function);
        place = (struct debug_frame){.file = function->call_file, .line = function->call_line};
        next = function->is_inlined ? function->parent : 0;
    }
    if (count == 0 && place.file)
        frames[count++] = place;
    return count;
}

static void fill_in(struct unit_walk *walk, Dwarf_Die *line_unit, bool is_complete,
                    struct debug_chain *chains)
{
    struct debug_frame frames[FRAMES_PER_ADDRESS_MAX];
    struct line_table table = {0};
    const char *directory = string_of(line_unit, DW_AT_comp_dir);
    if (dwarf_getsrclines(line_unit, &table.lines, &table.count) != 0)
        table.count = 0;
    for (size_t i = 0; i < walk->count; i++) {
        uint32_t count =
            list_frames(walk, walk->claims[i].function, place_of(&table, walk->addresses[i]), frames);
        struct debug_frame *copy = count > 0 ? reallocarray(NULL, count, sizeof *copy) : NULL;
        if (!copy)
            continue;
        memcpy(copy, frames, count * sizeof *copy);
        free(chains[i].frames);
        chains[i] = (struct debug_chain){
            .frames = copy, .count = count, .directory = directory, .is_complete = is_complete};
    }
}

/* ---- the whole ---- */

static bool are_all_claimed(const struct unit_walk *walk)
{
    for (size_t i = 0; i < walk->count; i++) {
        if (!walk->claims[i].function)
            return false;
    }
    return true;
}

static void walk_unit(struct unit_walk *walk)
{
    walk_children(walk, walk->unit, 0, 0);
    if (are_all_claimed(walk))
        return;
    walk->is_everywhere = true;
    walk->function_count = 0;
    memset(walk->claims, 0, walk->count * sizeof *walk->claims);
    walk_children(walk, walk->unit, 0, 0);
}

/* The functions of a split unit are in its .dwo file; its lines are not. */
static bool find_split(Dwarf_Die *unit, Dwarf_Die *ret)
{
    uint8_t kind;
    Dwarf_Die split;
    *ret = *unit;
    if (dwarf_cu_info(unit->cu, NULL, &kind, NULL, &split, NULL, NULL, NULL) != 0 || kind != DW_UT_skeleton)
        return true;
    if (!split.addr)
        return false;
    *ret = split;
    return true;
}

void debug_unit_read(Dwarf_Die *unit, uint64_t code_low, const uint64_t *addresses, size_t count,
                     struct debug_chain *chains)
{
    Dwarf_Die whole;
    bool is_complete = find_split(unit, &whole);
    struct unit_walk walk = {.unit = &whole, .code_low = code_low, .addresses = addresses, .count = count};
    walk.claims = calloc(count, sizeof *walk.claims);
    if (walk.claims) {
        walk_unit(&walk);
        fill_in(&walk, unit, is_complete, chains);
    }
    free(walk.claims);
    free(walk.functions);
}
