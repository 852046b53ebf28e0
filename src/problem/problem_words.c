/*
 * problem_words.c - the words of a spec
 *
 * One table maps each word to the part of the problem that it gives and the function that reads its
 * value.
 */
#include <stddef.h>
#include <string.h>

#include "../number.h"
#include "operand.h"
#include "problem_parse.h"

/* Longest word name. */
#define NAME_MAX_LENGTH 9

/* -------------------------------------------------------------------------- */
/* Values                                                                     */
/* -------------------------------------------------------------------------- */

static heed_status fail_unexpected(const heed_parser *p, const char *at)
{
    const char *form = heed_word_find(p)->form;
    return heed_parse_fail(p, at, "unexpected '%c'; this word is written %s", *at, form);
}

static heed_status expect_end(const heed_parser *p, const char *at)
{
    return at == p->end ? HEED_OK : fail_unexpected(p, at);
}

/* Reads a whole number of @min to @max at *@at and moves *@at past it. */
static heed_status read_number(const heed_parser *p, const char **at, const char *name, int64_t min,
                               int64_t max, int64_t *number)
{
    size_t length = heed_number_int(*at, number);
    if (length == 0) {
        return heed_parse_fail(p, *at, "%s: a number of %lld to %lld is missing here", name,
                               (long long)min, (long long)max);
    }
    if (*number < min || *number > max) {
        return heed_parse_fail(p, *at, "%s is %.*s; it must be %lld to %lld", name,
                               heed_parse_quote(*at, *at + length), *at, (long long)min,
                               (long long)max);
    }
    *at += length;
    return HEED_OK;
}

static heed_status read_size(heed_parser *p, heed_part part, const char **at)
{
    p->where[part] = *at;
    int64_t size = 0;
    heed_status status = read_number(p, at, heed_sizes[part].name, 1, heed_sizes[part].max, &size);
    heed_problem_set_size(&p->problem, part, size);
    return status;
}

static heed_status read_one_size(heed_parser *p, const heed_word *word, const char *value)
{
    heed_status status = read_size(p, word->part, &value);
    return status == HEED_OK ? expect_end(p, value) : status;
}

/* Reads N or N/M: the part of @word and the one after it, which is the same if it is not given. */
static heed_status read_two_sizes(heed_parser *p, const heed_word *word, const char *value)
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

static heed_status read_type(heed_parser *p, const heed_word *word, const char *value)
{
    p->problem.type = (heed_type)word->option;
    return expect_end(p, value);
}

static heed_status read_causal(heed_parser *p, const heed_word *word, const char *value)
{
    p->problem.mask = (heed_mask)word->option;
    p->plain_causal = true;
    return expect_end(p, value);
}

/* Sets a field to 1. */
static heed_status read_flag(heed_parser *p, const heed_word *word, const char *value)
{
    *(int64_t *)((char *)&p->problem + word->option) = 1;
    return expect_end(p, value);
}

static bool value_is(const heed_parser *p, const char *value, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(p->end - value) == length && memcmp(value, text, length) == 0;
}

static heed_status read_alignment(heed_parser *p, const heed_word *word, const char *value)
{
    (void)word;
    if (value_is(p, value, "tl"))
        p->problem.mask = HEED_MASK_CAUSAL_TOP_LEFT;
    else if (value_is(p, value, "br"))
        p->problem.mask = HEED_MASK_CAUSAL_BOTTOM_RIGHT;
    else
        return heed_parse_fail(p, value,
                               "causal= must be followed by tl (top left) or br (bottom right)");
    return HEED_OK;
}

static heed_status read_align(heed_parser *p, const heed_word *word, const char *value)
{
    (void)word;
    if (!value_is(p, value, "tl") && !value_is(p, value, "br"))
        return heed_parse_fail(p, value,
                               "align= must be followed by tl (top left) or br (bottom right)");
    p->problem.align = value_is(p, value, "br") ? HEED_ALIGN_BOTTOM_RIGHT : HEED_ALIGN_TOP_LEFT;
    return HEED_OK;
}

