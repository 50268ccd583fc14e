#include "mcp_record.h"
#include "base/number_names.h"
#include "tool/io/output_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct recorded {
    char path[PATH_MAX];
    bool is_in_own_directory; /* which nobody misses if it stays empty */
    struct stat before;       /* of a file that was there; zeros without */
    enum mcp_end end;
    int status;
    struct mcp_text output;
};

static const char *text_of(const json_t *arguments, const char *name)
{
    return json_string_value(json_object_get(arguments, name));
}

/* A new directory, so that nobody else's file is in the way. 0 or -errno. */
static int new_path(const char *program, char ret[PATH_MAX])
{
    const char *temporary = getenv("TMPDIR");
    char directory[PATH_MAX / 2];
    snprintf(directory, sizeof directory, "%s/wallprof.XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(directory))
        return -errno;
    snprintf(ret, PATH_MAX, "%s/%.200s.pb.gz", directory, output_file_name(program));
    return 0;
}

/* Absolute, as the program's directory is not the client's. 0 or -errno. */
static int choose_path(const json_t *arguments, char ret[PATH_MAX])
{
    const char *output = text_of(arguments, "output"), *directory = text_of(arguments, "directory");
    char place[PATH_MAX];
    if (!output)
        return new_path(json_string_value(json_array_get(json_object_get(arguments, "command"), 0)), ret);
    if (!realpath(directory ? directory : ".", place))
        return -errno;
    int length = *output == '/' ? snprintf(ret, PATH_MAX, "%s", output)
                                : snprintf(ret, PATH_MAX, "%s/%s", place, output);
    return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* A comma and a percent sign mean something in the name of an output. */
static json_t *out_word(const char *path)
{
    char quoted[2 * PATH_MAX], *to = quoted;
    for (const char *at = path; *at; at++) {
        if (*at == '%' || *at == ',')
            *to++ = '%';
        *to++ = *at;
    }
    *to = '\0';
    return json_sprintf("--out=%s", quoted);
}

static json_t *run_words(const json_t *arguments, const char *path)
{
    json_t *words = json_pack("[s, s, s, s]", "wallprof", "run", "--quiet", "--merge");
    json_array_append_new(words, out_word(path));
    json_array_append_new(words, json_string("--"));
    json_array_extend(words, json_object_get(arguments, "command"));
    return words;
}

/* Whether there is a file now that was not there before. */
static bool was_written(const struct recorded *recorded)
{
    struct stat now;
    const struct stat *before = &recorded->before;
    return stat(recorded->path, &now) == 0 &&
           (now.st_ino != before->st_ino || now.st_dev != before->st_dev || now.st_size != before->st_size ||
            now.st_mtim.tv_sec != before->st_mtim.tv_sec || now.st_mtim.tv_nsec != before->st_mtim.tv_nsec);
}

static void remove_empty_directory(struct recorded *recorded)
{
    char *name = recorded->is_in_own_directory ? strrchr(recorded->path, '/') : NULL;
    if (!name)
        return;
    *name = '\0';
    rmdir(recorded->path);
    *name = '/';
}

/* ---- answers ---- */

static json_t *ending_of(const struct recorded *recorded)
{
    const int number = WIFSIGNALED(recorded->status) ? WTERMSIG(recorded->status) : 0;
    const char *name = number ? signal_name(number) : NULL;
    json_t *signal = name ? json_sprintf("SIG%s", name) : number ? json_integer(number) : json_null();
    return json_pack("{s:o, s:o, s:b}", "status",
                     number ? json_null() : json_integer(WEXITSTATUS(recorded->status)), "signal", signal,
                     "reached_time_limit", recorded->end == MCP_LATE);
}

static json_t *answer_nothing(const struct recorded *recorded)
{
    json_t *text = json_sprintf("There is no recording. The program %s %d. It said:\n%s",
                                WIFSIGNALED(recorded->status) ? "was ended by signal" : "ended with status",
                                WIFSIGNALED(recorded->status) ? WTERMSIG(recorded->status)
                                                              : WEXITSTATUS(recorded->status),
                                recorded->output.bytes);
    json_t *answer = text ? mcp_answer_text(json_string_value(text), true) : NULL;
    json_decref(text);
    return answer;
}

/* What explain says, or why it says nothing. */
static json_t *answer_recording(const struct recorded *recorded, struct mcp_watch *watch)
{
    json_t *file = json_pack("{s:s}", "file", recorded->path);
    json_t *explained = mcp_tool_call(mcp_tool_named("explain"), file, watch);
    json_t *document = json_object_get(explained, "structuredContent");
    json_t *answer = NULL;
    if (explained)
        answer = json_pack("{s:s, s:o, s:s, s:O?}", "recording", recorded->path, "program",
                           ending_of(recorded), "output", recorded->output.bytes, "explanation", document);
    if (answer && !document) {
        const json_t *content = json_array_get(json_object_get(explained, "content"), 0);
        json_object_set(answer, "reason", json_object_get(content, "text"));
    }
    if (answer && json_dumpb(answer, NULL, 0, JSON_COMPACT) > MCP_ANSWER_BYTES) {
        json_object_set_new(answer, "explanation", json_null());
        json_object_set_new(answer, "reason", json_string("it is too long: call explain with fewer lines"));
    }
    json_decref(file);
    json_decref(explained);
    return answer ? mcp_answer_document(answer) : NULL;
}

static json_t *answer_of(struct recorded *recorded, struct mcp_watch *watch)
{
    if (!recorded->output.bytes || recorded->end == MCP_STOPPED)
        return NULL;
    if (recorded->end == MCP_NOT_STARTED)
        return mcp_answer_text("wallprof could not be run", true);
    return was_written(recorded) ? answer_recording(recorded, watch) : answer_nothing(recorded);
}

json_t *mcp_record(const json_t *arguments, struct mcp_watch *watch)
{
    struct recorded recorded = {.status = 0};
    char reason[MCP_REASON_BYTES];
    const json_t *seconds = json_object_get(arguments, "seconds");
    int error = choose_path(arguments, recorded.path);
    if (error) {
        snprintf(reason, sizeof reason, "there is no place for the recording: %s", error_text(-error));
        return mcp_answer_text(reason, true);
    }
    recorded.is_in_own_directory = !text_of(arguments, "output");
    stat(recorded.path, &recorded.before);
    json_t *words = run_words(arguments, recorded.path);
    mcp_text_init(&recorded.output, MCP_OUTPUT_BYTES, true);
    const struct mcp_child child = {.directory = text_of(arguments, "directory"),
                                    .limit_s = seconds ? (unsigned)json_integer_value(seconds) : MCP_SECONDS,
                                    .is_run = true};
    recorded.end = mcp_run_words(words, child, watch, &recorded.output, &recorded.output, &recorded.status);
    json_t *answer = answer_of(&recorded, watch);
    remove_empty_directory(&recorded);
    mcp_text_deinit(&recorded.output);
    json_decref(words);
    return answer;
}
