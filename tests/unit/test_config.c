/* Every variable: its default, what it takes, and what is said and used instead of what it does not take. */
#include "lib/unit.h"
#include "base/name_pattern.h"
#include "config/config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { VARIABLES_MAX = 8 };

struct fixture {
    struct config config;
    struct log log;
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    return 0;
}

/* Reads an environment of up to VARIABLES_MAX entries, ended by NULL. */
static void read_all(struct fixture *fixture, const char *const *entries)
{
    char *environment[VARIABLES_MAX + 1] = {0};
    for (size_t i = 0; entries[i]; i++)
        environment[i] = strdup(entries[i]);
    memset(&fixture->config, 0xff, sizeof(fixture->config));
    log_init(&fixture->log, LOG_WARNING);
    memset(&fixture->config, 0, sizeof(fixture->config));
    config_read(&fixture->config, &fixture->log, environment);
    fixture->log.text[fixture->log.used_bytes] = '\0';
    for (size_t i = 0; environment[i]; i++)
        free(environment[i]);
}

static void read_one(struct fixture *fixture, const char *name, const char *value)
{
    char entry[2 * PATH_MAX];
    snprintf(entry, sizeof(entry), "%s=%s", name, value);
    read_all(fixture, (const char *const[]){"HOME=/home/me", entry, NULL});
}

static void assert_said(const struct fixture *fixture, const char *expected)
{
    char line[4096] = "";
    if (*expected)
        snprintf(line, sizeof(line), "wallprof: %s\n", expected);
    assert_string_equal(fixture->log.text, line);
}

/* ---- numbers ---- */

/* What a variable comes to as a number, whatever its type. */
static uint64_t value_of(const struct config *config, const char *name)
{
    if (!strcmp(name, "WALLPROF_HZ"))
        return config->sampler.hz;
    if (!strcmp(name, "WALLPROF_THREADS"))
        return config->sampler.threads_per_tick;
    if (!strcmp(name, "WALLPROF_DEPTH"))
        return config->sampler.depth;
    if (!strcmp(name, "WALLPROF_MEM"))
        return config->sampler.memory_bytes;
    if (!strcmp(name, "WALLPROF_SIGNAL"))
        return (uint64_t)config->signal;
    if (!strcmp(name, "WALLPROF_LABELS"))
        return config->labels;
    if (!strcmp(name, "WALLPROF_OBSERVE"))
        return config->sampler.by_signal_only;
    if (!strcmp(name, "WALLPROF_OVERHEAD"))
        return config->sampler.overhead_ppm;
    if (!strcmp(name, "WALLPROF_LOG"))
        return config->log_level;
    if (!strcmp(name, "WALLPROF_FOLLOW"))
        return config->follows_fork + 2U * config->follows_exec;
    if (!strcmp(name, "WALLPROF_HIDE"))
        return config->hides;
    if (!strcmp(name, "WALLPROF_ARGS"))
        return config->arguments;
    if (!strcmp(name, "WALLPROF_SECCOMP"))
        return config->is_strict;
    if (!strcmp(name, "WALLPROF_TOOL"))
        return strlen(config->tool);
    if (!strcmp(name, "WALLPROF_WRITTEN"))
        return strlen(config->written);
    if (!strcmp(name, "WALLPROF_TIMELINE"))
        return config->timeline;
    if (!strcmp(name, "WALLPROF_TIMELINE_MEM"))
        return config->timeline_bytes;
    if (!strcmp(name, "WALLPROF_START"))
        return config->waits;
    if (!strcmp(name, "WALLPROF_DELAY"))
        return config->delay_ns;
    if (!strcmp(name, "WALLPROF_DURATION"))
        return config->duration_ns;
    if (!strcmp(name, "WALLPROF_INTERVAL_DUMP"))
        return config->interval_ns;
    if (!strcmp(name, "WALLPROF_INTERVAL_KEEP"))
        return config->interval_keep;
    if (!strcmp(name, "WALLPROF_CONTROL_SIGNAL"))
        return (uint64_t)config->control_signal;
    assert_string_equal(name, "WALLPROF_SEED");
    return config->seed;
}

struct good_case {
    const char *name, *value;
    uint64_t expected;
};

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (MIB * KIB)