/* Reads one side of a window, which ends before @end; an empty one is open. */
static heed_status read_side(heed_parser *p, const char **at, const char *end, unsigned side)
{
    heed_window *window = &p->problem.window;
    if (*at == end)
        return HEED_OK;
    window->sides |= side;
    bool left = side == HEED_WINDOW_LEFT;
    return read_number(p, at, left ? "the window's left side" : "the window's right side", 0,
                       HEED_SIZE_MAX, left ? &window->left : &window->right);
}

/* Reads L:R; either side may be omitted. */
static heed_status read_window(heed_parser *p, const heed_word *word, const char *value)
{
    const char *colon = memchr(value, ':', (size_t)(p->end - value));
    (void)word;
    if (colon == NULL || (colon == value && colon + 1 == p->end)) {
        return heed_parse_fail(p, value,
                               "window= must be followed by L:R, L: or :R, the numbers of keys "
                               "before and after the query's position");
    }
    heed_status status = read_side(p, &value, colon, HEED_WINDOW_LEFT);
    if (status == HEED_OK && value != colon)
        return fail_unexpected(p, value);
    value++;
    if (status == HEED_OK)
        status = read_side(p, &value, p->end, HEED_WINDOW_RIGHT);
    return status == HEED_OK ? expect_end(p, value) : status;
}

static heed_status read_chunk(heed_parser *p, const heed_word *word, const char *value)
{
    (void)word;
    heed_status status = read_number(p, &value, "chunk", 1, HEED_SIZE_MAX, &p->problem.chunk);
    return status == HEED_OK ? expect_end(p, value) : status;
}

/* Reads N or N/M. */
static heed_status read_paged(heed_parser *p, const heed_word *word, const char *value)
{
    heed_problem *problem = &p->problem;
    (void)word;
    heed_status status = read_number(p, &value, "page", 1, HEED_PAGE_MAX, &problem->page);
    if (status == HEED_OK && *value == '/') {
        value++;
        status = read_number(p, &value, "pages", 1, INT32_MAX, &problem->pages);
    }
    if (problem->table.type == HEED_DATA_NONE) {
        problem->table.type = HEED_DATA_I32;
        problem->table.along = HEED_ALONG_BATCH | HEED_ALONG_PAGE;
    }
    return status == HEED_OK ? expect_end(p, value) : status;
}

/* Reads N or N/M. */
static heed_status read_varlen(heed_parser *p, const heed_word *word, const char *value)
{
    heed_problem *problem = &p->problem;
    (void)word;
    heed_status status = read_number(p, &value, "tokens_q", 0, HEED_SIZE_MAX, &problem->tokens_q);
    problem->tokens_k = problem->tokens_q;
    if (status == HEED_OK && *value == '/') {
        value++;
        status = read_number(p, &value, "tokens_k", 0, HEED_SIZE_MAX, &problem->tokens_k);
    }
    heed_operand *const cu[] = { &problem->cu_seqlens_q, &problem->cu_seqlens_k };
    const int64_t tokens[] = { problem->tokens_q, problem->tokens_k };
    for (int i = 0; i < 2; i++)
        if (tokens[i] > 0 && cu[i]->type == HEED_DATA_NONE)
            *cu[i] = (heed_operand){ .type = HEED_DATA_I32, .along = HEED_ALONG_SEQUENCE };
    return status == HEED_OK ? expect_end(p, value) : status;
}

/* Reads N or N:packed. */
static heed_status read_append(heed_parser *p, const heed_word *word, const char *value)
{
    heed_status status = read_size(p, word->part, &value);
    if (status == HEED_OK && value_is(p, value, ":packed")) {
        p->problem.append_packed = 1;
        value = p->end;
    }
    return status == HEED_OK ? expect_end(p, value) : status;
}

