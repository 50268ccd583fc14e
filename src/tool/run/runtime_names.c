#include "runtime_names.h"
#include "names/perf_map.h"
#include "tool/io/output_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_JAVA_WITH_LISTS = 17, WAYS_MAX = 3, RELEASE_BYTES = 4096 };

/* Of node's two options for a list this one leaves no log in the working directory. */
static const char *const node_options[WAYS_MAX + 1] = {"--perf-basic-prof-only-functions",
                                                       "--interpreted-frames-native-stack"};
static const char *const java_options[WAYS_MAX + 1] = {
    "-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit"};

/* --perf-basic-prof is the other one. */
static bool is_said(const char *option, const char *words)
{
    static const char list_option[] = "--perf-basic-prof";
    const bool is_list = strncmp(option, list_option, sizeof list_option - 1) == 0;
    return words && strstr(words, is_list ? list_option : option);
}

static bool is_in(const char *option, char **argv)
{
    while (*argv && !is_said(option, *argv))
        argv++;
    return *argv;
}

/* The options that are neither among the arguments nor in the variable. Returns how many. */
static int missing_options(const char *const options[], char **argv, const char *variable,
                           const char *ret[WAYS_MAX])
{
    int count = 0;
    for (int i = 0; options[i]; i++) {
        if (!is_in(options[i], argv + 1) && !is_said(options[i], variable))
            ret[count++] = options[i];
    }
    return count;
}

/* Separated by blanks. */
static void join(const char *const options[], int count, char ret[RUNTIME_NAMES_TEXT_BYTES])
{
    *ret = '\0';
    for (int i = 0; i < count; i++)
        strcat(strcat(ret, i ? " " : ""), options[i]);
}

/* Right after the program's name, so that the user's own options count. 0 or -ENOMEM. */
static int add_arguments(struct runtime_names *names, const char *const options[], int count)
{
    char **argv = names->argv, **longer;
    size_t arguments = 0;
    while (argv[arguments])
        arguments++;
    longer = malloc((arguments + (size_t)count + 1) * sizeof *argv);
    if (!longer)
        return -ENOMEM;
    longer[0] = argv[0];
    for (int i = 0; i < count; i++)
        longer[1 + i] = (char *)options[i];
    memcpy(longer + 1 + count, argv + 1, arguments * sizeof *argv);
    names->argv = longer;
    return 0;
}

/* ---- node ---- */

static int add_to_variable(struct runtime_names *names)
{
    char *value;
    const char *before = getenv("NODE_OPTIONS");
    if (asprintf(&value, "%s%s%s", before ? before : "", before && *before ? " " : "", names->options) < 0)
        return -ENOMEM;
    setenv("NODE_OPTIONS", value, 1);
    free(value);
    names->where = " to NODE_OPTIONS";
    return 0;
}

static int ask_node(struct runtime_names *names, bool is_script)
{
    const char *missing[WAYS_MAX];
    const int count = missing_options(node_options, names->argv, getenv("NODE_OPTIONS"), missing);
    join(missing, count, names->options);
    if (count == 0)
        return 0;
    return is_script ? add_to_variable(names) : add_arguments(names, missing, count);
}

/* ---- java ---- */

/* By the file `release` of its directory: JAVA_VERSION="17.0.15". 0 if that does not tell. */
static int java_version(const char *path)
{
    char real[PATH_MAX], text[RELEASE_BYTES + 1];
    int version = 0;
    if (!realpath(path, real))
        return 0;
    char *end = strstr(real, "/bin/java");
    if (!end)
        return 0;
    strcpy(end, "/release"); /* it is shorter */
    FILE *file = fopen(real, "re");
    if (!file)
        return 0;
    text[fread(text, 1, RELEASE_BYTES, file)] = '\0';
    fclose(file);
    const char *line = strstr(text, "JAVA_VERSION=\"");
    return line && sscanf(line, "JAVA_VERSION=\"%d", &version) == 1 ? version : 0;
}

static int ask_java(struct runtime_names *names, const char *path)
{
    const char *missing[WAYS_MAX];
    const int count = missing_options(java_options, names->argv, getenv("JAVA_TOOL_OPTIONS"), missing);
    if (count == 0 || java_version(path) < FIRST_JAVA_WITH_LISTS)
        return 0;
    join(missing, count, names->options);
    return add_arguments(names, missing, count);
}

/* ---- both ---- */

int runtime_names_ask(struct runtime_names *ret, const char *path, const char *interpreter, char **argv)
{
    const char *name = output_file_name(*interpreter ? interpreter : path);
    *ret = (struct runtime_names){.argv = argv, .where = ""};
    if (strcmp(name, "node") == 0 || strcmp(name, "nodejs") == 0)
        return ask_node(ret, *interpreter);
    /* A script's arguments are not those of its interpreter. */
    return strcmp(name, "java") == 0 && !*interpreter ? ask_java(ret, path) : 0;
}

void runtime_names_end(const struct runtime_names *names, pid_t program)
{
    char path[PERF_MAP_PATH_BYTES];
    perf_map_path(program, path);
    if (*names->options)
        unlink(path);
}
