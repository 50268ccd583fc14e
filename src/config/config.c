/* How each variable of options.def is read, and what is logged when a value cannot be used. */
#include "config.h"
#include "base/clock.h"
#include "config_values.h"
#include "encode/format.h"
#include "rank.h"

#include <signal.h>
#include <string.h>

enum { HZ_MAX = 10000, KEEP_MAX = 100000, OURS_MAX = 64 };

static const uint64_t interval_min_ns = 100 * (uint64_t)NS_PER_MS;

/* A variable and the value that is to be read: the user's, or the default. */
struct config_reading {
    struct config *config;
    struct log *log;
    const char *name;
    const char *words;    /* all values that are allowed, for read_word */
    const char *standard; /* the default; it is read before the user's value */
    const char *value;
};

/* Whether the value could be used; else *ret stays as it is. */
static bool read_count(const struct config_reading *reading, uint32_t max, uint32_t *ret)
{
    uint64_t number;
    if (parse_number(reading->value, &number) && number >= 1 && number <= max) {
        *ret = (uint32_t)number;
        return true;
    }
    log_add(reading->log, LOG_ERROR, "%s=%s is not a whole number from 1 to %u; using %s", reading->name,
            reading->value, max, reading->standard);
    return false;
}

static void read_size(const struct config_reading *reading, uint64_t *ret_bytes)
{
    if (!parse_size(reading->value, ret_bytes))
        log_add(reading->log, LOG_ERROR, "%s=%s is not a size from 1M to 32G (K, M, G); using %s",
                reading->name, reading->value, reading->standard);
}

/* consequence: what is done instead. */
static void read_span(const struct config_reading *reading, uint64_t min_ns, const char *consequence,
                      uint64_t *ret_ns)
{
    uint64_t ns;
    if (parse_span(reading->value, &ns) && (ns == 0 || ns >= min_ns))
        *ret_ns = ns;
    else
        log_add(reading->log, LOG_ERROR, "%s=%s is not a time%s (500ms, 30s, 10m, 1h); %s", reading->name,
                reading->value, min_ns ? " of 100ms at least" : "", consequence);
}

/* The value's index among the variable's words; else the default's. instead: the default, in the message. */
static uint32_t read_word_or(const struct config_reading *reading, const char *instead)
{
    int index = find_word(reading->words, reading->value, strlen(reading->value));
    if (index >= 0)
        return (uint32_t)index;
    char list[WORDS_TEXT_BYTES];
    list_words(reading->words, list);
    log_add(reading->log, LOG_ERROR, "%s=%s is not %s; using %s", reading->name, reading->value, list,
            instead);
    return (uint32_t)find_word(reading->words, reading->standard, strlen(reading->standard));
}

static uint32_t read_word(const struct config_reading *reading)
{
    return read_word_or(reading, reading->standard);
}

static void read_external(const struct config_reading *reading)
{
    static const char words[] = "auto always never"; /* as enum config_external */
    const int index = find_word(words, reading->value, strlen(reading->value));
    if (index >= 0)
        reading->config->external = (enum config_external)index;
    else
        log_add(reading->log, LOG_ERROR, "%s=%s is not auto, always or never; using auto", reading->name,
                reading->value);
}

/* The length of a list's first element. It ends at a comma only after an ending that says a format, because
 * directories may have commas in their names. A comma after a % belongs to the name. */
static size_t element_length(const char *list)
{
    size_t length = 0;
    while (list[length] && (list[length] != ',' || !format_is_said(list, length)))
        length += list[length] == '%' && list[length + 1] ? 2 : 1;
    return length;
}

/* Memory for the next name of the list; NULL if there are too many. */
static char *next_out(struct config *config)
{
    if (!*config->out)
        return config->out;
    return config->more_out_count < CONFIG_MORE_OUTS_MAX ? config->more_outs[config->more_out_count++] : NULL;
}

static void read_one_out(const struct config_reading *reading, const char *name, size_t length)
{
    char *out;
    if (length == 0)
        log_add(reading->log, LOG_ERROR, "%s=%s has an empty name in it, which is left out", reading->name,
                reading->value);
    else if (length >= sizeof(reading->config->out))
        log_add(reading->log, LOG_ERROR, "%s is longer than %zu bytes; using wallprof.%%p.pb.gz",
                reading->name, sizeof(reading->config->out) - 1);
    else if (!(out = next_out(reading->config)))
        log_add(reading->log, LOG_ERROR, "%s has more than %d names; %.*s is left out", reading->name,
                1 + CONFIG_MORE_OUTS_MAX, (int)length, name);
    else if (format_is_unknown(memcpy(out, name, length)))
        log_add(reading->log, LOG_ERROR,
                "%s: no format has the ending of %s (" FORMAT_ENDINGS " are known); writing pprof",
                reading->name, out);
}

