/*
 * Perl 5 in this process (interp_runtime.h).
 *
 * Only builds with threads are read (USE_ITHREADS, as Debian's): their interpreter is one record, and which
 * one a thread uses is in a value of the C library's for it, by a key that Perl exports. Where that value
 * lies is the C library's own affair. So it is believed for the first thread only if it is the first
 * interpreter, which Perl exports too; for others, what it leads to has to make sense (sig_perl.c).
 *
 * Since 5.38 the functions of instructions are not exported. The table of them is, and that of their names.
 *
 * Source: perlvars.h, perl.h, opcode.h; glibc's nptl/descr.h.
 */
#include "interp_runtime.h"
#include "perl_layout.h"
#include "perl_names.h"

#include <string.h>

enum { REVISION = 5, INSTRUCTIONS_MAX = 512, NAME_BYTES = 16 };

/* In a thread's record of glibc: the values of the first keys, and the pointers to further ones. */
enum {
#ifdef __aarch64__
    VALUES = 0x110,
#else
    VALUES = 0x310,
#endif
    VALUES_IN_BLOCK = 32,
    VALUE_BYTES = 16, /* its number, and the value */
    BLOCKS = VALUES + VALUES_IN_BLOCK * VALUE_BYTES,
    KEYS_MAX = 1024
};

static const char *const machinery_names[] = {
    "Perl_amagic_call", "Perl_call_argv", "Perl_call_list", "Perl_call_method",    "Perl_call_pv",
    "Perl_call_sv",     "Perl_eval_pv",   "Perl_eval_sv",   "Perl_magic_methcall", NULL,
};

/* ---- instructions ---- */

static uint64_t word_at(uint64_t address)
{
    uint64_t word;
    return sig_memory_copy(&word, address, sizeof word) ? word : 0;
}

/* Where the functions of instructions start, by their names in both tables; 0 for those that are not there.
 * The last name is "freed", and nothing marks the end. */
static void find_functions(uint64_t names, uint64_t functions, const char *const *wanted, size_t count,
                           uint64_t *ret)
{
    char text[NAME_BYTES] = "";
    memset(ret, 0, count * sizeof *ret);
    for (uint64_t at = 0; at < INSTRUCTIONS_MAX * sizeof at && strcmp(text, "freed") != 0; at += sizeof at) {
        if (!sig_memory_copy(text, word_at(names + at), sizeof text - 1))
            return;
        for (size_t i = 0; i < count; i++) {
            if (strcmp(text, wanted[i]) == 0)
                ret[i] = word_at(functions + at);
        }
    }
}

static bool find_instructions(const struct interp_module *module, struct interp_runtime *runtime)
{
    enum { NEXTSTATE, DBSTATE, ENTERSUB, SORT, NESTERS, COUNT = NESTERS + INTERP_NESTERS_MAX };
    static const char *const wanted[COUNT] = {"nextstate", "dbstate",   "entersub", "sort",
                                              "entertry",  "entereval", "require",  "entertrycatch"};
    const uint64_t names = interp_module_address(module, "PL_op_name"),
                   functions = interp_module_address(module, "PL_ppaddr");
    struct sig_perl_layout *layout = &runtime->frames.of.perl;
    uint64_t found[COUNT];
    if (!names || !functions)
        return false;
    find_functions(names, functions, wanted, COUNT, found);
    layout->nextstate = found[NEXTSTATE];
    layout->dbstate = found[DBSTATE];
    layout->entersub = found[ENTERSUB];
    layout->sort = found[SORT];
    runtime->machinery[runtime->machinery_count++] = found[ENTERSUB];
    for (size_t i = NESTERS; i < COUNT; i++) {
        if (found[i]) /* older versions have no entertrycatch */
            runtime->nesters[runtime->nester_count++] = found[i];
    }
    return layout->nextstate && layout->entersub && layout->sort;
}

/* ---- the interpreter ---- */

static bool read_number(const struct interp_module *module, const char *name, void *ret, size_t bytes)
{
    const uint64_t address = interp_module_address(module, name);
    return address && sig_memory_copy(ret, address, bytes);
}

static enum interp_found find_perl(const struct interp_module *module, struct interp_runtime *ret)
{
    struct sig_perl_layout *layout = &ret->frames.of.perl;
    uint8_t revision, minor;
    uint16_t bytes;
    ret->frames.language = SIG_INTERP_PERL;
    ret->version = INTERP_VERSION_OLD;
    if (!read_number(module, "PL_revision", &revision, sizeof revision) || revision != REVISION ||
        !read_number(module, "PL_version", &minor, sizeof minor))
        return INTERP_UNKNOWN;
    ret->version = (uint32_t)REVISION << 24 | (uint32_t)minor << 16;
    ret->address = interp_module_address(module, "PL_curinterp");
    ret->key_at = interp_module_address(module, "PL_thr_key");
    if (!perl_layout_of(minor, layout) || !ret->address || !ret->key_at ||
        !read_number(module, "PL_interp_size", &bytes, sizeof bytes) || !find_instructions(module, ret))
        return INTERP_UNKNOWN;
    layout->all_bytes = bytes;
    return INTERP_FOUND;
}

/* ---- threads ---- */

/* The address of the thread's value of a key; 0 if it has none. */
static uint64_t value_at(uint64_t thread, uint32_t key)
{
    const uint64_t block = key < VALUES_IN_BLOCK
                               ? thread + VALUES
                               : word_at(thread + BLOCKS + key / VALUES_IN_BLOCK * sizeof(uint64_t));
    return block ? block + (uint64_t)(key % VALUES_IN_BLOCK) * VALUE_BYTES + sizeof(uint64_t) : 0;
}

static uint64_t find_state(const struct interp_runtime *runtime, const struct sig_interp_memory *memory,
                           struct sig_interp_thread *whose)
{
    uint64_t at = 0;
    uint32_t key;
    (void)memory;
    if (!word_at(runtime->address)) /* no interpreter was made yet, and so no key: 0 is another library's */
        return 0;
    if (whose->thread_id && sig_memory_copy(&key, runtime->key_at, sizeof key) && key < KEYS_MAX)
        at = value_at(whose->thread_id, key);
    if (interp_is_first_thread(whose) && (!at || word_at(at) != word_at(runtime->address)))
        return runtime->address;
    return at;
}

static bool read_names(const struct interp_runtime *runtime, const struct sig_interp_memory *memory,
                       const struct sig_interp_frame *frame, struct interp_names *ret)
{
    return perl_names_read(&runtime->frames.of.perl, memory, frame, ret);
}

/* What comes with Debian's Perl, not what was installed for it: that is in /usr/local. */
static bool is_library(const char *file)
{
    return strstr(file, "/perl-base/") || (strstr(file, "/perl/5.") && !strstr(file, "/local/"));
}

const struct interp_language perl_language = {
    .name = "Perl",
    .in_library = "libperl",
    .unknown = "[perl: unknown]",
    .eval = "Perl_runops_standard",
    .machinery = machinery_names,
    .main = "perl_run",
    .find = find_perl,
    .find_state = find_state,
    .is_library = is_library,
    .read_names = read_names,
};
