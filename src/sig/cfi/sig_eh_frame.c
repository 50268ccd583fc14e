#include "sig_eh_frame.h"
#include "sig/ground/sig_reader.h"

#include <stddef.h>

enum { MAX_SEARCH_STEPS = 40 }; /* more than log2 of any table */

struct search_table {
    const struct sig_search_entry *copy; /* in our memory; NULL: it is read in place */
    uint64_t base;                       /* of its distances: the run-time address of .eh_frame_hdr */
    uint64_t entries;                    /* run-time address of the first pair */
    uint64_t count;
};

/* LSB 10.6.2. Only the form that every linker writes is searched: pairs of datarel sdata4. */
bool sig_eh_frame_search_table(const struct sig_module *module, bool careful, uint64_t *ret_entries,
                               uint64_t *ret_count, uint64_t *ret_eh_frame)
{
    struct sig_reader reader;
    *ret_eh_frame = 0;
    sig_reader_init(&reader, module, module->eh_frame_hdr, careful);
    if (!module->eh_frame_hdr || sig_read_u8(&reader) != 1)
        return false;
    uint8_t frame_encoding = sig_read_u8(&reader), count_encoding = sig_read_u8(&reader),
            table_encoding = sig_read_u8(&reader);
    *ret_eh_frame = sig_read_encoded(&reader, frame_encoding, module->eh_frame_hdr);
    if (count_encoding == SIG_PE_OMIT || table_encoding != (SIG_PE_DATAREL | SIG_PE_SDATA4))
        return false;
    *ret_count = sig_read_encoded(&reader, count_encoding, module->eh_frame_hdr);
    *ret_entries = reader.at;
    return !reader.failed && *ret_count > 0 &&
           *ret_count <= (reader.end - reader.at) / sizeof(struct sig_search_entry);
}

static bool search_table_open(const struct sig_module *module, bool careful, struct search_table *ret)
{
    uint64_t ignored;
    if (module->search) {
        *ret = (struct search_table){
            .copy = module->search, .base = module->search_base, .count = module->search_count};
        return true;
    }
    ret->copy = NULL;
    ret->base = module->eh_frame_hdr;
    return sig_eh_frame_search_table(module, careful, &ret->entries, &ret->count, &ignored);
}

static void search_table_entry(const struct sig_module *module, bool careful,
                               const struct search_table *table, uint64_t index, uint64_t *ret_pc,
                               uint64_t *ret_fde)
{
    struct sig_search_entry entry;
    if (table->copy)
        entry = table->copy[index];
    else {
        struct sig_reader reader;
        sig_reader_init(&reader, module, table->entries + index * sizeof(entry), careful);
        entry.start_pc = (int32_t)sig_read_fixed(&reader, 4);
        entry.fde = (int32_t)sig_read_fixed(&reader, 4);
    }
    *ret_pc = table->base + (uint64_t)(int64_t)entry.start_pc;
    *ret_fde = table->base + (uint64_t)(int64_t)entry.fde;
}