/* Reads N or N:interleaved. */
static heed_status read_rotary(heed_parser *p, const heed_word *word, const char *value)
{
    heed_operand *const turns[] = { &p->problem.rotary_cos, &p->problem.rotary_sin };
    (void)word;
    heed_status status = read_number(p, &value, "rotary", 2, HEED_DIM_MAX, &p->problem.rotary);
    if (status == HEED_OK && value_is(p, value, ":interleaved")) {
        p->problem.interleaved = 1;
        value = p->end;
    }
    for (int i = 0; i < 2; i++)
        if (turns[i]->type == HEED_DATA_NONE)
            *turns[i] = (heed_operand){ .type = HEED_DATA_F32, .along = HEED_ALONG_POSITION };
    return status == HEED_OK ? expect_end(p, value) : status;
}

static heed_status read_scale(heed_parser *p, const heed_word *word, const char *value)
{
    (void)word;
    size_t length = (size_t)(p->end - value);
    if (!heed_number_float(value, length, &p->problem.scale)) {
        return heed_parse_fail(
            p, value,
            "scale is \"%.*s\"; it must be a decimal number in the range of float32, such as 0.125",
            heed_parse_quote(value, p->end), value);
    }
    if (p->problem.scale == 0.0F) {
        return heed_parse_fail(p, value, "scale is 0 in float32, which means the default; omit it");
    }
    return HEED_OK;
}

static heed_status read_accumulate(heed_parser *p, const heed_word *word, const char *value)
{
    (void)word;
    if (!value_is(p, value, "f16") && !value_is(p, value, "f32"))
        return heed_parse_fail(p, value, "acc= must be followed by f32 or f16");
    p->problem.accumulate = value_is(p, value, "f16") ? HEED_ACC_F16 : HEED_ACC_F32;
    return HEED_OK;
}

static heed_status read_products(heed_parser *p, const heed_word *word, const char *value)
{
    (void)word;
    for (int64_t i = 0; i < HEED_PRODUCTS_COUNT; i++) {
        if (value_is(p, value, heed_products_name(i))) {
            p->problem.products = i;
            return HEED_OK;
        }
    }
    return heed_parse_fail(p, value, "products= must be followed by full, tf32 or bf16x3");
}

static heed_status read_layout(heed_parser *p, const heed_word *word, const char *value)
{
    (void)word;
    for (const char *const *layout = heed_layouts; *layout != NULL; layout++) {
        if (value_is(p, value, *layout)) {
            p->layout = *layout;
            return HEED_OK;
        }
    }
    return heed_parse_fail(p, value, "layout= must be followed by bshd, bhsd or sbhd");
}

/* Reads B:S:H. */
static heed_status read_strides(heed_parser *p, const heed_word *word, const char *value)
{
    static const char *const names[] = { "batch stride", "sequence stride", "head stride" };
    int64_t strides[3] = { 0, 0, 0 };
    const char *at = value;
    for (int i = 0; i < 3; i++) {
        heed_status status = read_number(p, &at, names[i], 0, HEED_EXTENT_MAX, &strides[i]);
        if (status != HEED_OK)
            return status;
        if (i < 2 && *at++ != ':') {
            return heed_parse_fail(p, at - 1, "%s must be followed by ':' and the %s", names[i],
                                   names[i + 1]);
        }
    }
    if (strides[0] == 0 && strides[1] == 0 && strides[2] == 0) {
        return heed_parse_fail(p, value, "strides of 0:0:0 mean the dense layout; omit %s",
                               word->text);
    }
    heed_problem_set_strides(&p->problem, (int)word->part - (int)HEED_PART_Q,
                             (heed_strides){ strides[0], strides[1], strides[2] });
    return expect_end(p, at);
}

static heed_status read_softcap(heed_parser *p, const heed_word *word, const char *value)
{
    (void)word;
    if (heed_number_float(value, (size_t)(p->end - value), &p->problem.softcap) &&
        p->problem.softcap > 0)
        return HEED_OK;
    return heed_parse_fail(p, value,
                           "softcap is \"%.*s\"; it must be a positive decimal number in the range "
                           "of float32, such as 50",
                           heed_parse_quote(value, p->end), value);
}

/* Reads some of heed_along_letters, and moves *@at past them. */
static unsigned read_along(const char **at, const char *end)
{
    unsigned along = 0;
    for (; *at < end; ++*at) {
        const char *letter = strchr(heed_along_letters, **at);
        if (letter == NULL || *letter == '\0')
            break;
        along |= 1U << (letter - heed_along_letters);
    }
    return along;
}

