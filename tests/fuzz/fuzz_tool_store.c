/*
 * The reader of stores on hostile bytes: read or refused with a reason, nothing read outside; what was read
 * can be written in every format and reported, all of them say the same totals, and the store and the pprof
 * file that are written of it are read again as what they were.
 *
 * Input: struct store_header up to its text, then what follows the header's page. If `reserved` is not 0 it
 * is a store that was recorded into, and struct store_live is in between but for its perf_maps; if it is
 * even, the store is read from a file, as parts that lie apart. What a header says of the machine is put
 * right, so that no input is spent on it. Half of the changes are made by words, not bytes: a store is words
 * that refer to each other.
 */
#include "fuzz_written.h"
#include "tool/formats/formats.h"
#include "tool/read/recording.h"
#include "tool/report/report.h"
#include "profile/store.h"
#include "tool/read/store_file.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LIVE_FIRST_BYTES = offsetof(struct store_live, perf_map_count),
    LIVE_BYTES = LIVE_FIRST_BYTES + sizeof(((struct store_live *)0)->checkpoints)
};
enum { WRITTEN_MAX_BYTES = 256 << 20, HEAD_BYTES = offsetof(struct store_header, command) };
_Static_assert(HEAD_BYTES % ARENA_UNIT_BYTES == 0, "words of an input are words of the store");

/* libFuzzer's */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* ---- inputs ---- */

static uint32_t take_random(uint64_t *random)
{
    *random = *random * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(*random >> 33);
}

/* What is likely to be taken for something: another word of the input, a neighbour,
 * a small or a large number. */
static uint32_t other_word(const uint8_t *data, size_t words, uint32_t word, uint64_t *random)
{
    static const uint32_t words_of_note[] = {0, 1, 0x1000, INT32_MAX, (uint32_t)1 << 31, UINT32_MAX};
    uint32_t other;
    switch (take_random(random) % 4) {
    case 0:
        memcpy(&other, data + 4 * (take_random(random) % words), sizeof other);
        return other;
    case 1:
        return word + take_random(random) % 33 - 16;
    case 2:
        return take_random(random) % (uint32_t)(words / 2 + 1);
    default:
        return words_of_note[take_random(random) % (sizeof words_of_note / sizeof *words_of_note)];
    }
}

static void change_words(uint8_t *data, size_t words, uint64_t *random)
{
    for (uint32_t i = take_random(random) % 4 + 1; i > 0; i--) {
        uint8_t *at = data + 4 * (take_random(random) % words);
        uint32_t word;
        memcpy(&word, at, sizeof word);
        word = other_word(data, words, word, random);
        memcpy(at, &word, sizeof word);
    }
}

/* A record over another one, or half of it. */
static void copy_units(uint8_t *data, size_t units, uint64_t *random)
{
    size_t count = take_random(random) % 10 + 1;
    if (units <= count)
        return;
    size_t from = take_random(random) % (units - count), to = take_random(random) % (units - count);
    memmove(data + to * ARENA_UNIT_BYTES, data + from * ARENA_UNIT_BYTES, count * ARENA_UNIT_BYTES);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint64_t random = seed;
    uint32_t choice = take_random(&random) % 8;
    if (size < HEAD_BYTES || choice < 2)
        return LLVMFuzzerMutate(data, size, max_size);
    if (choice == 2)
        copy_units(data, size / ARENA_UNIT_BYTES, &random);
    else
        change_words(data, size / 4, &random);
    return size;
}

static void take_live(struct store_header *header, const uint8_t *data)
{
    memcpy(&header->live, data, LIVE_FIRST_BYTES);
    memcpy(header->live.checkpoints, data + LIVE_FIRST_BYTES, sizeof header->live.checkpoints);
}

/* The store that an input stands for, of its exact size, so that ASan sees its end. */
static unsigned char *store_of(const uint8_t *data, size_t size, size_t *ret_size)
{
    size_t rest = size > HEAD_BYTES ? size - HEAD_BYTES : 0;
    struct store_header header = {0};
    memcpy(&header, data, size < HEAD_BYTES ? size : HEAD_BYTES);
    if (header.messages && rest >= LIVE_BYTES) {
        take_live(&header, data + HEAD_BYTES);
        rest -= LIVE_BYTES;
    }
    unsigned char *store = calloc(1, STORE_HEADER_BYTES + rest);
    FUZZ_ASSERT(store);
    memcpy(header.magic, STORE_MAGIC, sizeof header.magic);
    header.version = STORE_VERSION;
    header.byte_order = STORE_BYTE_ORDER;
    header.header_bytes = sizeof header;
    header.node_bytes = sizeof(struct tree_node);
    header.location_bytes = sizeof(struct location);
    header.module_bytes = sizeof(struct module);
    header.thread_bytes = sizeof(struct thread_record);
    header.counters_bytes = sizeof(struct counters);
    header.record_bytes = sizeof(struct timeline_record);
    header.event_bytes = sizeof(struct timeline_event);
    memcpy(store, &header, sizeof header);
    memcpy(store + STORE_HEADER_BYTES, data + size - rest, rest);
    *ret_size = STORE_HEADER_BYTES + rest;
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
    snprintf(line, sizeof line, "\nsummary: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
             tree_wall_ns(total), total->samples, total->cpu_ns, tree_offcpu_ns(total));
    FUZZ_ASSERT(strstr((const char *)file.bytes, line));
    free(file.bytes);
}

static void check_html(const struct recording *recording, const struct values *total)
{
    char member[160];
    struct written file;
    FUZZ_ASSERT(write_as(FORMAT_HTML, recording, &file) == 0);
    snprintf(member, sizeof member,
             "],\"total\":[\"%" PRIu64 "\",\"%" PRIu64 "\",\"%" PRIu64 "\",\"%" PRIu64 "\"],\"locations\":",
             total->samples, total->cpu_ns, tree_offcpu_ns(total), tree_wall_ns(total));
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
    if (recording_read_pprof(&again, file.bytes, file.used) < 0)
        fprintf(stderr, "%s\n", again.reason);
    FUZZ_ASSERT(!*again.reason);
    const struct values read = total_of(&again);
    FUZZ_ASSERT(memcmp(&read, total, sizeof read) == 0);
    recording_close(&again);
    free(file.bytes);
}

static bool has_apart_parts(const unsigned char *store)
{
    const struct store_header *header = (const void *)store;
    return header->messages != 0 && header->messages % 2 == 0 && header->live.state != STORE_WHOLE;
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
    size_t bytes;
    unsigned char *store = store_of(data, size, &bytes);
    memset(&recording, 0, sizeof recording);
    int status = has_apart_parts(store) ? read_file(&recording, store, bytes)
                                        : recording_read_store(&recording, store, bytes);
    FUZZ_ASSERT(status == 0 || (status < 0 && *recording.reason));
    free(store);
    if (status == 0) {
        const struct values total = total_of(&recording);
        check_report(&recording, (enum report_by)(size / ARENA_UNIT_BYTES % REPORT_BY_COUNT), &total);
        check_callgrind(&recording, &total);
        check_html(&recording, &total);
        check_others(&recording);
        check_store(&recording);
        check_pprof(&recording, &total);
    }
    recording_close(&recording);
    return 0;
}
