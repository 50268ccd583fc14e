/* One row per variable: how to read it, and what is said when it cannot be used. */
#include "config.h"
#include "base/clock.h"
#include "encode/format.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HZ_DEFAULT = 100,
    HZ_MAX = 10000,
    THREADS_DEFAULT = 8,
    THREADS_MAX = 1024,
    DEPTH_DEFAULT = 1024,
    DEPTH_MAX = 65536,
    PERCENT_PPM = 10000,
    OVERHEAD_DEFAULT_PPM = PERCENT_PPM,
    OVERHEAD_MAX_PPM = 100 * PERCENT_PPM,
    KEEP_DEFAULT = 100,
    KEEP_MAX = 100000,
};

static const uint64_t interval_min_ns = 100 * (uint64_t)NS_PER_MS;
static const uint64_t span_max_ns = 10000 * 3600 * (uint64_t)NS_PER_S;

static const uint64_t memory_default_bytes = 64U << 20;
static const uint64_t timeline_default_bytes = 32U << 20;
static const uint64_t memory_min_bytes = 1U << 20;
static const uint64_t memory_max_bytes = (uint64_t)32 << 30;

struct reading {
    struct wp_config *config;
    struct wp_log *log;
    const char *value;
};

/* A whole number without sign or blanks; false for anything else, overflow included. */
static bool parse_number(const char *text, uint64_t *ret, const char **ret_end)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    *ret_end = at;
    return at != text;
}

/* Whether it could be used. */
static bool read_count(const struct reading *reading, const char *name, uint32_t max, uint32_t *value)
{
    uint64_t number;
    const char *end;
    if (parse_number(reading->value, &number, &end) && *end == '\0' && number >= 1 && number <= max) {
        *value = (uint32_t)number;
        return true;
    }
    log_add(reading->log, LOG_ERROR, "%s=%s is not a whole number from 1 to %u; using %u", name,
            reading->value, max, *value);
    return false;
}

/* The length of a list's first element: up to a comma behind a name that says its format, so that directories
 * may have commas; and one behind a % is none. */
static size_t element_length(const char *list)
{
    size_t length = 0;
    while (list[length] && (list[length] != ',' || !format_is_said(list, length)))
        length += list[length] == '%' && list[length + 1] ? 2 : 1;
    return length;
}

/* Where the next name of the list is to be kept; NULL when there are too many. */
static char *next_out(struct wp_config *config)
{
    if (!*config->out)
        return config->out;
    return config->more_out_count < CONFIG_MORE_OUTS_MAX ? config->more_outs[config->more_out_count++] : NULL;
}

static void read_one_out(const struct reading *reading, const char *name, size_t length)
{
    char *out;
    if (length == 0)
        log_add(reading->log, LOG_ERROR, "WALLPROF_OUT=%s has an empty name in it, which is left out",
                reading->value);
    else if (length >= sizeof(reading->config->out))
        log_add(reading->log, LOG_ERROR, "WALLPROF_OUT is longer than %zu bytes; using wallprof.%%p.pb.gz",
                sizeof(reading->config->out) - 1);
    else if (!(out = next_out(reading->config)))
        log_add(reading->log, LOG_ERROR, "WALLPROF_OUT has more than %d names; %.*s is left out",
                1 + CONFIG_MORE_OUTS_MAX, (int)length, name);
    else
        memcpy(out, name, length);
}

static void read_out(const struct reading *reading)
{
    for (const char *at = reading->value;;) {
        size_t length = element_length(at);
        read_one_out(reading, at, length);
        if (!at[length])
            return;
        at += length + 1;
    }
}

/* A rate that is asked for is kept, whatever it costs, unless a limit is set too (read_overhead). */
static void read_hz(const struct reading *reading)
{
    if (read_count(reading, "WALLPROF_HZ", HZ_MAX, &reading->config->hz))
        reading->config->overhead_ppm = 0;
}

/* 1, 0.5, 12.3456, 3%: four digits behind the point are a millionth. */
static bool parse_percentage(const char *text, uint64_t *ret_ppm)
{
    enum { DIGITS = 4 };
    uint64_t whole, fraction = 0;
    const char *end;
    if (!parse_number(text, &whole, &end) || whole > OVERHEAD_MAX_PPM)
        return false; /* or the product would overflow */
    if (*end == '.') {
        const char *digits = end + 1;
        if (!parse_number(digits, &fraction, &end) || end - digits > DIGITS)
            return false;
        for (long i = end - digits; i < DIGITS; i++)
            fraction *= 10;
    }
    *ret_ppm = whole * PERCENT_PPM + fraction;
    return *ret_ppm <= OVERHEAD_MAX_PPM && !strcmp(end, *end == '%' ? "%" : "");
}

