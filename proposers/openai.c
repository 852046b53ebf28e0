/*
 * openai.c - heed-propose-openai: queries a language model on an OpenAI-compatible server
 *
 *     OPENAI_API_KEY    the key [default: none]; never printed, and removed from all output
 *     OPENAI_BASE_URL   address of the server; default https://api.openai.com/v1
 *     OPENAI_MODEL      name of the model
 *     HEED_PROPOSE_SECONDS   time limit for an answer; default 300
 *
 * Requests to a busy server (429, 503) are repeated, after its Retry-After or with growing delays.
 *
 * The key is sent only to the named server: redirects are not followed, and without encryption it
 * is sent only to this machine.
 */
#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "line.h"
#include "prompt.h"

#define SOURCE_MAX (24 << 10) /* heed's limit */
#define ANSWER_MAX ((size_t)1 << 20)
#define THOUGHT_MAX 2000
#define URL_MAX 2000
#define TRIES_MAX 5
#define SECONDS_MAX 600 /* heed's limit */

typedef struct asker {
    const char *key; /* NULL: none */
    const char *url;
    const char *model;
    long seconds; /* 0: the text is not a valid number */
} asker;

/* The text from the server, up to a limit. */
typedef struct body {
    char *text;
    size_t length;
} body;

static size_t receive(char *data, size_t size, size_t count, void *to)
{
    body *it = to;
    size_t length = size * count;
    if (length > ANSWER_MAX - it->length)
        return 0; /* makes curl stop */
    char *text = realloc(it->text, it->length + length + 1);
    if (!text)
        return 0;
    memcpy(text + it->length, data, length);
    it->text = text;
    it->length += length;
    it->text[it->length] = '\0';
    return length;
}

/* ---- The key ---- */

/* Replaces the key with stars, wherever it occurs. */
static void hide_key(const asker *it, char *text)
{
    size_t length = it->key ? strlen(it->key) : 0;
    for (char *p = text; length > 0 && (p = strstr(p, it->key)); p += length)
        memset(p, '*', length);
}

/* Does the same in all texts of a reply. */
static json_t *hide_in_reply(const asker *it, json_t *reply)
{
    const char *key;
    json_t *value;
    void *next;
    if (!reply || !it->key)
        return reply;
    json_object_foreach_safe(reply, next, key, value)
    {
        char *text = json_is_string(value) ? strdup(json_string_value(value)) : NULL;
        if (!text)
            continue;
        hide_key(it, text);
        json_object_set_new(reply, key, json_string(text));
        free(text);
    }
    return reply;
}

/* A line break would end the header with the key, and a part of the key that a server repeats would
 * not be found. */
static int is_word(const char *key)
{
    for (; *key; key++)
        if ((unsigned char)*key <= ' ' || *key == 0x7f)
            return 0;
    return 1;
}

/* Returns true if a key may be sent there: encrypted, or to this machine. */
static int is_safe(const asker *it)
{
    static const char *const here[] = { "localhost", "127.0.0.1", "[::1]" };
    char *scheme = NULL, *host = NULL;
    int safe = 0;
    CURLU *url = curl_url();
    if (!url)
        return 0;
    if (curl_url_set(url, CURLUPART_URL, it->url, 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK) {
        safe = strcmp(scheme, "https") == 0;
        for (size_t i = 0; i < sizeof here / sizeof *here; i++)
            safe = safe || strcmp(host, here[i]) == 0;
    }
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(url);
    return safe;
}

/* ---- The question ---- */

static char *question(const asker *it, const json_t *request)
{
    char *prompt = prompt_write(request);
    if (!prompt)
        return NULL;
    json_t *json = json_pack("{s:s, s:[{s:s, s:s}, {s:s, s:s}]}", "model", it->model, "messages",
                             "role", "system", "content", prompt_system, "role", "user", "content",
                             prompt);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    free(prompt);
    return text;
}

static struct curl_slist *headers_of(const asker *it)
{
    struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");
    size_t size = it->key ? strlen(it->key) + 32 : 0;
    char *line = it->key ? malloc(size) : NULL;
    if (line) {
        snprintf(line, size, "Authorization: Bearer %s", it->key);
        struct curl_slist *more = curl_slist_append(list, line);
        list = more ? more : list;
        free(line);
    }
    return list;
}

/* Facts about the server's answer. */
typedef struct response {
    long code;
    curl_off_t retry_after; /* seconds; 0: not given */
} response;

static CURLcode post(const asker *it, const char *text, long seconds, body *out, response *answer)
{
    char url[URL_MAX + 32];
    CURL *curl = curl_easy_init();
    if (!curl)
        return CURLE_OUT_OF_MEMORY;
    struct curl_slist *headers = headers_of(it);
    size_t length = strlen(it->url);
    snprintf(url, sizeof url, "%s%schat/completions", it->url,
             length > 0 && it->url[length - 1] == '/' ? "" : "/");
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, text);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)strlen(text));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, seconds);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    if (strncmp(it->url, "http://", 7) == 0) /* a proxy would get the key unencrypted */
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
    CURLcode result = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->code);
    curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &answer->retry_after);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return result;
}

