#include <curl/curl.h>

// What sets options and asks for results takes variable arguments, which Swift cannot pass: one function for each type
// of them.

typedef size_t (*navbus_curl_take)(char *bytes, size_t size, size_t count, void *context);
typedef int (*navbus_curl_begin)(void *context, char *to, char *from, int to_port, int from_port);

static inline CURLcode navbus_curl_set_number(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode navbus_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode navbus_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode navbus_curl_set_errors(CURL *handle, char *buffer) {
    return curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, buffer);
}

static inline CURLcode navbus_curl_set_lines(CURL *handle, struct curl_slist *lines) {
    return curl_easy_setopt(handle, CURLOPT_HTTPHEADER, lines);
}

static inline CURLcode navbus_curl_set_take(CURL *handle, CURLoption option, navbus_curl_take take) {
    return curl_easy_setopt(handle, option, take);
}

static inline CURLcode navbus_curl_set_begin(CURL *handle, navbus_curl_begin begin) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, begin);
}

static inline CURLMcode navbus_curl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

// The status of an answer whose head has come; 0 before.
static inline long navbus_curl_status(CURL *handle) {
    long status = 0;
    return curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0;
}

// Nothing but HTTP; the bit mask of earlier versions is deprecated. A version without TLS refuses to hear of it.
#if LIBCURL_VERSION_NUM >= 0x075500
static const CURLoption navbus_curl_protocols = CURLOPT_PROTOCOLS_STR;
#else
static const CURLoption navbus_curl_protocols = CURLOPT_PROTOCOLS;
#endif

static inline CURLcode navbus_curl_speak_http_only(CURL *handle, int secure) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(handle, navbus_curl_protocols, secure ? "http,https" : "http");
#else
    return curl_easy_setopt(
        handle, navbus_curl_protocols, (long)(secure ? CURLPROTO_HTTP | CURLPROTO_HTTPS : CURLPROTO_HTTP));
#endif
}

// A transfer that ends does not wait for a name server: the thread that asks it ends by itself. Earlier versions wait:
// they are told what they are told already, to keep the signals of a name server away.
#if LIBCURL_VERSION_NUM >= 0x075700
static const CURLoption navbus_curl_resolver = CURLOPT_QUICK_EXIT;
#else
static const CURLoption navbus_curl_resolver = CURLOPT_NOSIGNAL;
#endif

static inline CURLcode navbus_curl_leave_resolver(CURL *handle) {
    return curl_easy_setopt(handle, navbus_curl_resolver, 1L);
}

// The version that this program runs with, which need not be that of this header; what it can do.
static inline const curl_version_info_data *navbus_curl_version(void) {
    return curl_version_info(CURLVERSION_NOW);
}