static const struct good_case good[] = {
    {"WALLPROF_HZ", "1", 1},
    {"WALLPROF_HZ", "10000", 10000},
    {"WALLPROF_HZ", "", 100},
    {"WALLPROF_HZ", "0000250", 250},
    {"WALLPROF_THREADS", "1", 1},
    {"WALLPROF_THREADS", "1024", 1024},
    {"WALLPROF_THREADS", "", 8},
    {"WALLPROF_DEPTH", "1", 1},
    {"WALLPROF_DEPTH", "65536", 65536},
    {"WALLPROF_DEPTH", "", 1024},
    {"WALLPROF_MEM", "", 64 * MIB},
    {"WALLPROF_MEM", "1048576", MIB},
    {"WALLPROF_MEM", "1024K", MIB},
    {"WALLPROF_MEM", "2048k", 2 * MIB},
    {"WALLPROF_MEM", "2000kb", 2000 * KIB},
    {"WALLPROF_MEM", "2000KiB", 2000 * KIB},
    {"WALLPROF_MEM", "1M", MIB},
    {"WALLPROF_MEM", "100mb", 100 * MIB},
    {"WALLPROF_MEM", "100MiB", 100 * MIB},
    {"WALLPROF_MEM", "2g", 2 * GIB},
    {"WALLPROF_MEM", "2GB", 2 * GIB},
    {"WALLPROF_MEM", "32GiB", 32 * GIB},
    {"WALLPROF_MEM", "34359738368", 32 * GIB},
    {"WALLPROF_SIGNAL", "", SIGPROF},
    {"WALLPROF_SIGNAL", "PROF", SIGPROF},
    {"WALLPROF_SIGNAL", "SIGPROF", SIGPROF},
    {"WALLPROF_SIGNAL", "sigprof", SIGPROF},
    {"WALLPROF_SIGNAL", "27", 27},
    {"WALLPROF_SIGNAL", "USR2", SIGUSR2},
    {"WALLPROF_SIGNAL", "SIGVTALRM", SIGVTALRM},
    {"WALLPROF_SIGNAL", "34", 34},
    {"WALLPROF_SIGNAL", "64", 64},
    {"WALLPROF_SIGNAL", "RTMIN", 34},
    {"WALLPROF_SIGNAL", "SIGRTMIN", 34},
    {"WALLPROF_SIGNAL", "RTMIN+0", 34},
    {"WALLPROF_SIGNAL", "rtmin+7", 41},
    {"WALLPROF_SIGNAL", "SIGRTMIN+30", 64},
    {"WALLPROF_SIGNAL", "RTMAX", 64},
    {"WALLPROF_SIGNAL", "SIGRTMAX-2", 62},
    {"WALLPROF_SIGNAL", "RTMAX-30", 34},
    {"WALLPROF_FOLLOW", "", 3},
    {"WALLPROF_FOLLOW", "none", 0},
    {"WALLPROF_FOLLOW", "fork", 1},
    {"WALLPROF_FOLLOW", "exec", 2},
    {"WALLPROF_FOLLOW", "fork,exec", 3},
    {"WALLPROF_FOLLOW", "exec,fork", 3},
    {"WALLPROF_LABELS", "", LABELS_ID},
    {"WALLPROF_LABELS", "none", LABELS_NONE},
    {"WALLPROF_LABELS", "name", LABELS_NAME},
    {"WALLPROF_LABELS", "id", LABELS_ID},
    {"WALLPROF_OBSERVE", "", false},
    {"WALLPROF_OBSERVE", "auto", false},
    {"WALLPROF_OBSERVE", "signal", true},
    {"WALLPROF_OVERHEAD", "", 10000},
    {"WALLPROF_OVERHEAD", "off", 0},
    {"WALLPROF_OVERHEAD", "0", 0},
    {"WALLPROF_OVERHEAD", "0.0", 0},
    {"WALLPROF_OVERHEAD", "1", 10000},
    {"WALLPROF_OVERHEAD", "1%", 10000},
    {"WALLPROF_OVERHEAD", "0.5", 5000},
    {"WALLPROF_OVERHEAD", "0.05%", 500},
    {"WALLPROF_OVERHEAD", "0.0001", 1},
    {"WALLPROF_OVERHEAD", "2.3456", 23456},
    {"WALLPROF_OVERHEAD", "007.10", 71000},
    {"WALLPROF_OVERHEAD", "100", 1000000},
    {"WALLPROF_OVERHEAD", "100.0000", 1000000},
    {"WALLPROF_HIDE", "", false},
    {"WALLPROF_HIDE", "0", false},
    {"WALLPROF_HIDE", "1", true},
    {"WALLPROF_ARGS", "", ARGUMENTS_REDACTED},
    {"WALLPROF_ARGS", "program", ARGUMENTS_PROGRAM},
    {"WALLPROF_ARGS", "redacted", ARGUMENTS_REDACTED},
    {"WALLPROF_ARGS", "all", ARGUMENTS_ALL},
    {"WALLPROF_SECCOMP", "", false},
    {"WALLPROF_SECCOMP", "auto", false},
    {"WALLPROF_SECCOMP", "strict", true},
    {"WALLPROF_TOOL", "auto", 0},
    {"WALLPROF_TOOL", "off", 3},
    {"WALLPROF_TOOL", "/opt/bin/wallprof", 17},
    {"WALLPROF_WRITTEN", "/tmp/written", 12},
    {"WALLPROF_SEED", "0", 0},
    {"WALLPROF_SEED", "42", 42},
    {"WALLPROF_SEED", "18446744073709551615", UINT64_MAX},
    {"WALLPROF_TIMELINE", "", TIMELINE_OFF},
    {"WALLPROF_TIMELINE", "0", TIMELINE_OFF},
    {"WALLPROF_TIMELINE", "1", TIMELINE_ON},
    {"WALLPROF_TIMELINE", "pprof", TIMELINE_PPROF},
    {"WALLPROF_TIMELINE_MEM", "", 32 * MIB},
    {"WALLPROF_TIMELINE_MEM", "1M", MIB},
    {"WALLPROF_START", "", false},
    {"WALLPROF_START", "1", false},
    {"WALLPROF_START", "0", true},
    {"WALLPROF_DELAY", "", 0},
    {"WALLPROF_DELAY", "0", 0},
    {"WALLPROF_DELAY", "7", UINT64_C(7000000000)},
    {"WALLPROF_DELAY", "5s", UINT64_C(5000000000)},
    {"WALLPROF_DELAY", "1ms", 1000000},
    {"WALLPROF_DURATION", "90m", UINT64_C(5400000000000)},
    {"WALLPROF_DURATION", "10000h", UINT64_C(36000000000000000)},
    {"WALLPROF_INTERVAL_DUMP", "", 0},
    {"WALLPROF_INTERVAL_DUMP", "0s", 0},
    {"WALLPROF_INTERVAL_DUMP", "100ms", 100000000},
    {"WALLPROF_INTERVAL_DUMP", "60s", UINT64_C(60000000000)},
    {"WALLPROF_INTERVAL_KEEP", "", 100},
    {"WALLPROF_INTERVAL_KEEP", "0", 0},
    {"WALLPROF_INTERVAL_KEEP", "100000", 100000},
    {"WALLPROF_CONTROL_SIGNAL", "", 0},
    {"WALLPROF_CONTROL_SIGNAL", "USR2", SIGUSR2},
    {"WALLPROF_CONTROL_SIGNAL", "sigusr1", SIGUSR1},
    {"WALLPROF_LOG", "", LOG_WARNING},
    {"WALLPROF_LOG", "off", LOG_OFF},
    {"WALLPROF_LOG", "error", LOG_ERROR},
    {"WALLPROF_LOG", "warning", LOG_WARNING},
    {"WALLPROF_LOG", "info", LOG_INFO},
    {"WALLPROF_LOG", "debug", LOG_DEBUG},
};

