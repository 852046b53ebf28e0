/*
 * problem_parse.c - a problem from its spec
 *
 * A spec is a line of words in any order. One table says for every word which part of the problem
 * it gives and which function reads its value; everything else is the same for all words. An error
 * shows the spec and points at the character.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "problem.h"

/* A longer spec is shown only around the error, this many characters of it. */
#define WINDOW 60

/* No word that takes no value is longer; nor is what comes before one. */
#define NAME_MAX_LENGTH 8

typedef struct parser {
    const char *spec;
    const char *word;                   /* the word being read ... */
    const char *end;                    /* ... up to here */
    const char *where[HEED_PART_COUNT]; /* where the spec gives each part; NULL: nowhere yet */
    const char *layout;
    bool plain_causal; /* the word causal without an alignment */
    heed_problem problem;
} parser;

typedef struct spec_word spec_word;
struct spec_word {
    const char
        *text; /* the whole word, or what comes before its value: one letter, or a name with = */
    heed_part part;
    heed_status (*read)(parser *p, const spec_word *word, const char *value);
    int option;
};

/* -------------------------------------------------------------------------- */
/* Errors                                                                     */
/* -------------------------------------------------------------------------- */

static heed_status fail_at(const parser *p, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fails with a message of three lines: what is wrong, the spec, and a caret below the character at
 * @at. */
static heed_status fail_at(const parser *p, const char *at, const char *format, ...)
{
    char reason[256];
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

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Number of letters to change, add or remove to make @a, of @length characters, into @b. Both are
 * at most NAME_MAX_LENGTH long. */
static size_t edit_distance(const char *a, size_t length, const char *b)
{
    size_t row[NAME_MAX_LENGTH + 1];
    size_t width = strlen(b);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; i < length; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            size_t changed = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = min_size(changed, min_size(row[j], diagonal) + 1);
        }
    }
    return row[width];
}

/* -------------------------------------------------------------------------- */
/* Values                                                                     */
/* -------------------------------------------------------------------------- */

static heed_status expect_end(const parser *p, const char *at)
{
    return at == p->end ? HEED_OK : fail_at(p, at, "unexpected '%c'", *at);
}

/* Reads a whole number of @min to @max at *@at and moves *@at past it. */
static heed_status read_number(const parser *p, const char **at, const char *name, int64_t min,
                               int64_t max, int64_t *number)
{
    size_t length = heed_number_int(*at, number);
    if (length == 0) {
        return fail_at(p, *at, "%s: a number of %lld to %lld is missing here", name, (long long)min,
                       (long long)max);
    }
    if (*number < min || *number > max) {
        return fail_at(p, *at, "%s is %.*s; it must be %lld to %lld", name,
                       (int)min_size(length, 40), *at, (long long)min, (long long)max);
    }
    *at += length;
    return HEED_OK;
}

static heed_status read_size(parser *p, heed_part part, const char **at)
{
    p->where[part] = *at;
    int64_t size = 0;
    heed_status status = read_number(p, at, heed_sizes[part].name, 1, heed_sizes[part].max, &size);
    heed_problem_set_size(&p->problem, part, size);
    return status;
}

static heed_status read_one_size(parser *p, const spec_word *word, const char *value)
{
    heed_status status = read_size(p, word->part, &value);
    return status == HEED_OK ? expect_end(p, value) : status;
}

/* Reads N or N/M: the part of @word and the one after it, which is the same if it is not given. */
static heed_status read_two_sizes(parser *p, const spec_word *word, const char *value)
{
    heed_part second = (heed_part)(word->part + 1);
    heed_status status = read_size(p, word->part, &value);
    if (status != HEED_OK)
        return status;
    if (*value == '/') {
        value++;
        status = read_size(p, second, &value);
    } else {
        p->where[second] = p->where[word->part];
        heed_problem_set_size(&p->problem, second, heed_problem_size(&p->problem, word->part));
    }
    return status == HEED_OK ? expect_end(p, value) : status;
}

static heed_status read_type(parser *p, const spec_word *word, const char *value)
{
    p->problem.type = (heed_type)word->option;
    return expect_end(p, value);
}

static heed_status read_causal(parser *p, const spec_word *word, const char *value)
{
    p->problem.mask = (heed_mask)word->option;
    p->plain_causal = true;
    return expect_end(p, value);
}

static bool value_is(const parser *p, const char *value, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(p->end - value) == length && memcmp(value, text, length) == 0;
}

static heed_status read_alignment(parser *p, const spec_word *word, const char *value)
{
    (void)word;
    if (value_is(p, value, "tl"))
        p->problem.mask = HEED_MASK_CAUSAL_TOP_LEFT;
    else if (value_is(p, value, "br"))
        p->problem.mask = HEED_MASK_CAUSAL_BOTTOM_RIGHT;
    else
        return fail_at(p, value, "causal= must be followed by tl (top left) or br (bottom right)");
    return HEED_OK;
}

