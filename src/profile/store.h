/*
 * The store: a complete recording as a file, for the tool to read.
 *
 *     header | arena | symbols | timeline
 *
 * The memory of the recording is written as it is. The header leads to the records of the arena, which refer
 * to each other by offset. Symbols are the names that the process knew. Byte order and record sizes are those
 * of the machine that wrote the store. The header states them, and a reader refuses others.
 *
 * Written by enc_store.h and mapped_store.h. Read by the tool's store_read.h, which believes nothing of it.
 */
#ifndef WALLPROF_STORE_H
#define WALLPROF_STORE_H

#include "profile.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#define STORE_MAGIC "wpstore\n"

/* Names of stores that are being recorded into, and of the file beside them that `wallprof gather` locks. */
#define STORE_LIVE_PATTERN "wallprof.%p" /* then a dot, random characters and the ending */
#define STORE_LIVE_ENDING  ".live.store"
#define STORE_RUN_NAME     "run"
#define STORE_WRITTEN_NAME                                                                                   \
    "written" /* where processes note which profiles they wrote themselves (export.h) */

/* A line there is "PID WORD PATH". The first file of a profile has the one word, others have the other. */
#define STORE_WRITTEN_FIRST "written"
#define STORE_WRITTEN_MORE  "also"

static inline bool store_is_live_name(const char *name)
{
    const size_t length = strlen(name), ending = sizeof STORE_LIVE_ENDING - 1;
    return length > ending && strcmp(name + length - ending, STORE_LIVE_ENDING) == 0;
}

enum {
    STORE_VERSION = 5,
    STORE_BYTE_ORDER = 0x01020304,
    STORE_HEADER_BYTES = 4096, /* a page, so that the arena after it can be mapped */
    STORE_COMMAND_BYTES = 1024,
    STORE_RESTRAINT_BYTES = 512,
    STORE_PROGRAM_BYTES = 256,
    STORE_ENDING_BYTES = 128
};

enum { PERF_MAPS_MAX = 8 }; /* generations of processes whose lists are remembered */

/* One process's list of code that it made at run time (names/perf_map.h). */
struct perf_map_source {
    pid_t pid;             /* as the process itself sees it */
    uint64_t since_utc_ns; /* a file not written to since then belongs to an earlier process */
    uint64_t bytes;        /* how much of it counts */
};

/* A part of the file; both numbers are multiples of 8. */
struct store_part {
    uint64_t offset, bytes;
};

/* Where the lists of the arena's records begin, and how many records there are. */
struct store_tree {
    arena_ref newest_root, newest_location, spare_root, newest_module, newest_thread;
    arena_ref pseudo[PSEUDO_COUNT];
    uint32_t node_count, location_count, module_count;
    uint32_t thread_count; /* the highest thread number */
    arena_ref move;        /* of struct tree */
    uint64_t overflows;
};

/* struct process_record. Behind the NUL of the program's name is the title, with a NUL. */
struct store_process {
    int32_t pid, rank;
    char program[STORE_PROGRAM_BYTES], ending[STORE_ENDING_BYTES];
};

/* The timeline part begins with this. The records and the events follow as they are in memory. */
struct store_timeline {
    uint64_t start_ns, thinned, dropped, dropped_events;
    uint32_t count, event_count;
};

enum store_state {
    STORE_WHOLE,    /* written at the end, as described above */
    STORE_LIVE,     /* being recorded into, or left by a killed process (mapped_store.h) */
    STORE_CLOSED,   /* recorded into to the end: all but the names is there */
    STORE_GIVEN_UP, /* the recording went on in memory; the file has what was recorded until then */
};

enum store_end {
    STORE_END_UNKNOWN,
    STORE_END_EXIT,  /* _exit and the like; value is the status */
    STORE_END_ABORT, /* abort */
    STORE_END_EXEC,  /* it was about to execute another program */
};

/* What a process noted when it was about to end. All atomic. */
struct store_noted_end {
    uint64_t time_ns; /* CLOCK_MONOTONIC; 0: nothing was noted */
    uint32_t kind;    /* enum store_end */
    int32_t value;
};