static void good_values_are_used_without_a_word(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(good); i++) {
        read_one(fixture, good[i].name, good[i].value);
        uint64_t value = value_of(&fixture->config, good[i].name);
        if (value != good[i].expected)
            fail_msg("%s=%s is %llu", good[i].name, good[i].value, (unsigned long long)value);
        assert_said(fixture, "");
    }
}

static void the_defaults_are_as_documented(void **state)
{
    struct fixture *fixture = *state;
    read_all(fixture, (const char *const[]){"PATH=/bin", "XWALLPROF_HZ=7", "wallprof_hz=7", NULL});
    const struct config *config = &fixture->config;
    assert_string_equal(config->out, "");
    assert_int_equal(config->sampler.hz, 100);
    assert_int_equal(config->sampler.threads_per_tick, 8);
    assert_int_equal(config->sampler.depth, 1024);
    assert_int_equal(config->sampler.memory_bytes, 64 * MIB);
    assert_int_equal(config->signal, SIGPROF);
    assert_int_equal(config->labels, LABELS_ID);
    assert_int_equal(config->sampler.overhead_ppm, 10000);
    assert_int_equal(config->timeline, TIMELINE_OFF);
    assert_int_equal(config->timeline_bytes, 32 * MIB);
    assert_false(config->sampler.by_signal_only);
    assert_false(config->has_seed);
    assert_int_equal(config->log_level, LOG_WARNING);
    assert_string_equal(config->log_path, "");
    assert_said(fixture, "");
}

static void all_at_once_do_not_disturb_each_other(void **state)
{
    struct fixture *fixture = *state;
    read_all(fixture, (const char *const[]){"WALLPROF_SEED=5", "WALLPROF_HZ=50", "WALLPROF_OUT=/tmp/%p.pb.gz",
                                            "WALLPROF_THREADS=3", "WALLPROF_MEM=8M", "WALLPROF_LABELS=none",
                                            "WALLPROF_HZ=60", NULL});
    assert_int_equal(fixture->config.sampler.hz, 50); /* getenv takes the first one, too */
    assert_int_equal(fixture->config.sampler.threads_per_tick, 3);
    assert_int_equal(fixture->config.sampler.memory_bytes, 8 * MIB);
    assert_int_equal(fixture->config.labels, LABELS_NONE);
    assert_true(fixture->config.has_seed);
    assert_int_equal(fixture->config.seed, 5);
    assert_string_equal(fixture->config.out, "/tmp/%p.pb.gz");
    assert_int_equal(fixture->config.sampler.depth, 1024);
    assert_said(fixture, "");
}

/* A file that cannot do without a timeline has one; more is not changed by its name. */
static void a_name_may_ask_for_a_timeline(void **state)
{
    struct fixture *fixture = *state;
    read_all(fixture, (const char *const[]){"WALLPROF_OUT=x.%p.json.gz", NULL});
    assert_int_equal(fixture->config.timeline, TIMELINE_ON);
    read_all(fixture, (const char *const[]){"WALLPROF_OUT=x.json", "WALLPROF_TIMELINE=0", NULL});
    assert_int_equal(fixture->config.timeline, TIMELINE_ON);
    read_all(fixture, (const char *const[]){"WALLPROF_OUT=x.json", "WALLPROF_TIMELINE=pprof", NULL});
    assert_int_equal(fixture->config.timeline, TIMELINE_PPROF);
    read_all(fixture, (const char *const[]){"WALLPROF_OUT=json.pb.gz", NULL});
    assert_int_equal(fixture->config.timeline, TIMELINE_OFF);
    assert_said(fixture, "");
}

/* A rate that was asked for is kept, unless a limit was asked for as well, wherever the two stand. */
static void a_rate_goes_without_restraint(void **state)
{
    struct fixture *fixture = *state;
    read_all(fixture, (const char *const[]){"WALLPROF_HZ=1000", NULL});
    assert_int_equal(fixture->config.sampler.overhead_ppm, 0);
    read_all(fixture, (const char *const[]){"WALLPROF_HZ=100", "WALLPROF_OVERHEAD=", NULL});
    assert_int_equal(fixture->config.sampler.overhead_ppm, 0);
    read_all(fixture, (const char *const[]){"WALLPROF_HZ=1000", "WALLPROF_OVERHEAD=2", NULL});
    assert_int_equal(fixture->config.sampler.overhead_ppm, 20000);
    read_all(fixture, (const char *const[]){"WALLPROF_OVERHEAD=2", "WALLPROF_HZ=1000", NULL});
    assert_int_equal(fixture->config.sampler.overhead_ppm, 20000);
    read_all(fixture, (const char *const[]){"WALLPROF_HZ=", NULL});
    assert_int_equal(fixture->config.sampler.overhead_ppm, 10000);
    assert_said(fixture, "");
    read_all(fixture,
             (const char *const[]){"WALLPROF_HZ=fast", NULL}); /* the default is used, restraint too */
    assert_int_equal(fixture->config.sampler.overhead_ppm, 10000);
    read_all(fixture, (const char *const[]){"WALLPROF_HZ=1000", "WALLPROF_OVERHEAD=few", NULL});
    assert_int_equal(fixture->config.sampler.overhead_ppm, 10000);
}