/* Reads @B:S:H, or nothing. */
static heed_status read_operand_strides(heed_parser *p, const char **at, heed_strides *strides)
{
    int64_t *all[] = { &strides->batch, &strides->seq, &strides->head };
    static const char *const names[] = { "batch stride", "query stride", "head stride" };
    const char *const value = *at;
    if (*at == p->end || **at != '@')
        return HEED_OK;
    heed_status status = HEED_OK;
    for (int i = 0; i < 3 && status == HEED_OK; i++) {
        if (**at != (i == 0 ? '@' : ':'))
            return heed_parse_fail(p, *at, "strides are written @B:S:H; ':' is missing here");
        ++*at;
        status = read_number(p, at, names[i], 0, HEED_EXTENT_MAX, all[i]);
    }
    if (status == HEED_OK && strides->batch == 0 && strides->seq == 0 && strides->head == 0)
        return heed_parse_fail(p, value, "strides of 0:0:0 mean dense ones; omit them");
    return status;
}

/* Reads the type (unless the operand has only one), the dimensions and the strides of an operand;
 * without a value the defaults of its row apply. */
static heed_status read_operand(heed_parser *p, const heed_word *word, const char *value)
{
    const heed_operand_row *row = &heed_operand_rows[word->option];
    heed_operand *operand = heed_problem_operand_of(&p->problem, word->option);
    bool given = value[-1] == '=';
    operand->type = row->type;
    operand->along = row->along;
    if (!given)
        return expect_end(p, value);
    if (row->type == HEED_DATA_NONE || row->along & HEED_ALONG_ALONE) {
        size_t length = strcspn(value, ":@ \t");
        operand->type = heed_data_find(value, length);
        if (operand->type == HEED_DATA_NONE)
            return heed_parse_fail(p, value, "%s= must be followed by a type: %s", row->word,
                                   row->types >> HEED_DATA_I64     ? "i32 or i64"
                                   : row->types >> HEED_DATA_BYTES ? "bytes or bits"
                                                                   : "f32, f16 or bf16");
        value += length;
    }
    if (row->along & HEED_ALONG_ALONE)
        return expect_end(p, value);
    if (value < p->end && *value != '@') {
        if (row->type == HEED_DATA_NONE && *value++ != ':')
            return fail_unexpected(p, value - 1);
        operand->along = read_along(&value, p->end) |
                         (row->needs & (HEED_ALONG_KEY | HEED_ALONG_PAGE));
    }
    heed_status status = read_operand_strides(p, &value, &operand->strides);
    return status == HEED_OK ? expect_end(p, value) : status;
}

/* Reads NAME:TYPE:SIZES. */
static heed_status read_array(heed_parser *p, const heed_word *word, const char *value)
{
    (void)word;
    int index = 0;
    while (index < HEED_ARRAYS_MAX && p->problem.arrays[index].name[0] != '\0')
        index++;
    if (index == HEED_ARRAYS_MAX)
        return heed_parse_fail(p, p->word, "there are more than %d arrays", HEED_ARRAYS_MAX);
    heed_array *array = &p->problem.arrays[index];
    size_t length = strcspn(value, ": \t");
    if (value[length] != ':' || length == 0 || length >= HEED_ARRAY_NAME_SIZE)
        return heed_parse_fail(p, value,
                               "array= must be followed by NAME:TYPE:SIZES, with a name of 1 to %d "
                               "characters",
                               HEED_ARRAY_NAME_SIZE - 1);
    memcpy(array->name, value, length);
    value += length + 1;
    length = strcspn(value, ": \t");
    array->type = heed_data_find(value, length);
    if (array->type == HEED_DATA_NONE || value[length] != ':')
        return heed_parse_fail(p, value, "a type is missing here: f32:, i32: or bytes:");
    value += length;
    heed_status status = HEED_OK;
    for (array->rank = 0; status == HEED_OK && value < p->end; array->rank++) {
        if (array->rank == HEED_ARRAY_RANK_MAX || *value != (array->rank == 0 ? ':' : 'x'))
            return heed_parse_fail(p, value, "sizes are up to %d numbers with x between them",
                                   HEED_ARRAY_RANK_MAX);
        value++;
        status = read_number(p, &value, "size", 1, INT32_MAX, &array->size[array->rank]);
    }
    return status;
}