enum { STORE_PROFILE_PATHS_MAX = 8, STORE_CHECKPOINTS = 2, STORE_DEATHS = 48 };

/* A child that a signal has killed. */
struct store_death {
    uint64_t time_ns; /* CLOCK_MONOTONIC, when the parent was told */
    int32_t pid, signal;
};

/*
 * Of a store that is being recorded into. The arena and the timeline have their largest sizes, in a file with
 * holes; how much of them is used stands here. There may be records that the header does not lead to yet, and
 * the last sample may be half written. The reader repairs that (tool/read/store_mend.c).
 */
struct store_live {
    uint32_t state; /* atomic: enum store_state; 0 in a whole store, like all that follows */
    int32_t error;  /* of STORE_GIVEN_UP: why */
    uint64_t arena_used_bytes;
    uint64_t begin_ns;   /* CLOCK_MONOTONIC at start_utc_ns */
    uint64_t beat_ns;    /* the last moment at which it was recording */
    uint64_t stopped_ns; /* how long in between the recording was stopped */
    uint64_t tick;       /* the last tick that has come */
    struct store_noted_end end;
    uint32_t timeline_is_moving; /* records are being moved, or there are fewer than timeline.count says */
    uint32_t profile_path_count;
    arena_ref profile_paths[STORE_PROFILE_PATHS_MAX]; /* strings: where the profile would be written */
    struct store_part records, events;                /* of the timeline; header.timeline has no bytes */
    struct store_timeline timeline;
    uint32_t perf_map_count;
    uint32_t is_stopped; /* the recording was stopped at beat_ns: what came later is no part of it */
    struct perf_map_source perf_maps[PERF_MAPS_MAX];
    uint32_t death_count; /* atomic, of all deaths; `deaths` is a ring of the last */
    uint32_t is_external; /* another process records it, so that this file says nothing of its end */
    struct store_death deaths[STORE_DEATHS];
    /* Earlier states of the lists: after a crash of the machine the file may be of several moments. */
    struct store_checkpoint {
        uint64_t time_ns;
        uint64_t arena_used_bytes;
        struct store_tree tree;
    } checkpoints[STORE_CHECKPOINTS];
};

struct store_header {
    char magic[8]; /* STORE_MAGIC */
    uint32_t version, byte_order;
    uint32_t header_bytes; /* sizeof(struct store_header) */
    uint32_t node_bytes, location_bytes, module_bytes, thread_bytes, counters_bytes;
    uint32_t record_bytes, event_bytes; /* of the timeline */
    struct store_part arena, symbols;
    struct store_part timeline; /* no bytes if there is none */
    struct store_tree tree;
    uint32_t labels, threads_per_tick, has_timed_samples; /* like what follows: of struct profile */
    arena_ref messages;
    uint64_t start_utc_ns, duration_ns, period_ns;
    struct counters counters;
    char command[STORE_COMMAND_BYTES], restraint[STORE_RESTRAINT_BYTES];
    struct store_process process;
    struct store_live live;
    uint32_t has_rundelay, reserved4;
    uint64_t throttled_count, throttled_ns;
};
_Static_assert(sizeof(struct store_header) <= STORE_HEADER_BYTES, "the header is written into one page");

/* Describes the lists as they are. newest_thread and thread_count are of struct thread_record. */
static inline struct store_tree store_describe_tree(const struct tree *tree,
                                                    const struct module_list *modules,
                                                    arena_ref newest_thread, uint32_t thread_count)
{
    struct store_tree lists = {
        .newest_root = tree->newest_root,
        .newest_location = tree->newest_location,
        .spare_root = tree->spare_root,
        .newest_module = modules->newest,
        .newest_thread = newest_thread,
        .node_count = tree->node_count,
        .location_count = tree->location_count,
        .module_count = modules->count,
        .thread_count = thread_count,
        .move = tree->move,
        .overflows = tree->overflows,
    };
    memcpy(lists.pseudo, tree->pseudo, sizeof lists.pseudo);
    return lists;
}

