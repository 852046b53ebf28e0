/*
 * operand.c - the operands and arrays of a problem: their limits and their normal form
 */
#include "operand.h"

#include <stdio.h>
#include <string.h>

#include "../number.h"

#define PAIRS (HEED_ALONG_BATCH | HEED_ALONG_HEAD | HEED_ALONG_QUERY | HEED_ALONG_KEY)
#define TABLE (HEED_ALONG_BATCH | HEED_ALONG_PAGE)
#define SEQUENCE HEED_ALONG_SEQUENCE
#define POSITION HEED_ALONG_POSITION
#define BIT(type) (1U << (type))
#define FLOATS (BIT(HEED_DATA_F32) | BIT(HEED_DATA_F16) | BIT(HEED_DATA_BF16))
#define CUMULATIVE (BIT(HEED_DATA_I32) | BIT(HEED_DATA_I64))
#define PLACES(field) offsetof(heed_problem, field), offsetof(heed_buffers, field)

const heed_operand_row heed_operand_rows[HEED_OPERANDS] = {
    { "bias", "bias", HEED_PART_BIAS, PLACES(bias), FLOATS, HEED_DATA_NONE, HEED_ALONG_KEY, PAIRS,
      PAIRS },
    { "alibi", "slopes", HEED_PART_SLOPES, PLACES(slopes), BIT(HEED_DATA_F32), HEED_DATA_F32,
      HEED_ALONG_HEAD, HEED_ALONG_BATCH | HEED_ALONG_HEAD, HEED_ALONG_HEAD },
    { "sinks", "sinks", HEED_PART_SINKS, PLACES(sinks), BIT(HEED_DATA_F32), HEED_DATA_F32,
      HEED_ALONG_HEAD, HEED_ALONG_BATCH | HEED_ALONG_HEAD, HEED_ALONG_HEAD },
    { "starts", "starts", HEED_PART_STARTS, PLACES(starts), BIT(HEED_DATA_I32), HEED_DATA_I32,
      HEED_ALONG_QUERY, HEED_ALONG_BATCH | HEED_ALONG_QUERY, HEED_ALONG_BATCH | HEED_ALONG_QUERY },
    { "shown", "shown", HEED_PART_SHOWN, PLACES(shown), BIT(HEED_DATA_BYTES) | BIT(HEED_DATA_BITS),
      HEED_DATA_NONE, HEED_ALONG_KEY, PAIRS, PAIRS },
    { "lengths", "lengths", HEED_PART_LENGTHS, PLACES(lengths), BIT(HEED_DATA_I32), HEED_DATA_I32,
      HEED_ALONG_BATCH, HEED_ALONG_BATCH, HEED_ALONG_BATCH },
    { "table", "table", HEED_PART_TABLE, PLACES(table), BIT(HEED_DATA_I32), HEED_DATA_I32, TABLE,
      TABLE, TABLE },
    { "cu_q", "cu_seqlens_q", HEED_PART_CU_Q, PLACES(cu_seqlens_q), CUMULATIVE, HEED_DATA_I32,
      SEQUENCE, SEQUENCE, SEQUENCE },
    { "cu_k", "cu_seqlens_k", HEED_PART_CU_K, PLACES(cu_seqlens_k), CUMULATIVE, HEED_DATA_I32,
      SEQUENCE, SEQUENCE, SEQUENCE },
    { "cos", "rotary_cos", HEED_PART_COS, PLACES(rotary_cos), FLOATS, HEED_DATA_F32, POSITION,
      POSITION, POSITION },
    { "sin", "rotary_sin", HEED_PART_SIN, PLACES(rotary_sin), FLOATS, HEED_DATA_F32, POSITION,
      POSITION, POSITION },
};

const char heed_along_letters[] = "bhqkpc";

static const struct {
    const char *name;
    size_t size;
} types[] = {
#define HEED_TYPE(type, data, name, size) [data] = { name, size },
#include "types.def"
#undef HEED_TYPE
    [HEED_DATA_I32] = { "i32", 4 },
    [HEED_DATA_BYTES] = { "bytes", 1 },
    [HEED_DATA_BITS] = { "bits", 4 },
    [HEED_DATA_I64] = { "i64", 8 },
};
#define TYPES (sizeof types / sizeof *types)

