/*
 * peer.c - the request loop of rivals in C: parses requests, times calls, writes replies
 */
#include "peer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peer_tensors.h"

/* Longest request or reply, with its newline. */
#define LINE_SIZE 65536
/* Maximum of a dimension, and of products of dimensions. */
#define EXTENT_MAX (INT64_C(1) << 46)

static const char *const type_names[PEER_TYPES] = { "f32", "f16", "bf16" };
static const char *const mask_names[PEER_MASKS] = { "none", "causal=tl", "causal=br" };

/* Words of a spec that other members of a request repeat, or that a peer may ignore. */
static const char *const known_words[] = { "causal", "scale", "acc", "products", "layout",
                                           "q",      "k",     "v",   "o" };
#define KNOWN_WORDS ((int)(sizeof known_words / sizeof known_words[0]))

/* State that is kept between requests. */
typedef struct session {
    const peer_methods *peer;
    void *state; /* the peer's own */
    int threads; /* 0 before hello */
    peer_problem problem;
    bool prepared;
    bool ran;
    int64_t copies;
    int64_t calls; /* calls of this problem so far, which determine the next copy */
    peer_tensors *tensors;
    char o_path[512];
    char reason[PEER_REASON_SIZE];
    char detail[PEER_REASON_SIZE];
} session;

int64_t peer_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void *peer_allocate(size_t count, size_t size)
{
    void *memory = NULL;
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes) || posix_memalign(&memory, 64, bytes) != 0)
        return NULL;
    return memory;
}

peer_range peer_visible(const peer_problem *problem, int64_t i)
{
    int64_t keys = problem->seq_k, begin = 0, end = keys;

    if (problem->mask == PEER_CAUSAL_TL)
        end = i + 1;
    if (problem->mask == PEER_CAUSAL_BR)
        end = i + 1 + keys - problem->seq_q;
    end = end < 0 ? 0 : end > keys ? keys : end;
    begin = begin < 0 ? 0 : begin > end ? end : begin;
    return (peer_range){ begin, end };
}

/* The index of @name in @names, or @count. */
static int find_name(const char *const *names, int count, const char *name)
{
    int i = 0;

    while (i < count && (!name || strcmp(names[i], name) != 0))
        i++;
    return i;
}

/* Multiplies the @count positive @sizes; false if one is not, or the product exceeds EXTENT_MAX. */
static bool product_fits(const int64_t *sizes, int count)
{
    int64_t product = 1;

    for (int i = 0; i < count; i++) {
        if (sizes[i] < 1 || sizes[i] > EXTENT_MAX / product)
            return false;
        product *= sizes[i];
    }
    return true;
}

static bool problem_fits(const peer_problem *p)
{
    const int64_t q[] = { p->batch, p->heads_q, p->seq_q, p->dim_qk };
    const int64_t k[] = { p->batch, p->heads_kv, p->seq_k, p->dim_qk };
    const int64_t v[] = { p->batch, p->heads_kv, p->seq_k, p->dim_v };
    const int64_t o[] = { p->batch, p->heads_q, p->seq_q, p->dim_v };

    return product_fits(q, 4) && product_fits(k, 4) && product_fits(v, 4) && product_fits(o, 4) &&
           p->heads_q % p->heads_kv == 0;
}

/* Returns true if every peer may ignore @word of @length characters, as "h8/2" and "acc=f16". */
static bool is_known_word(const char *word, size_t length)
{
    char name[16];
    size_t named = strcspn(word, "= ");

    if (strchr("bhsd", *word) && 1 + strspn(word + 1, "0123456789/") == length)
        return true;
    snprintf(name, sizeof name, "%.*s", (int)named, word);
    return named < sizeof name && (find_name(known_words, KNOWN_WORDS, name) < KNOWN_WORDS ||
                                   find_name(type_names, PEER_TYPES, name) < PEER_TYPES);
}

/* Peers in C support no other words. */
static peer_answer refuse_words(session *s, const json_t *request)
{
    const char *spec = json_string_value(json_object_get(request, "spec"));
    const char *word = spec ? spec + strspn(spec, " ") : "";

    for (size_t length; *word; word += length + strspn(word + length, " ")) {
        length = strcspn(word, " ");
        if (is_known_word(word, length))
            continue;
        snprintf(s->reason, sizeof s->reason, "the word %.*s of the problem is not supported",
                 (int)(strcspn(word, "= ") < 60 ? strcspn(word, "= ") : 60), word);
        return PEER_UNSUPPORTED;
    }
    return PEER_OK;
}

