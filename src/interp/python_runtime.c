#include "python_runtime.h"

#include "interp_runtime.h"
#include "python_gil.h"
#include "python_names.h"
#include "sig/sys/sig_memory.h"

#include <stdio.h>
#include <string.h>

/* It has 1,184 bytes in Debian's 3.14, where each instruction is a function that jumps to the next one
 * (_TAIL_CALL_LOAD_FAST and its like), and 34,000 to 62,000 in 3.8 to 3.13. */
enum { INTERPRETERS_MAX = 64, STATES_MAX = 8192, EVAL_BYTES_MIN = 8192 };

/* Functions that only lead from one frame to the next, as far as they are exported. */
static const char *const machinery_names[] = {
    "PyEval_EvalCode",
    "PyEval_EvalFrame",
    "PyEval_EvalFrameEx",
    "PyObject_Call",
    "PyObject_CallFunction",
    "PyObject_CallFunctionObjArgs",
    "PyObject_CallMethod",
    "PyObject_CallNoArgs",
    "PyObject_CallObject",
    "PyObject_CallOneArg",
    "PyObject_Vectorcall",
    "PyObject_VectorcallDict",
    "PyObject_VectorcallMethod",
    "PyVectorcall_Call",
    "_PyEval_Vector",
    "_PyFunction_Vectorcall",
    "_PyObject_Call",
    "_PyObject_Call_Prepend",
    "_PyObject_FastCallDictTstate",
    "_PyObject_MakeTpCall",
    "_PyObject_Vectorcall",
    NULL,
};

/* ---- the module ---- */

/* Before 3.11 only the file's name says it: python3.10, libpython3.9.so.1.0. */
static uint32_t version_by_name(const char *path)
{
    static const char mark[] = "python3.";
    const char *slash = strrchr(path, '/'), *name = strstr(slash ? slash + 1 : path, mark);
    unsigned minor = 0;
    if (name)
        sscanf(name + sizeof mark - 1, "%3u", &minor);
    return minor > 0 && minor < 11 ? 3U << 24 | minor << PYTHON_VERSION_MINOR_SHIFT : INTERP_VERSION_OLD;
}

static uint32_t read_version(const struct interp_module *module)
{
    const uint64_t address = interp_module_address(module, "Py_Version");
    uint32_t version;
    return address && sig_memory_copy(&version, address, sizeof version) ? version
                                                                         : version_by_name(module->path);
}

static bool read_layout(const struct interp_module *module, struct interp_runtime *runtime)
{
    const uint64_t code_type = interp_module_address(module, "PyCode_Type");
    uint64_t table[PYTHON_OFFSETS_WORDS];
    if (python_layout_of(runtime->version, code_type, &runtime->python))
        return true;
    return sig_memory_copy(table, runtime->address, sizeof table) &&
           python_layout_read(runtime->version, code_type, table, &runtime->python);
}

static enum interp_found find_python(const struct interp_module *module, struct interp_runtime *ret)
{
    struct elf_symbol record;
    if (!elf_dynamic_find(&module->object, "_PyRuntime", &record))
        return INTERP_ABSENT;
    ret->address = record.address;
    ret->version = read_version(module);
    if (!read_layout(module, ret))
        return INTERP_UNKNOWN;
    if (!ret->python.is_free_threaded) {
        ret->lock_low = record.address;
        ret->lock_high = record.address + record.bytes;
    }
    ret->frames = (struct sig_interp_layout){.language = SIG_INTERP_PYTHON, .of.python = ret->python.frames};
    return INTERP_FOUND;
}

/* ---- threads ---- */

static uint64_t pointer_at(const struct sig_interp_memory *memory, uint64_t address)
{
    uint64_t pointer;
    return memory->read(memory, &pointer, address, sizeof pointer, false) ? pointer : 0;
}

struct search {
    const struct python_layout *layout;
    const struct sig_interp_memory *memory;
    const struct sig_interp_thread *whose;
    uint32_t left;    /* states that may still be read */
    uint64_t by_c_id; /* the first state with the C library's id; 0 for none */
};

