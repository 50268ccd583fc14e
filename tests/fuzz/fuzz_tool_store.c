/*
 * The reader of stores on hostile bytes: read or refused with a reason, nothing read outside; what was read
 * can be written in every format and reported, all of them say the same totals, and the store and the pprof
 * file that are written of it are read again as what they were.
 *
 * Input: changes of the golden store, so that it means something whatever the layout is. The first byte says
 * which store: as it was written, or as if it were being recorded into, and in the latter case whether it is
 * read from a file, as parts that lie apart. Then 8 bytes a change: how, where, and with what. What a header
 * says of the machine is never changed.
 */
#include "fuzz_written.h"
#include "base/smaller.h"
#include "tool/formats/formats.h"
#include "tool/read/recording.h"
#include "tool/report/report.h"
#include "profile/store.h"
#include "tool/read/store_file.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WRITTEN_MAX_BYTES = 256 << 20, SPARE_BYTES = 512, BASE_MAX_BYTES = 1 << 16 };

/* ---- the store that is changed ---- */

enum base { BASE_WHOLE, BASE_WITHOUT_TIMELINE, BASE_LIVE, BASE_CLOSED, BASE_GIVEN_UP, BASE_COUNT };

struct store_bytes {
    unsigned char *bytes; /* malloc'd */
    size_t count;
};

static struct store_bytes golden;

static void read_golden(void)
{
    char path[64];
    snprintf(path, sizeof path, "tests/golden/small.store.%d", STORE_VERSION);
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s cannot be opened: run this in the project's directory\n", path);
        exit(1);
    }
    golden.bytes = malloc(BASE_MAX_BYTES);
    FUZZ_ASSERT(golden.bytes);
    golden.count = fread(golden.bytes, 1, BASE_MAX_BYTES, file);
    FUZZ_ASSERT(golden.count > STORE_HEADER_BYTES && golden.count < BASE_MAX_BYTES);
    fclose(file);
}

/* The state of a thread that lives, as it was last seen in the first node below its root. */
static struct thread_state state_of(const unsigned char *arena, const struct thread_record *thread)
{
    const struct tree_node *root = (const void *)(arena + (size_t)thread->root * ARENA_UNIT_BYTES);
    const arena_ref node = root->first_child ? root->first_child : thread->root;
    return (struct thread_state){.node = node,
                                 .credited = node,
                                 .found = 1,
                                 .time_ns = thread->start_ns + 5000,
                                 .until_ns = UINT64_MAX,
                                 .cpu_clock_ns = 3000,
                                 .begin_ns = thread->start_ns};
}

/* All threads live. Returns how many bytes of the arena are used then. */
static size_t revive_threads(unsigned char *arena, size_t used, arena_ref newest)
{
    for (arena_ref ref = newest; ref;) {
        struct thread_record *thread = (void *)(arena + (size_t)ref * ARENA_UNIT_BYTES);
        const struct thread_state state = state_of(arena, thread);
        memcpy(arena + used, &state, sizeof state);
        thread->end_ns = 0;
        thread->state = (arena_ref)(used / ARENA_UNIT_BYTES);
        used += sizeof state;
        ref = thread->next;
    }
    return used;
}

/* As if the process that was recorded into it had been killed. It has no names then, and room at its end. */
static void make_live(struct store_bytes *store, enum store_state state)
{
    struct store_header *header = (void *)store->bytes;
    unsigned char *arena = store->bytes + header->arena.offset;
    const size_t used = revive_threads(arena, header->arena.bytes, header->tree.newest_thread);
    header->arena.bytes = used;
    header->symbols = header->timeline = (struct store_part){0};
    header->live = (struct store_live){.state = state,
                                       .error = state == STORE_GIVEN_UP ? -28 : 0,
                                       .arena_used_bytes = used,
                                       .begin_ns = 1000,
                                       .beat_ns = 9000000,
                                       .tick = 7};
    for (size_t i = 0; i < STORE_CHECKPOINTS; i++)
        header->live.checkpoints[i] =
            (struct store_checkpoint){.time_ns = 5000, .arena_used_bytes = used, .tree = header->tree};
    memset(arena + used, 0, SPARE_BYTES);
    store->count = header->arena.offset + used + SPARE_BYTES;
}

static struct store_bytes base_of(enum base base)
{
    static const enum store_state states[BASE_COUNT] = {
        [BASE_LIVE] = STORE_LIVE, [BASE_CLOSED] = STORE_CLOSED, [BASE_GIVEN_UP] = STORE_GIVEN_UP};
    struct store_bytes store = {malloc(2 * BASE_MAX_BYTES), golden.count};
    FUZZ_ASSERT(store.bytes);
    memcpy(store.bytes, golden.bytes, golden.count);
    if (base >= BASE_LIVE)
        make_live(&store, states[base]);
    else if (base == BASE_WITHOUT_TIMELINE)
        ((struct store_header *)(void *)store.bytes)->timeline = (struct store_part){0};
    return store;
}