static long seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)now.tv_sec;
}

/* Repeats the request while the server is busy and there is time; with an exhausted quota it stays
 * busy. */
static CURLcode post_patiently(const asker *it, const char *text, body *out, response *answer)
{
    long end = seconds_now() + it->seconds, pause = 1;
    for (int tries = 1;; tries++) {
        long left = end - seconds_now();
        *answer = (response){ 0, 0 };
        CURLcode result = post(it, text, left > 0 ? left : 1, out, answer);
        bool busy = result == CURLE_OK && (answer->code == 429 || answer->code == 503);
        long wait = answer->retry_after > pause ? (long)answer->retry_after : pause;
        if (!busy || tries == TRIES_MAX || wait >= end - seconds_now())
            return result;
        nanosleep(&(struct timespec){ .tv_sec = wait }, NULL);
        pause *= 2;
        free(out->text);
        *out = (body){ NULL, 0 };
    }
}

/* ---- The answer ---- */

/* Adds the token counts of the server. */
static json_t *add_usage(json_t *reply, const json_t *answer)
{
    const json_t *usage = json_object_get(answer, "usage");
    json_t *in = json_object_get(usage, "prompt_tokens");
    json_t *out = json_object_get(usage, "completion_tokens");
    if (reply && json_is_integer(in) && json_is_integer(out))
        json_object_set_new(reply, "tokens", json_pack("{s:O, s:O}", "in", in, "out", out));
    return reply;
}

/* The key is hidden before anything is truncated, since a part of it would not be found. */
static json_t *read_body(const asker *it, const body *from, long code, long long number)
{
    json_t *json = from->text ? json_loads(from->text, 0, NULL) : NULL;
    const json_t *choice = json_array_get(json_object_get(json, "choices"), 0);
    json_t *message = hide_in_reply(it, json_object_get(choice, "message"));
    json_t *error = hide_in_reply(it, json_object_get(json, "error"));
    const char *said = json_string_value(json_object_get(message, "content"));
    const char *trouble = json_string_value(json_object_get(error, "message"));
    json_t *reply;
    if (code != 200)
        reply = line_refuse("error", "the server answered %ld%s%.200s", code, trouble ? ": " : "",
                            trouble ? trouble : "");
    else if (!said)
        reply = line_refuse("error",
                            "the server's answer has no choices[0].message.content%s%.200s",
                            trouble ? ": " : "", trouble ? trouble : "");
    else
        reply = add_usage(prompt_read(said, number), json);
    json_decref(json);
    return reply;
}

