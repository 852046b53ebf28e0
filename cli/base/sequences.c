/*
 * sequences.c - packed sequences and pages: arrays checked against the cumulative lengths and page
 * tables of files
 */
#include "inputs.h"

#include <string.h>

#include "base/plural.h"
#include "src/number.h"
#include "tensor/convert.h"

#define PACKED_RANK 3

/* The two sides of a problem, and the operands that divide their rows among sequences. */
enum {
    QUERIES,
    KEYS,
    SIDES
};
static const struct {
    lab_role role;
    const char *option;
} sides[SIDES] = { { LAB_CU_Q, "cu-seqlens-q" }, { LAB_CU_K, "cu-seqlens-k" } };

static const cli_operand_file *operand_of(const cli_inputs *inputs, lab_role role)
{
    return &inputs->operands.operand[role];
}

/* Q, or K for both K and V. */
static const cli_input *input_of(const cli_inputs *inputs, int side)
{
    return side == QUERIES ? &inputs->q : &inputs->k;
}

static bool is_paged(const cli_inputs *inputs)
{
    return operand_of(inputs, LAB_TABLE)->path != NULL;
}

static cli_exit refuse(const char *option, const cli_operand_file *operand, const char *shape)
{
    char text[LAB_SHAPE_SIZE];
    cli_error("--%s: %s has shape %s of %s; it must be %s", option, operand->path,
              lab_shape_print(operand->tensor.shape, operand->tensor.rank, text),
              lab_data_name(operand->tensor.kind), shape);
    return CLI_USAGE;
}

/* -------------------------------------------------------------------------- */
/* Dimensions                                                                 */
/* -------------------------------------------------------------------------- */

static void pack(cli_input *input)
{
    lab_tensor *tensor = &input->tensor;
    input->packed = tensor->rank == PACKED_RANK;
    if (!input->packed)
        return;
    memmove(tensor->shape + 1, tensor->shape, PACKED_RANK * sizeof *tensor->shape);
    tensor->shape[0] = 1;
    tensor->rank++;
}

/* Cumulative lengths need packed arrays, pages arrays that are not packed. */
static cli_exit check_options(const cli_inputs *inputs)
{
    char place[CLI_PLACE_SIZE];
    for (int i = 0; i < SIDES; i++) {
        const cli_input *input = input_of(inputs, i);
        if (operand_of(inputs, sides[i].role)->path && !input->packed) {
            cli_error("--%s: %s has %d dimension%s; packed sequences have 3: %s", sides[i].option,
                      cli_input_print(input, place), input->tensor.rank,
                      lab_plural(input->tensor.rank), cli_packed_orders[inputs->layout]);
            return CLI_USAGE;
        }
    }
    if (is_paged(inputs) && inputs->k.packed) {
        cli_error("--table: %s has 3 dimensions; pages have 4: %s",
                  cli_input_print(&inputs->k, place), cli_page_orders[inputs->layout]);
        return CLI_USAGE;
    }
    return CLI_OK;
}

cli_exit cli_sequences_prepare(cli_inputs *inputs)
{
    char place[2][CLI_PLACE_SIZE];
    pack(&inputs->q);
    pack(&inputs->k);
    if (!inputs->shared)
        pack(&inputs->v);
    if (!inputs->shared && inputs->k.packed != inputs->v.packed) {
        cli_error("%s and %s: one has 3 dimensions, packed sequences, and the other has not",
                  cli_input_print(&inputs->k, place[0]), cli_input_print(&inputs->v, place[1]));
        return CLI_USAGE;
    }
    return check_options(inputs);
}

/* -------------------------------------------------------------------------- */
/* The number of sequences                                                    */
/* -------------------------------------------------------------------------- */

static cli_exit check_operands(const cli_inputs *inputs)
{
    for (int i = 0; i < SIDES; i++) {
        const cli_operand_file *cu = operand_of(inputs, sides[i].role);
        const heed_data kind = cu->tensor.kind;
        if (cu->path && (cu->tensor.rank != 1 || cu->tensor.shape[0] < 2 ||
                         (kind != HEED_DATA_I32 && kind != HEED_DATA_I64)))
            return refuse(sides[i].option, cu, "[batch + 1] of i32 or i64, of 2 or more");
    }
    const cli_operand_file *table = operand_of(inputs, LAB_TABLE);
    if (table->path && (table->tensor.rank != 2 || table->tensor.shape[1] < 1 ||
                        table->tensor.kind != HEED_DATA_I32))
        return refuse("table", table, "[batch, pages of a sequence] of i32");
    return CLI_OK;
}

/* A source of the number of sequences. */
typedef struct source {
    const char *name;
    int64_t batch; /* -1: unknown */
} source;
#define SOURCES 6