/* ---- its changes ---- */

enum how { HOW_SET, HOW_ADD, HOW_COPY, HOW_COPY_UNITS, HOW_CUT, HOW_COUNT };

struct change {
    uint8_t how, in_header; /* in_header % 2: in the header, or else after it */
    uint16_t word;
    uint32_t value;
};

/* The word that a change is about; 0 (what the header says of the machine) if there is none. */
static size_t word_of(const struct store_bytes *store, const struct change *change)
{
    const size_t words = store->count / sizeof(uint32_t),
                 header_words = STORE_HEADER_BYTES / sizeof(uint32_t),
                 text_word = offsetof(struct store_header, command) / sizeof(uint32_t);
    if (!(change->in_header % 2))
        return words > header_words ? header_words + change->word % (words - header_words) : 0;
    return change->word % (change->in_header % 8 == 7 ? header_words : text_word); /* what follows is large */
}

static void copy_units(struct store_bytes *store, size_t to, size_t from, size_t units)
{
    const size_t room = store->count - (to > from ? to : from);
    memmove(store->bytes + to, store->bytes + from, smaller(units * ARENA_UNIT_BYTES, room));
}

static void change_once(struct store_bytes *store, const struct change *change)
{
    enum { UNITS_MAX = 10 };
    uint32_t word;
    const size_t at = word_of(store, change) * sizeof word,
                 other = change->value % (store->count / sizeof word) * sizeof word;
    memcpy(&word, store->bytes + at, sizeof word);
    switch ((enum how)(change->how % HOW_COUNT)) {
    case HOW_SET:
        word = change->value;
        break;
    case HOW_ADD:
        word += change->value;
        break;
    case HOW_COPY:
        memcpy(&word, store->bytes + other, sizeof word);
        break;
    case HOW_COPY_UNITS:
        copy_units(store, at, other, (change->value >> 16) % UNITS_MAX);
        return;
    case HOW_CUT:
    case HOW_COUNT:
        store->count = at < STORE_HEADER_BYTES ? store->count : at;
        return;
    }
    memcpy(store->bytes + at, &word, sizeof word);
}

/* What the header says of the machine. */
static void mend_machine(struct store_bytes *store)
{
    memcpy(store->bytes, golden.bytes, offsetof(struct store_header, arena));
}

/* The store that an input stands for, of its exact size, so that ASan sees its end. */
static struct store_bytes store_of(const uint8_t *data, size_t size)
{
    struct change change;
    struct store_bytes store = base_of((enum base)(size > 0 ? data[0] % BASE_COUNT : 0));
    for (size_t at = 1; at + sizeof change <= size; at += sizeof change) {
        memcpy(&change, data + at, sizeof change);
        change_once(&store, &change);
    }
    mend_machine(&store);
    store.bytes = realloc(store.bytes, store.count);
    FUZZ_ASSERT(store.bytes);
    return store;
}

/* 0 or the encoder's error, with nothing held. */
static int write_as(enum file_format format, const struct recording *recording, struct written *ret)
{
    *ret = (struct written){.max_bytes = WRITTEN_MAX_BYTES};
    writing = ret;
    int status = formats_write(format, &recording->profile, NULL);
    if (status < 0)
        free(ret->bytes);
    return status;
}

/* ---- the promises ---- */

static struct values total_of(const struct recording *recording)
{
    struct values total = {0};
    const struct tree *tree = &recording->tree;
    for (arena_ref root = tree->newest_root; root; root = tree_node(tree, root)->next_sibling) {
        for (arena_ref node = root; node; node = tree_next(tree, root, node))
            tree_add_values(&total, &tree_node(tree, node)->self);
    }
    return total;
}

static void check_report(const struct recording *recording, enum report_by by, const struct values *total)
{
    struct report report;
    struct values sum = {0};
    const struct report_request request = {.by = by, .shows_idle = true};
    FUZZ_ASSERT(report_make(&report, &recording->profile, &request) == 0);
    report_sort(&report, METRIC_WALL, true);
    for (size_t i = 0; i < report.row_count; i++) {
        tree_add_values(&sum, &report.rows[i].flat);
        FUZZ_ASSERT(tree_wall_ns(&report.rows[i].flat) <= tree_wall_ns(&report.rows[i].cum));
        FUZZ_ASSERT(tree_wall_ns(&report.rows[i].cum) <= tree_wall_ns(total));
    }
    FUZZ_ASSERT(memcmp(&sum, total, sizeof sum) == 0);
    FUZZ_ASSERT(memcmp(&report.total, total, sizeof sum) == 0);
    report_free(&report);
}