/* ---- bad values ---- */

struct bad_case {
    const char *name, *value, *said; /* said after "NAME=VALUE " */
    uint64_t instead;
};

#define HZ_SAID           "is not a whole number from 1 to 10000; using 100"
#define THREADS_SAID      "is not a whole number from 1 to 1024; using 8"
#define DEPTH_SAID        "is not a whole number from 1 to 65536; using 1024"
#define MEM_SAID          "is not a size from 1M to 32G (K, M, G); using 64M"
#define NO_SIGNAL         "is not a signal (PROF, SIGPROF, 27, RTMIN+1 are); using SIGPROF"
#define REFUSED           "cannot be used for sampling; using SIGPROF"
#define LABELS_SAID       "is not none, name or id; using id (name and id)"
#define OBSERVE_SAID      "is not auto or signal; using auto"
#define OVERHEAD_SAID     "is not a percentage from 0.0001 to 100, nor 0 or off; using 1"
#define HIDE_SAID         "is not 0 or 1; using 0"
#define TOOL_SAID         "is not auto, off or an absolute path; using auto"
#define SECCOMP_SAID      "is not auto or strict; using auto"
#define SEED_SAID         "is not a whole number; using a random seed"
#define LOG_SAID          "is not off, error, warning, info or debug; using warning"
#define TIMELINE_SAID     "is not 0, 1 or pprof; using 0"
#define TIMELINE_MEM_SAID "is not a size from 1M to 32G (K, M, G); using 32M"