/* Returns the address without user name, password and query, which may be secrets. */
static json_t *refuse_result(const asker *it, CURLcode result)
{
    static const CURLUPart secrets[] = { CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS,
                                         CURLUPART_QUERY, CURLUPART_FRAGMENT };
    char *shown = NULL;
    CURLU *url = curl_url();
    json_t *reply;
    bool known = url && curl_url_set(url, CURLUPART_URL, it->url, 0) == CURLUE_OK;
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        known = known && curl_url_set(url, secrets[i], NULL, 0) == CURLUE_OK;
    known = known && curl_url_get(url, CURLUPART_URL, &shown, 0) == CURLUE_OK;
    if (result == CURLE_OPERATION_TIMEDOUT)
        reply = line_refuse("error",
                            "%.200s: no answer in %ld s; HEED_PROPOSE_SECONDS gives it more",
                            known ? shown : "OPENAI_BASE_URL", it->seconds);
    else if (result == CURLE_WRITE_ERROR)
        reply = line_refuse("error", "%.200s: the answer is longer than %zu KiB",
                            known ? shown : "OPENAI_BASE_URL", ANSWER_MAX >> 10);
    else
        reply = line_refuse("error", "%.200s: %s", known ? shown : "OPENAI_BASE_URL",
                            curl_easy_strerror(result));
    curl_free(shown);
    curl_url_cleanup(url);
    return reply;
}

/* A thought is a sentence or two. UTF-8 is truncated between characters. */
static json_t *shorten_thought(json_t *reply)
{
    const char *thought = json_string_value(json_object_get(reply, "thought"));
    size_t length = THOUGHT_MAX;
    if (!thought || strlen(thought) <= THOUGHT_MAX)
        return reply;
    while (length > 0 && ((unsigned char)thought[length] & 0xc0) == 0x80)
        length--;
    json_object_set_new(reply, "thought", json_stringn(thought, length));
    return reply;
}

static json_t *ask(const asker *it, const json_t *request)
{
    long long number = json_integer_value(json_object_get(request, "number"));
    body out = { NULL, 0 };
    response got = { 0, 0 };
    char *text = question(it, request);
    if (!text)
        return NULL;
    CURLcode result = post_patiently(it, text, &out, &got);
    json_t *reply = result == CURLE_OK ? read_body(it, &out, got.code, number)
                                       : refuse_result(it, result);
    const char *source = json_string_value(json_object_get(reply, "source"));
    if (source && strlen(source) > SOURCE_MAX) { /* the line might be too long as well */
        json_decref(reply);
        reply = line_refuse("error", "the model's source is longer than %d KiB", SOURCE_MAX >> 10);
    }
    free(text);
    free(out.text);
    return reply;
}

/* Checks the settings. */
static json_t *able(const void *data)
{
    const asker *it = data;
    if (!it->model)
        return line_refuse("unsupported", "OPENAI_MODEL is not set: it names the model to ask");
    if (strncmp(it->url, "http://", 7) != 0 && strncmp(it->url, "https://", 8) != 0)
        return line_refuse("unsupported", "OPENAI_BASE_URL must begin with https:// or http://");
    if (strlen(it->url) > URL_MAX)
        return line_refuse("unsupported", "OPENAI_BASE_URL has %zu bytes; %d are the most",
                           strlen(it->url), URL_MAX);
    if (it->seconds == 0)
        return line_refuse("unsupported", "HEED_PROPOSE_SECONDS is \"%.40s\"; it must be 1 to %d",
                           getenv("HEED_PROPOSE_SECONDS"), SECONDS_MAX);
    if (it->key && !is_word(it->key))
        return line_refuse("unsupported",
                           "OPENAI_API_KEY has a blank or a control character in it");
    if (it->key && !is_safe(it))
        return line_refuse("unsupported",
                           "OPENAI_BASE_URL is not encrypted: a key is sent over https, or to "
                           "this machine");
    return NULL;
}

static json_t *answer(void *data, const json_t *request)
{
    const asker *it = data;
    return shorten_thought(hide_in_reply(it, ask(it, request)));
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Returns 0 if @text is not a number. */
static long seconds_of(const char *text)
{
    char *end;
    long seconds = text ? strtol(text, &end, 10) : 300;
    return text && (*end || seconds < 1 || seconds > SECONDS_MAX) ? 0 : seconds;
}

int main(void)
{
    const char *url = variable("OPENAI_BASE_URL");
    asker it = { .key = variable("OPENAI_API_KEY"),
                 .url = url ? url : "https://api.openai.com/v1",
                 .model = variable("OPENAI_MODEL"),
                 .seconds = seconds_of(variable("HEED_PROPOSE_SECONDS")) };
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
        return EXIT_FAILURE;
    int code = line_serve(able, answer, &it);
    curl_global_cleanup();
    return code;
}