static void read_out(const struct config_reading *reading)
{
    for (const char *at = reading->value;;) {
        size_t length = element_length(at);
        read_one_out(reading, at, length);
        if (!at[length])
            return;
        at += length + 1;
    }
}

/* A rate that the user sets is kept whatever it costs, unless WALLPROF_OVERHEAD is set too. */
static void read_hz(const struct config_reading *reading)
{
    if (read_count(reading, HZ_MAX, &reading->config->sampler.hz))
        reading->config->sampler.overhead_ppm = 0;
}

static void read_overhead(const struct config_reading *reading)
{
    uint64_t ppm = 0;
    if (strcmp(reading->value, "off") != 0 && !parse_percentage(reading->value, &ppm)) {
        parse_percentage(reading->standard, &ppm);
        log_add(reading->log, LOG_ERROR,
                "%s=%s is not a percentage from 0.0001 to 100, nor 0 or off; using %s", reading->name,
                reading->value, reading->standard);
    }
    reading->config->sampler.overhead_ppm = (uint32_t)ppm;
}

static void read_keep(const struct config_reading *reading)
{
    struct config *config = reading->config;
    if (!strcmp(reading->value, "0"))
        config->interval_keep = 0;
    else
        read_count(reading, KEEP_MAX, &config->interval_keep);
}

/* After WALLPROF_SIGNAL: the two must differ. */
static void read_control_signal(const struct config_reading *reading)
{
    struct config *config = reading->config;
    int number = parse_signal(reading->value);
    const char *why = !number                     ? "is not a signal (USR2, SIGUSR2, 12, RTMIN+1 are)"
                      : !is_usable_signal(number) ? "cannot be had for that"
                      : number == config->signal  ? "is what threads are sampled with"
                                                  : NULL;
    if (why)
        log_add(reading->log, LOG_ERROR, "%s=%s %s; using none", reading->name, reading->value, why);
    else
        config->control_signal = number;
}

static void read_signal(const struct config_reading *reading)
{
    int number = parse_signal(reading->value);
    if (is_usable_signal(number))
        reading->config->signal = number;
    else
        log_add(reading->log, LOG_ERROR, "%s=%s %s; using SIG%s", reading->name, reading->value,
                number ? "cannot be used for sampling" : "is not a signal (PROF, SIGPROF, 27, RTMIN+1 are)",
                reading->standard);
}

/* A list of fork and exec, or none. */
static void read_follow(const struct config_reading *reading)
{
    struct config *config = reading->config;
    bool fork = false, exec = false;
    const char *at = strcmp(reading->value, "none") == 0 ? NULL : reading->value;
    while (at) {
        size_t length = strcspn(at, ",");
        bool is_fork = length == 4 && !strncmp(at, "fork", length);
        if (!is_fork && !(length == 4 && !strncmp(at, "exec", length))) {
            log_add(reading->log, LOG_ERROR, "%s=%s has '%.*s', which is not fork or exec; using %s",
                    reading->name, reading->value, (int)length, at, reading->standard);
            return;
        }
        fork |= is_fork;
        exec |= !is_fork;
        at = at[length] ? at + length + 1 : NULL;
    }
    config->follows_fork = fork;
    config->follows_exec = exec;
}

static const char *after_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0 ? text + strlen(prefix) : NULL;
}

/* Memory that is "" already stays untouched. */
static void set_text(char *to, const char *text)
{
    if (*to || *text)
        strcpy(to, text);
}

static void read_store(const struct config_reading *reading)
{
    struct config *config = reading->config;
    const char *run = after_prefix(reading->value, "run:"), *merged = after_prefix(reading->value, "merge:");
    const char *where = run ? run : merged ? merged : reading->value;
    config->store_is_run = where != reading->value;
    config->store_is_merged = where == merged;
    if (strlen(reading->value) >= sizeof(config->store))
        log_add(reading->log, LOG_ERROR, "%s is longer than %zu bytes; using off", reading->name,
                sizeof(config->store) - 1);
    else
        set_text(config->store, strcmp(where, "off") == 0 ? "" : where);
}

static void read_tool(const struct config_reading *reading)
{
    struct config *config = reading->config;
    bool is_path = reading->value[0] == '/' && strlen(reading->value) < sizeof(config->tool);
    if (is_path || !strcmp(reading->value, "off"))
        strcpy(config->tool, reading->value);
    else if (strcmp(reading->value, "auto") != 0)
        log_add(reading->log, LOG_ERROR, "%s=%s is not auto, off or an absolute path; using %s",
                reading->name, reading->value, reading->standard);
}

/* An absolute path of PATH_MAX bytes at most. */
static void read_path(const struct config_reading *reading, char ret[PATH_MAX])
{
    if (reading->value[0] == '/' && strlen(reading->value) < PATH_MAX)
        strcpy(ret, reading->value);
    else
        log_add(reading->log, LOG_ERROR, "%s=%s is not an absolute path; using none", reading->name,
                reading->value);
}

