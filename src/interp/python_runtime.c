#include "python_runtime.h"

#include "cold_part.h"
#include "elf/elf_dynamic.h"
#include "sig/sys/sig_memory.h"

#include <stdio.h>
#include <string.h>

enum { INTERPRETERS_MAX = 64, STATES_MAX = 8192 };

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
};

/* ---- the module ---- */

static const char *path_of(const struct modules *modules, const struct module *module)
{
    return module->path ? arena_at(modules->list.arena, module->path) : "";
}

static bool is_candidate(const struct modules *modules, const struct module *module)
{
    const char *path = path_of(modules, module);
    const char *slash = strrchr(path, '/');
    return module->is_main || strstr(slash ? slash + 1 : path, "python");
}

static uint64_t address_of(const struct elf_dynamic *object, const char *name)
{
    struct elf_symbol symbol;
    return elf_dynamic_find(object, name, &symbol) ? symbol.address : 0;
}

/* Before 3.11 only the file's name says it: python3.10, libpython3.9.so.1.0. */
static uint32_t version_by_name(const char *path)
{
    static const char mark[] = "python3.";
    const char *slash = strrchr(path, '/'), *name = strstr(slash ? slash + 1 : path, mark);
    unsigned minor = 0;
    if (name)
        sscanf(name + sizeof mark - 1, "%3u", &minor);
    return minor > 0 && minor < 11 ? 3U << 24 | minor << PYTHON_VERSION_MINOR_SHIFT : PYTHON_VERSION_OLD;
}

static uint32_t read_version(const struct elf_dynamic *object, const char *path)
{
    const uint64_t address = address_of(object, "Py_Version");
    uint32_t version;
    return address && sig_memory_copy(&version, address, sizeof version) ? version : version_by_name(path);
}

static bool read_layout(const struct elf_dynamic *object, struct python_runtime *runtime)
{
    const uint64_t code_type = address_of(object, "PyCode_Type");
    uint64_t table[PYTHON_OFFSETS_WORDS];
    if (python_layout_of(runtime->version, code_type, &runtime->layout))
        return true;
    return sig_memory_copy(table, runtime->address, sizeof table) &&
           python_layout_read(runtime->version, code_type, table, &runtime->layout);
}

static void find_functions(const struct modules *modules, arena_ref module, const struct elf_dynamic *object,
                           const struct elf_symbol *eval, struct python_runtime *runtime)
{
    runtime->eval_start = eval->address;
    runtime->cold_start = cold_part_of(modules, module, eval->address, eval->address + eval->bytes);
    for (size_t i = 0; i < sizeof machinery_names / sizeof *machinery_names; i++) {
        const uint64_t address = address_of(object, machinery_names[i]);
        if (address)
            runtime->machinery[runtime->machinery_count++] = address;
    }
}

bool python_runtime_find(const struct modules *modules, arena_ref ref, struct python_runtime *ret)
{
    const struct module *module = arena_at(modules->list.arena, ref);
    struct elf_dynamic object;
    struct elf_symbol record, eval;
    *ret = (struct python_runtime){.version = 0};
    if (!is_candidate(modules, module) ||
        !elf_dynamic_open(&object, module->load_bias, module->loaded_low, module->loaded_high))
        return false;
    if (!elf_dynamic_find(&object, "_PyRuntime", &record) ||
        !elf_dynamic_find(&object, "_PyEval_EvalFrameDefault", &eval) || eval.address < module->start_pc ||
        eval.address >= module->end_pc) /* an object may have several */
        return false;
    ret->address = record.address;
    ret->bytes = record.bytes;
    ret->version = read_version(&object, path_of(modules, module));
    ret->is_known = read_layout(&object, ret);
    if (ret->is_known)
        find_functions(modules, ref, &object, &eval, ret);
    return true;
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
    const struct sig_python_thread *whose;
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
                                   const struct sig_interp_memory *memory,
                                   const struct sig_python_thread *whose)
{
    struct search search = {layout, memory, whose, STATES_MAX, 0};
    uint64_t interpreter = pointer_at(memory, runtime + layout->interpreters_head), found = 0;
    for (int i = 0; interpreter && !found && i < INTERPRETERS_MAX; i++) {
        found = find_in_list(&search, pointer_at(memory, interpreter + layout->threads_head));
        interpreter = pointer_at(memory, interpreter + layout->interpreter_next);
    }
    return found ? found : search.by_c_id;
}