static const struct bad_case bad[] = {
    {"WALLPROF_HZ", "0", HZ_SAID, 100},
    {"WALLPROF_HZ", "10001", HZ_SAID, 100},
    {"WALLPROF_HZ", "-1", HZ_SAID, 100},
    {"WALLPROF_HZ", "+1", HZ_SAID, 100},
    {"WALLPROF_HZ", " 1", HZ_SAID, 100},
    {"WALLPROF_HZ", "1 ", HZ_SAID, 100},
    {"WALLPROF_HZ", "99.5", HZ_SAID, 100},
    {"WALLPROF_HZ", "1k", HZ_SAID, 100},
    {"WALLPROF_HZ", "0x10", HZ_SAID, 100},
    {"WALLPROF_HZ", "many", HZ_SAID, 100},
    {"WALLPROF_HZ", "4294967297", HZ_SAID, 100},
    {"WALLPROF_HZ", "18446744073709551617", HZ_SAID, 100}, /* 1, if it overflowed */
    {"WALLPROF_THREADS", "0", THREADS_SAID, 8},
    {"WALLPROF_THREADS", "1025", THREADS_SAID, 8},
    {"WALLPROF_DEPTH", "0", DEPTH_SAID, 1024},
    {"WALLPROF_DEPTH", "65537", DEPTH_SAID, 1024},
    {"WALLPROF_MEM", "0", MEM_SAID, 64 * MIB},
    {"WALLPROF_MEM", "1048575", MEM_SAID, 64 * MIB},
    {"WALLPROF_MEM", "1023K", MEM_SAID, 64 * MIB},
    {"WALLPROF_MEM", "33G", MEM_SAID, 64 * MIB},
    {"WALLPROF_MEM", "34359738369", MEM_SAID, 64 * MIB},
    {"WALLPROF_MEM", "32769M", MEM_SAID, 64 * MIB},
    {"WALLPROF_MEM", "17179869185G", MEM_SAID, 64 * MIB}, /* 1G, if it overflowed */
    {"WALLPROF_MEM", "64T", MEM_SAID, 64 * MIB},
    {"WALLPROF_MEM", "64 M", MEM_SAID, 64 * MIB},
    {"WALLPROF_MEM", "M", MEM_SAID, 64 * MIB},
    {"WALLPROF_MEM", "-64M", MEM_SAID, 64 * MIB},
    {"WALLPROF_SIGNAL", "NOPE", NO_SIGNAL, SIGPROF},
    {"WALLPROF_SIGNAL", "0", NO_SIGNAL, SIGPROF},
    {"WALLPROF_SIGNAL", "65", NO_SIGNAL, SIGPROF},
    {"WALLPROF_SIGNAL", "4294967323", NO_SIGNAL, SIGPROF}, /* 27, if it were cut */
    {"WALLPROF_SIGNAL", "27x", NO_SIGNAL, SIGPROF},
    {"WALLPROF_SIGNAL", "SIG", NO_SIGNAL, SIGPROF},
    {"WALLPROF_SIGNAL", "RTMIN+", NO_SIGNAL, SIGPROF},
    {"WALLPROF_SIGNAL", "RTMIN+31", NO_SIGNAL, SIGPROF},
    {"WALLPROF_SIGNAL", "RTMIN-1", NO_SIGNAL, SIGPROF},
    {"WALLPROF_SIGNAL", "RTMAX+1", NO_SIGNAL, SIGPROF},
    {"WALLPROF_SIGNAL", "RTMIN+1x", NO_SIGNAL, SIGPROF},
    {"WALLPROF_SIGNAL", "RTMINX", NO_SIGNAL, SIGPROF},
    {"WALLPROF_SIGNAL", "32", REFUSED, SIGPROF}, /* the C library's own */
    {"WALLPROF_SIGNAL", "33", REFUSED, SIGPROF},
    {"WALLPROF_LABELS", "all", LABELS_SAID, LABELS_ID},
    {"WALLPROF_LABELS", "NONE", LABELS_SAID, LABELS_ID},
    {"WALLPROF_FOLLOW", "all", "has 'all', which is not fork or exec; using fork,exec", 3},
    {"WALLPROF_FOLLOW", "none,", "has 'none', which is not fork or exec; using fork,exec", 3},
    {"WALLPROF_FOLLOW", "fork,", "has '', which is not fork or exec; using fork,exec", 3},
    {"WALLPROF_FOLLOW", "exec,spawn", "has 'spawn', which is not fork or exec; using fork,exec", 3},
    {"WALLPROF_OBSERVE", "signals", OBSERVE_SAID, false},
    {"WALLPROF_OBSERVE", "AUTO", OBSERVE_SAID, false},
    {"WALLPROF_OBSERVE", "s", OBSERVE_SAID, false},
    {"WALLPROF_OBSERVE", "1", OBSERVE_SAID, false},
    {"WALLPROF_OVERHEAD", "-1", OVERHEAD_SAID, 10000},
    {"WALLPROF_OVERHEAD", "101", OVERHEAD_SAID, 10000},
    {"WALLPROF_OVERHEAD", "100.0001", OVERHEAD_SAID, 10000},
    {"WALLPROF_OVERHEAD", "0.00001", OVERHEAD_SAID, 10000}, /* 0, if it were cut: off */
    {"WALLPROF_OVERHEAD", "1.", OVERHEAD_SAID, 10000},
    {"WALLPROF_OVERHEAD", ".5", OVERHEAD_SAID, 10000},
    {"WALLPROF_OVERHEAD", "0,5", OVERHEAD_SAID, 10000},
    {"WALLPROF_OVERHEAD", "1 %", OVERHEAD_SAID, 10000},
    {"WALLPROF_OVERHEAD", "1%%", OVERHEAD_SAID, 10000},
    {"WALLPROF_OVERHEAD", "%", OVERHEAD_SAID, 10000},
    {"WALLPROF_OVERHEAD", "1.5.5", OVERHEAD_SAID, 10000},
    {"WALLPROF_OVERHEAD", "OFF", OVERHEAD_SAID, 10000},
    {"WALLPROF_OVERHEAD", "none", OVERHEAD_SAID, 10000},
    {"WALLPROF_OVERHEAD", "1844674407370956", OVERHEAD_SAID, 10000}, /* 0.04, if it overflowed */
    {"WALLPROF_OVERHEAD", "18446744073709551617", OVERHEAD_SAID, 10000},
    {"WALLPROF_TIMELINE", "2", TIMELINE_SAID, TIMELINE_OFF},
    {"WALLPROF_TIMELINE", "PPROF", TIMELINE_SAID, TIMELINE_OFF},
    {"WALLPROF_TIMELINE", "on", TIMELINE_SAID, TIMELINE_OFF},
    {"WALLPROF_TIMELINE_MEM", "0", TIMELINE_MEM_SAID, 32 * MIB},
    {"WALLPROF_TIMELINE_MEM", "33G", TIMELINE_MEM_SAID, 32 * MIB},
    {"WALLPROF_START", "2", "is not 0 or 1; using 1", false},
    {"WALLPROF_DELAY", "5x", "is not a time (500ms, 30s, 10m, 1h); recording from the start", 0},
    {"WALLPROF_DELAY", "-1", "is not a time (500ms, 30s, 10m, 1h); recording from the start", 0},
    {"WALLPROF_DELAY", "1.5s", "is not a time (500ms, 30s, 10m, 1h); recording from the start", 0},
    {"WALLPROF_DURATION", "s", "is not a time (500ms, 30s, 10m, 1h); recording to the end", 0},
    {"WALLPROF_DURATION", "10001h", "is not a time (500ms, 30s, 10m, 1h); recording to the end", 0},
    {"WALLPROF_DURATION", "18446744073709551615h",
     "is not a time (500ms, 30s, 10m, 1h); recording to the end", 0},
    {"WALLPROF_INTERVAL_DUMP", "99ms",
     "is not a time of 100ms at least (500ms, 30s, 10m, 1h); writing one profile", 0},
    {"WALLPROF_INTERVAL_KEEP", "100001", "is not a whole number from 1 to 100000; using 100", 100},
    {"WALLPROF_CONTROL_SIGNAL", "KILL", "cannot be had for that; using none", 0},
    {"WALLPROF_CONTROL_SIGNAL", "PROF", "is what threads are sampled with; using none", 0},
    {"WALLPROF_CONTROL_SIGNAL", "x", "is not a signal (USR2, SIGUSR2, 12, RTMIN+1 are); using none", 0},
    {"WALLPROF_HIDE", "2", HIDE_SAID, false},
    {"WALLPROF_HIDE", "yes", HIDE_SAID, false},
    {"WALLPROF_ARGS", "none", "is not program, redacted or all; using redacted", ARGUMENTS_REDACTED},
    {"WALLPROF_SECCOMP", "1", SECCOMP_SAID, false},
    {"WALLPROF_SECCOMP", "Strict", SECCOMP_SAID, false},
    {"WALLPROF_SECCOMP", "stric", SECCOMP_SAID, false},
    {"WALLPROF_TOOL", "wallprof", TOOL_SAID, 0},
    {"WALLPROF_TOOL", "no", TOOL_SAID, 0},
    {"WALLPROF_WRITTEN", "written", "is not an absolute path; using none", 0},
    {"WALLPROF_SEED", "x", SEED_SAID, 0},
    {"WALLPROF_SEED", "1x", SEED_SAID, 0},
    {"WALLPROF_SEED", "18446744073709551616", SEED_SAID, 0},
    {"WALLPROF_LOG", "verbose", LOG_SAID, LOG_WARNING},
    {"WALLPROF_LOG", "INFO", LOG_SAID, LOG_WARNING},
    {"WALLPROF_LOG", "infos", LOG_SAID, LOG_WARNING},
    {"WALLPROF_LOG", "inf", LOG_SAID, LOG_WARNING},
    {"WALLPROF_LOG", ":/tmp/x", LOG_SAID, LOG_WARNING},
};

