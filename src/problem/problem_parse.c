/*
 * problem_parse.c - parse a problem from its spec
 *
 * Reads the line word by word and checks the whole problem at the end. The words are in
 * problem_words.c. An error shows the spec and points at the character.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../sized.h"
#include "problem_parse.h"

/* A longer spec is shown only around the error, this many characters of it. */
#define WINDOW 60

/* A longer word or value is quoted in part. */
#define QUOTE 40

/* -------------------------------------------------------------------------- */
/* Errors                                                                     */
/* -------------------------------------------------------------------------- */

heed_status heed_parse_fail(const heed_parser *p, const char *at, const char *format, ...)
{
    char reason[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);

    size_t length = strlen(p->spec), offset = (size_t)(at - p->spec), start = 0;
    if (length > WINDOW && offset > WINDOW / 2) {
        start = offset - WINDOW / 2;
        start = start < length - WINDOW ? start : length - WINDOW;
    }
    size_t shown = length - start < WINDOW ? length - start : WINDOW;
    char window[WINDOW + 1];
    for (size_t i = 0; i < shown; i++) {
        char c = p->spec[start + i];
        window[i] = c == '\t' ? ' ' : c >= ' ' && c <= '~' ? c : '?';
    }
    window[shown] = '\0';

    const char *before = start > 0 ? "..." : "";
    const char *after = start + shown < length ? "..." : "";
    int indent = (int)(strlen(before) + offset - start);
    return heed_fail(HEED_ERR_INVALID, "%s\n  %s%s%s\n  %*s^", reason, before, window, after,
                     indent, "");
}

/* -------------------------------------------------------------------------- */
/* Words                                                                      */
/* -------------------------------------------------------------------------- */

/* Names of parts for messages about missing or repeated words, and an example word for each
 * required part. */
static const struct {
    heed_part part;
    const char *name;
    const char *example;
} part_names[] = {
    { HEED_PART_BATCH, "the batch size", "b1" },
    { HEED_PART_HEADS_Q, "the number of heads", "h8" },
    { HEED_PART_SEQ_Q, "the sequence length", "s512" },
    { HEED_PART_DIM_QK, "the head dim", "d64" },
    { HEED_PART_TYPE, "the element type", "f16" },
    { HEED_PART_MASK, "the mask", NULL },
    { HEED_PART_ALIGN, "the alignment", NULL },
    { HEED_PART_WINDOW, "the window", NULL },
    { HEED_PART_CHUNK, "the chunk", NULL },
    { HEED_PART_SOFTCAP, "the softcap", NULL },
    { HEED_PART_BIAS, "the bias", NULL },
    { HEED_PART_SLOPES, "alibi", NULL },
    { HEED_PART_SINKS, "the sinks", NULL },
    { HEED_PART_STARTS, "the starts", NULL },
    { HEED_PART_SHOWN, "shown", NULL },
    { HEED_PART_LENGTHS, "the lengths", NULL },
    { HEED_PART_PAGE, "the pages", NULL },
    { HEED_PART_TABLE, "the page table", NULL },
    { HEED_PART_VARLEN, "varlen", NULL },
    { HEED_PART_CU_Q, "cu_q", NULL },
    { HEED_PART_CU_K, "cu_k", NULL },
    { HEED_PART_SHARED, "shared", NULL },
    { HEED_PART_INVARIANT, "invariant", NULL },
    { HEED_PART_APPEND, "append", NULL },
    { HEED_PART_PREFIX, "prefix", NULL },
    { HEED_PART_ROTARY, "rotary", NULL },
    { HEED_PART_COS, "cos", NULL },
    { HEED_PART_SIN, "sin", NULL },
    { HEED_PART_SCORE, "score", NULL },
    { HEED_PART_VISIBLE, "visible", NULL },
    { HEED_PART_SCALE, "the scale", NULL },
    { HEED_PART_ACCUMULATE, "the accumulation", NULL },
    { HEED_PART_PRODUCTS, "products", NULL },
    { HEED_PART_LAYOUT, "the layout", NULL },
    { HEED_PART_Q, "the strides of Q", NULL },
    { HEED_PART_K, "the strides of K", NULL },
    { HEED_PART_V, "the strides of V", NULL },
    { HEED_PART_O, "the strides of O", NULL },
    { HEED_PART_K_NEW, "the strides of k_new", NULL },
    { HEED_PART_V_NEW, "the strides of v_new", NULL },
};