/* Reads the problem and the paths of a prepare request. */
static peer_answer read_problem(session *s, json_t *request, const char *paths[PEER_TENSORS])
{
    peer_problem *p = &s->problem;
    const char *type = NULL;
    const char *mask = NULL;
    json_int_t size[7];
    json_int_t copies = 0;
    double scale = 0;

    if (json_unpack(request,
                    "{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:F, s:I, s:s, s:s, s:s, s:s}",
                    "type", &type, "mask", &mask, "batch", &size[0], "heads_q", &size[1],
                    "heads_kv", &size[2], "seq_q", &size[3], "seq_k", &size[4], "dim_qk", &size[5],
                    "dim_v", &size[6], "scale", &scale, "copies", &copies, "q", &paths[PEER_Q], "k",
                    &paths[PEER_K], "v", &paths[PEER_V], "o", &paths[PEER_O]) != 0) {
        snprintf(s->reason, sizeof s->reason, "prepare lacks a member, or one has the wrong type");
        return PEER_ERROR;
    }
    *p = (peer_problem){ .batch = size[0],
                         .heads_q = size[1],
                         .heads_kv = size[2],
                         .seq_q = size[3],
                         .seq_k = size[4],
                         .dim_qk = size[5],
                         .dim_v = size[6],
                         .scale = (float)scale };
    int type_index = find_name(type_names, PEER_TYPES, type);
    int mask_index = find_name(mask_names, PEER_MASKS, mask);
    s->copies = copies;
    if (type_index == PEER_TYPES || mask_index == PEER_MASKS || !problem_fits(p) || copies < 1 ||
        copies > 4096 || strlen(paths[PEER_O]) >= sizeof s->o_path) {
        snprintf(s->reason, sizeof s->reason, "prepare has a size, type or mask out of range");
        return PEER_ERROR;
    }
    p->type = (peer_type)type_index;
    p->mask = (peer_mask)mask_index;
    if (s->peer->types & 1u << p->type)
        return PEER_OK;
    snprintf(s->reason, sizeof s->reason, "%s is not among its types", type);
    return PEER_UNSUPPORTED;
}

static peer_answer hello(session *s, json_t *request, json_t *reply)
{
    json_t *types = json_array();
    json_int_t threads = 0;

    if (json_unpack(request, "{s:I}", "threads", &threads) != 0 || threads < 1 || threads > 1024) {
        json_decref(types);
        snprintf(s->reason, sizeof s->reason, "threads is missing or out of the range 1 to 1024");
        return PEER_ERROR;
    }
    for (int i = 0; i < PEER_TYPES; i++)
        if (s->peer->types & 1u << i)
            json_array_append_new(types, json_string(type_names[i]));
    json_object_set_new(reply, "protocol", json_string("heed.trial/1"));
    json_object_set_new(reply, "name", json_string(s->peer->name));
    json_object_set_new(reply, "version", json_string(s->peer->version));
    json_object_set_new(reply, "threads", json_integer(threads));
    json_object_set_new(reply, "types", types);
    json_object_set_new(reply, "ceiling", json_boolean(s->peer->sgemm != NULL));
    if (s->threads != 0)
        return PEER_OK;
    peer_answer answer = s->peer->setup(s->state, (int)threads, s->detail, s->reason);
    if (answer == PEER_OK)
        s->threads = (int)threads;
    if (s->detail[0])
        json_object_set_new(reply, "detail", json_string(s->detail));
    return answer;
}

static void drop_tensors(session *s)
{
    peer_tensors_free(s->tensors, s->copies);
    s->tensors = NULL;
}

static peer_answer release(session *s, json_t *request, json_t *reply)
{
    (void)request;
    (void)reply;
    if (s->prepared)
        s->peer->release(s->state);
    drop_tensors(s);
    s->prepared = false;
    s->ran = false;
    return PEER_OK;
}

static peer_answer prepare(session *s, json_t *request, json_t *reply)
{
    const char *paths[PEER_TENSORS];

    if (s->threads == 0 || s->prepared) {
        snprintf(s->reason, sizeof s->reason, "prepare before %s",
                 s->prepared ? "release" : "hello");
        return PEER_ERROR;
    }
    peer_answer answer = read_problem(s, request, paths);
    if (answer == PEER_OK)
        answer = refuse_words(s, request);
    if (answer == PEER_OK)
        answer = peer_tensors_load(&s->tensors, &s->problem, s->copies, paths, s->reason);
    if (answer == PEER_OK)
        answer = s->peer->prepare(s->state, &s->problem, s->reason);
    if (answer != PEER_OK) {
        drop_tensors(s);
        return answer;
    }
    snprintf(s->o_path, sizeof s->o_path, "%s", paths[PEER_O]);
    s->prepared = true;
    s->calls = 0;
    json_object_set_new(reply, "layout", json_string("bhsd"));
    return PEER_OK;
}