static void assert_bad(struct fixture *fixture, const struct bad_case *c)
{
    char said[512];
    read_one(fixture, c->name, c->value);
    snprintf(said, sizeof(said), "%s=%s %s", c->name, c->value, c->said);
    assert_said(fixture, said);
    assert_int_equal(value_of(&fixture->config, c->name), c->instead);
}

static void bad_values_are_named_with_what_is_used_instead(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_bad(fixture, &bad[i]);
    read_one(fixture, "WALLPROF_SEED", "x");
    assert_false(fixture->config.has_seed);
    read_one(fixture, "WALLPROF_LOG", ":/tmp/x");
    assert_string_equal(fixture->config.log_path, "");
}

static void signals_that_mean_something_else_are_refused(void **state)
{
    static const char *const refused[] = {"KILL", "STOP", "SEGV", "BUS",  "ILL",  "FPE",  "TRAP", "ABRT",
                                          "SYS",  "CHLD", "CONT", "TSTP", "TTIN", "TTOU", "INT",  "TERM"};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct bad_case c = {"WALLPROF_SIGNAL", refused[i], REFUSED, SIGPROF};
        assert_bad(fixture, &c);
    }
}

static void unknown_variables_are_named(void **state)
{
    struct fixture *fixture = *state;
    read_all(fixture, (const char *const[]){"WALLPROF_X=1", "WALLPROF_HZX=3", NULL});
    assert_said(fixture, "WALLPROF_X is not a variable of this version; it is ignored\n"
                         "wallprof: WALLPROF_HZX is not a variable of this version; it is ignored");
    assert_int_equal(fixture->config.sampler.hz, 100);
    read_all(fixture, (const char *const[]){"WALLPROF_=", "WALLPROF=1", "MYWALLPROF_X=1", NULL});
    assert_said(fixture, "WALLPROF_ is not a variable of this version; it is ignored");
    read_all(fixture, (const char *const[]){"WALLPROF_X=1", "WALLPROF_HZ=0", "WALLPROF_LOG=error", NULL});
    assert_said(fixture, "WALLPROF_HZ=0 " HZ_SAID); /* wherever WALLPROF_LOG stands */
    read_all(fixture, (const char *const[]){"WALLPROF_X=1", "WALLPROF_HZ=0", "WALLPROF_LOG=off", NULL});
    assert_said(fixture, "");
}

/* ---- paths ---- */

/* A path of that many bytes. */
static const char *long_path(size_t bytes)
{
    static char path[PATH_MAX + 100];
    memset(path, 'x', sizeof(path));
    path[0] = '/';
    path[bytes] = '\0';
    return path;
}

static void the_output_may_be_as_long_as_a_path(void **state)
{
    struct fixture *fixture = *state;
    read_one(fixture, "WALLPROF_OUT", long_path(PATH_MAX - 1));
    assert_string_equal(fixture->config.out, long_path(PATH_MAX - 1));
    assert_said(fixture, "");
    read_one(fixture, "WALLPROF_OUT", long_path(PATH_MAX));
    assert_string_equal(fixture->config.out, "");
    assert_said(fixture, "WALLPROF_OUT is longer than 4095 bytes; using wallprof.%p.pb.gz");
}

static void a_store_may_be_one_of_a_run(void **state)
{
    static const struct {
        const char *value, *place;
        bool is_run, is_merged;
    } cases[] = {{"auto", "auto", false, false},
                 {"off", "", false, false},
                 {"/a/%p.store", "/a/%p.store", false, false},
                 {"run:/tmp/x%%/", "/tmp/x%%/", true, false},
                 {"merge:/tmp/x/", "/tmp/x/", true, true},
                 {"merge", "merge", false, false}};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        read_one(fixture, "WALLPROF_STORE", cases[i].value);
        assert_string_equal(fixture->config.store, cases[i].place);
        assert_int_equal(fixture->config.store_is_run, cases[i].is_run);
        assert_int_equal(fixture->config.store_is_merged, cases[i].is_merged);
        assert_said(fixture, "");
    }
}