static inline struct store_timeline store_describe_timeline(const struct timeline *timeline)
{
    return (struct store_timeline){.start_ns = timeline->start_ns,
                                   .thinned = timeline->thinned,
                                   .dropped = timeline->dropped,
                                   .dropped_events = timeline->dropped_events,
                                   .count = timeline->count,
                                   .event_count = timeline->event_count};
}

/* Also while it is being recorded into: the last byte stays 0. A long name leaves less room, or none. */
static inline void store_set_title(struct store_process *process, const char *title)
{
    const size_t at = strlen(process->program) + 1;
    if (at < sizeof process->program)
        snprintf(process->program + at, sizeof process->program - at, "%s", title ? title : "");
}

static inline void store_describe_process(struct store_process *ret, const struct process_record *process)
{
    ret->pid = process->pid;
    ret->rank = process->pid > 0 ? process->rank : 0; /* 0: no process is known */
    snprintf(ret->program, sizeof ret->program, "%s", process->name);
    snprintf(ret->ending, sizeof ret->ending, "%s", process->ending);
    store_set_title(ret, process->title);
}

/* Fills in the part of a header that describes the build. A reader compares it with its own. */
static inline void store_describe_build(struct store_header *header)
{
    memcpy(header->magic, STORE_MAGIC, sizeof header->magic);
    header->version = STORE_VERSION;
    header->byte_order = STORE_BYTE_ORDER;
    header->header_bytes = sizeof *header;
    header->node_bytes = sizeof(struct tree_node);
    header->location_bytes = sizeof(struct location);
    header->module_bytes = sizeof(struct module);
    header->thread_bytes = sizeof(struct thread_record);
    header->counters_bytes = sizeof(struct counters);
    header->record_bytes = sizeof(struct timeline_record);
    header->event_bytes = sizeof(struct timeline_event);
}

/* The symbols part begins with this. The arrays follow in this order, each padded to a multiple of 8. Then
 * come the strings, NUL-terminated, the first one empty. A text is an offset into the strings. */
struct store_symbols {
    uint32_t location_count, function_count, frame_count, module_count, region_count, lost_file_count;
    uint64_t text_bytes;
};

struct store_function {
    uint32_t name, system_name, file; /* text; file is "" if not known */
    uint32_t start_line;
    uint32_t is_symbol;
};

/* Then come struct symbol_frame [frame_count], and what leads from a location to its frames and its region:
 * uint32_t [location_count + 1] and [location_count]. */

struct store_region {
    uint64_t start, end, file_offset;
    uint32_t path; /* text */
    uint8_t has_names, is_gone, reserved[2];
};

struct store_module {
    arena_ref module;
    uint8_t has_functions, has_files, has_lines, has_inlines;
};

struct store_lost_file {
    arena_ref module;
    int32_t error;
};

/* Where each array begins, counted from the beginning of the part. */
struct store_symbols_layout {
    uint64_t functions, frames, first_frame, region_of, regions, modules, lost_files, text, end;
};

static inline uint64_t store_padded(uint64_t bytes)
{
    return (bytes + 7) & ~(uint64_t)7;
}

/* text_bytes must be below 2^62. Then nothing overflows, whatever the counts are. */
static inline struct store_symbols_layout store_symbols_layout(const struct store_symbols *counts)
{
    struct store_symbols_layout layout;
    const uint64_t locations = counts->location_count;
    layout.functions = store_padded(sizeof *counts);
    layout.frames = store_padded(layout.functions + counts->function_count * sizeof(struct store_function));
    layout.first_frame = store_padded(layout.frames + counts->frame_count * sizeof(struct symbol_frame));
    layout.region_of = store_padded(layout.first_frame + (locations + 1) * sizeof(uint32_t));
    layout.regions = store_padded(layout.region_of + locations * sizeof(uint32_t));
    layout.modules = store_padded(layout.regions + counts->region_count * sizeof(struct store_region));
    layout.lost_files = store_padded(layout.modules + counts->module_count * sizeof(struct store_module));
    layout.text = store_padded(layout.lost_files + counts->lost_file_count * sizeof(struct store_lost_file));
    layout.end = store_padded(layout.text + counts->text_bytes);
    return layout;
}

#endif
