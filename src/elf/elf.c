/*
 * One pass over the symbol tables, whatever the number of queries. A symbol that covers the queries [first,
 * last) is offered to the O(log queries) nodes of a segment tree that make up this range. Each query then
 * takes the best of the nodes above it. That is exact, as the order among symbols does not depend on the
 * query. A hostile table whose symbols all cover everything costs no more than an honest one.
 *
 * A symbol without a size is a label, as hand-written assembly has them. It reaches to the end of its
 * section, so _init does not name the PLT after it, but never across the start or the end of a sized symbol.
 *
 * The string tables are needed only until the symbols are chosen: the names chosen are copied. Of a table
 * only the names of symbols that cover a query are read.
 */
#include "elf.h"

#include "base/arena.h"
#include "elf_image.h"
#include "elf_plt.h"
#include "elf_strings.h"
#include "base/sort.h"

#include <errno.h>
#include <string.h>

enum {
    ADDRESS_PARTS = 256,
    NAME_MAX_BYTES = 64 * 1024,    /* longer names are not believed */
    NAME_COMPARED_MAX_BYTES = 256, /* of two names of one function: bounds the time for hostile names */
};

/* struct elf_query.symbol_rank: the least that a later symbol must be to replace this one. */
enum { QUERY_UNNAMED, QUERY_LABEL, QUERY_SIZED };

/* struct candidate.rank: higher is better to read. */
enum { RANK_LOCAL, RANK_WEAK, RANK_GLOBAL, RANK_NO_UNDERSCORE = 4 };

struct candidate {
    uint64_t start, end; /* end: the first address after it; for a label, after its section */
    const char *name;    /* in a string table of the search; NULL for no candidate */
    uint32_t rank;
};

/* Arrays are indexed as the queries are, except covering: node 1 is the root, query i is leaf count + i. */
struct symbol_search {
    const struct elf_image *image;
    size_t count;
    uint64_t *addresses;         /* of the queries; dense, for the search */
    uint32_t *first_of_part;     /* the first query at or after the start of each part of the addresses */
    uint32_t part_shift;         /* a part has 1 << part_shift bytes */
    uint64_t *barriers;          /* labels below this address do not reach the query or a later one */
    struct candidate *labels;    /* the last label at or before the query and after the query before it */
    struct candidate *covering;  /* 2 * count nodes: the best sized symbol that covers all of the node */
    size_t memory_bytes;         /* of these arrays, in one block that starts at covering */
    struct elf_strings *strings; /* of the symbol table being read */
};

/* A table has tens of thousands of symbols, most of them far from any query. So a search begins in one of
 * ADDRESS_PARTS parts of the addresses, and is a binary one only among the queries of that part. */
static void divide_addresses(struct symbol_search *search)
{
    const uint64_t *addresses = search->addresses, reach = addresses[search->count - 1] - addresses[0];
    while (reach >> search->part_shift >= ADDRESS_PARTS)
        search->part_shift++;
    for (size_t part = 0, query = 0; part <= ADDRESS_PARTS; part++) {
        while (query < search->count && (addresses[query] - addresses[0]) >> search->part_shift < part)
            query++;
        search->first_of_part[part] = (uint32_t)query;
    }
}

static int search_init(struct symbol_search *search, const struct elf_image *image,
                       const struct elf_query *queries, size_t count)
{
    const size_t query_bytes = 3 * sizeof(struct candidate) + 2 * sizeof(uint64_t);
    const size_t parts_bytes = (ADDRESS_PARTS + 1) * sizeof(uint32_t);
    *search = (struct symbol_search){
        .image = image, .count = count, .memory_bytes = count * query_bytes + parts_bytes};
    search->covering = count <= UINT32_MAX ? scratch_alloc(search->memory_bytes) : NULL;
    if (!search->covering)
        return -ENOMEM;
    search->labels = search->covering + 2 * count;
    search->addresses = (uint64_t *)(search->labels + count);
    search->barriers = search->addresses + count;
    search->first_of_part = (uint32_t *)(search->barriers + count);
    for (size_t i = 0; i < count; i++)
        search->addresses[i] = queries[i].elf_address;
    divide_addresses(search);
    return 0;
}

/* Index of the first query at or after an address. */
static size_t first_query(const struct symbol_search *search, uint64_t address)
{
    const uint64_t *addresses = search->addresses;
    if (address <= addresses[0])
        return 0;
    if (address > addresses[search->count - 1])
        return search->count;
    size_t part = (address - addresses[0]) >> search->part_shift;
    size_t first = search->first_of_part[part], end = search->first_of_part[part + 1];
    return first + sort_find_first(addresses + first, end - first, sizeof *addresses, address);
}

/* The nearest start wins, then the rank, the shorter name, and the alphabet: the same from build to build. */
static bool is_better(const struct candidate *candidate, const struct candidate *best)
{
    if (candidate->start != best->start)
        return candidate->start > best->start;
    if (candidate->rank != best->rank)
        return candidate->rank > best->rank;
    size_t bytes = strnlen(candidate->name, NAME_COMPARED_MAX_BYTES);
    size_t best_bytes = strnlen(best->name, NAME_COMPARED_MAX_BYTES);
    return bytes != best_bytes ? bytes < best_bytes : memcmp(candidate->name, best->name, bytes) < 0;
}