static void there_may_be_several_outputs(void **state)
{
    struct fixture *fixture = *state;
    read_one(fixture, "WALLPROF_OUT", "a.pb.gz,/b,c/%p%%.html,c%,d.store,%");
    assert_string_equal(fixture->config.out, "a.pb.gz");
    assert_int_equal(fixture->config.more_out_count, 3);
    assert_string_equal(fixture->config.more_outs[0], "/b,c/%p%%.html");
    assert_string_equal(fixture->config.more_outs[1], "c%,d.store");
    assert_string_equal(fixture->config.more_outs[2], "%");
    assert_int_equal(fixture->config.timeline, TIMELINE_OFF);
    assert_said(fixture, "");
    read_one(fixture, "WALLPROF_OUT", "a.pb.gz,b.json.gz");
    assert_int_equal(fixture->config.timeline, TIMELINE_ON);
    read_one(fixture, "WALLPROF_OUT", "/x/fork,exec/callgrind.out.1,b");
    assert_string_equal(fixture->config.out, "/x/fork,exec/callgrind.out.1");
    assert_string_equal(fixture->config.more_outs[0], "b");
    read_one(fixture, "WALLPROF_OUT", ",a.pb%,b,c"); /* no name here says a format */
    assert_string_equal(fixture->config.out, ",a.pb%,b,c");
    assert_int_equal(fixture->config.more_out_count, 0);
    assert_said(fixture, "");
    read_one(fixture, "WALLPROF_OUT", "a.pb,");
    assert_string_equal(fixture->config.out, "a.pb");
    assert_said(fixture, "WALLPROF_OUT=a.pb, has an empty name in it, which is left out");
    read_one(fixture, "WALLPROF_OUT", "1.pb,2.pb,3.pb,4.pb,5.pb,6.pb,7.pb,8.pb,9.pb");
    assert_string_equal(fixture->config.more_outs[6], "8.pb");
    assert_int_equal(fixture->config.more_out_count, 7);
    assert_said(fixture, "WALLPROF_OUT has more than 8 names; 9.pb is left out");
    read_one(fixture, "WALLPROF_OUT", "a.pb.gz,/tmp/%p.svg");
    assert_string_equal(fixture->config.more_outs[0], "/tmp/%p.svg");
    assert_said(fixture,
                "WALLPROF_OUT: no format has the ending of /tmp/%p.svg (.pb.gz, .callgrind, .folded, .html, "
                ".perfetto.json.gz, .json.gz and .store are known); writing pprof");
}

static void the_log_may_go_to_a_file(void **state)
{
    struct fixture *fixture = *state;
    read_one(fixture, "WALLPROF_LOG", "debug:/var/log/a:b");
    assert_int_equal(fixture->config.log_level, LOG_DEBUG);
    assert_int_equal(fixture->log.level, LOG_DEBUG);
    assert_string_equal(fixture->config.log_path, "/var/log/a:b");
    read_one(fixture, "WALLPROF_LOG", "info:");
    assert_int_equal(fixture->config.log_level, LOG_INFO);
    assert_string_equal(fixture->config.log_path, "");
    assert_said(fixture, "");
}

/* A name that was cut is another file: it is not written to, and that is said. */
static void a_log_file_whose_name_is_too_long_is_refused(void **state)
{
    struct fixture *fixture = *state;
    char value[PATH_MAX + 200];
    snprintf(value, sizeof(value), "info:%s", long_path(PATH_MAX - 1));
    read_one(fixture, "WALLPROF_LOG", value);
    assert_string_equal(fixture->config.log_path, long_path(PATH_MAX - 1));
    snprintf(value, sizeof(value), "info:%s", long_path(PATH_MAX));
    read_one(fixture, "WALLPROF_LOG", value);
    assert_int_equal(strlen(fixture->config.log_path), 0);
    assert_non_null(strstr(fixture->log.text, "WALLPROF_LOG"));
}

/* ---- patterns ---- */

static const struct pattern_values names = {
    .pid = 4194304, .program = "my%papp", .host = "host.example", .start_utc_s = 0, .rank = 12};

struct expand_case {
    const char *pattern, *expected;
    bool has_pid;
};

/* What a launcher says of the rank; MPI's own before Slurm's,
 * which is one only in a step of several tasks. */
static void ranks_are_found(void **state)
{
    static const struct {
        char *environment[5];
        int32_t rank;
    } cases[] = {
        {{NULL}, PROCESS_NO_RANK},
        {{"OMPI_COMM_WORLD_RANK=0", NULL}, 0},
        {{"PMIX_RANK=3", "OMPI_COMM_WORLD_RANK=12", NULL}, 12},
        {{"PMI_RANK=5", "PMIX_RANK=3", NULL}, 3},
        {{"MV2_COMM_WORLD_RANK=6", "PMI_RANK=5", NULL}, 5},
        {{"MV2_COMM_WORLD_RANK=6", NULL}, 6},
        {{"SLURM_PROCID=0", "SLURM_NTASKS=8", NULL}, PROCESS_NO_RANK},
        {{"SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=1", NULL}, PROCESS_NO_RANK},
        {{"SLURM_PROCID=7", "SLURM_STEP_NUM_TASKS=8", NULL}, 7},
        {{"SLURM_PROCID=7", "SLURM_STEP_NUM_TASKS=8", "PMI_RANK=2", NULL}, 2},
        {{"PMI_RANK=", "OMPI_COMM_WORLD_RANK=x", "PMIX_RANK=1x", NULL}, PROCESS_NO_RANK},
        {{"PMI_RANK=-1", "MV2_COMM_WORLD_RANK=4294967296", NULL}, PROCESS_NO_RANK},
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        memset(&fixture->config, 0, sizeof(fixture->config));
        config_read(&fixture->config, &fixture->log, cases[i].environment);
        if (fixture->config.rank != cases[i].rank)
            fail_msg("%zu: rank %d, not %d", i, fixture->config.rank, cases[i].rank);
    }
}