size_t heed_data_size(heed_data type)
{
    return (size_t)type < TYPES ? types[type].size : 0;
}

/* True if @type, which may be any number, is in @set. */
static bool is_among(heed_data type, unsigned set)
{
    return (size_t)type < TYPES && set & BIT(type);
}

const char *heed_data_name(heed_data type)
{
    return (size_t)type < TYPES && types[type].name ? types[type].name : "none";
}

heed_data heed_data_find(const char *name, size_t length)
{
    for (size_t i = 1; i < TYPES; i++)
        if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0)
            return (heed_data)i;
    return HEED_DATA_NONE;
}

const heed_operand *heed_problem_operand(const heed_problem *problem, int index)
{
    return (const heed_operand *)(const void *)((const char *)problem +
                                                heed_operand_rows[index].operand);
}

heed_operand *heed_problem_operand_of(heed_problem *problem, int index)
{
    return (heed_operand *)(void *)((char *)problem + heed_operand_rows[index].operand);
}

/* a * b, or INT64_MAX if that is too large, as it may be in a problem with a fault. */
static int64_t product(int64_t a, int64_t b)
{
    return __builtin_mul_overflow(a, b, &a) ? INT64_MAX : a;
}

int64_t heed_problem_all_pages(const heed_problem *problem)
{
    return problem->page > 0 ? product(problem->batch, problem->seq_k / problem->page) : 0;
}

int64_t heed_problem_pages(const heed_problem *problem)
{
    return problem->pages != 0 ? problem->pages : heed_problem_all_pages(problem);
}

bool heed_problem_has_operands(const heed_problem *problem)
{
    bool any = problem->softcap != 0 || problem->score[0] || problem->visible[0];
    for (int i = 0; i < HEED_OPERANDS; i++)
        any |= heed_problem_operand(problem, i)->type != HEED_DATA_NONE;
    return any;
}

/* -------------------------------------------------------------------------- */
/* Strides                                                                    */
/* -------------------------------------------------------------------------- */

/* Elements along the last dimension; for bits, words. */
static int64_t row_size(const heed_problem *problem, const heed_operand *operand)
{
    if (operand->along & HEED_ALONG_PAGE)
        return problem->seq_k / (problem->page > 0 ? problem->page : 1);
    if (operand->along & HEED_ALONG_SEQUENCE)
        return problem->batch < INT64_MAX ? problem->batch + 1 : INT64_MAX;
    if (operand->along & HEED_ALONG_POSITION)
        return product(problem->seq_k, problem->rotary / 2);
    if (!(operand->along & HEED_ALONG_KEY))
        return 1;
    const int64_t words = problem->seq_k / 32 + (problem->seq_k % 32 != 0);
    return operand->type == HEED_DATA_BITS ? words : problem->seq_k;
}

/* Elements along another dimension. */
static int64_t size_along(const heed_problem *problem, const heed_operand *operand, unsigned bit)
{
    if (!(operand->along & bit))
        return 1;
    return bit == HEED_ALONG_BATCH  ? problem->batch
           : bit == HEED_ALONG_HEAD ? problem->heads_q
                                    : problem->seq_q;
}

/* Dimensions from the innermost outwards, with the offsets of their strides and their names. */
static const struct {
    unsigned bit;
    size_t stride;
    const char *name;
} order[] = {
    { HEED_ALONG_QUERY, offsetof(heed_strides, seq), "query" },
    { HEED_ALONG_HEAD, offsetof(heed_strides, head), "head" },
    { HEED_ALONG_BATCH, offsetof(heed_strides, batch), "batch" },
};
#define ORDER (sizeof order / sizeof *order)

static int64_t *stride_of(heed_strides *strides, size_t i)
{
    return (int64_t *)(void *)((char *)strides + order[i].stride);
}