static void read_overhead(const struct reading *reading)
{
    uint64_t ppm = 0;
    if (strcmp(reading->value, "off") != 0 && !parse_percentage(reading->value, &ppm)) {
        ppm = OVERHEAD_DEFAULT_PPM;
        log_add(reading->log, LOG_ERROR,
                "WALLPROF_OVERHEAD=%s is not a percentage from 0.0001 to 100, nor 0 or off; using 1",
                reading->value);
    }
    reading->config->overhead_ppm = (uint32_t)ppm;
}

static void read_threads(const struct reading *reading)
{
    read_count(reading, "WALLPROF_THREADS", THREADS_MAX, &reading->config->threads);
}

static void read_depth(const struct reading *reading)
{
    read_count(reading, "WALLPROF_DEPTH", DEPTH_MAX, &reading->config->depth);
}

static unsigned suffix_shift(const char *suffix)
{
    if (!strcasecmp(suffix, "k") || !strcasecmp(suffix, "kb") || !strcasecmp(suffix, "kib"))
        return 10;
    if (!strcasecmp(suffix, "m") || !strcasecmp(suffix, "mb") || !strcasecmp(suffix, "mib"))
        return 20;
    if (!strcasecmp(suffix, "g") || !strcasecmp(suffix, "gb") || !strcasecmp(suffix, "gib"))
        return 30;
    return *suffix ? 64 : 0;
}

static void read_size(const struct reading *reading, const char *name, uint64_t *bytes)
{
    uint64_t number;
    const char *end;
    if (parse_number(reading->value, &number, &end) && suffix_shift(end) < 64 &&
        number <= memory_max_bytes >> suffix_shift(end) && number << suffix_shift(end) >= memory_min_bytes)
        *bytes = number << suffix_shift(end);
    else
        log_add(reading->log, LOG_ERROR, "%s=%s is not a size from 1M to 32G (K, M, G); using %lluM", name,
                reading->value, (unsigned long long)(*bytes >> 20));
}

static void read_memory(const struct reading *reading)
{
    read_size(reading, "WALLPROF_MEM", &reading->config->memory_bytes);
}

static void read_timeline_memory(const struct reading *reading)
{
    read_size(reading, "WALLPROF_TIMELINE_MEM", &reading->config->timeline_bytes);
}

static void read_timeline(const struct reading *reading)
{
    if (!strcmp(reading->value, "0") || !strcmp(reading->value, "1"))
        reading->config->timeline = *reading->value == '1' ? TIMELINE_ON : TIMELINE_OFF;
    else if (!strcmp(reading->value, "pprof"))
        reading->config->timeline = TIMELINE_PPROF;
    else
        log_add(reading->log, LOG_ERROR, "WALLPROF_TIMELINE=%s is not 0, 1 or pprof; using 0",
                reading->value);
}

/* PROF, SIGPROF, 27, RTMIN+3, RTMAX-2; 0 for what is no signal. */
static int parse_signal(const char *text)
{
    uint64_t number;
    const char *end;
    if (parse_number(text, &number, &end))
        return *end == '\0' && number < NSIG ? (int)number : 0;
    if (!strncasecmp(text, "SIG", 3))
        text += 3;
    bool from_min = !strncasecmp(text, "RTMIN", 5), from_max = !strncasecmp(text, "RTMAX", 5);
    if (from_min || from_max) {
        bool is_base = text[5] == '\0';
        if (!is_base && (text[5] != (from_min ? '+' : '-') || !parse_number(text + 6, &number, &end) ||
                         *end || number > (uint64_t)(SIGRTMAX - SIGRTMIN)))
            return 0;
        int offset = is_base ? 0 : (int)number;
        return from_min ? SIGRTMIN + offset : SIGRTMAX - offset;
    }
    for (int candidate = 1; candidate < SIGRTMIN; candidate++) {
        const char *name = sigabbrev_np(candidate);
        if (name && !strcasecmp(name, text))
            return candidate;
    }
    return 0;
}