static void offer_candidate(struct candidate *best, const struct candidate *candidate)
{
    if (candidate->name && (!best->name || is_better(candidate, best)))
        *best = *candidate;
}

static void offer_to_range(struct symbol_search *search, size_t first, size_t last,
                           const struct candidate *candidate)
{
    first += search->count;
    last += search->count;
    for (; first < last; first /= 2, last /= 2) {
        if (first & 1)
            offer_candidate(&search->covering[first++], candidate);
        if (last & 1)
            offer_candidate(&search->covering[--last], candidate);
    }
}

static void raise_barrier(struct symbol_search *search, size_t query, uint64_t address)
{
    if (query < search->count && search->barriers[query] < address)
        search->barriers[query] = address;
}

/* $x and $d mark where code and data begin (ELF for the Arm 64-bit Architecture, mapping symbols). */
static bool is_mapping_symbol(const struct symbol_search *search, const char *name)
{
    return search->image->header.e_machine == EM_AARCH64 && name[0] == '$' &&
           (name[1] == 'x' || name[1] == 'd') && (name[2] == '\0' || name[2] == '.');
}

/* As much of it as is compared. */
static const char *readable_name(const struct symbol_search *search, const Elf64_Sym *symbol)
{
    const char *name = elf_strings_at(search->strings, symbol->st_name, NAME_COMPARED_MAX_BYTES);
    return name && *name && !is_mapping_symbol(search, name) ? name : NULL;
}

/* The leading underscore of a mangled C++ name was not written by its author. */
static uint32_t symbol_rank(const Elf64_Sym *symbol, const char *name)
{
    unsigned char binding = ELF64_ST_BIND(symbol->st_info);
    uint32_t rank = binding == STB_GLOBAL || binding == STB_GNU_UNIQUE ? RANK_GLOBAL
                    : binding == STB_WEAK                              ? RANK_WEAK
                                                                       : RANK_LOCAL;
    return name[0] != '_' || name[1] == 'Z' ? rank + RANK_NO_UNDERSCORE : rank;
}

static bool is_in_code(const Elf64_Shdr *section, uint64_t address)
{
    return (section->sh_flags & SHF_EXECINSTR) && address >= section->sh_addr &&
           address - section->sh_addr < section->sh_size;
}

/* The symbols of a loaded object have the section numbers of its file. Its sections here are its segments. */
static const Elf64_Shdr *loaded_section(const struct elf_image *image, uint64_t address)
{
    for (size_t i = 1; i < image->section_count; i++) {
        if (is_in_code(&image->sections[i], address))
            return &image->sections[i];
    }
    return NULL;
}

/* The executable section that a symbol for code is defined in, or NULL. */
static const Elf64_Shdr *symbol_section(const struct symbol_search *search, const Elf64_Sym *symbol)
{
    unsigned char type = ELF64_ST_TYPE(symbol->st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
        return NULL;
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE)
        return NULL;
    if (search->image->loaded_at)
        return loaded_section(search->image, symbol->st_value);
    if (symbol->st_shndx >= search->image->section_count)
        return NULL;
    const Elf64_Shdr *section = &search->image->sections[symbol->st_shndx];
    return is_in_code(section, symbol->st_value) ? section : NULL;
}

/* Without section headers the end of a label is not known. */
static void collect_label(struct symbol_search *search, const Elf64_Sym *symbol, uint64_t section_end)
{
    if (search->image->loaded_at)
        return;
    size_t query = first_query(search, symbol->st_value);
    const char *name = readable_name(search, symbol);
    if (query == search->count || !name)
        return;
    offer_candidate(&search->labels[query],
                    &(struct candidate){symbol->st_value, section_end, name, symbol_rank(symbol, name)});
}

static void collect_sized(struct symbol_search *search, const Elf64_Sym *symbol, uint64_t section_end)
{
    uint64_t start = symbol->st_value, end = section_end;
    if (symbol->st_size < end - start)
        end = start + symbol->st_size;
    size_t first = first_query(search, start), last = first;
    if (first < search->count && search->addresses[first] < end)
        last = first_query(search, end);
    raise_barrier(search, first, start + 1);
    raise_barrier(search, last, end);
    const char *name = first < last ? readable_name(search, symbol) : NULL;
    if (name)
        offer_to_range(search, first, last, &(struct candidate){start, end, name, symbol_rank(symbol, name)});
}

static void collect_symbol(void *context, const void *entry)
{
    struct symbol_search *search = context;
    const Elf64_Sym *symbol = entry;
    const Elf64_Shdr *section = symbol_section(search, symbol);
    if (!section)
        return;
    uint64_t end = section->sh_addr + section->sh_size;
    if (end < section->sh_addr)
        end = UINT64_MAX;
    if (symbol->st_size == 0)
        collect_label(search, symbol, end);
    else
        collect_sized(search, symbol, end);
}