static const size_t part_name_count = sizeof part_names / sizeof *part_names;

int heed_parse_quote(const char *at, const char *end)
{
    return end - at < QUOTE ? (int)(end - at) : QUOTE;
}

/* "f32 f16 bf16 " */
static const char type_words[] =
#define HEED_TYPE(type, data, name, size) name " "
#include "types.def"
#undef HEED_TYPE
    ;

static heed_status fail_unknown(const heed_parser *p)
{
    int length = heed_parse_quote(p->word, p->end);
    const char *nearest = heed_word_nearest(p);
    if (nearest != NULL) {
        return heed_parse_fail(p, p->word, "unknown word \"%.*s\"; did you mean %s?", length,
                               p->word, nearest);
    }
    return heed_parse_fail(p, p->word,
                           "unknown word \"%.*s\"; the words are bN hN sN dN %scausal "
                           "causal= align= window= "
                           "chunk= softcap= bias= alibi sinks starts shown= lengths paged= table= "
                           "varlen= cu_q= cu_k= shared prefix= invariant append= rotary= cos= sin= "
                           "array= score= visible= "
                           "scale= acc= products= layout= q= k= v= o= k_new= v_new=",
                           length, p->word, type_words);
}

static heed_status fail_twice(const heed_parser *p, const heed_word *word)
{
    const char *name = "";
    for (size_t i = 0; i < part_name_count; i++)
        if (part_names[i].part == word->part)
            name = part_names[i].name;
    return heed_parse_fail(p, p->word, "%s must be given once", name);
}

static heed_status read_word(heed_parser *p)
{
    const heed_word *word = heed_word_find(p);
    if (word == NULL)
        return fail_unknown(p);
    if (p->where[word->part] != NULL && word->part != HEED_PART_ARRAYS)
        return fail_twice(p, word);
    p->where[word->part] = p->word;
    return word->read(p, word, p->word + strlen(word->text));
}

/* -------------------------------------------------------------------------- */
/* Spec                                                                       */
/* -------------------------------------------------------------------------- */

static heed_status check_characters(const heed_parser *p)
{
    for (const char *c = p->spec; *c != '\0'; c++) {
        if (*c != '\t' && (*c < ' ' || *c > '~')) {
            return heed_parse_fail(p, c,
                                   "byte 0x%02x is not allowed: a spec is one line of ASCII text",
                                   (unsigned)(unsigned char)*c);
        }
    }
    return HEED_OK;
}

/* A word ends at a blank, or after the second double quote of an expression. */
static const char *word_end(const char *at)
{
    size_t length = strcspn(at, " \t\"");
    const char *quote = at + length;
    if (length > 0 && *quote == '"' && quote[-1] == '=') {
        const char *end = strchr(quote + 1, '"');
        return end != NULL ? end + 1 : quote + strlen(quote);
    }
    return at + strcspn(at, " \t");
}

static heed_status read_words(heed_parser *p)
{
    const char *at = p->spec + strspn(p->spec, " \t");
    while (*at != '\0') {
        p->word = at;
        p->end = word_end(at);
        heed_status status = read_word(p);
        if (status != HEED_OK)
            return status;
        at = p->end + strspn(p->end, " \t");
    }
    return HEED_OK;
}