/* Signals whose handler cannot be set, that tell of a fault, or that job control needs. */
static bool is_usable_signal(int number)
{
    static const int refused[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS,  SIGILL,  SIGFPE,  SIGTRAP, SIGABRT,
                                  SIGSYS,  SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGINT,  SIGTERM};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (number == refused[i])
            return false;
    }
    return number > 0 && number < NSIG && (number < 32 || number >= SIGRTMIN);
}

/* 500ms, 30s, 10m, 1h; a bare number is seconds. False for anything else, and for more than 10,000 hours. */
static bool parse_span(const char *text, uint64_t *ret_ns)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"", NS_PER_S},
                 {"ms", NS_PER_MS},
                 {"s", NS_PER_S},
                 {"m", 60 * (uint64_t)NS_PER_S},
                 {"h", 3600 * (uint64_t)NS_PER_S}};
    uint64_t number;
    const char *end;
    if (!parse_number(text, &number, &end))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].unit) != 0 || number > span_max_ns / units[i].ns)
            continue;
        *ret_ns = number * units[i].ns;
        return true;
    }
    return false;
}

/* consequence: what is done instead. */
static void read_span(const struct reading *reading, const char *name, uint64_t min_ns, uint64_t *span_ns,
                      const char *consequence)
{
    uint64_t ns;
    if (parse_span(reading->value, &ns) && (ns == 0 || ns >= min_ns))
        *span_ns = ns;
    else
        log_add(reading->log, LOG_ERROR, "%s=%s is not a time%s (500ms, 30s, 10m, 1h); %s", name,
                reading->value, min_ns ? " of 100ms at least" : "", consequence);
}

static void read_delay(const struct reading *reading)
{
    read_span(reading, "WALLPROF_DELAY", 0, &reading->config->delay_ns, "recording from the start");
}

static void read_duration(const struct reading *reading)
{
    read_span(reading, "WALLPROF_DURATION", 0, &reading->config->duration_ns, "recording to the end");
}

static void read_interval(const struct reading *reading)
{
    read_span(reading, "WALLPROF_INTERVAL_DUMP", interval_min_ns, &reading->config->interval_ns,
              "writing one profile");
}

static void read_keep(const struct reading *reading)
{
    struct wp_config *config = reading->config;
    if (!strcmp(reading->value, "0"))
        config->interval_keep = 0;
    else
        read_count(reading, "WALLPROF_INTERVAL_KEEP", KEEP_MAX, &config->interval_keep);
}

static void read_start(const struct reading *reading)
{
    if (!strcmp(reading->value, "0") || !strcmp(reading->value, "1"))
        reading->config->waits = *reading->value == '0';
    else
        log_add(reading->log, LOG_ERROR, "WALLPROF_START=%s is not 0 or 1; using 1", reading->value);
}

/* Behind WALLPROF_SIGNAL: the two must differ. */
static void read_control_signal(const struct reading *reading)
{
    struct wp_config *config = reading->config;
    int number = parse_signal(reading->value);
    const char *why = !number                     ? "is not a signal (USR2, SIGUSR2, 12, RTMIN+1 are)"
                      : !is_usable_signal(number) ? "cannot be had for that"
                      : number == config->signal  ? "is what threads are asked with"
                                                  : NULL;
    if (why)
        log_add(reading->log, LOG_ERROR, "WALLPROF_CONTROL_SIGNAL=%s %s; using none", reading->value, why);
    else
        config->control_signal = number;
}

static void read_signal(const struct reading *reading)
{
    int number = parse_signal(reading->value);
    if (is_usable_signal(number))
        reading->config->signal = number;
    else
        log_add(reading->log, LOG_ERROR, "WALLPROF_SIGNAL=%s %s; using SIGPROF", reading->value,
                number ? "cannot be used for sampling" : "is not a signal (PROF, SIGPROF, 27, RTMIN+1 are)");
}

static void read_labels(const struct reading *reading)
{
    if (!strcmp(reading->value, "none"))
        reading->config->labels = LABELS_NONE;
    else if (!strcmp(reading->value, "name"))
        reading->config->labels = LABELS_NAME;
    else if (!strcmp(reading->value, "id"))
        reading->config->labels = LABELS_ID;
    else
        log_add(reading->log, LOG_ERROR, "WALLPROF_LABELS=%s is not none, name or id; using id (name and id)",
                reading->value);
}