static void collect_table(struct symbol_search *search, const Elf64_Shdr *table, struct elf_strings *strings)
{
    search->strings = strings;
    elf_table_visit(search->image, table, sizeof(Elf64_Sym), collect_symbol, search);
}

/* Hands candidates on: from the tree's inner nodes down to the leaves, and labels from left to right. */
static void choose_best(struct symbol_search *search)
{
    for (size_t node = 1; node < search->count; node++) {
        offer_candidate(&search->covering[2 * node], &search->covering[node]);
        offer_candidate(&search->covering[2 * node + 1], &search->covering[node]);
    }
    for (size_t i = 1; i < search->count; i++) {
        raise_barrier(search, i, search->barriers[i - 1]);
        offer_candidate(&search->labels[i], &search->labels[i - 1]);
    }
}

/* A copy of a name that is in one of the tables. */
static const char *copy_name(struct string_pool *names, struct elf_strings *tables, const char *name)
{
    struct elf_strings *table = elf_strings_have(&tables[0], name) ? &tables[0] : &tables[1];
    if (!elf_strings_at(table, (size_t)(name - table->data), NAME_MAX_BYTES + 1))
        return NULL;
    size_t bytes = strnlen(name, NAME_MAX_BYTES + 1);
    return bytes <= NAME_MAX_BYTES ? string_pool_add(names, name, bytes) : NULL;
}

/* The symbol for one query; without a name if there is none. */
static struct candidate search_result(const struct symbol_search *search, size_t query, uint8_t *query_rank)
{
    *query_rank = QUERY_SIZED;
    if (search->covering[search->count + query].name)
        return search->covering[search->count + query];
    *query_rank = QUERY_LABEL;
    struct candidate label = search->labels[query];
    if (label.start < search->barriers[query] || label.end <= search->addresses[query])
        label.name = NULL;
    return label;
}

static void fill_queries(const struct symbol_search *search, struct elf_strings *tables,
                         struct string_pool *names, struct elf_query *queries)
{
    const char *last_found = NULL, *last_kept = NULL; /* neighbours mostly share a name and its copy */
    for (size_t i = 0; i < search->count; i++) {
        struct elf_query *query = &queries[i];
        uint8_t rank;
        struct candidate found = search_result(search, i, &rank);
        if (!found.name || rank < query->symbol_rank ||
            (rank == query->symbol_rank && found.start <= query->symbol_address))
            continue;
        if (found.name != last_found) {
            last_found = found.name;
            last_kept = copy_name(names, tables, found.name);
        }
        if (!last_kept)
            continue;
        query->name = last_kept;
        query->symbol_rank = rank;
        query->symbol_address = found.start;
        query->symbol_bytes = rank == QUERY_SIZED ? found.end - found.start : 0;
    }
}

static int name_from_tables(struct string_pool *names, const struct elf_image *image,
                            struct elf_query *queries, size_t count)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    enum { TABLES = sizeof types / sizeof *types };
    struct elf_strings strings[TABLES] = {{.data = NULL}};
    struct symbol_search search;
    int status = search_init(&search, image, queries, count);
    if (status < 0)
        return status;
    for (size_t i = 0; i < TABLES; i++) {
        const Elf64_Shdr *table = elf_section_of_type(image, types[i], sizeof(Elf64_Sym));
        if (!table)
            continue;
        elf_strings_open(&strings[i], image, elf_section_strings(image, table));
        collect_table(&search, table, &strings[i]);
    }
    choose_best(&search);
    fill_queries(&search, strings, names, queries);
    for (size_t i = 0; i < TABLES; i++)
        elf_strings_free(&strings[i]);
    scratch_free(search.covering, search.memory_bytes);
    return 0;
}

int elf_name_from_image(struct string_pool *names, const struct elf_image *image, struct elf_query *queries,
                        size_t count)
{
    int named = 0;
    int status = count ? name_from_tables(names, image, queries, count) : 0;
    if (status < 0)
        return status;
    elf_plt_name(image, names, queries, count);
    for (size_t i = 0; i < count; i++)
        named += queries[i].name != NULL;
    return named;
}

int elf_name_addresses(struct string_pool *names, const char *path, const uint8_t *build_id,
                       size_t build_id_bytes, struct elf_query *queries, size_t count)
{
    struct elf_image image;
    int status = elf_image_open(&image, path);
    if (status < 0)
        return status;
    if (build_id_bytes && !elf_image_has_build_id(&image, build_id, build_id_bytes))
        status = -ESTALE;
    else
        status = elf_name_from_image(names, &image, queries, count);
    elf_image_deinit(&image);
    return status;
}

int elf_name_addresses_in_image(struct string_pool *names, const void *memory, size_t memory_bytes,
                                struct elf_query *queries, size_t count)
{
    struct elf_image image;
    int status = elf_image_init(&image, memory, memory_bytes);
    if (status == 0)
        status = elf_name_from_image(names, &image, queries, count);
    elf_image_deinit(&image);
    return status;
}