static void read_seed(const struct config_reading *reading)
{
    uint64_t number;
    if (parse_number(reading->value, &number)) {
        reading->config->has_seed = true;
        reading->config->seed = number;
    } else
        log_add(reading->log, LOG_ERROR, "%s=%s is not a whole number; using a random seed", reading->name,
                reading->value);
}

static void read_log_path(const struct config_reading *reading, const char *colon)
{
    struct config *config = reading->config;
    if (*colon && strlen(colon + 1) < sizeof(config->log_path))
        strcpy(config->log_path, colon + 1);
    else if (*colon)
        log_add(reading->log, LOG_ERROR, "the file in %s has a name of more than %zu bytes; using stderr",
                reading->name, sizeof(config->log_path) - 1);
}

static void read_log(const struct config_reading *reading)
{
    struct config *config = reading->config;
    const char *colon = strchrnul(reading->value, ':');
    int level = find_word(reading->words, reading->value, (size_t)(colon - reading->value));
    config->log_level = reading->log->level =
        level >= 0 ? (enum log_level)level : (enum log_level)read_word(reading);
    if (level >= 0)
        read_log_path(reading, colon);
}

#define OPTION_RARE                OPTION
#define VARIABLE(name, help, read) OPTION(name, "", "", "", help, read)

enum variable {
#define OPTION(name, argument, words, standard, help, read) VARIABLE_##name,
#include "options.def"
#undef OPTION
    VARIABLE_COUNT
};

static const struct {
    const char *name, *words, *standard;
} variables[VARIABLE_COUNT] = {
#define OPTION(name, argument, words, standard, help, read) {"WALLPROF_" #name, words, standard},
#include "options.def"
#undef OPTION
};

static void read_value(const struct config_reading *reading, enum variable variable)
{
    struct config *config = reading->config;
    switch (variable) {
#define OPTION(name, argument, words, standard, help, read)                                                  \
    case VARIABLE_##name:                                                                                    \
        read;                                                                                                \
        break;
#include "options.def"
#undef OPTION
    case VARIABLE_COUNT:
        break;
    }
}

/* An empty value counts as none. */
static void read_variable(struct config *config, struct log *log, enum variable variable, const char *value)
{
    const struct config_reading reading = {
        config, log, variables[variable].name, variables[variable].words, variables[variable].standard,
        value};
    if (value && *value)
        read_value(&reading, variable);
}

/* The part of an environment that is read for each of our variables: those that have our prefix, in `ours`.
 * All of it if there are too many. */
static char *const *find_ours(char *const *environment, char *ours[OURS_MAX + 1])
{
    size_t count = 0;
    for (char *const *at = environment; *at; at++) {
        bool is_ours = strncmp(*at, "WALLPROF_", 9) == 0;
        if (is_ours && count == OURS_MAX)
            return environment;
        if (is_ours)
            ours[count++] = *at;
    }
    ours[count] = NULL;
    return ours;
}

static bool is_known(const char *entry)
{
    for (int i = 0; i < VARIABLE_COUNT; i++) {
        size_t length = strlen(variables[i].name);
        if (!strncmp(entry, variables[i].name, length) && entry[length] == '=')
            return true;
    }
    return false;
}

static void name_unknown(struct log *log, char *const *environment)
{
    for (; *environment; environment++) {
        if (!strncmp(*environment, "WALLPROF_", 9) && !is_known(*environment))
            log_add(log, LOG_WARNING, "%.*s is not a variable of this version; it is ignored",
                    (int)strcspn(*environment, "="), *environment);
    }
}

/* By the endings of the files. */
static bool needs_timeline(const struct config *config)
{
    bool needs = false;
    for (uint32_t i = 0; i <= config->more_out_count; i++)
        needs |= format_needs_timeline(format_of_name(config_out(config, i)));
    return needs;
}

void config_read(struct config *config, struct log *log, char *const *environment)
{
    char *ours[OURS_MAX + 1];
    config->rank = rank_find(environment);
    environment = find_ours(environment, ours);
    for (int i = 0; i < VARIABLE_COUNT; i++)
        read_variable(config, log, (enum variable)i, variables[i].standard);
    /* WALLPROF_LOG comes first, because its level applies to messages about the others. */
    read_variable(config, log, VARIABLE_LOG, value_in(environment, variables[VARIABLE_LOG].name));
    for (int i = 0; i < VARIABLE_COUNT; i++) {
        if (i != VARIABLE_LOG)
            read_variable(config, log, (enum variable)i, value_in(environment, variables[i].name));
    }
    if (config->timeline == TIMELINE_OFF && needs_timeline(config))
        config->timeline = TIMELINE_ON;
    config->sampler.timeline_bytes = config->timeline == TIMELINE_OFF ? 0 : config->timeline_bytes;
    name_unknown(log, environment);
}