static void read_observe(const struct reading *reading)
{
    if (!strcmp(reading->value, "auto") || !strcmp(reading->value, "signal"))
        reading->config->by_signal_only = *reading->value == 's';
    else
        log_add(reading->log, LOG_ERROR, "WALLPROF_OBSERVE=%s is not auto or signal; using auto",
                reading->value);
}

/* A list of fork and exec, or none. */
static void read_follow(const struct reading *reading)
{
    struct wp_config *config = reading->config;
    bool fork = false, exec = false;
    const char *at = strcmp(reading->value, "none") == 0 ? NULL : reading->value;
    while (at) {
        size_t length = strcspn(at, ",");
        bool is_fork = length == 4 && !strncmp(at, "fork", length);
        if (!is_fork && !(length == 4 && !strncmp(at, "exec", length))) {
            log_add(reading->log, LOG_ERROR,
                    "WALLPROF_FOLLOW=%s has '%.*s', which is not fork or exec; using fork,exec",
                    reading->value, (int)length, at);
            return;
        }
        fork |= is_fork;
        exec |= !is_fork;
        at = at[length] ? at + length + 1 : NULL;
    }
    config->follows_fork = fork;
    config->follows_exec = exec;
}

static void read_hide(const struct reading *reading)
{
    if (!strcmp(reading->value, "0") || !strcmp(reading->value, "1"))
        reading->config->hides = *reading->value == '1';
    else
        log_add(reading->log, LOG_ERROR, "WALLPROF_HIDE=%s is not 0 or 1; using 0", reading->value);
}

static void read_seccomp(const struct reading *reading)
{
    if (!strcmp(reading->value, "auto") || !strcmp(reading->value, "strict"))
        reading->config->is_strict = *reading->value == 's';
    else
        log_add(reading->log, LOG_ERROR, "WALLPROF_SECCOMP=%s is not auto or strict; using auto",
                reading->value);
}

static const char *behind(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0 ? text + strlen(prefix) : NULL;
}

static void read_store(const struct reading *reading)
{
    struct wp_config *config = reading->config;
    const char *run = behind(reading->value, "run:"), *merged = behind(reading->value, "merge:");
    const char *place = run ? run : merged ? merged : reading->value;
    config->store_is_run = place != reading->value;
    config->store_is_merged = place == merged;
    if (strlen(reading->value) >= sizeof(config->store))
        log_add(reading->log, LOG_ERROR, "WALLPROF_STORE is longer than %zu bytes; using off",
                sizeof(config->store) - 1);
    else
        strcpy(config->store, strcmp(place, "off") == 0 ? "" : place);
}

static void read_tool(const struct reading *reading)
{
    struct wp_config *config = reading->config;
    bool is_path = reading->value[0] == '/' && strlen(reading->value) < sizeof(config->tool);
    if (is_path || !strcmp(reading->value, "off"))
        strcpy(config->tool, reading->value);
    else if (strcmp(reading->value, "auto") != 0)
        log_add(reading->log, LOG_ERROR, "WALLPROF_TOOL=%s is not auto, off or an absolute path; using auto",
                reading->value);
}

/* The tool reads it. */
static void read_nothing(const struct reading *reading)
{
    (void)reading;
}

static void read_seed(const struct reading *reading)
{
    const char *end;
    uint64_t number;
    if (parse_number(reading->value, &number, &end) && *end == '\0') {
        reading->config->has_seed = true;
        reading->config->seed = number;
    } else
        log_add(reading->log, LOG_ERROR, "WALLPROF_SEED=%s is not a whole number; using a random seed",
                reading->value);
}

static void read_log_path(const struct reading *reading, const char *colon)
{
    struct wp_config *config = reading->config;
    if (*colon && strlen(colon + 1) < sizeof(config->log_path))
        strcpy(config->log_path, colon + 1);
    else if (*colon)
        log_add(reading->log, LOG_ERROR,
                "the file in WALLPROF_LOG has a name of more than %zu bytes; using stderr",
                sizeof(config->log_path) - 1);
}

