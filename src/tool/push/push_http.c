#include "push_http.h"

#include "encode/version.h"
#include "curl_abi.h"
#include "base/number_names.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONNECT_MAX_S = 10,
    TRANSFER_MAX_S = 120,
    STALL_MAX_S = 30, /* without a byte either way */
    REPLY_KEPT_BYTES = 16 * 1024,
    REPLY_MAX_BYTES = 1 << 20,
    REPLY_SHOWN_BYTES = 200
};

/* ---- libcurl ---- */

struct push_http {
    struct curl_calls curl;
    void *handle;
    struct push_http_options options;
    const struct push_body *body; /* of the present request */
    size_t body_at;               /* how much of it has been read */
    size_t reply_bytes, reply_kept_bytes;
    char error[CURL_ERROR_SIZE], reply[REPLY_KEPT_BYTES + 1];
};

static bool find_calls(struct curl_calls *calls, void *library)
{
    const struct {
        const char *name;
        void *function;
    } names[] = {{"curl_global_init", &calls->global_init}, {"curl_easy_init", &calls->easy_init},
                 {"curl_easy_setopt", &calls->setopt},      {"curl_easy_perform", &calls->perform},
                 {"curl_easy_getinfo", &calls->getinfo},    {"curl_easy_reset", &calls->reset},
                 {"curl_easy_cleanup", &calls->cleanup},    {"curl_easy_strerror", &calls->strerror},
                 {"curl_slist_append", &calls->append},     {"curl_slist_free_all", &calls->free_all}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *found = dlsym(library, names[i].name);
        if (!found)
            return false;
        memcpy(names[i].function, &found, sizeof found);
    }
    return true;
}

/* libcurl was built with OpenSSL or with GnuTLS. It stays loaded. */
static bool load_curl(struct curl_calls *calls)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library && find_calls(calls, library) && calls->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
            return true;
    }
    return false;
}

int push_http_open(struct push_http **ret, const struct push_http_options *options,
                   char reason[PUSH_REASON_BYTES])
{
    struct push_http *http = calloc(1, sizeof *http);
    if (http && !load_curl(&http->curl)) {
        free(http);
        snprintf(reason, PUSH_REASON_BYTES,
                 "push needs libcurl (libcurl.so.4, Debian's package libcurl4), "
                 "which cannot be loaded");
        return -ENOENT;
    }
    if (http)
        http->handle = http->curl.easy_init();
    if (!http || !http->handle) {
        free(http);
        snprintf(reason, PUSH_REASON_BYTES, "%s", error_text(ENOMEM));
        return -ENOMEM;
    }
    http->options = *options;
    *ret = http;
    return 0;
}

void push_http_close(struct push_http *http)
{
    if (!http)
        return;
    http->curl.cleanup(http->handle);
    free(http);
}

/* ---- what libcurl calls ---- */

static size_t read_body(char *buffer, size_t size, size_t count, void *argument)
{
    struct push_http *http = argument;
    size_t got = push_body_read(http->body, http->body_at, buffer, size * count);
    http->body_at += got;
    return got;
}