static void run_calls(session *s, int64_t calls)
{
    for (int64_t i = 0; i < calls; i++)
        s->peer->run(s->state, &s->tensors[s->calls++ % s->copies]);
}

static peer_answer run(session *s, json_t *request, json_t *reply)
{
    json_int_t warmup = 0;
    json_int_t calls = 0;

    if (json_unpack(request, "{s:I, s:I}", "warmup", &warmup, "calls", &calls) != 0 || warmup < 0 ||
        calls < 1 || warmup > INT32_MAX || calls > INT32_MAX || !s->prepared) {
        snprintf(s->reason, sizeof s->reason, "run needs a prepared problem, warmup and calls");
        return PEER_ERROR;
    }
    run_calls(s, warmup);
    int64_t start = peer_clock_ns();
    run_calls(s, calls);
    int64_t ns = peer_clock_ns() - start;
    s->ran = true;
    json_object_set_new(reply, "calls", json_integer(calls));
    json_object_set_new(reply, "ns", json_integer(ns));
    return PEER_OK;
}

static peer_answer check(session *s, json_t *request, json_t *reply)
{
    (void)request;
    (void)reply;
    if (s->ran)
        return peer_tensors_store(&s->tensors[(s->calls - 1) % s->copies], &s->problem, s->o_path,
                                  s->reason);
    snprintf(s->reason, sizeof s->reason, "check before run");
    return PEER_ERROR;
}

static peer_answer ceiling(session *s, json_t *request, json_t *reply)
{
    const char *kind = "";
    json_int_t size = 0;
    double flops = 0;

    if (json_unpack(request, "{s:s, s:I}", "kind", &kind, "size", &size) != 0 || size < 1 ||
        size > 32768 || s->threads == 0) {
        snprintf(s->reason, sizeof s->reason, "ceiling needs a hello, a kind, and a size to 32768");
        return PEER_ERROR;
    }
    if (strcmp(kind, "sgemm") != 0 || !s->peer->sgemm) {
        snprintf(s->reason, sizeof s->reason, "%s has no ceiling of the kind %.40s", s->peer->name,
                 kind);
        return PEER_UNSUPPORTED;
    }
    flops = s->peer->sgemm(s->state, size);
    if (flops > 0)
        json_object_set_new(reply, "flops", json_real(flops));
    else
        snprintf(s->reason, sizeof s->reason, "no memory for matrices of size %lld",
                 (long long)size);
    return flops > 0 ? PEER_OK : PEER_ERROR;
}

static peer_answer quit(session *s, json_t *request, json_t *reply)
{
    return release(s, request, reply);
}

static const struct {
    const char *op;
    peer_answer (*serve)(session *s, json_t *request, json_t *reply);
} operations[] = {
    { "hello", hello },     { "prepare", prepare }, { "run", run },   { "check", check },
    { "release", release }, { "ceiling", ceiling }, { "quit", quit },
};

/* Serves one request and returns the reply, or NULL if there is no memory. */
static json_t *serve(session *s, const char *line, bool *quitting)
{
    static const char *const statuses[] = { "ok", "unsupported", "error" };
    json_t *request = json_loads(line, 0, NULL);
    const char *op = json_string_value(json_object_get(request, "op"));
    json_t *reply = json_object();
    peer_answer answer = PEER_ERROR;

    snprintf(s->reason, sizeof s->reason, "no such request");
    for (size_t i = 0; op && i < sizeof operations / sizeof operations[0]; i++)
        if (strcmp(op, operations[i].op) == 0)
            answer = operations[i].serve(s, request, reply);
    *quitting = op && strcmp(op, "quit") == 0;
    json_object_set_new(reply, "status", json_string(statuses[answer]));
    if (answer != PEER_OK)
        json_object_set_new(reply, "reason", json_string(s->reason));
    json_decref(request);
    return reply;
}

int peer_main(const peer_methods *peer)
{
    session s = { .peer = peer, .state = calloc(1, peer->state_size) };
    char *line = malloc(LINE_SIZE);
    bool quitting = false;
    bool good = line && s.state;

    while (good && !quitting && fgets(line, LINE_SIZE, stdin)) {
        json_t *reply = serve(&s, line, &quitting);
        good = reply && json_dumpf(reply, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF &&
               fflush(stdout) == 0;
        json_decref(reply);
    }
    release(&s, NULL, NULL);
    if (s.threads > 0)
        peer->finish(s.state);
    free(s.state);
    free(line);
    return good ? 0 : 1;
}