static void read_log(const struct reading *reading)
{
    static const char *const levels[] = {"off", "error", "warning", "info", "debug"};
    struct wp_config *config = reading->config;
    const char *colon = strchrnul(reading->value, ':');
    size_t length = (size_t)(colon - reading->value);
    for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (strlen(levels[i]) != length || strncmp(levels[i], reading->value, length) != 0)
            continue;
        config->log_level = reading->log->level = (enum log_level)i;
        read_log_path(reading, colon);
        return;
    }
    log_add(reading->log, LOG_ERROR,
            "WALLPROF_LOG=%s is not off, error, warning, info or debug; using warning", reading->value);
}

/* In this order: the log level holds for complaints about the others, and an overhead overrides a rate. */
static const struct variable {
    const char *name;
    void (*read)(const struct reading *reading);
} variables[] = {
    {"WALLPROF_LOG", read_log},
    {"WALLPROF_OUT", read_out},
    {"WALLPROF_HZ", read_hz},
    {"WALLPROF_OVERHEAD", read_overhead},
    {"WALLPROF_THREADS", read_threads},
    {"WALLPROF_DEPTH", read_depth},
    {"WALLPROF_MEM", read_memory},
    {"WALLPROF_SIGNAL", read_signal},
    {"WALLPROF_LABELS", read_labels},
    {"WALLPROF_OBSERVE", read_observe},
    {"WALLPROF_FOLLOW", read_follow},
    {"WALLPROF_HIDE", read_hide},
    {"WALLPROF_SECCOMP", read_seccomp},
    {"WALLPROF_STORE", read_store},
    {"WALLPROF_TOOL", read_tool},
    {"WALLPROF_CACHE", read_nothing},
    {"WALLPROF_PUSH_TOKEN", read_nothing},
    {"WALLPROF_PUSH_USER", read_nothing},
    {"WALLPROF_PUSH_PASSWORD", read_nothing},
    {"WALLPROF_SEED", read_seed},
    {"WALLPROF_TIMELINE", read_timeline},
    {"WALLPROF_TIMELINE_MEM", read_timeline_memory},
    {"WALLPROF_START", read_start},
    {"WALLPROF_DELAY", read_delay},
    {"WALLPROF_DURATION", read_duration},
    {"WALLPROF_CONTROL_SIGNAL", read_control_signal},
    {"WALLPROF_INTERVAL_DUMP", read_interval},
    {"WALLPROF_INTERVAL_KEEP", read_keep},
};

enum { VARIABLE_COUNT = sizeof(variables) / sizeof(variables[0]) };

/* The value of a variable in an environment, or NULL. */
static const char *look_up(char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment; environment++) {
        if (!strncmp(*environment, name, length) && (*environment)[length] == '=')
            return *environment + length + 1;
    }
    return NULL;
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

/* A rank as it stands there, or PROCESS_NO_RANK. */
static int32_t rank_in(char *const *environment, const char *name)
{
    uint64_t number;
    const char *end, *value = look_up(environment, name);
    bool is_rank = value && parse_number(value, &number, &end) && *end == '\0' && number <= INT32_MAX;
    return is_rank ? (int32_t)number : PROCESS_NO_RANK;
}

/*
 * MPI's own launchers first: Open MPI, PMIx (Open MPI 5, Slurm's --mpi=pmix), PMI (MPICH, Intel MPI, Slurm's
 * --mpi=pmi2), MVAPICH2. Slurm's is set in a batch script too, and inherited by what mpirun starts there: it
 * is a rank only in a step of several tasks.
 */
static int32_t find_rank(char *const *environment)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "MV2_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int32_t rank = rank_in(environment, names[i]);
        if (rank >= 0)
            return rank;
    }
    return rank_in(environment, "SLURM_STEP_NUM_TASKS") > 1 ? rank_in(environment, "SLURM_PROCID")
                                                            : PROCESS_NO_RANK;
}

static void name_unknown(struct wp_log *log, char *const *environment)
{
    for (; *environment; environment++) {
        if (!strncmp(*environment, "WALLPROF_", 9) && !is_known(*environment))
            log_add(log, LOG_WARNING, "%.*s is not a variable of this version; it is ignored",
                    (int)strcspn(*environment, "="), *environment);
    }
}

/* By what the files end in. */
static bool needs_timeline(const struct wp_config *config)
{
    bool needs = format_needs_timeline(format_of_name(config->out));
    for (uint32_t i = 0; i < config->more_out_count; i++)
        needs |= format_needs_timeline(format_of_name(config->more_outs[i]));
    return needs;
}