/* Windows, chunks and ALiBi need an alignment, unless queries = keys. */
static heed_status check_aligned(const heed_parser *p)
{
    static const struct {
        heed_part part;
        const char *name, *words;
    } aligned[] = { { HEED_PART_MASK, "causal", "causal=tl or causal=br" },
                    { HEED_PART_WINDOW, "a window", "align=tl or align=br" },
                    { HEED_PART_CHUNK, "a chunk", "align=tl or align=br" },
                    { HEED_PART_SLOPES, "alibi", "align=tl or align=br" } };
    bool said = p->where[HEED_PART_ALIGN] != NULL ||
                (p->where[HEED_PART_MASK] != NULL && !p->plain_causal);
    for (size_t i = 0; i < sizeof aligned / sizeof *aligned; i++) {
        const char *at = p->where[aligned[i].part];
        if (at != NULL && !said && p->problem.seq_q != p->problem.seq_k)
            return heed_parse_fail(
                p, at, "%s with %lld quer%s and %lld key%s needs an alignment: %s", aligned[i].name,
                (long long)p->problem.seq_q, p->problem.seq_q == 1 ? "y" : "ies",
                (long long)p->problem.seq_k, p->problem.seq_k == 1 ? "" : "s", aligned[i].words);
    }
    return HEED_OK;
}

static heed_status check_complete(const heed_parser *p)
{
    const char *end = p->spec + strlen(p->spec);
    if (p->word == NULL)
        return heed_parse_fail(p, end, "the spec is empty; one is \"b2 h8 s512 d64 f16\"");
    for (size_t i = 0; i < part_name_count; i++) {
        if (part_names[i].example != NULL && p->where[part_names[i].part] == NULL) {
            return heed_parse_fail(p, end, "%s is missing: add a word such as %s",
                                   part_names[i].name, part_names[i].example);
        }
    }
    return check_aligned(p);
}

/* The word align= also applies to a causal mask without an alignment. */
static void apply_align(heed_parser *p)
{
    if (p->plain_causal && p->problem.align == HEED_ALIGN_BOTTOM_RIGHT)
        p->problem.mask = HEED_MASK_CAUSAL_BOTTOM_RIGHT;
}

/* Writes the strides of the layout for the tensors without strides of their own. */
static void apply_layout(heed_parser *p)
{
    for (int i = 0; i < HEED_ALL_TENSORS && p->layout != NULL; i++) {
        if (p->where[HEED_PART_Q + i] == NULL && heed_problem_has(&p->problem, i) &&
            !(i == HEED_ROLE_V && p->problem.shared)) {
            heed_tensor tensor = heed_problem_tensor(&p->problem, i);
            heed_problem_set_strides(&p->problem, i, heed_layout_strides(&tensor, p->layout));
        }
    }
}

static heed_status check_problem(const heed_parser *p)
{
    static const struct {
        heed_part part, of; /* the part whose word also gives this one */
    } before[] = { { HEED_PART_TABLE, HEED_PART_PAGE },  { HEED_PART_CU_Q, HEED_PART_VARLEN },
                   { HEED_PART_CU_K, HEED_PART_VARLEN }, { HEED_PART_COS, HEED_PART_ROTARY },
                   { HEED_PART_SIN, HEED_PART_ROTARY },  { HEED_PART_K_NEW, HEED_PART_APPEND },
                   { HEED_PART_V_NEW, HEED_PART_APPEND } };
    heed_fault fault;
    if (!heed_problem_find_fault(&p->problem, &fault))
        return HEED_OK;
    const char *at = p->where[fault.part];
    for (size_t i = 0; i < sizeof before / sizeof *before && at == NULL; i++)
        if (before[i].part == fault.part)
            at = p->where[before[i].of];
    return heed_parse_fail(p, at + fault.at, "%s", fault.text);
}

heed_status heed_problem_parse_sized(heed_problem *problem, size_t size, const char *spec)
{
    if (problem == NULL || spec == NULL)
        return heed_fail(HEED_ERR_INVALID, "%s is NULL", problem == NULL ? "problem" : "spec");
    heed_parser p = { .spec = spec };
    heed_status status = check_characters(&p);
    status = status == HEED_OK ? read_words(&p) : status;
    status = status == HEED_OK ? check_complete(&p) : status;
    if (status != HEED_OK)
        return status;
    apply_align(&p);
    apply_layout(&p);
    status = check_problem(&p);
    if (status != HEED_OK)
        return status;
    heed_problem_normalize_own(&p.problem);
    return heed_sized_write(&heed_sized_problem, problem, size, &p.problem);
}
