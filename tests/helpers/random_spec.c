/*
 * random_spec.c - random specs of small problems, for every kernel and every word
 *
 * Words are drawn independently of each other, and specs that are not valid are drawn again.
 */
#include "random_spec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "lab/tensor/random.h"
#include "random_expression.h"

typedef struct writer {
    uint64_t seed, drawn;
    char text[HEED_SPEC_SIZE];
    size_t length;
    bool prefixed; /* has a shared prefix, which few other words may be beside */
    int64_t page;  /* keys per page, 0: no pages */
    int64_t batch, heads_kv, group, seq_q, seq_k, dim_qk, dim_v;
} writer;

static int64_t below(writer *w, int64_t limit)
{
    return lab_random_below(w->seed, w->drawn++, limit);
}

static int64_t between(writer *w, int64_t least, int64_t most)
{
    return least + below(w, most - least + 1);
}

/* True once in @times. */
static bool once_in(writer *w, int64_t times)
{
    return below(w, times) == 0;
}

static const char *one_of(writer *w, const char *const *words)
{
    int64_t count = 0;
    while (words[count])
        count++;
    return words[below(w, count)];
}

static void put(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a word. */
static void put(writer *w, const char *format, ...)
{
    va_list arguments;
    if (w->length > 0 && w->length < sizeof w->text - 1)
        w->text[w->length++] = ' ';
    va_start(arguments, format);
    size_t room = sizeof w->text - w->length;
    int length = vsnprintf(w->text + w->length, room, format, arguments);
    va_end(arguments);
    w->length += length > 0 && (size_t)length < room ? (size_t)length : 0;
}

/* ---- Sizes and types ---- */

/* Types, dims and words of problems, by kernel. */
static const struct {
    const char *type;
    int dim_qk, dim_v;
    bool shared;
} kinds[] = {
    { "f16", 64, 64, false },     { "bf16", 64, 64, false },   { "f16", 128, 128, false },
    { "bf16", 128, 128, false },  { "f16", 40, 80, false },    { "bf16", 96, 40, false },
    { "f16", 192, 128, false },   { "bf16", 32, 32, false },   { "f16", 80, 80, false },
    { "bf16", 576, 512, true },   { "f16", 576, 512, true },   { "bf16", 80, 64, true },
    { "f16", 264, 264, false },   { "bf16", 320, 264, false }, { "f16", 512, 512, false },
    { "bf16", 1024, 768, false }, { "f32", 64, 64, false },    { "f32", 40, 72, false },
    { "f32", 128, 128, false },   { "f32", 77, 33, false },    { "f32", 264, 264, false },
    { "f32", 520, 320, false },   { "f32", 72, 64, true },     { "f16", 256, 256, false },
};

/* Half of the problems have a multiple of this many keys, so that pages may have several. */
#define PAGE_UNIT 16

/* At most the @least-th of the limits, or one of the larger ones. */
static int64_t random_seq(writer *w, int64_t least)
{
    static const int64_t limits[] = { 1, 9, 70, 140, 300, 900 };
    return between(w, 1, limits[between(w, least, 5)]);
}

static void put_sizes(writer *w)
{
    static const int64_t groups[] = { 1, 1, 2, 3, 4, 8, 16 };
    const int64_t kind = below(w, sizeof kinds / sizeof *kinds);
    w->batch = between(w, 1, 5);
    w->heads_kv = between(w, 1, 3);
    w->group = groups[below(w, kinds[kind].shared ? 7 : 6)];
    w->seq_q = random_seq(w, 0);
    w->seq_k = once_in(w, 4) ? w->seq_q : random_seq(w, 2);
    if (once_in(w, 2))
        w->seq_k = heed_div_up(w->seq_k, PAGE_UNIT) * PAGE_UNIT;
    w->page = 0;
    w->prefixed = once_in(w, 6);
    w->dim_qk = kinds[kind].dim_qk;
    w->dim_v = kinds[kind].dim_v;
    put(w,
        "b%" PRId64 " h%" PRId64 "/%" PRId64 " s%" PRId64 "/%" PRId64 " d%" PRId64 "/%" PRId64
        " %s",
        w->batch, w->heads_kv * w->group, w->heads_kv, w->seq_q, w->seq_k, w->dim_qk, w->dim_v,
        kinds[kind].type);
    if (kinds[kind].shared)
        put(w, "shared");
}

static int64_t work_of(const writer *w)
{
    return w->batch * w->heads_kv * w->group * w->seq_q * w->seq_k * (w->dim_qk + w->dim_v);
}

/* ---- Words ---- */

static void put_mask(writer *w)
{
    static const char *const causal[] = { "causal=br", "causal=br", "causal=tl", NULL };
    const int64_t keys = w->seq_k, choice = below(w, w->prefixed ? 3 : 8);
    const int64_t left = between(w, 0, keys), right = between(w, 0, keys);
    bool aligned = choice >= 3 && choice < 6;
    if (choice < 4)
        put(w, "%s", w->seq_q == keys ? "causal" : one_of(w, causal));
    if (choice == 3 || choice == 4)
        put(w, "window=%" PRId64 ":", left);
    if (choice == 5 && once_in(w, 2))
        put(w, "window=%" PRId64 ":%" PRId64, left, right);
    else if (choice == 5)
        put(w, "chunk=%" PRId64, between(w, 1, keys));
    if (aligned && choice != 3 && w->seq_q != keys)
        put(w, "align=%s", once_in(w, 2) ? "br" : "tl");
}

static void put_packed(writer *w, bool keys_too)
{
    int64_t queries = between(w, 0, w->batch * w->seq_q), keys = between(w, 0, w->batch * w->seq_k);
    put(w, "varlen=%" PRId64 "/%" PRId64, queries, keys_too ? keys : 0);
    if (once_in(w, 4))
        put(w, "cu_q=i64");
}

static void put_pages(writer *w)
{
    w->page = between(w, 1, w->seq_k);
    while (w->seq_k % w->page != 0)
        w->page--;
    int64_t pages = w->batch * (w->seq_k / w->page) + below(w, 4);
    put(w, "paged=%" PRId64 "/%" PRId64, w->page, pages);
}

static void put_appended(writer *w)
{
    bool packed = once_in(w, 4);
    const char *neighbours = once_in(w, 2) ? ":interleaved" : "";
    put(w, "append=%" PRId64 "%s", packed ? w->seq_q : between(w, 1, w->seq_q),
        packed ? ":packed" : "");
    if (once_in(w, 2))
        put(w, "rotary=%" PRId64 "%s", 2 * between(w, 1, w->dim_qk / 2), neighbours);
}

/* How sequences lie in memory, and their lengths. */
static void put_sequences(writer *w)
{
    static const char *const starts[] = { "starts", "starts=q", "starts=bq", NULL };
    bool appends = once_in(w, 6);
    if (once_in(w, 4))
        put_packed(w, !appends && !w->prefixed && once_in(w, 2));
    if (once_in(w, 4))
        put_pages(w);
    if (appends || once_in(w, 3))
        put(w, "lengths");
    if (appends)
        put_appended(w);
    if (w->prefixed) {
        int64_t unit = w->page > 0 ? w->page : 1;
        put(w, "prefix=%" PRId64, unit * between(w, 1, w->seq_k / unit));
        return;
    }
    if (once_in(w, 6))
        put(w, "%s", one_of(w, starts));
    if (once_in(w, 6))
        put(w, "invariant");
}

static void put_expressions(writer *w)
{
    static const char *const visible[] = { "abs(q-k)%90<40",
                                           "k%50!=7",
                                           "k<=q||k%7==0",
                                           "abs(q-k)*(head+1)<60",
                                           "(q+batch)%3!=0||k%2==0",
                                           "abs(q-k)<20+30*batch",
                                           NULL };
    static const char *const scores[] = { "s-0.1*abs(q-k)", "s*0.5+float(k%3)", "s>0?s:0.25*s",
                                          NULL };
    char random[HEED_EXPRESSION_SIZE];
    if (once_in(w, 5))
        put(w, "visible=%s", one_of(w, visible));
    else if (once_in(w, 8)) {
        random_expression(lab_random_bits(w->seed, w->drawn++), true, random);
        put(w, RANDOM_ARRAYS " visible=\"%s\"", random);
    } else if (once_in(w, 10))
        put(w, "array=doc:i32:%" PRId64 "x%" PRId64 " visible=doc[batch,q]==doc[batch,k]", w->batch,
            w->seq_q > w->seq_k ? w->seq_q : w->seq_k);
    if (once_in(w, 8))
        put(w, "score=%s", one_of(w, scores));
}

static void put_changes(writer *w)
{
    static const char *const biases[] = { "bias=f16:hq", "bias=bf16:q", "bias=f32:",
                                          "bias=f16",    "bias=bf16:h", NULL };
    static const char *const masks[] = { "shown=bits:q",   "shown=bytes:b", "shown=bits:bhq",
                                         "shown=bytes:hq", "shown=bits:",   NULL };
    if (once_in(w, 8))
        put(w, "softcap=%" PRId64, between(w, 3, 50));
    if (once_in(w, 6))
        put(w, "sinks%s", once_in(w, 2) ? "=bh" : "");
    if (once_in(w, 12))
        put(w, "scale=-0.3");
    if (w->prefixed)
        return;
    if (once_in(w, 8))
        put(w, "alibi%s", once_in(w, 2) ? "=bh" : "");
    if (once_in(w, 8))
        put(w, "%s", one_of(w, biases));
    if (once_in(w, 6))
        put(w, "%s", one_of(w, masks));
    put_expressions(w);
}

static void put_layout(writer *w)
{
    static const char *const layouts[] = { "bhsd", "sbhd", NULL };
    if (once_in(w, 4))
        put(w, "layout=%s", one_of(w, layouts));
    else if (once_in(w, 8)) { /* batch elements, heads and vectors with gaps */
        int64_t unit = once_in(w, 2) ? 8 : 1, vector = w->dim_qk + unit;
        int64_t head = vector * w->seq_k + unit;
        put(w, "k=%" PRId64 ":%" PRId64 ":%" PRId64, head * w->heads_kv + unit, vector, head);
    }
}

void random_spec(uint64_t seed, int64_t work, char text[HEED_SPEC_SIZE])
{
    heed_problem problem;
    writer w = { .seed = seed };
    do {
        w.length = 0;
        put_sizes(&w);
        put_mask(&w);
        put_sequences(&w);
        put_changes(&w);
        put_layout(&w);
    } while (work_of(&w) > work || heed_problem_parse(&problem, w.text) != HEED_OK);
    memcpy(text, w.text, sizeof w.text);
}