static heed_status read_scale(parser *p, const spec_word *word, const char *value)
{
    (void)word;
    size_t length = (size_t)(p->end - value);
    if (!heed_number_float(value, length, &p->problem.scale)) {
        return fail_at(p, value,
                       "scale is \"%.*s\"; it must be a finite decimal number such as 0.125",
                       (int)min_size(length, 40), value);
    }
    if (p->problem.scale == 0.0F) {
        return fail_at(p, value,
                       "scale is 0 in float32, which stands for the default; leave it out");
    }
    return HEED_OK;
}

static heed_status read_layout(parser *p, const spec_word *word, const char *value)
{
    (void)word;
    for (const char *const *layout = heed_layouts; *layout != NULL; layout++) {
        if (value_is(p, value, *layout)) {
            p->layout = *layout;
            return HEED_OK;
        }
    }
    return fail_at(p, value, "layout= must be followed by bshd, bhsd or sbhd");
}

/* Reads B:S:H. */
static heed_status read_strides(parser *p, const spec_word *word, const char *value)
{
    static const char *const names[] = { "batch stride", "sequence stride", "head stride" };
    int64_t strides[3] = { 0, 0, 0 };
    const char *at = value;
    for (int i = 0; i < 3; i++) {
        heed_status status = read_number(p, &at, names[i], 0, HEED_EXTENT_MAX, &strides[i]);
        if (status != HEED_OK)
            return status;
        if (i < 2 && *at++ != ':') {
            return fail_at(p, at - 1, "%s must be followed by ':' and the %s", names[i],
                           names[i + 1]);
        }
    }
    if (strides[0] == 0 && strides[1] == 0 && strides[2] == 0) {
        return fail_at(p, value, "strides of 0:0:0 stand for the dense layout; leave %s out",
                       word->text);
    }
    heed_problem_set_strides(&p->problem, (int)word->part - (int)HEED_PART_Q,
                             (heed_strides){ strides[0], strides[1], strides[2] });
    return expect_end(p, at);
}

/* -------------------------------------------------------------------------- */
/* Words                                                                      */
/* -------------------------------------------------------------------------- */

static const spec_word words[] = {
    { "f32", HEED_PART_TYPE, read_type, HEED_F32 },
    { "f16", HEED_PART_TYPE, read_type, HEED_F16 },
    { "bf16", HEED_PART_TYPE, read_type, HEED_BF16 },
    { "causal", HEED_PART_MASK, read_causal, HEED_MASK_CAUSAL_TOP_LEFT },
    { "causal=", HEED_PART_MASK, read_alignment, 0 },
    { "scale=", HEED_PART_SCALE, read_scale, 0 },
    { "layout=", HEED_PART_LAYOUT, read_layout, 0 },
    { "b", HEED_PART_BATCH, read_one_size, 0 },
    { "h", HEED_PART_HEADS_Q, read_two_sizes, 0 },
    { "s", HEED_PART_SEQ_Q, read_two_sizes, 0 },
    { "d", HEED_PART_DIM_QK, read_two_sizes, 0 },
    { "q=", HEED_PART_Q, read_strides, 0 },
    { "k=", HEED_PART_K, read_strides, 0 },
    { "v=", HEED_PART_V, read_strides, 0 },
    { "o=", HEED_PART_O, read_strides, 0 },
};

/* What to call the parts that are given twice or not at all, and a word that gives those which
 * every spec must have. */
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
    { HEED_PART_SCALE, "the scale", NULL },
    { HEED_PART_LAYOUT, "the layout", NULL },
    { HEED_PART_Q, "the strides of Q", NULL },
    { HEED_PART_K, "the strides of K", NULL },
    { HEED_PART_V, "the strides of V", NULL },
    { HEED_PART_O, "the strides of O", NULL },
};

static const size_t word_count = sizeof words / sizeof *words;
static const size_t part_name_count = sizeof part_names / sizeof *part_names;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Is the text from @at to @end the @word, with or without its value? */
static bool word_matches(const spec_word *word, const char *at, const char *end)
{
    size_t length = strlen(word->text);
    if ((size_t)(end - at) < length || memcmp(at, word->text, length) != 0)
        return false;
    if (word->text[length - 1] == '=')
        return true;
    const char *value = at + length;
    return length == 1 ? value == end || !is_letter(*value) : value == end;
}

static const spec_word *find_word(const char *at, const char *end)
{
    for (size_t i = 0; i < word_count; i++)
        if (word_matches(&words[i], at, end))
            return &words[i];
    return NULL;
}

/* The word that the unknown one is likely meant to be, or NULL. The names of one letter are not
 * guessed. */