static void find_sources(const cli_inputs *inputs, source sources[SOURCES])
{
    const cli_operand_file *cu_q = operand_of(inputs, LAB_CU_Q);
    const cli_operand_file *cu_k = operand_of(inputs, LAB_CU_K);
    const cli_operand_file *table = operand_of(inputs, LAB_TABLE);
    const cli_operand_file *lengths = operand_of(inputs, LAB_LENGTHS);
    const bool padded = !inputs->k.packed && !table->path;
    const source all[SOURCES] = {
        { "Q", inputs->q.packed ? -1 : inputs->q.tensor.shape[0] },
        { "--cu-seqlens-q", cu_q->path ? cu_q->tensor.shape[0] - 1 : -1 },
        { "K", padded ? inputs->k.tensor.shape[0] : -1 },
        { "--cu-seqlens-k", cu_k->path ? cu_k->tensor.shape[0] - 1 : -1 },
        { "--table", table->path ? table->tensor.shape[0] : -1 },
        { "--lengths", lengths->path && lengths->tensor.rank == 1 ? lengths->tensor.shape[0] : -1 },
    };
    memcpy(sources, all, sizeof all);
}

static cli_exit find_batch(cli_inputs *inputs)
{
    source sources[SOURCES];
    const source *first = NULL;
    find_sources(inputs, sources);
    for (int i = 0; i < SOURCES; i++) {
        if (sources[i].batch >= 0 && !first)
            first = &sources[i];
        const bool last = i == SOURCES - 1; /* its shape is checked with its word */
        if (!last && sources[i].batch >= 0 && sources[i].batch != first->batch) {
            cli_error("%s and %s differ in the number of sequences: %lld and %lld", first->name,
                      sources[i].name, (long long)first->batch, (long long)sources[i].batch);
            return CLI_USAGE;
        }
    }
    inputs->sequences.batch = first ? first->batch : 1;
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* Their lengths                                                              */
/* -------------------------------------------------------------------------- */

static int64_t entry(const lab_tensor *tensor, int64_t n)
{
    return tensor->kind == HEED_DATA_I64 ? ((const int64_t *)tensor->data)[n]
                                         : ((const int32_t *)tensor->data)[n];
}

static cli_exit share_out(cli_inputs *inputs, int side, int64_t tokens)
{
    char place[CLI_PLACE_SIZE];
    lab_error error;
    const int64_t batch = inputs->sequences.batch, shape[] = { batch + 1 };
    lab_tensor *cu = &inputs->operands.operand[sides[side].role].tensor;
    if (batch < 1 || tokens % batch != 0) {
        cli_error("%s has %lld token%s, which cannot be divided evenly among %lld sequence%s; give "
                  "--%s FILE",
                  cli_input_print(input_of(inputs, side), place), (long long)tokens,
                  lab_plural(tokens), (long long)batch, lab_plural(batch), sides[side].option);
        return CLI_USAGE;
    }
    const heed_data kind = tokens > INT32_MAX ? HEED_DATA_I64 : HEED_DATA_I32;
    heed_status status = lab_tensor_create_kind(cu, kind, shape, 1, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    const int64_t each = tokens / batch;
    for (int64_t b = 0; b <= batch; b++)
        lab_data_set(kind, cu->data, b, (double)(each * b));
    return CLI_OK;
}

/* Cumulative lengths must rise from 0 to at most the number of tokens. Writes their largest
 * difference to *@longest. */
static cli_exit check_cumulative(const cli_inputs *inputs, int side, int64_t tokens,
                                 int64_t *longest)
{
    const cli_operand_file *cu = operand_of(inputs, sides[side].role);
    char range[HEED_NUMBER_SIZE];
    int64_t before = 0;
    *longest = 0;
    for (int64_t b = 0; b <= inputs->sequences.batch; b++) {
        const int64_t at = entry(&cu->tensor, b), most = b > 0 ? tokens : 0;
        if (at < before || at > most) {
            cli_error("--%s: %s: entry %lld is %lld; it must be %s", sides[side].option, cu->path,
                      (long long)b, (long long)at, heed_number_print_range(range, before, most));
            return CLI_USAGE;
        }
        *longest = at - before > *longest ? at - before : *longest;
        before = at;
    }
    return CLI_OK;
}

/* Reads the rows of one side to *@tokens, and the longest permitted length of its sequences to
 * *@seq. */
static cli_exit read_packed(cli_inputs *inputs, int side, int64_t *tokens, int64_t *seq)
{
    const int64_t batch = inputs->sequences.batch;
    *tokens = cli_input_seq(input_of(inputs, side), inputs->layout);
    cli_exit code = CLI_OK;
    if (!operand_of(inputs, sides[side].role)->path)
        code = share_out(inputs, side, *tokens);
    if (code == CLI_OK)
        code = check_cumulative(inputs, side, *tokens, seq);
    if (code != CLI_OK)
        return code;
    /* unused rows may follow the last sequence, up to those that the longest sequences would
     * fill */
    const int64_t least = *tokens / batch + (*tokens % batch != 0);
    *seq = *seq > least ? *seq : least;
    return CLI_OK;
}

static void read_pages(cli_inputs *inputs)
{
    cli_sequences *found = &inputs->sequences;
    found->page = cli_input_seq(&inputs->k, inputs->layout);
    found->pages = inputs->k.tensor.shape[0];
    if (__builtin_mul_overflow(found->page, operand_of(inputs, LAB_TABLE)->tensor.shape[1],
                               &found->seq_k))
        found->seq_k = INT64_MAX; /* heed_problem_check() reports the limit */
}

cli_exit cli_sequences_read(cli_inputs *inputs)
{
    cli_sequences *found = &inputs->sequences;
    found->seq_q = cli_input_seq(&inputs->q, inputs->layout);
    found->seq_k = cli_input_seq(&inputs->k, inputs->layout);
    cli_exit code = check_operands(inputs);
    if (code == CLI_OK)
        code = find_batch(inputs);
    if (code == CLI_OK && is_paged(inputs))
        read_pages(inputs);
    if (code == CLI_OK && inputs->q.packed)
        code = read_packed(inputs, QUERIES, &found->tokens_q, &found->seq_q);
    if (code == CLI_OK && inputs->k.packed)
        code = read_packed(inputs, KEYS, &found->tokens_k, &found->seq_k);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The problem                                                                */
/* -------------------------------------------------------------------------- */

void cli_sequences_complete(heed_problem *problem, const cli_inputs *inputs)
{
    const cli_sequences *found = &inputs->sequences;
    heed_operand *const cu[SIDES] = { &problem->cu_seqlens_q, &problem->cu_seqlens_k };
    problem->batch = found->batch;
    problem->seq_q = found->seq_q;
    problem->seq_k = found->seq_k;
    problem->tokens_q = found->tokens_q;
    problem->tokens_k = found->tokens_k;
    for (int i = 0; i < SIDES; i++)
        if (input_of(inputs, i)->packed)
            *cu[i] = (heed_operand){ .type = operand_of(inputs, sides[i].role)->tensor.kind,
                                     .along = HEED_ALONG_SEQUENCE };
    if (!is_paged(inputs))
        return;
    problem->page = found->page;
    problem->pages = found->pages;
    problem->table = (heed_operand){ .type = HEED_DATA_I32,
                                     .along = HEED_ALONG_BATCH | HEED_ALONG_PAGE };
}

/* The fewest keys that batch element @b may have; packed queries count only if new keys are packed
 * too. */
static int64_t least_length(const heed_problem *problem, const cli_inputs *inputs, int64_t b)
{
    const bool all = problem->prefix > 0 && problem->mask != HEED_MASK_NONE &&
                     problem->tokens_q == 0 && problem->seq_q > problem->append;
    const lab_tensor *cu = &operand_of(inputs, LAB_CU_Q)->tensor;
    if (problem->append_packed)
        return problem->prefix + entry(cu, b + 1) - entry(cu, b);
    return problem->prefix + (all ? problem->seq_q : problem->append);
}

cli_exit cli_sequences_check(const heed_problem *problem, const cli_inputs *inputs)
{
    const cli_operand_file *lengths = operand_of(inputs, LAB_LENGTHS);
    const cli_operand_file *table = operand_of(inputs, LAB_TABLE);
    char range[HEED_NUMBER_SIZE];
    for (int64_t b = 0; b < problem->batch; b++) {
        const int64_t length = lengths->path ? entry(&lengths->tensor, b) : problem->seq_k;
        const int64_t least = least_length(problem, inputs, b);
        if (length < least || length > problem->seq_k) {
            cli_error("--lengths: %s: entry %lld is %lld; it must be %s", lengths->path,
                      (long long)b, (long long)length,
                      heed_number_print_range(range, least, problem->seq_k));
            return CLI_USAGE;
        }
        const int64_t first = b > 0 && table->path ? problem->prefix / problem->page : 0;
        for (int64_t n = first; table->path && n * problem->page < length; n++) {
            const int64_t page = entry(&table->tensor, b * table->tensor.shape[1] + n);
            if (page < 0 || page >= problem->pages) {
                cli_error("--table: %s: entry [%lld, %lld] is %lld; it must be %s", table->path,
                          (long long)b, (long long)n, (long long)page,
                          heed_number_print_range(range, 0, problem->pages - 1));
                return CLI_USAGE;
            }
        }
    }
    return CLI_OK;
}