static int seek_body(void *argument, curl_off_t offset, int origin)
{
    struct push_http *http = argument;
    if (origin != SEEK_SET || offset < 0 || (size_t)offset > push_body_bytes(http->body))
        return CURL_SEEKFUNC_FAIL;
    http->body_at = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* Keeps the beginning of a reply. A reply that is too long ends the transfer. */
static size_t keep_reply(char *bytes, size_t size, size_t count, void *argument)
{
    struct push_http *http = argument;
    size_t given = size * count, room = REPLY_KEPT_BYTES - http->reply_kept_bytes;
    size_t kept = given < room ? given : room;
    memcpy(http->reply + http->reply_kept_bytes, bytes, kept);
    http->reply_kept_bytes += kept;
    http->reply_bytes += given;
    return http->reply_bytes <= REPLY_MAX_BYTES ? given : 0;
}

static int check_for_stop(void *argument, curl_off_t to_come, curl_off_t came, curl_off_t to_go,
                          curl_off_t went)
{
    const struct push_http *http = argument;
    (void)to_come;
    (void)came;
    (void)to_go;
    (void)went;
    return http->options.is_to_stop && http->options.is_to_stop(http->options.argument);
}

/* ---- a request ---- */

static bool set_number(struct push_http *http, enum curl_option option, long value)
{
    return http->curl.setopt(http->handle, option, value) == CURLE_OK;
}

static bool set_pointer(struct push_http *http, enum curl_option option, const void *value)
{
    return http->curl.setopt(http->handle, option, value) == CURLE_OK;
}

/* No other protocol, no other host; certificates and their names are verified. */
static bool set_safety(struct push_http *http)
{
    bool is_set = set_pointer(http, CURLOPT_PROTOCOLS_STR, "http,https") ||
                  set_number(http, CURLOPT_PROTOCOLS, CURLPROTO_HTTP_AND_HTTPS);
    is_set &= set_number(http, CURLOPT_FOLLOWLOCATION, 0) && set_number(http, CURLOPT_SSL_VERIFYPEER, 1) &&
              set_number(http, CURLOPT_SSL_VERIFYHOST, 2) &&
              set_number(http, CURLOPT_NETRC, CURL_NETRC_IGNORED) &&
              set_number(http, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2) &&
              set_number(http, CURLOPT_HEADEROPT, CURLHEADER_SEPARATE);
    if (http->options.authorities)
        is_set = is_set && set_pointer(http, CURLOPT_CAINFO, http->options.authorities) &&
                 set_pointer(http, CURLOPT_CAPATH, NULL);
    return is_set;
}

static bool set_bounds(struct push_http *http)
{
    return set_number(http, CURLOPT_NOSIGNAL, 1) && set_number(http, CURLOPT_CONNECTTIMEOUT, CONNECT_MAX_S) &&
           set_number(http, CURLOPT_TIMEOUT, TRANSFER_MAX_S) &&
           set_number(http, CURLOPT_LOW_SPEED_LIMIT, 1) &&
           set_number(http, CURLOPT_LOW_SPEED_TIME, STALL_MAX_S) && set_number(http, CURLOPT_NOPROGRESS, 0) &&
           set_pointer(http, CURLOPT_XFERINFOFUNCTION, check_for_stop) &&
           set_pointer(http, CURLOPT_XFERINFODATA, http);
}

static bool set_transfer(struct push_http *http, const struct push_request *request)
{
    curl_off_t bytes = (curl_off_t)push_body_bytes(&request->body);
    http->body = &request->body;
    http->body_at = http->reply_bytes = http->reply_kept_bytes = 0;
    *http->error = '\0';
    return set_pointer(http, CURLOPT_URL, request->url) && set_number(http, CURLOPT_POST, 1) &&
           http->curl.setopt(http->handle, CURLOPT_POSTFIELDSIZE_LARGE, bytes) == CURLE_OK &&
           set_pointer(http, CURLOPT_READFUNCTION, read_body) && set_pointer(http, CURLOPT_READDATA, http) &&
           set_pointer(http, CURLOPT_SEEKFUNCTION, seek_body) && set_pointer(http, CURLOPT_SEEKDATA, http) &&
           set_pointer(http, CURLOPT_WRITEFUNCTION, keep_reply) &&
           set_pointer(http, CURLOPT_WRITEDATA, http) &&
           set_pointer(http, CURLOPT_ERRORBUFFER, http->error) &&
           set_pointer(http, CURLOPT_USERAGENT, "wallprof/" WALLPROF_VERSION);
}

/* Without TLS credentials go to this machine only, so they go to no proxy. */
static bool set_credentials(struct push_http *http, const struct push_request *request,
                            const struct push_credentials *credentials)
{
    if (!push_credentials_are_there(credentials))
        return true;
    if (strncasecmp(request->url, "https:", 6) != 0 && !set_pointer(http, CURLOPT_PROXY, ""))
        return false;
    if (*credentials->token)
        return true; /* make_headers sends it */
    return set_number(http, CURLOPT_HTTPAUTH, CURLAUTH_BASIC) &&
           set_pointer(http, CURLOPT_USERNAME, credentials->user) &&
           set_pointer(http, CURLOPT_PASSWORD, credentials->password);
}

static bool append_header(struct push_http *http, struct curl_slist **list, const char *name,
                          const char *value)
{
    char line[PUSH_SECRET_BYTES + 64];
    snprintf(line, sizeof line, "%s:%s%s", name, *value ? " " : "", value);
    struct curl_slist *longer = http->curl.append(*list, line);
    explicit_bzero(line, sizeof line);
    if (longer)
        *list = longer;
    return longer;
}

/* "Expect: 100-continue" is left out: servers reply to it late, or only to refuse. */
static struct curl_slist *make_headers(struct push_http *http, const struct push_request *request,
                                       const struct push_credentials *credentials)
{
    struct curl_slist *list = NULL;
    char bearer[PUSH_SECRET_BYTES + 16];
    snprintf(bearer, sizeof bearer, "Bearer %s", credentials->token);
    bool is_whole = append_header(http, &list, "Content-Type", request->content_type) &&
                    append_header(http, &list, "Expect", "") &&
                    (!*credentials->token || append_header(http, &list, "Authorization", bearer));
    explicit_bzero(bearer, sizeof bearer);
    if (is_whole)
        return list;
    http->curl.free_all(list);
    return NULL;
}

static void free_headers(struct push_http *http, struct curl_slist *list)
{
    for (struct curl_slist *at = list; at; at = at->next)
        explicit_bzero(at->data, strlen(at->data));
    http->curl.free_all(list);
}

/* ---- the reply ---- */

/* RFC 9110, section 15, and the statuses that Pyroscope and Parca use. */
static const struct status {
    long number;
    enum push_outcome outcome;
    const char *hint; /* "" for none */
} statuses[] = {
    {401, PUSH_DENIED, "the server wants other credentials than it was given"},
    {403, PUSH_DENIED, "the server does not allow this with the credentials it was given"},
    {404, PUSH_DENIED, "there is no such interface at that address"},
    {405, PUSH_DENIED, "there is no such interface at that address"},
    {407, PUSH_DENIED, "a proxy wants credentials"},
    {408, PUSH_LATER, ""},
    {413, PUSH_REFUSED, "the profile is too large for the server"},
    {421, PUSH_DENIED, "that address is not this server's"},
    {425, PUSH_LATER, ""},
    {429, PUSH_LATER, "the server takes no more for now"},
};

static struct status classify_status(long number)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        if (statuses[i].number == number)
            return statuses[i];
    }
    if (number >= 200 && number < 300)
        return (struct status){number, PUSH_SENT, ""};
    if (number >= 300 && number < 400)
        return (struct status){number, PUSH_DENIED, "redirections are not followed"};
    return (struct status){number, number >= 400 && number < 500 ? PUSH_REFUSED : PUSH_LATER, ""};
}