static void sequences_are_expanded(void **state)
{
    static const struct expand_case cases[] = {
        {"", "", false},
        {"plain.pb.gz", "plain.pb.gz", false},
        {"%p", "4194304", true},
        {"%p-%t", "4194304-19700101T000000Z", true},
        {"a.%p.b.%p", "a.4194304.b.4194304", true},
        {"%n", "my%papp", false}, /* what is put in is not expanded again */
        {"%h", "host.example", false},
        {"%t", "19700101T000000Z", false},
        {"%r/%p", "12/4194304", true},
        {"%%", "%", false},
        {"%%p", "%p", false},
        {"a%,b", "a,b", false},
        {"%%%p", "%4194304", true},
        {"100%", "100%", false},
        {"%x%P%1", "%x%P%1", false},
        {"%x%p", "%x4194304", true},
        {"/d/%h/%n-%t-%p.pb.gz", "/d/host.example/my%papp-19700101T000000Z-4194304.pb.gz", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[256];
        assert_int_equal(name_pattern_expand(cases[i].pattern, &names, text, sizeof(text)), 0);
        assert_string_equal(text, cases[i].expected);
        assert_int_equal(name_pattern_has_pid(cases[i].pattern), cases[i].has_pid);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    static const char *const patterns[] = {"12345678", "%p", "1%p", "%t", "%n"};
    for (size_t i = 0; i < COUNT(patterns); i++) {
        char whole[64], text[64];
        assert_int_equal(name_pattern_expand(patterns[i], &names, whole, sizeof(whole)), 0);
        size_t length = strlen(whole);
        for (size_t capacity = 1; capacity < sizeof(text); capacity++) {
            memset(text, '#', sizeof(text));
            int status = name_pattern_expand(patterns[i], &names, text, capacity);
            assert_int_equal(status, capacity > length ? 0 : -ENAMETOOLONG);
            assert_int_equal(text[capacity], '#');
        }
    }
}

static void times_are_the_calendars(void **state)
{
    static const struct {
        uint64_t seconds;
        const char *expected;
    } cases[] = {
        {UINT64_C(0), "19700101T000000Z"},
        {UINT64_C(951782399), "20000228T235959Z"},
        {UINT64_C(951782400), "20000229T000000Z"},
        {UINT64_C(951868800), "20000301T000000Z"},
        {UINT64_C(1704067199), "20231231T235959Z"},
        {UINT64_C(1704067200), "20240101T000000Z"},
        {UINT64_C(1709210096), "20240229T123456Z"},
        {UINT64_C(1735689599), "20241231T235959Z"},
        {UINT64_C(1735689600), "20250101T000000Z"},
        {UINT64_C(1795234500), "20261121T041500Z"},
        {UINT64_C(2147483648), "20380119T031408Z"},
        {UINT64_C(4107542399), "21000228T235959Z"},
        {UINT64_C(4107542400), "21000301T000000Z"},
        {UINT64_C(13574563200), "24000229T000000Z"},
        {UINT64_C(253402300799), "99991231T235959Z"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pattern_values at = {.start_utc_s = cases[i].seconds};
        char text[32];
        assert_int_equal(name_pattern_expand("%t", &at, text, sizeof(text)), 0);
        assert_string_equal(text, cases[i].expected);
    }
}

struct insert_case {
    const char *path, *expected;
};

static void what_is_inserted_goes_before_the_ending(void **state)
{
    static const struct insert_case cases[] = {
        {"app.pb.gz", "app.1234.pb.gz"},
        {"/d/app.pb.gz", "/d/app.1234.pb.gz"},
        {"app.callgrind", "app.1234.callgrind"},
        {"app.gz", "app.1234.gz"},
        {"app", "app.1234"},
        {"/d.d/app", "/d.d/app.1234"},
        {"/d.pb.gz/app", "/d.pb.gz/app.1234"},
        {".hidden", ".hidden.1234"},
        {"/d/.hidden.pb.gz", "/d/.hidden.1234.pb.gz"},
        {".hidden.gz", ".hidden.1234.gz"},
        {"a.b.c.pb.gz", "a.b.c.1234.pb.gz"},
        {"a.b", "a.1234.b"},
        {"app.", "app.1234."},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char path[64];
        strcpy(path, cases[i].path);
        assert_int_equal(name_pattern_insert(path, sizeof(path), "1234"), 0);
        assert_string_equal(path, cases[i].expected);
        strcpy(path, cases[i].path);
        assert_int_equal(name_pattern_insert(path, strlen(cases[i].expected) + 1, "1234"), 0);
        strcpy(path, cases[i].path);
        assert_int_equal(name_pattern_insert(path, strlen(cases[i].expected), "1234"), -ENAMETOOLONG);
        assert_string_equal(path, cases[i].path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_defaults_are_as_documented, setup),
        cmocka_unit_test_setup(good_values_are_used_without_a_word, setup),
        cmocka_unit_test_setup(all_at_once_do_not_disturb_each_other, setup),
        cmocka_unit_test_setup(a_name_may_ask_for_a_timeline, setup),
        cmocka_unit_test_setup(a_rate_goes_without_restraint, setup),
        cmocka_unit_test_setup(bad_values_are_named_with_what_is_used_instead, setup),
        cmocka_unit_test_setup(signals_that_mean_something_else_are_refused, setup),
        cmocka_unit_test_setup(unknown_variables_are_named, setup),
        cmocka_unit_test_setup(the_output_may_be_as_long_as_a_path, setup),
        cmocka_unit_test_setup(there_may_be_several_outputs, setup),
        cmocka_unit_test_setup(a_store_may_be_one_of_a_run, setup),
        cmocka_unit_test_setup(the_log_may_go_to_a_file, setup),
        cmocka_unit_test_setup(a_log_file_whose_name_is_too_long_is_refused, setup),
        cmocka_unit_test_setup(ranks_are_found, setup),
        cmocka_unit_test(sequences_are_expanded),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(times_are_the_calendars),
        cmocka_unit_test(what_is_inserted_goes_before_the_ending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