static const char *nearest_word(const parser *p)
{
    const char *equals = memchr(p->word, '=', (size_t)(p->end - p->word));
    size_t length = (size_t)((equals != NULL ? equals + 1 : p->end) - p->word);
    const char *nearest = NULL;
    size_t best = length < 4 ? 2 : 3; /* as many slips are too many */
    for (size_t i = 0; i < word_count && length <= NAME_MAX_LENGTH; i++) {
        const char *text = words[i].text;
        bool has_value = text[strlen(text) - 1] == '=';
        if (strlen(text) < 3 || has_value != (equals != NULL))
            continue;
        size_t distance = edit_distance(p->word, length, text);
        if (distance < best) {
            best = distance;
            nearest = text;
        }
    }
    return nearest;
}

static heed_status fail_unknown(const parser *p)
{
    int length = (int)min_size((size_t)(p->end - p->word), 40);
    const char *nearest = nearest_word(p);
    if (nearest != NULL) {
        return fail_at(p, p->word, "unknown word \"%.*s\"; did you mean %s?", length, p->word,
                       nearest);
    }
    return fail_at(p, p->word,
                   "unknown word \"%.*s\"; the words are bN hN sN dN f32 f16 bf16 causal causal=tl "
                   "causal=br scale=X layout=L q= k= v= o=B:S:H",
                   length, p->word);
}

static heed_status fail_twice(const parser *p, const spec_word *word)
{
    const char *name = "";
    for (size_t i = 0; i < part_name_count; i++)
        if (part_names[i].part == word->part)
            name = part_names[i].name;
    return fail_at(p, p->word, "%s is given twice", name);
}

static heed_status read_word(parser *p)
{
    const spec_word *word = find_word(p->word, p->end);
    if (word == NULL)
        return fail_unknown(p);
    if (p->where[word->part] != NULL)
        return fail_twice(p, word);
    p->where[word->part] = p->word;
    return word->read(p, word, p->word + strlen(word->text));
}

/* -------------------------------------------------------------------------- */
/* Spec                                                                       */
/* -------------------------------------------------------------------------- */

static heed_status check_characters(const parser *p)
{
    for (const char *c = p->spec; *c != '\0'; c++) {
        if (*c != '\t' && (*c < ' ' || *c > '~')) {
            return fail_at(p, c, "byte 0x%02x is not allowed: a spec is one line of ASCII text",
                           (unsigned)(unsigned char)*c);
        }
    }
    return HEED_OK;
}

static heed_status read_words(parser *p)
{
    const char *at = p->spec + strspn(p->spec, " \t");
    while (*at != '\0') {
        p->word = at;
        p->end = at + strcspn(at, " \t");
        heed_status status = read_word(p);
        if (status != HEED_OK)
            return status;
        at = p->end + strspn(p->end, " \t");
    }
    return HEED_OK;
}

static heed_status check_complete(const parser *p)
{
    const char *end = p->spec + strlen(p->spec);
    if (p->word == NULL)
        return fail_at(p, end, "the spec is empty; one is \"b2 h8 s512 d64 f16\"");
    for (size_t i = 0; i < part_name_count; i++) {
        if (part_names[i].example != NULL && p->where[part_names[i].part] == NULL) {
            return fail_at(p, end, "%s is missing: add a word such as %s", part_names[i].name,
                           part_names[i].example);
        }
    }
    if (p->plain_causal && p->problem.seq_q != p->problem.seq_k) {
        return fail_at(
            p, p->where[HEED_PART_MASK],
            "causal with %lld queries and %lld keys needs an alignment: causal=tl or causal=br",
            (long long)p->problem.seq_q, (long long)p->problem.seq_k);
    }
    return HEED_OK;
}

/* Writes the strides of the layout for the tensors that have none of their own. */
static void apply_layout(parser *p)
{
    for (int i = 0; i < HEED_TENSORS && p->layout != NULL; i++) {
        if (p->where[HEED_PART_Q + i] == NULL) {
            heed_tensor tensor = heed_problem_tensor(&p->problem, i);
            heed_problem_set_strides(&p->problem, i, heed_layout_strides(&tensor, p->layout));
        }
    }
}

static heed_status check_problem(const parser *p)
{
    heed_fault fault;
    if (!heed_problem_find_fault(&p->problem, &fault))
        return HEED_OK;
    const char *at = p->where[fault.part];
    if (at == NULL) /* a tensor that is too large without any word about its strides */
        at = p->where[HEED_PART_SEQ_Q];
    return fail_at(p, at, "%s", fault.text);
}

heed_status heed_problem_parse(heed_problem *problem, const char *spec)
{
    if (problem == NULL || spec == NULL)
        return heed_fail(HEED_ERR_INVALID, "%s is NULL", problem == NULL ? "problem" : "spec");
    parser p = { .spec = spec };
    heed_status status = check_characters(&p);
    status = status == HEED_OK ? read_words(&p) : status;
    status = status == HEED_OK ? check_complete(&p) : status;
    if (status != HEED_OK)
        return status;
    apply_layout(&p);
    status = check_problem(&p);
    return status == HEED_OK ? heed_problem_normalize(problem, &p.problem) : status;
}