void config_read(struct wp_config *config, struct wp_log *log, char *const *environment)
{
    memset(config, 0, sizeof(*config));
    config->hz = HZ_DEFAULT;
    config->threads = THREADS_DEFAULT;
    config->depth = DEPTH_DEFAULT;
    config->overhead_ppm = OVERHEAD_DEFAULT_PPM;
    config->memory_bytes = memory_default_bytes;
    config->timeline_bytes = timeline_default_bytes;
    config->signal = SIGPROF;
    config->interval_keep = KEEP_DEFAULT;
    config->labels = LABELS_ID;
    config->follows_fork = config->follows_exec = true;
    config->log_level = LOG_WARNING;
    config->rank = find_rank(environment);
    for (int i = 0; i < VARIABLE_COUNT; i++) {
        struct reading reading = {config, log, look_up(environment, variables[i].name)};
        if (reading.value && *reading.value)
            variables[i].read(&reading);
    }
    if (config->timeline == TIMELINE_OFF && needs_timeline(config))
        config->timeline = TIMELINE_ON;
    name_unknown(log, environment);
}

/* UTC as 20261121T041500Z. Done here because gmtime_r may allocate and read /etc/localtime. The calendar is
 * that of Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days. */
static void format_utc(uint64_t seconds, char *ret, size_t capacity)
{
    uint64_t days = seconds / 86400 + 719468, second = seconds % 86400;
    uint64_t era = days / 146097, day_of_era = days % 146097;
    uint64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint64_t month_from_march = (5 * day_of_year + 2) / 153;
    unsigned day = (unsigned)(day_of_year - (153 * month_from_march + 2) / 5 + 1);
    unsigned month = (unsigned)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    unsigned year = (unsigned)(year_of_era + era * 400 + (month <= 2));
    snprintf(ret, capacity, "%04u%02u%02uT%02u%02u%02uZ", year, month, day, (unsigned)(second / 3600),
             (unsigned)(second / 60 % 60), (unsigned)(second % 60));
}

/* What one %-sequence stands for, or NULL for one that means nothing. */
static const char *sequence(char letter, const struct config_names *names, char *buffer, size_t capacity)
{
    switch (letter) {
    case 'p':
        snprintf(buffer, capacity, "%u", names->pid);
        return buffer;
    case 'n':
        return names->program;
    case 'h':
        return names->host;
    case 'r':
        snprintf(buffer, capacity, "%d", names->rank > 0 ? names->rank : 0);
        return buffer;
    case 't':
        format_utc(names->start_utc_s, buffer, capacity);
        return buffer;
    case '%':
        return "%";
    case ',':
        return ",";
    default:
        return NULL;
    }
}

int config_expand(const char *pattern, const struct config_names *names, char *ret, size_t capacity,
                  bool *ret_has_pid)
{
    size_t used = 0;
    *ret_has_pid = false;
    for (const char *at = pattern; *at; at++) {
        char buffer[32], literal[2] = {*at, '\0'};
        const char *text = *at == '%' ? sequence(at[1], names, buffer, sizeof(buffer)) : NULL;
        if (text) {
            at++;
            *ret_has_pid |= *at == 'p';
        } else
            text = literal;
        size_t length = strlen(text);
        if (used + length >= capacity)
            return -ENAMETOOLONG;
        memcpy(ret + used, text, length);
        used += length;
    }
    ret[used] = '\0';
    return 0;
}

/* Where a file's ending begins: ".pb.gz" and the like count as one. */
static size_t ending_at(const char *path)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    const char *dot = strrchr(base, '.');
    if (!dot || dot == base)
        return strlen(path);
    if (!strcmp(dot, ".gz")) {
        const char *inner = memrchr(base, '.', (size_t)(dot - base));
        if (inner && inner != base)
            dot = inner;
    }
    return (size_t)(dot - path);
}

int config_insert(char *path, size_t capacity, const char *text)
{
    size_t length = 1 + strlen(text), at = ending_at(path), rest = strlen(path) - at;
    if (strlen(path) + length >= capacity)
        return -ENAMETOOLONG;
    memmove(path + at + length, path + at, rest + 1);
    path[at] = '.';
    memcpy(path + at + 1, text, length - 1);
    return 0;
}
