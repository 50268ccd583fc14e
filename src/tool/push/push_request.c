#include "push_request.h"
#include "base/clock.h"
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

/* The end of both JSON documents, after the profile. */
enum { JSON_END_BYTES = sizeof "\"}]}]}" - 1 };

void push_request_new_id(char ret[PUSH_ID_BYTES])
{
    uint8_t random[16] = {0};
    char hexadecimal[2 * sizeof random + 1];
    (void)getrandom(random, sizeof random, 0);
    random[6] = (random[6] & 0x0f) | 0x40;
    random[8] = (random[8] & 0x3f) | 0x80;
    for (size_t i = 0; i < sizeof random; i++)
        sprintf(hexadecimal + 2 * i, "%02x", random[i]);
    snprintf(ret, PUSH_ID_BYTES, "%.8s-%.4s-%.4s-%.4s-%s", hexadecimal, hexadecimal + 8, hexadecimal + 12,
             hexadecimal + 16, hexadecimal + 20);
}

/* ---- the address ---- */

/* Encodes all but RFC 3986's unreserved characters. */
static void put_encoded(FILE *stream, const char *text)
{
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                        (byte >= '0' && byte <= '9') || strchr("-._~", byte);
        fprintf(stream, is_plain ? "%c" : "%%%02X", byte);
    }
}

static void put_query_labels(FILE *stream, const struct push_target *target)
{
    put_encoded(stream, "{");
    for (uint32_t i = 0; i < target->label_count; i++) {
        if (i > 0)
            put_encoded(stream, ",");
        put_encoded(stream, target->labels[i].name);
        put_encoded(stream, "=");
        put_encoded(stream, target->labels[i].value);
    }
    put_encoded(stream, "}");
}

/* Times are whole seconds, which every version reads; the end is rounded up. */
static void put_query(FILE *stream, const struct push_target *target, const struct push_profile *profile,
                      const char *name)
{
    uint64_t from_s = profile->start_utc_ns / NS_PER_S;
    uint64_t until_s = (profile->start_utc_ns + profile->duration_ns + NS_PER_S - 1) / NS_PER_S;
    fputs("?name=", stream);
    put_encoded(stream, name);
    put_query_labels(stream, target);
    fprintf(stream, "&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof", from_s,
            until_s > from_s ? until_s : from_s + 1);
}

static char *make_url(const struct push_target *target, const struct push_profile *profile, const char *name)
{
    static const char *const paths[] = {"/ingest", "/push.v1.PusherService/Push", "/api/profiles/writeraw"};
    char *url = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&url, &bytes);
    if (!stream)
        return NULL;
    fprintf(stream, "%.*s%s", (int)target->address_bytes, target->address, paths[target->interface]);
    if (target->interface == PUSH_PYROSCOPE_INGEST)
        put_query(stream, target, profile, name);
    bool is_whole = !ferror(stream);
    if (fclose(stream) == 0 && is_whole)
        return url;
    free(url);
    return NULL;
}

/* ---- the document ---- */

static void put_label(struct json *json, const char *name, const char *value)
{
    json_begin_object(json);
    json_key(json, "name");
    json_string(json, name);
    json_key(json, "value");
    json_string(json, value);
    json_end_object(json);
}

/* For Parca the list of labels is within an object. */
static void put_series_labels(struct json *json, const struct push_target *target, const char *name)
{
    bool is_parca = target->interface == PUSH_PARCA;
    json_key(json, "labels");
    if (is_parca) {
        json_begin_object(json);
        json_key(json, "labels");
    }
    json_begin_array(json);
    put_label(json, "__name__", is_parca ? "wallprof" : "wall");
    put_label(json, "service_name", name);
    for (uint32_t i = 0; i < target->label_count; i++)
        put_label(json, target->labels[i].name, target->labels[i].value);
    json_end_array(json);
    if (is_parca)
        json_end_object(json);
}

/* The document with an empty profile, after which JSON_END_BYTES follow. */
static void put_document(struct json *json, const struct push_target *target, const char *name,
                         const char *id)
{
    json_begin_object(json);
    json_key(json, "series");
    json_begin_array(json);
    json_begin_object(json);
    put_series_labels(json, target, name);
    json_key(json, "samples");
    json_begin_array(json);
    json_begin_object(json);
    if (target->interface == PUSH_PYROSCOPE_PUSH) {
        json_key(json, "ID");
        json_string(json, id);
    }
    json_key(json, "rawProfile");
    json_string(json, "");
    json_end_object(json);
    json_end_array(json);
    json_end_object(json);
    json_end_array(json);
    json_end_object(json);
}

static char *make_document(const struct push_target *target, const char *name, const char *id,
                           size_t *ret_bytes)
{
    struct json json;
    char *text = NULL;
    int error, fd = memfd_create("wallprof", MFD_CLOEXEC);
    struct sink *sink = fd < 0 ? NULL : sink_create_on(fd, SINK_PLAIN);
    if (sink) {
        json_init(&json, sink);
        put_document(&json, target, name, id);
        if (sink_commit(sink) == 0)
            text = push_file_read(fd, ret_bytes, &error);
    }
    if (fd >= 0)
        close(fd);
    return text;
}

static int put_document_around_body(struct push_request *request, const struct push_target *target,
                                    const char *name, const char *id)
{
    size_t bytes;
    request->text = make_document(target, name, id, &bytes);
    if (!request->text)
        return -ENOMEM;
    request->content_type = "application/json";
    request->body.is_base64 = true;
    request->body.before = request->text;
    request->body.after_bytes = JSON_END_BYTES;
    request->body.before_bytes = bytes - request->body.after_bytes;
    request->body.after = request->text + request->body.before_bytes;
    return 0;
}

int push_request_init(struct push_request *request, const struct push_target *target,
                      const struct push_profile *profile, const char *id)
{
    char made[sizeof profile->program];
    const char *name = target->name ? target->name : made;
    push_target_make_name(profile->program, made, sizeof made);
    *request = (struct push_request){
        .url = make_url(target, profile, name),
        .content_type = "application/octet-stream",
        .body = {.before = "", .after = "", .profile = profile->bytes, .profile_bytes = profile->count}};
    int status = request->url ? 0 : -ENOMEM;
    if (status == 0 && target->interface != PUSH_PYROSCOPE_INGEST)
        status = put_document_around_body(request, target, name, id);
    if (status < 0)
        push_request_free(request);
    return status;
}

void push_request_free(struct push_request *request)
{
    free(request->url);
    free(request->text);
    *request = (struct push_request){0};
}