static void check_callgrind(const struct recording *recording, const struct values *total)
{
    char line[128];
    struct written file;
    FUZZ_ASSERT(write_as(FORMAT_CALLGRIND, recording, &file) == 0);
    int used = snprintf(line, sizeof line, "\nsummary: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
                        tree_wall_ns(total), total->samples, total->cpu_ns, tree_offcpu_ns(total));
    if (recording->profile.has_rundelay)
        used += snprintf(line + used, sizeof line - (size_t)used, " %" PRIu64, total->rundelay_ns);
    snprintf(line + used, sizeof line - (size_t)used, "\n");
    FUZZ_ASSERT(strstr((const char *)file.bytes, line));
    free(file.bytes);
}

static void check_html(const struct recording *recording, const struct values *total)
{
    char member[160];
    struct written file;
    FUZZ_ASSERT(write_as(FORMAT_HTML, recording, &file) == 0);
    int used = snprintf(member, sizeof member,
                        "],\"total\":[\"%" PRIu64 "\",\"%" PRIu64 "\",\"%" PRIu64 "\",\"%" PRIu64 "\"",
                        total->samples, total->cpu_ns, tree_offcpu_ns(total), tree_wall_ns(total));
    if (recording->profile.has_rundelay)
        used += snprintf(member + used, sizeof member - (size_t)used, ",\"%" PRIu64 "\"", total->rundelay_ns);
    snprintf(member + used, sizeof member - (size_t)used, "],\"idle\":[");
    FUZZ_ASSERT(strstr((const char *)file.bytes, member));
    free(file.bytes);
}

static void check_others(const struct recording *recording)
{
    struct written file;
    FUZZ_ASSERT(write_as(FORMAT_FOLDED, recording, &file) == 0);
    free(file.bytes);
    if (!recording->profile.timeline)
        return;
    FUZZ_ASSERT(write_as(FORMAT_FIREFOX, recording, &file) == 0);
    free(file.bytes);
    FUZZ_ASSERT(write_as(FORMAT_PERFETTO, recording, &file) == 0);
    free(file.bytes);
}

/* Written as a store and read it is the same store from then on. */
static void check_store(const struct recording *recording)
{
    static struct recording again;
    struct written first, second;
    FUZZ_ASSERT(write_as(FORMAT_STORE, recording, &first) == 0);
    memset(&again, 0, sizeof again);
    FUZZ_ASSERT(recording_read_store(&again, first.bytes, first.used) == 0);
    FUZZ_ASSERT(write_as(FORMAT_STORE, &again, &second) == 0);
    FUZZ_ASSERT(first.used == second.used && memcmp(first.bytes, second.bytes, first.used) == 0);
    recording_close(&again);
    free(first.bytes);
    free(second.bytes);
}

/* Written as pprof it is read, and has the same totals. */
static void check_pprof(const struct recording *recording, const struct values *total)
{
    static struct recording again;
    struct written file;
    FUZZ_ASSERT(write_as(FORMAT_PPROF, recording, &file) == 0);
    memset(&again, 0, sizeof again);
    if (recording_read_pprof(&again, file.bytes, file.used, NULL) < 0)
        fprintf(stderr, "%s\n", again.reason);
    FUZZ_ASSERT(!*again.reason);
    const struct values read = total_of(&again);
    FUZZ_ASSERT(read.samples == total->samples && read.cpu_ns == total->cpu_ns);
    FUZZ_ASSERT(tree_offcpu_ns(&read) == tree_offcpu_ns(total));
    FUZZ_ASSERT(read.rundelay_ns == (recording->profile.has_rundelay ? total->rundelay_ns : 0));
    recording_close(&again);
    free(file.bytes);
}

static int read_file(struct recording *recording, const unsigned char *store, size_t bytes)
{
    static int fd = -1;
    char path[64];
    struct file_bytes file;
    if (fd < 0)
        fd = memfd_create("store", MFD_CLOEXEC);
    FUZZ_ASSERT(ftruncate(fd, 0) == 0 && pwrite(fd, store, bytes, 0) == (ssize_t)bytes);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    FUZZ_ASSERT(store_file_read(&file, path) == 0);
    int status = recording_read_store(recording, file.bytes, file.count);
    file_bytes_free(&file);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct recording recording;
    if (!golden.bytes)
        read_golden();
    const struct store_bytes store = store_of(data, size);
    const struct store_header *header = (const void *)store.bytes;
    const bool is_apart = size > 0 && data[0] / BASE_COUNT % 2 && header->live.state != STORE_WHOLE;
    memset(&recording, 0, sizeof recording);
    int status = is_apart ? read_file(&recording, store.bytes, store.count)
                          : recording_read_store(&recording, store.bytes, store.count);
    FUZZ_ASSERT(status == 0 || (status < 0 && *recording.reason));
    free(store.bytes);
    if (status == 0) {
        const struct values total = total_of(&recording);
        check_report(&recording, (enum report_by)(size / sizeof(struct change) % REPORT_BY_COUNT), &total);
        check_callgrind(&recording, &total);
        check_html(&recording, &total);
        check_others(&recording);
        check_store(&recording);
        check_pprof(&recording, &total);
    }
    recording_close(&recording);
    return 0;
}