/* Reads an expression, in double quotes or not. */
static heed_status read_expression(heed_parser *p, const heed_word *word, const char *value)
{
    char *to = word->part == HEED_PART_SCORE ? p->problem.score : p->problem.visible;
    const char *end = p->end;
    if (value < end && *value == '"') {
        value++;
        if (value == end || end[-1] != '"')
            return heed_parse_fail(p, end, "'\"' is missing here");
        end--;
    }
    if (value == end)
        return heed_parse_fail(p, value, "%s must be followed by an expression", word->text);
    if ((size_t)(end - value) >= HEED_EXPRESSION_SIZE)
        return heed_parse_fail(p, value, "the expression has %zu characters; the limit is %d",
                               (size_t)(end - value), HEED_EXPRESSION_SIZE - 1);
    memcpy(to, value, (size_t)(end - value));
    p->where[word->part] = value;
    return HEED_OK;
}

/* -------------------------------------------------------------------------- */
/* Table                                                                      */
/* -------------------------------------------------------------------------- */

static const heed_word words[] = {
#define HEED_TYPE(type, data, name, size) { name, HEED_PART_TYPE, read_type, type, NULL },
#include "types.def"
#undef HEED_TYPE
    { "shared", HEED_PART_SHARED, read_flag, offsetof(heed_problem, shared), NULL },
    { "invariant", HEED_PART_INVARIANT, read_flag, offsetof(heed_problem, invariant), NULL },
    { "causal", HEED_PART_MASK, read_causal, HEED_MASK_CAUSAL_TOP_LEFT, NULL },
    { "causal=", HEED_PART_MASK, read_alignment, 0, NULL },
    { "align=", HEED_PART_ALIGN, read_align, 0, NULL },
    { "window=", HEED_PART_WINDOW, read_window, 0, "window=L:R, window=L: or window=:R" },
    { "chunk=", HEED_PART_CHUNK, read_chunk, 0, "chunk=N" },
    { "softcap=", HEED_PART_SOFTCAP, read_softcap, 0, NULL },
    { "bias=", HEED_PART_BIAS, read_operand, HEED_OPERAND_BIAS,
      "bias=T:DIMS, DIMS some of the letters b, h and q" },
    { "alibi", HEED_PART_SLOPES, read_operand, HEED_OPERAND_SLOPES, NULL },
    { "alibi=", HEED_PART_SLOPES, read_operand, HEED_OPERAND_SLOPES, "alibi=h or alibi=bh" },
    { "sinks", HEED_PART_SINKS, read_operand, HEED_OPERAND_SINKS, NULL },
    { "sinks=", HEED_PART_SINKS, read_operand, HEED_OPERAND_SINKS, "sinks=h or sinks=bh" },
    { "starts", HEED_PART_STARTS, read_operand, HEED_OPERAND_STARTS, NULL },
    { "starts=", HEED_PART_STARTS, read_operand, HEED_OPERAND_STARTS, "starts=q or starts=bq" },
    { "shown=", HEED_PART_SHOWN, read_operand, HEED_OPERAND_SHOWN,
      "shown=T:DIMS, DIMS some of the letters b, h and q" },
    { "lengths", HEED_PART_LENGTHS, read_operand, HEED_OPERAND_LENGTHS, NULL },
    { "lengths=", HEED_PART_LENGTHS, read_operand, HEED_OPERAND_LENGTHS, "lengths or lengths=b" },
    { "paged=", HEED_PART_PAGE, read_paged, 0, "paged=N or paged=N/M" },
    { "table=", HEED_PART_TABLE, read_operand, HEED_OPERAND_TABLE, "table=b@B:0:0" },
    { "varlen=", HEED_PART_VARLEN, read_varlen, 0, "varlen=N or varlen=N/M" },
    { "cu_q=", HEED_PART_CU_Q, read_operand, HEED_OPERAND_CU_Q, "cu_q=T" },
    { "cu_k=", HEED_PART_CU_K, read_operand, HEED_OPERAND_CU_K, "cu_k=T" },
    { "append=", HEED_PART_APPEND, read_append, 0, "append=N or append=N:packed" },
    { "prefix=", HEED_PART_PREFIX, read_one_size, 0, "prefix=N" },
    { "rotary=", HEED_PART_ROTARY, read_rotary, 0, "rotary=N or rotary=N:interleaved" },
    { "cos=", HEED_PART_COS, read_operand, HEED_OPERAND_COS, "cos=T" },
    { "sin=", HEED_PART_SIN, read_operand, HEED_OPERAND_SIN, "sin=T" },
    { "array=", HEED_PART_ARRAYS, read_array, 0, NULL },
    { "score=", HEED_PART_SCORE, read_expression, 0, NULL },
    { "visible=", HEED_PART_VISIBLE, read_expression, 0, NULL },
    { "scale=", HEED_PART_SCALE, read_scale, 0, NULL },
    { "acc=", HEED_PART_ACCUMULATE, read_accumulate, 0, NULL },
    { "products=", HEED_PART_PRODUCTS, read_products, 0, NULL },
    { "layout=", HEED_PART_LAYOUT, read_layout, 0, NULL },
    { "b", HEED_PART_BATCH, read_one_size, 0, "bN" },
    { "h", HEED_PART_HEADS_Q, read_two_sizes, 0, "hN or hN/M" },
    { "s", HEED_PART_SEQ_Q, read_two_sizes, 0, "sN or sN/M" },
    { "d", HEED_PART_DIM_QK, read_two_sizes, 0, "dN or dN/M" },
    { "q=", HEED_PART_Q, read_strides, 0, "q=B:S:H" },
    { "k=", HEED_PART_K, read_strides, 0, "k=B:S:H" },
    { "v=", HEED_PART_V, read_strides, 0, "v=B:S:H" },
    { "o=", HEED_PART_O, read_strides, 0, "o=B:S:H" },
    { "k_new=", HEED_PART_K_NEW, read_strides, 0, "k_new=B:S:H" },
    { "v_new=", HEED_PART_V_NEW, read_strides, 0, "v_new=B:S:H" },
};