heed_strides heed_operand_dense(const heed_problem *problem, const heed_operand *operand)
{
    heed_strides strides = { 0, 0, 0 };
    int64_t distance = row_size(problem, operand);
    for (size_t i = 0; i < ORDER; i++) {
        if (!(operand->along & order[i].bit))
            continue;
        *stride_of(&strides, i) = distance;
        if (__builtin_mul_overflow(distance, size_along(problem, operand, order[i].bit), &distance))
            distance = INT64_MAX;
    }
    return strides;
}

static heed_strides strides_of(const heed_problem *problem, const heed_operand *operand)
{
    const heed_strides *s = &operand->strides;
    return s->batch || s->seq || s->head ? *s : heed_operand_dense(problem, operand);
}

int64_t heed_operand_extent(const heed_problem *problem, const heed_operand *operand)
{
    heed_strides strides = strides_of(problem, operand);
    int64_t extent = row_size(problem, operand);
    for (size_t i = 0; i < ORDER; i++) {
        int64_t span;
        if (__builtin_mul_overflow(size_along(problem, operand, order[i].bit) - 1,
                                   *stride_of(&strides, i), &span) ||
            __builtin_add_overflow(extent, span, &extent))
            return INT64_MAX;
    }
    return extent;
}

/* The fraction of positions that new keys and queries may have. */
static double used_positions(const heed_problem *problem)
{
    int64_t most = problem->append > problem->seq_q ? problem->append : problem->seq_q;
    double used = (double)problem->batch * (double)most / (double)problem->seq_k;
    return used < 1 ? used : 1;
}

/* Elements with distinct addresses that visible pairs use. */
static double distinct(const heed_problem *problem, const heed_operand *operand)
{
    heed_strides strides = strides_of(problem, operand);
    double count = (double)row_size(problem, operand);
    if (operand->along & HEED_ALONG_POSITION)
        return count * used_positions(problem);
    for (size_t i = 0; i < ORDER; i++)
        if (*stride_of(&strides, i) != 0)
            count *= (double)size_along(problem, operand, order[i].bit);
    const unsigned pair = HEED_ALONG_QUERY | HEED_ALONG_KEY;
    if ((operand->along & pair) == pair && strides.seq != 0)
        count *= heed_problem_share(problem);
    return count;
}

int64_t heed_array_elements(const heed_array *array)
{
    int64_t elements = array->rank ? 1 : 0;
    for (int d = 0; d < array->rank; d++)
        elements *= array->size[d];
    return elements;
}

double heed_operands_bytes(const heed_problem *problem)
{
    double bytes = 0;
    for (int i = 0; i < HEED_OPERANDS; i++) {
        const heed_operand *operand = heed_problem_operand(problem, i);
        if (operand->type != HEED_DATA_NONE)
            bytes += distinct(problem, operand) * (double)heed_data_size(operand->type);
    }
    for (int i = 0; i < HEED_ARRAYS_MAX; i++) {
        const heed_array *array = &problem->arrays[i];
        bytes += (double)heed_array_elements(array) * (double)heed_data_size(array->type);
    }
    return bytes;
}

/* -------------------------------------------------------------------------- */
/* Check                                                                      */
/* -------------------------------------------------------------------------- */

/* Checks the stride along a dimension that the operand must have: its last one, which is
 * contiguous, or the batch, whose elements must not share their numbers. */
static bool stride_fault(const heed_problem *problem, const heed_operand_row *row,
                         const heed_operand *operand, heed_fault *fault)
{
    heed_strides s = strides_of(problem, operand);
    for (size_t i = 0; i < ORDER; i++) {
        const bool own = order[i].bit == HEED_ALONG_BATCH;
        const int64_t stride = *stride_of(&s, i);
        if (row->needs & order[i].bit && size_along(problem, operand, order[i].bit) > 1 &&
            (own ? stride < 1 : stride != 1))
            return heed_fault_set(
                fault, row->part, "%s strides are %lld:%lld:%lld; the %s stride must be 1%s",
                row->name, (long long)s.batch, (long long)s.seq, (long long)s.head, order[i].name,
                own ? " or more: each batch element has its own" : ", as elements are contiguous");
    }
    return false;
}