/* The first line of the server's reply, if it is text and does not show the credentials. */
static int shown_bytes(const struct push_http *http, const struct push_credentials *credentials, long status)
{
    if (status == 401 || status == 403 || status == 407 || push_credentials_shown(credentials, http->reply))
        return 0;
    size_t bytes = strcspn(http->reply, "\r\n");
    return *http->reply == '<' ? 0 : (int)(bytes < REPLY_SHOWN_BYTES ? bytes : REPLY_SHOWN_BYTES);
}

static void explain_status(struct push_http *http, const struct push_credentials *credentials,
                           const struct status *status, struct push_result *result)
{
    http->reply[http->reply_kept_bytes] = '\0';
    int shown = shown_bytes(http, credentials, status->number);
    snprintf(result->text, sizeof result->text, "HTTP status %ld%s%s%s%.*s", status->number,
             *status->hint ? ", " : "", status->hint, shown > 0 ? ": " : "", shown, http->reply);
}

/* A bad certificate stays bad, so there is no second attempt. */
static enum push_outcome outcome_of_failure(enum curl_code code)
{
    switch (code) {
    case CURLE_ABORTED_BY_CALLBACK:
        return PUSH_STOPPED;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
        return PUSH_DENIED;
    default:
        return PUSH_LATER;
    }
}

static void read_reply(struct push_http *http, const struct push_credentials *credentials,
                       enum curl_code code, struct push_result *result)
{
    long number = 0;
    curl_off_t retry_after_s = 0;
    if (code != CURLE_OK) {
        result->outcome = outcome_of_failure(code);
        snprintf(result->text, sizeof result->text, "%s",
                 *http->error ? http->error : http->curl.strerror(code));
        return;
    }
    http->curl.getinfo(http->handle, CURLINFO_RESPONSE_CODE, &number);
    const struct status status = classify_status(number);
    result->outcome = status.outcome;
    http->curl.getinfo(http->handle, CURLINFO_RETRY_AFTER, &retry_after_s);
    result->retry_after_s = retry_after_s > 0 ? (uint64_t)retry_after_s : 0;
    explain_status(http, credentials, &status, result);
}

void push_http_send(struct push_http *http, const struct push_request *request,
                    const struct push_credentials *credentials, struct push_result *result)
{
    *result = (struct push_result){.outcome = PUSH_DENIED};
    http->curl.reset(http->handle);
    struct curl_slist *headers = make_headers(http, request, credentials);
    if (headers && set_safety(http) && set_bounds(http) && set_transfer(http, request) &&
        set_credentials(http, request, credentials) && set_pointer(http, CURLOPT_HTTPHEADER, headers))
        read_reply(http, credentials, http->curl.perform(http->handle), result);
    else
        snprintf(result->text, sizeof result->text, "libcurl does not do what is asked of it");
    free_headers(http, headers);
    http->curl.reset(http->handle); /* so that it does not keep the password */
}
