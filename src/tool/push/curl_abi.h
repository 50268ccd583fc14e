/*
 * libcurl's functions and numbers that push_http.c uses. libcurl is loaded at run time, and its interface has
 * been the same since libcurl.so.4 (2006), with additions. So its headers are not needed, and a build does
 * not depend on whether they are installed.
 *
 * Source: curl/curl.h of libcurl 7.88. An option is a number plus 10000 for a pointer, 20000 for a function,
 * 30000 for a 64-bit number.
 */
#ifndef WALLPROF_CURL_ABI_H
#define WALLPROF_CURL_ABI_H

#include <stdint.h>

typedef int64_t curl_off_t;

struct curl_slist {
    char *data;
    struct curl_slist *next;
};

/* CURLcode */
enum curl_code {
    CURLE_OK = 0,
    CURLE_UNSUPPORTED_PROTOCOL = 1,
    CURLE_URL_MALFORMAT = 3,
    CURLE_ABORTED_BY_CALLBACK = 42,
    CURLE_PEER_FAILED_VERIFICATION = 60,
    CURLE_SSL_CACERT_BADFILE = 77,
    CURLE_SSL_ISSUER_ERROR = 83
};

/* CURLoption */
enum curl_option {
    CURLOPT_TIMEOUT = 13,
    CURLOPT_LOW_SPEED_LIMIT = 19,
    CURLOPT_LOW_SPEED_TIME = 20,
    CURLOPT_SSLVERSION = 32,
    CURLOPT_NOPROGRESS = 43,
    CURLOPT_POST = 47,
    CURLOPT_NETRC = 51,
    CURLOPT_FOLLOWLOCATION = 52,
    CURLOPT_SSL_VERIFYPEER = 64,
    CURLOPT_CONNECTTIMEOUT = 78,
    CURLOPT_SSL_VERIFYHOST = 81,
    CURLOPT_NOSIGNAL = 99,
    CURLOPT_HTTPAUTH = 107,
    CURLOPT_PROTOCOLS = 181, /* before 7.85 */
    CURLOPT_HEADEROPT = 229,
    CURLOPT_WRITEDATA = 10001,
    CURLOPT_URL = 10002,
    CURLOPT_PROXY = 10004,
    CURLOPT_READDATA = 10009,
    CURLOPT_ERRORBUFFER = 10010,
    CURLOPT_USERAGENT = 10018,
    CURLOPT_HTTPHEADER = 10023,
    CURLOPT_XFERINFODATA = 10057,
    CURLOPT_CAINFO = 10065,
    CURLOPT_CAPATH = 10097,
    CURLOPT_SEEKDATA = 10168,
    CURLOPT_USERNAME = 10173,
    CURLOPT_PASSWORD = 10174,
    CURLOPT_PROTOCOLS_STR = 10318, /* since 7.85 */
    CURLOPT_WRITEFUNCTION = 20011,
    CURLOPT_READFUNCTION = 20012,
    CURLOPT_SEEKFUNCTION = 20167,
    CURLOPT_XFERINFOFUNCTION = 20219,
    CURLOPT_POSTFIELDSIZE_LARGE = 30120
};

/* CURLINFO */
enum curl_info { CURLINFO_RESPONSE_CODE = 0x200002, CURLINFO_RETRY_AFTER = 0x600039 /* since 7.66 */ };

/* What options are set to. */
enum {
    CURL_GLOBAL_DEFAULT = 3,
    CURL_ERROR_SIZE = 256,
    CURL_SEEKFUNC_OK = 0,
    CURL_SEEKFUNC_FAIL = 1,
    CURLPROTO_HTTP_AND_HTTPS = 3,
    CURL_NETRC_IGNORED = 0,
    CURL_SSLVERSION_TLSv1_2 = 6,
    CURLHEADER_SEPARATE = 1,
    CURLAUTH_BASIC = 1
};

struct curl_calls {
    enum curl_code (*global_init)(long flags);
    void *(*easy_init)(void);
    enum curl_code (*setopt)(void *handle, enum curl_option, ...);
    enum curl_code (*perform)(void *handle);
    enum curl_code (*getinfo)(void *handle, enum curl_info, ...);
    void (*reset)(void *handle);
    void (*cleanup)(void *handle);
    const char *(*strerror)(enum curl_code);
    struct curl_slist *(*append)(struct curl_slist *, const char *line);
    void (*free_all)(struct curl_slist *);
};

#endif