/* Not inline, so that its variables are not on the stack while an entry is read. */
__attribute__((noinline)) bool sig_eh_frame_search(const struct sig_module *module, uint64_t pc, bool careful,
                                                   uint64_t *ret_start, uint64_t *ret_fde)
{
    struct search_table table;
    if (!search_table_open(module, careful, &table))
        return false;
    uint64_t low = 0, high = table.count;
    for (int step = 0; low < high && step < MAX_SEARCH_STEPS; step++) {
        uint64_t middle = low + (high - low) / 2, start, fde;
        search_table_entry(module, careful, &table, middle, &start, &fde);
        if (start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    search_table_entry(module, careful, &table, low - 1, ret_start, ret_fde);
    return true;
}

/* Reads an entry's length (LSB 10.6.1.1); leaves the reader at the id field, bounded by the entry's end. */
static void enter_entry(struct sig_reader *reader)
{
    uint64_t bytes = sig_read_fixed(reader, 4);
    if (bytes == 0xffffffff)
        bytes = sig_read_fixed(reader, 8);
    if (bytes == 0 || bytes > reader->end - reader->at)
        reader->failed = true;
    else
        reader->end = reader->at + bytes;
}

/* A byte elsewhere, by the same reader, because a second one would take a hundred bytes of stack. */
static uint8_t letter_at(struct sig_reader *reader, uint64_t at)
{
    uint64_t before = reader->at;
    reader->at = at;
    uint8_t letter = sig_read_u8(reader);
    reader->at = before;
    return letter;
}

/* LSB 10.6.1.1.1: 'z' first, then one datum per letter. */
static void read_augmentation(struct sig_reader *reader, uint64_t letters, struct sig_cie *ret)
{
    if (letter_at(reader, letters++) != 'z')
        return;
    ret->has_augmentation_data = true;
    uint64_t data_bytes = sig_read_uleb128(reader);
    uint64_t data_end = reader->at + data_bytes;
    if (reader->failed || data_bytes > reader->end - reader->at) {
        reader->failed = true;
        return;
    }
    for (uint8_t c = letter_at(reader, letters++); c && !reader->failed; c = letter_at(reader, letters++)) {
        if (c == 'R')
            ret->fde_encoding = sig_read_u8(reader);
        else if (c == 'S')
            ret->is_signal_frame = true;
        else if (c == 'L')
            sig_read_u8(reader);
        else if (c == 'P')
            sig_read_encoded_value(reader, sig_read_u8(reader) & SIG_PE_FORMAT_MASK);
        else if (c != 'B' && c != 'G')
            break; /* unknown letter: the rest of the data is skipped by its length */
    }
    reader->at = data_end;
}

static bool read_cie(const struct sig_module *module, bool careful, uint64_t at, struct sig_cie *ret)
{
    struct sig_reader reader;
    sig_reader_init(&reader, module, at, careful);
    *ret = (struct sig_cie){.fde_encoding = SIG_PE_ABSPTR};
    enter_entry(&reader);
    if (sig_read_fixed(&reader, 4) != 0)
        return false;
    uint8_t version = sig_read_u8(&reader);
    if (version != 1 && version != 3 && version != 4)
        return false;
    uint64_t letters = reader.at;
    for (int i = 0; i < 16 && sig_read_u8(&reader); i++)
        ;
    if (version == 4)
        sig_read_fixed(&reader, 2); /* address and segment selector sizes, DWARF 5 6.4.1 */
    ret->code_align = sig_read_uleb128(&reader);
    ret->data_align = sig_read_sleb128(&reader);
    ret->ra_register = version == 1 ? sig_read_u8(&reader) : sig_read_uleb128(&reader);
    read_augmentation(&reader, letters, ret);
    ret->instructions = reader.at;
    ret->instructions_end = reader.end;
    return !reader.failed;
}

bool sig_eh_frame_read(const struct sig_module *module, uint64_t at, bool careful, struct sig_cie *ret_cie,
                       struct sig_fde *ret)
{
    struct sig_reader reader;
    sig_reader_init(&reader, module, at, careful);
    enter_entry(&reader);
    uint64_t id_at = reader.at;
    uint64_t cie_distance = sig_read_fixed(&reader, 4);
    if (reader.failed || cie_distance == 0 || !read_cie(module, careful, id_at - cie_distance, ret_cie))
        return false;
    ret->start_pc = sig_read_encoded(&reader, ret_cie->fde_encoding, module->eh_frame_hdr);
    ret->end_pc = ret->start_pc + sig_read_encoded_value(&reader, ret_cie->fde_encoding & SIG_PE_FORMAT_MASK);
    if (ret_cie->has_augmentation_data) {
        uint64_t skip = sig_read_uleb128(&reader);
        if (reader.failed || skip > reader.end - reader.at)
            return false;
        reader.at += skip;
    }
    ret->instructions = reader.at;
    ret->instructions_end = reader.end;
    return !reader.failed;
}

uint64_t sig_eh_frame_next(const struct sig_module *module, uint64_t at, bool careful)
{
    struct sig_reader reader;
    sig_reader_init(&reader, module, at, careful);
    enter_entry(&reader);
    return reader.failed ? 0 : reader.end;
}

bool sig_eh_frame_find(const struct sig_module *module, uint64_t lookup_pc, bool careful_reads,
                       struct sig_cie *ret_cie, struct sig_fde *ret_fde)
{
    uint64_t start, fde_at;
    return sig_eh_frame_search(module, lookup_pc, careful_reads, &start, &fde_at) &&
           sig_eh_frame_read(module, fde_at, careful_reads, ret_cie, ret_fde) &&
           lookup_pc >= ret_fde->start_pc && lookup_pc < ret_fde->end_pc &&
           (!module->search || ret_fde->start_pc == start); /* else another object's, at the same address */
}

uint64_t sig_eh_frame_gap_start(const struct sig_module *module, uint64_t lookup_pc, bool careful_reads)
{
    uint64_t start, fde_at;
    struct sig_cie cie;
    struct sig_fde fde;
    bool has_function_before = sig_eh_frame_search(module, lookup_pc, careful_reads, &start, &fde_at) &&
                               sig_eh_frame_read(module, fde_at, careful_reads, &cie, &fde);
    return has_function_before && fde.end_pc > module->start_pc ? fde.end_pc : module->start_pc;
}

uint64_t sig_eh_frame_function_start(const struct sig_module *module, uint64_t lookup_pc)
{
    struct sig_cie cie;
    struct sig_fde fde;
    return sig_eh_frame_find(module, lookup_pc, !module->is_permanent, &cie, &fde) ? fde.start_pc : 0;
}