/* Writes the names of the dimensions of @along. */
static const char *along_names(unsigned along, char text[64])
{
    static const char *const names[] = { "batch", "head",     "query",   "key",
                                         "page",  "sequence", "position" };
    size_t length = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (along & BIT(i))
            length += (size_t)snprintf(text + length, 64 - length, "%s%s", length ? ", " : "",
                                       names[i]);
    return length ? text : "none";
}

/* Writes the numbers and names of the types of @set, such as "4 (i32) or 7 (i64)". */
static const char *type_names(unsigned set, char text[64])
{
    size_t length = 0;
    for (unsigned i = 0; i < TYPES; i++) {
        if (!(set & BIT(i)))
            continue;
        const char *between = !length ? "" : set >> (i + 1) ? ", " : " or ";
        length += (size_t)snprintf(text + length, 64 - length, "%s%u (%s)", between, i,
                                   heed_data_name((heed_data)i));
    }
    return text;
}

static bool operand_fault(const heed_problem *problem, const heed_operand_row *row,
                          const heed_operand *operand, heed_fault *fault)
{
    const heed_strides *s = &operand->strides;
    char is[64], needs[64], may[64];
    if (operand->type == HEED_DATA_NONE && !operand->along && !s->batch && !s->seq && !s->head)
        return false;
    if (!is_among(operand->type, row->types))
        return heed_fault_set(fault, row->part, "%s.type is %d (%s); it must be %s", row->name,
                              (int)operand->type, heed_data_name(operand->type),
                              type_names(row->types, needs));
    if (operand->along & ~row->may || (operand->along & row->needs) != row->needs)
        return heed_fault_set(
            fault, row->part,
            "%s.along is %u (%s); it must have the bits of %u (%s), and may have those of %u (%s)",
            row->name, operand->along, along_names(operand->along, is), row->needs,
            along_names(row->needs, needs), row->may, along_names(row->may, may));
    if (s->batch < 0 || s->seq < 0 || s->head < 0)
        return heed_fault_set(fault, row->part,
                              "%s strides are %lld:%lld:%lld; they must be 0 or more", row->name,
                              (long long)s->batch, (long long)s->seq, (long long)s->head);
    if (!(row->may & PAIRS) && (s->batch || s->seq || s->head))
        return heed_fault_set(fault, row->part, "%s strides are %lld:%lld:%lld; they must be 0",
                              row->name, (long long)s->batch, (long long)s->seq,
                              (long long)s->head);
    if (stride_fault(problem, row, operand, fault))
        return true;
    if (heed_operand_extent(problem, operand) <= HEED_EXTENT_MAX)
        return false;
    const heed_strides all = strides_of(problem, operand);
    return heed_fault_set(
        fault, row->part, "%s strides %lld:%lld:%lld span more than %lld elements", row->name,
        (long long)all.batch, (long long)all.seq, (long long)all.head, (long long)HEED_EXTENT_MAX);
}