static const size_t word_count = sizeof words / sizeof *words;
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* True if the text from @at to @end is the @word, with or without its value. */
static bool word_matches(const heed_word *word, const char *at, const char *end)
{
    size_t length = strlen(word->text);
    if ((size_t)(end - at) < length || memcmp(at, word->text, length) != 0)
        return false;
    if (word->text[length - 1] == '=')
        return true;
    const char *value = at + length;
    return length == 1 ? value == end || !is_letter(*value) : value == end;
}

const heed_word *heed_word_find(const heed_parser *p)
{
    for (size_t i = 0; i < word_count; i++)
        if (word_matches(&words[i], p->word, p->end))
            return &words[i];
    return NULL;
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance: the number of letters to change, add or remove to turn @a, of @length characters,
 * into @b. Both are at most NAME_MAX_LENGTH long. */
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

/* Names of other libraries, too different from heed's to be found by their letters. */
static const char *const synonyms[][2] = {
    { "float32", "f32" }, { "float16", "f16" }, { "bfloat16", "bf16" },
    { "float", "f32" },   { "half", "f16" },
};

/* Single-letter words are not suggested. */
const char *heed_word_nearest(const heed_parser *p)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strncmp(p->word, synonyms[i][0], strlen(synonyms[i][0])) == 0 &&
            strlen(synonyms[i][0]) == (size_t)(p->end - p->word))
            return synonyms[i][1];
    const char *equals = memchr(p->word, '=', (size_t)(p->end - p->word));
    size_t length = (size_t)((equals != NULL ? equals + 1 : p->end) - p->word);
    const char *nearest = NULL;
    size_t best = length < 4 ? 2 : 3; /* this many differences are too many */
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