/* The state with the kernel's id, or 0. */
static uint64_t find_in_list(struct search *search, uint64_t state)
{
    const struct sig_python_layout *frames = &search->layout->frames;
    uint64_t words[SIG_INTERP_STATE_WORDS];
    while (state && search->left > 0 &&
           search->memory->read(search->memory, words, state, frames->state.bytes, false)) {
        const uint64_t c_id = words[frames->state.thread_id / sizeof *words];
        if (words[frames->state.native_thread_id / sizeof *words] == search->whose->native_id)
            return state;
        if (c_id && c_id == search->whose->thread_id && !search->by_c_id)
            search->by_c_id = state;
        state = words[search->layout->thread_next / sizeof *words];
        search->left--;
    }
    return 0;
}

uint64_t python_runtime_find_state(const struct python_layout *layout, uint64_t runtime,
                                   const struct sig_interp_memory *memory, struct sig_interp_thread *whose)
{
    enum { FOUND_MAX = SIG_INTERP_OTHER_STATES + 1 };
    struct search search = {layout, memory, whose, STATES_MAX, 0};
    uint64_t interpreter = pointer_at(memory, runtime + layout->interpreters_head), found[FOUND_MAX] = {0};
    const uint32_t wanted = layout->frames.state.status ? FOUND_MAX : 1;
    uint32_t count = 0;
    for (int i = 0; interpreter && count < wanted && i < INTERPRETERS_MAX; i++) {
        found[count] = find_in_list(&search, pointer_at(memory, interpreter + layout->threads_head));
        count += found[count] != 0;
        interpreter = pointer_at(memory, interpreter + layout->interpreter_next);
    }
    memcpy(whose->others, found + 1, sizeof whose->others);
    return count > 0 ? found[0] : search.by_c_id;
}

/* The newest one is the first in the list, and the word after that is the main one, which is the oldest. */
bool python_runtime_are_several(const struct python_layout *layout, uint64_t runtime,
                                const struct sig_interp_memory *memory)
{
    enum { HEAD, MAIN, WORDS };
    uint64_t words[WORDS];
    return layout->frames.state.status &&
           memory->read(memory, words, runtime + layout->interpreters_head, sizeof words, false) &&
           words[HEAD] != words[MAIN];
}

/* ---- the language ---- */

static uint64_t find_state(const struct interp_runtime *runtime, const struct sig_interp_memory *memory,
                           struct sig_interp_thread *whose)
{
    return python_runtime_find_state(&runtime->python, runtime->address, memory, whose);
}

static bool are_several(const struct interp_runtime *runtime, const struct sig_interp_memory *memory)
{
    return python_runtime_are_several(&runtime->python, runtime->address, memory);
}

static uint64_t find_holder(const struct interp_runtime *runtime, const struct sig_interp_memory *memory,
                            uint64_t futex)
{
    return python_gil_holder(&runtime->python.frames, memory, futex);
}

static bool read_names(const struct interp_runtime *runtime, const struct sig_interp_memory *memory,
                       const struct sig_interp_frame *frame, struct interp_names *ret)
{
    return python_names_read(&runtime->python, memory, frame, ret);
}

/* The standard library, and modules that are part of the interpreter. Not what was installed below it. */
static bool is_library(const char *file)
{
    const bool is_installed = strstr(file, "/site-packages/") || strstr(file, "/dist-packages/");
    return (strstr(file, "/lib/python") && !is_installed) || strncmp(file, "<frozen ", 8) == 0;
}

const struct interp_language python_language = {
    .name = "Python",
    .in_library = "python",
    .unknown = "[python: unknown]",
    .eval = "_PyEval_EvalFrameDefault",
    .eval_bytes_min = EVAL_BYTES_MIN,
    .machinery = machinery_names,
    .find = find_python,
    .find_state = find_state,
    .are_several = are_several,
    .find_holder = find_holder,
    .is_library = is_library,
    .read_names = read_names,
};