static bool is_name(const char name[HEED_ARRAY_NAME_SIZE])
{
    size_t length = strnlen(name, HEED_ARRAY_NAME_SIZE);
    if (length == HEED_ARRAY_NAME_SIZE || heed_is_digit(name[0]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!heed_is_letter(name[i]) && !heed_is_digit(name[i]))
            return false;
    return length > 0;
}

static bool array_fault(const heed_problem *problem, int index, heed_fault *fault)
{
    const heed_array *array = &problem->arrays[index];
    static const heed_array none;
    int64_t count = 1;
    if (array->name[0] == '\0' && memcmp(array, &none, sizeof none) == 0)
        return false;
    if (!is_name(array->name))
        return heed_fault_set(
            fault, HEED_PART_ARRAYS,
            "arrays[%d].name is \"%.*s\"; it must be 1 to %d letters, digits and '_', "
            "no digit first",
            index, HEED_ARRAY_NAME_SIZE - 1, array->name, HEED_ARRAY_NAME_SIZE - 1);
    for (int i = 0; i < index; i++)
        if (strcmp(problem->arrays[i].name, array->name) == 0)
            return heed_fault_set(fault, HEED_PART_ARRAYS, "arrays[%d] and arrays[%d] are both %s",
                                  i, index, array->name);
    if (index > 0 && problem->arrays[index - 1].name[0] == '\0')
        return heed_fault_set(fault, HEED_PART_ARRAYS, "arrays[%d] is %s, and arrays[%d] is empty",
                              index, array->name, index - 1);
    if (array->type != HEED_DATA_F32 && array->type != HEED_DATA_I32 &&
        array->type != HEED_DATA_BYTES)
        return heed_fault_set(
            fault, HEED_PART_ARRAYS,
            "the type of array %s is %d (%s); it must be 1 (f32), 4 (i32) or 5 (bytes)",
            array->name, (int)array->type, heed_data_name(array->type));
    if (array->rank < 1 || array->rank > HEED_ARRAY_RANK_MAX)
        return heed_fault_set(fault, HEED_PART_ARRAYS,
                              "the rank of array %s is %d; it must be 1 to %d", array->name,
                              array->rank, HEED_ARRAY_RANK_MAX);
    for (int i = 0; i < array->rank; i++)
        if (array->size[i] < 1 || __builtin_mul_overflow(count, array->size[i], &count) ||
            count > INT32_MAX)
            return heed_fault_set(
                fault, HEED_PART_ARRAYS,
                "size %d of array %s is %lld; it must be 1 or more, and the array may "
                "have at most %d elements",
                i, array->name, (long long)array->size[i], INT32_MAX);
    for (int i = array->rank; i < HEED_ARRAY_RANK_MAX; i++)
        if (array->size[i] != 0)
            return heed_fault_set(fault, HEED_PART_ARRAYS,
                                  "size %d of array %s is %lld; it must be 0 beyond its rank", i,
                                  array->name, (long long)array->size[i]);
    return false;
}

static bool pages_fault(const heed_problem *problem, heed_fault *fault)
{
    bool table = problem->table.type != HEED_DATA_NONE;
    if (problem->page < 0 || problem->page > HEED_PAGE_MAX)
        return heed_fault_set(fault, HEED_PART_PAGE, "page is %lld; it must be 0 to %d",
                              (long long)problem->page, HEED_PAGE_MAX);
    if (problem->page == 0 && (table || problem->pages != 0))
        return heed_fault_set(fault, table ? HEED_PART_TABLE : HEED_PART_PAGE,
                              "page is 0; with %s it must be 1 to %d",
                              table ? "a page table" : "a number of pages", HEED_PAGE_MAX);
    if (problem->page > 0 && !table)
        return heed_fault_set(fault, HEED_PART_PAGE,
                              "table.type is 0 (none); with pages it must be 4 (i32)");
    if (problem->page > 0 && problem->seq_k % problem->page != 0)
        return heed_fault_set(fault, HEED_PART_PAGE,
                              "page is %lld; it must divide seq_k, which is %lld",
                              (long long)problem->page, (long long)problem->seq_k);
    if (problem->pages < 0 || problem->pages > INT32_MAX)
        return heed_fault_set(fault, HEED_PART_PAGE, "pages is %lld; it must be 0 to %d",
                              (long long)problem->pages, INT32_MAX);
    if (problem->page > 0 && heed_problem_pages(problem) > INT32_MAX)
        return heed_fault_set(fault, HEED_PART_PAGE,
                              "pages is 0, which means %lld, batch * seq_k / page; the limit is "
                              "%d",
                              (long long)heed_problem_pages(problem), INT32_MAX);
    return false;
}

/* Checks one side of packed sequences: @tokens of up to batch * @seq, with the cumulative lengths
 * @cu. */
static bool packed_fault(const heed_operand_row *row, const heed_operand *cu, int64_t tokens,
                         int64_t batch, int64_t seq, heed_fault *fault)
{
    const char side = row->part == HEED_PART_CU_Q ? 'q' : 'k';
    char range[HEED_NUMBER_SIZE];
    int64_t most;
    if (__builtin_mul_overflow(batch, seq, &most) || most > HEED_SIZE_MAX - 1)
        most = HEED_SIZE_MAX - 1;
    if (tokens < 0 || tokens > most)
        return heed_fault_set(fault, HEED_PART_VARLEN,
                              "tokens_%c is %lld; it must be 0 to %lld, batch * seq_%c", side,
                              (long long)tokens, (long long)most, side);
    if (tokens > 0 && cu->type == HEED_DATA_NONE)
        return heed_fault_set(fault, HEED_PART_VARLEN,
                              "%s.type is 0 (none); with tokens_%c it must be 4 (i32) or 7 (i64)",
                              row->name, side);
    if (tokens == 0 && cu->type != HEED_DATA_NONE)
        return heed_fault_set(fault, row->part, "tokens_%c is 0; with %s it must be %s", side,
                              row->name, heed_number_print_range(range, 1, most));
    return false;
}

static bool varlen_fault(const heed_problem *problem, heed_fault *fault)
{
    const heed_problem *p = problem;
    const heed_operand_row *rows = heed_operand_rows;
    if (packed_fault(&rows[HEED_OPERAND_CU_Q], &p->cu_seqlens_q, p->tokens_q, p->batch, p->seq_q,
                     fault) ||
        packed_fault(&rows[HEED_OPERAND_CU_K], &p->cu_seqlens_k, p->tokens_k, p->batch, p->seq_k,
                     fault))
        return true;
    if (p->tokens_k > 0 && p->page > 0)
        return heed_fault_set(fault, HEED_PART_VARLEN,
                              "tokens_k is %lld and page is %lld; keys in pages are not packed: "
                              "one of them must be 0",
                              (long long)p->tokens_k, (long long)p->page);
    return false;
}

static bool append_fault(const heed_problem *problem, heed_fault *fault)
{
    const heed_problem *p = problem;
    if (p->append_packed != 0 && (p->append_packed != 1 || p->append == 0))
        return heed_fault_set(fault, HEED_PART_APPEND,
                              "append_packed is %lld; it must be 0, or 1 where append is 1 or more",
                              (long long)p->append_packed);
    if (p->append == 0)
        return false;
    if (p->append_packed && p->tokens_q == 0)
        return heed_fault_set(fault, HEED_PART_APPEND,
                              "append_packed is 1 and tokens_q is 0; new keys are packed as "
                              "queries are, so it must be 1 or more");
    if (p->append_packed && p->append != p->seq_q)
        return heed_fault_set(fault, HEED_PART_APPEND,
                              "append is %lld; as new keys are packed, it must be %lld, which is "
                              "seq_q",
                              (long long)p->append, (long long)p->seq_q);
    if (p->append > p->seq_k)
        return heed_fault_set(fault, HEED_PART_APPEND,
                              "append is %lld; it must be 0 to %lld, which is seq_k",
                              (long long)p->append, (long long)p->seq_k);
    if (p->lengths.type == HEED_DATA_NONE)
        return heed_fault_set(fault, HEED_PART_APPEND,
                              "lengths.type is 0 (none); with append it must be 4 (i32)");
    if (p->tokens_k > 0)
        return heed_fault_set(fault, HEED_PART_APPEND,
                              "append is %lld and tokens_k is %lld; nothing is appended to packed "
                              "keys: one of them must be 0",
                              (long long)p->append, (long long)p->tokens_k);
    return false;
}

static bool rotary_fault(const heed_problem *problem, heed_fault *fault)
{
    const heed_problem *p = problem;
    const heed_data cos = p->rotary_cos.type, sin = p->rotary_sin.type;
    const int64_t most = p->dim_qk > heed_problem_turned(p) ? p->dim_qk - heed_problem_turned(p)
                                                            : 0;
    if (p->rotary < 0 || p->rotary > most || p->rotary % 2 != 0)
        return heed_fault_set(fault, HEED_PART_ROTARY,
                              "rotary is %lld; it must be an even number, 0 to %lld, which is %s",
                              (long long)p->rotary, (long long)most,
                              p->shared ? "dim_qk - dim_v" : "dim_qk");
    if (p->interleaved != 0 && (p->interleaved != 1 || p->rotary == 0))
        return heed_fault_set(fault, HEED_PART_ROTARY,
                              "interleaved is %lld; it must be 0, or 1 where rotary is 2 or more",
                              (long long)p->interleaved);
    if (p->rotary > 0 && p->append == 0)
        return heed_fault_set(fault, HEED_PART_ROTARY,
                              "rotary is %lld and append is 0; without new keys rotary must be 0",
                              (long long)p->rotary);
    if (p->rotary == 0 && (cos != HEED_DATA_NONE || sin != HEED_DATA_NONE))
        return heed_fault_set(fault, cos ? HEED_PART_COS : HEED_PART_SIN,
                              "rotary is 0; with %s it must be 2 to %lld",
                              cos ? "rotary_cos" : "rotary_sin", (long long)most);
    if (p->rotary > 0 && cos == HEED_DATA_NONE)
        return heed_fault_set(
            fault, HEED_PART_COS,
            "rotary_cos.type is 0 (none); with rotary it must be 1 (f32), 2 (f16) "
            "or 3 (bf16)");
    if (cos != sin && is_among(cos, FLOATS))
        return heed_fault_set(fault, HEED_PART_SIN,
                              "rotary_sin.type is %d (%s); it must be that of rotary_cos, %d (%s)",
                              (int)sin, heed_data_name(sin), (int)cos, heed_data_name(cos));
    return false;
}

bool heed_operands_fault(const heed_problem *problem, heed_fault *fault)
{
    if (pages_fault(problem, fault) || varlen_fault(problem, fault) ||
        append_fault(problem, fault) || rotary_fault(problem, fault))
        return true;
    for (int i = 0; i < HEED_OPERANDS; i++)
        if (operand_fault(problem, &heed_operand_rows[i], heed_problem_operand(problem, i), fault))
            return true;
    for (int i = 0; i < HEED_ARRAYS_MAX; i++)
        if (array_fault(problem, i, fault))
            return true;
    return false;
}

/* -------------------------------------------------------------------------- */
/* Normal form                                                                */
/* -------------------------------------------------------------------------- */

/* Removes dimensions along which it is constant, and writes out its strides. */
static void normalize(const heed_problem *problem, const heed_operand_row *row,
                      heed_operand *operand)
{
    heed_strides strides = strides_of(problem, operand);
    for (size_t i = 0; i < ORDER; i++) {
        int64_t *stride = stride_of(&strides, i);
        bool alike = size_along(problem, operand, order[i].bit) == 1 || *stride == 0;
        if (alike && !(row->needs & order[i].bit))
            operand->along &= ~order[i].bit;
        if (!(operand->along & order[i].bit))
            *stride = 0;
    }
    heed_strides dense = heed_operand_dense(problem, operand);
    for (size_t i = 0; i < ORDER; i++)
        if (size_along(problem, operand, order[i].bit) == 1)
            *stride_of(&strides, i) = *stride_of(&dense, i);
    operand->strides = strides;
}

void heed_operands_normalize(heed_problem *problem)
{
    for (int i = 0; i < HEED_OPERANDS; i++) {
        heed_operand *operand = heed_problem_operand_of(problem, i);
        if (operand->type != HEED_DATA_NONE)
            normalize(problem, &heed_operand_rows[i], operand);
    }
}

bool heed_operands_equal(const heed_problem *a, const heed_problem *b)
{
    for (int i = 0; i < HEED_OPERANDS; i++) {
        const heed_operand *x = heed_problem_operand(a, i), *y = heed_problem_operand(b, i);
        if (x->type != y->type || x->along != y->along ||
            !heed_strides_equal(x->strides, y->strides))
            return false;
    }
    for (int i = 0; i < HEED_ARRAYS_MAX; i++) {
        const heed_array *x = &a->arrays[i], *y = &b->arrays[i];
        if (x->type != y->type || x->rank != y->rank || strcmp(x->name, y->name) != 0 ||
            memcmp(x->size, y->size, sizeof x->size) != 0)
            return false;
    }
    return strcmp(a->score, b->score) == 0 && strcmp(a->visible, b->visible) == 0;
}
