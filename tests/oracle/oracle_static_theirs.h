/*
 * libunwind over an image: the rows of a function, and the caller of a made-up frame by a row.
 *
 * Rows stay opaque and are applied by libunwind itself, so no internal layout is mirrored here. Written
 * against libunwind 1.6.2; oracle_static.c tries out whether the one that is there does the same.
 */
#ifndef WALLPROF_ORACLE_STATIC_THEIRS_H
#define WALLPROF_ORACLE_STATIC_THEIRS_H

#include "oracle_static_arch.h"
#include "oracle_static_frame.h"
#include "oracle_static_image.h"

struct theirs {
    struct image image;
    struct fake_frame frame;
    unw_addr_space_t space;
    bool has_expression; /* the row that was applied last: its result may depend on the pc */
    struct value
        registers[SIG_DWARF_COUNT]; /* the caller's, by that row; its stack pointer is always the CFA */
    unw_cursor_t function;          /* the one that is iterated, and what was found of it */
    unw_proc_info_t found;
};

/* Exported, but in no header: libunwind-ptrace and perf declare it themselves. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t pc, unw_dyn_info_t *table,
                                       unw_proc_info_t *ret, int need_unwind_info, void *arg);

static inline int find_proc_info(unw_addr_space_t space, unw_word_t pc, unw_proc_info_t *ret, int need,
                                 void *arg)
{
    struct theirs *theirs = (struct theirs *)arg;
    const struct image *image = &theirs->image;
    unw_dyn_info_t table = {.start_ip = image->low, .end_ip = image->high};
    table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    table.u.rti.segbase = image->module.eh_frame_hdr;
    table.u.rti.table_data = image->table;
    table.u.rti.table_len = image->table_count; /* in words; a pair is one */
    int status = UNW_OBJ(dwarf_search_unwind_table)(space, pc, &table, ret, need, arg);
    theirs->found = *ret;
    return status;
}

static inline void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *arg)
{
    (void)space, (void)info, (void)arg; /* libunwind frees what it has allocated */
}

static inline int no_dynamic_info(unw_addr_space_t space, unw_word_t *ret, void *arg)
{
    (void)space, (void)ret, (void)arg;
    return -UNW_ENOINFO;
}

/* To apply a row, libunwind reads the frame's memory, and that of the tables for expressions only. */
static inline int access_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
                                void *arg)
{
    struct theirs *theirs = (struct theirs *)arg;
    (void)space;
    if (write)
        return -UNW_EINVAL;
    theirs->has_expression |= is_in_image(&theirs->frame, address);
    *value = read_word(&theirs->frame, address);
    return 0;
}

/* libunwind numbers the registers as DWARF does. */
static inline int access_register(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write,
                                  void *arg)
{
    (void)space;
    if (write || number < 0 || number >= SIG_DWARF_COUNT)
        return -UNW_EBADREG;
    *value = register_value(&((const struct theirs *)arg)->frame, (unsigned)number);
    return 0;
}

static inline struct value their_value(unw_cursor_t *cursor, int number)
{
    unw_word_t value = 0;
    bool is_known = unw_get_reg(cursor, number, &value) == 0;
    return (struct value){is_known, value};
}

/* The caller of a frame at pc by a row of libunwind's; false when it cannot. */
static inline bool step_theirs(struct theirs *theirs, void *row, uint64_t pc, struct outcome *ret)
{
    unw_cursor_t cursor;
    unw_word_t cfa = 0;
    memset(&cursor, 0,
           sizeof(cursor)); /* unw_init_remote leaves which registers hold an exception as it is */
    theirs->frame.pc = pc;
    if (unw_init_remote(&cursor, theirs->space, theirs) < 0)
        return false;
    ret->is_signal_frame = unw_is_signal_frame(&theirs->function) > 0; /* on aarch64 it reads the code */
    theirs->has_expression = false;
    int status = unw_apply_reg_state(&cursor, row); /* 0: the return address is undefined */
    if (status < 0 || unw_get_reg(&cursor, THEIR_SP, &cfa) < 0)
        return false;
    ret->cfa = cfa;
    ret->ra = status == 0 ? (struct value){.is_known = false} : their_value(&cursor, THEIR_RA);
    ret->fp = their_value(&cursor, THEIR_FP);
    ret->extra = their_value(&cursor, THEIR_EXTRA);
    for (int i = 0; i < SIG_DWARF_COUNT; i++)
        theirs->registers[i] = their_value(&cursor, i);
    return true;
}

static inline bool theirs_init(struct theirs *theirs)
{
    static unw_accessors_t accessors = {.find_proc_info = find_proc_info,
                                        .put_unwind_info = put_unwind_info,
                                        .get_dyn_info_list_addr = no_dynamic_info,
                                        .access_mem = access_memory,
                                        .access_reg = access_register};
    theirs->frame.image = &theirs->image;
    theirs->space = unw_create_addr_space(&accessors, 0);
    return theirs->space && unw_set_caching_policy(theirs->space, UNW_CACHE_NONE) == 0;
}

/* Calls back for each row of the function at start; negative, an error of libunwind's. */
static inline int iterate(struct theirs *theirs, uint64_t start, unw_reg_states_callback callback, void *arg)
{
    theirs->frame.pc = start;
    theirs->found = (unw_proc_info_t){.start_ip = 0};
    int status = unw_init_remote(&theirs->function, theirs->space, theirs);
    return status < 0 ? status : unw_reg_states_iterate(&theirs->function, callback, arg);
}

#endif
