#include "pprof_measures.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const our_types[PPROF_VALUES] = {
    [PPROF_SAMPLES] = "samples",   [PPROF_CPU] = "cpu",     [PPROF_OFFCPU] = "offcpu",
    [PPROF_RUNDELAY] = "rundelay", [PPROF_BLAME] = "blame", [PPROF_WALL] = "wall"};

static bool is_type(const struct pprof_value_type *type, const char *name, const char *unit)
{
    return strcmp(type->type, name) == 0 && strcmp(type->unit, unit) == 0;
}

/* Whether the types are ours, which their places are set for. Some recordings do not have these two. */
static bool are_ours(struct pprof_file *file)
{
    uint32_t type = 0;
    for (int place = 0; place < PPROF_VALUES; place++) {
        const char *unit = place == PPROF_SAMPLES ? "count" : "nanoseconds";
        if (type < file->type_count && is_type(&file->types[type], our_types[place], unit)) {
            file->place_of[type] = place;
            file->scale[type++] = 1;
        } else if (place != PPROF_RUNDELAY && place != PPROF_BLAME)
            return false;
    }
    return type == file->type_count;
}

bool pprof_measures_have(const struct pprof_file *file, enum pprof_value value)
{
    for (uint32_t type = 0; type < file->type_count; type++) {
        if (file->place_of[type] == (int)value)
            return true;
    }
    return false;
}

/* 0 for a unit that is no time. */
static uint64_t ns_of_unit(const char *unit)
{
    static const struct {
        const char *words[4];
        uint64_t ns;
    } units[] = {{{"nanoseconds", "nanosecond", "ns"}, 1},
                 {{"microseconds", "microsecond", "us"}, 1000},
                 {{"milliseconds", "millisecond", "ms"}, 1000000},
                 {{"seconds", "second", "s"}, 1000000000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        for (const char *const *word = units[i].words; *word; word++) {
            if (strcmp(unit, *word) == 0)
                return units[i].ns;
        }
    }
    return 0;
}

/* "TYPE, TYPE" of all types but one. */
static void list_types(const struct pprof_file *file, uint32_t but, char *text, size_t bytes)
{
    size_t used = 0;
    *text = '\0';
    for (uint32_t i = 0; i < file->type_count && used < bytes; i++) {
        if (i != but)
            used +=
                (size_t)snprintf(text + used, bytes - used, "%s%.32s", used ? ", " : "", file->types[i].type);
    }
}

/* As pprof chooses: the type that the file says, or the last one. type_count if there is none of the name. */
static uint32_t find_type(const struct pprof_file *file, const char *name)
{
    uint32_t type = 0;
    const char *wanted = name ? name : file->default_type;
    while (type < file->type_count && strcmp(file->types[type].type, wanted) != 0)
        type++;
    return type == file->type_count && !name ? file->type_count - 1 : type;
}

static int choose(struct pprof_file *file, struct recording *recording, const char *name)
{
    char types[160];
    list_types(file, UINT32_MAX, types, sizeof types);
    if (file->type_count == 0 || file->sample_count == 0)
        return recording_refuse(recording, -EBADMSG, "it measures %s, and has no samples",
                                *types ? types : "nothing");
    const uint32_t chosen = find_type(file, name);
    if (chosen == file->type_count)
        return recording_refuse(recording, -EINVAL, "it does not measure '%.64s', but %s", name, types);
    const uint64_t ns = ns_of_unit(file->types[chosen].unit);
    for (uint32_t i = 0; i < file->type_count; i++) {
        file->place_of[i] = is_type(&file->types[i], "samples", "count") ? PPROF_SAMPLES : -1;
        file->scale[i] = 1;
    }
    file->place_of[chosen] = PPROF_OFFCPU;
    file->scale[chosen] = ns ? ns : 1;
    list_types(file, chosen, recording->other_measures, sizeof recording->other_measures);
    recording->measure = (struct profile_measure){
        file->types[chosen].type, ns ? "nanoseconds" : file->types[chosen].unit, recording->other_measures};
    return 0;
}

int pprof_measures_choose(struct pprof_file *file, struct recording *recording, const char *name)
{
    return are_ours(file) ? 0 : choose(file, recording, name);
}
