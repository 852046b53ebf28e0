/*
 * new_keys.c - new keys and values from files, appended to K and V, and rotary embeddings
 */
#include "inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "tensor/convert.h"

#define VECTOR_RANK 4
#define TABLE_RANK 2

static const cli_operand_file *operand_of(const cli_inputs *inputs, lab_role role)
{
    return &inputs->operands.operand[role];
}

/* -------------------------------------------------------------------------- */
/* Options                                                                    */
/* -------------------------------------------------------------------------- */

cli_exit cli_new_keys_options(const cli_args *args)
{
    static const char beside[] = ": Q is rotated beside new keys alone";
    static const cli_rule rules[] = {
        { "v-new", "k-new", false, NULL, NULL },
        { "rotary-cos", "k-new", false, beside, NULL },
        { "rotary-sin", "k-new", false, beside, NULL },
        { "rotary-cos", "rotary-sin", false, NULL, NULL },
        { "rotary-sin", "rotary-cos", false, NULL, NULL },
        { "k-out", "k-new", false, ": without new keys K stays as it is", NULL },
        { "v-out", "k-new", false, ": without new keys V stays as it is", NULL },
        { "k-new", "lengths", false, ", which count the new keys", NULL },
        { .option = NULL },
    };
    cli_exit code = cli_rules_check(args, rules);
    if (code != CLI_OK)
        return code;
    if (cli_args_text(args, "k-new") && !cli_args_text(args, "v-new") &&
        !cli_args_given(args, "dim-v")) {
        cli_error("--k-new needs --v-new, or --dim-v in the place of --v");
        return CLI_USAGE;
    }
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* Shapes                                                                     */
/* -------------------------------------------------------------------------- */

/* The permitted sizes of a dimension. */
typedef struct range {
    const char *name;
    int64_t least, most;
} range;

static cli_exit check_rank(const char *option, const cli_operand_file *operand, int rank,
                           const char *order)
{
    char shape[LAB_SHAPE_SIZE];
    const lab_tensor *tensor = &operand->tensor;
    if (tensor->rank == rank)
        return CLI_OK;
    cli_error("--%s: %s has shape %s, %d dimension%s; it must have %d: %s", option, operand->path,
              lab_shape_print(tensor->shape, tensor->rank, shape), tensor->rank,
              lab_plural(tensor->rank), rank, order);
    return CLI_USAGE;
}

static cli_exit check_sizes(const char *option, const cli_operand_file *operand,
                            const range *ranges)
{
    char shape[LAB_SHAPE_SIZE], most[32] = "";
    const lab_tensor *tensor = &operand->tensor;
    for (int i = 0; i < tensor->rank; i++) {
        const int64_t size = tensor->shape[i];
        if (size >= ranges[i].least && size <= ranges[i].most)
            continue;
        if (ranges[i].most == INT64_MAX)
            snprintf(most, sizeof most, " or more");
        else if (ranges[i].most != ranges[i].least)
            snprintf(most, sizeof most, " to %lld", (long long)ranges[i].most);
        cli_error("--%s: %s has shape %s: dimension %d (%s) is %lld; it must be %lld%s", option,
                  operand->path, lab_shape_print(tensor->shape, tensor->rank, shape), i,
                  ranges[i].name, (long long)size, (long long)ranges[i].least, most);
        return CLI_USAGE;
    }
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* New keys and values                                                        */
/* -------------------------------------------------------------------------- */

static const struct {
    lab_role role;
    const char *option, *strides;
} vectors[] = { { LAB_K_NEW, "k-new", "k_new" }, { LAB_V_NEW, "v-new", "v_new" } };

/* The order of their dimensions, and the indices of the dimensions append and heads. */
static const struct {
    const char *order, *names[VECTOR_RANK];
    int seq, heads;
} layouts[] = {
    [CLI_BSHD] = { "[batch, append, heads, dim]", { "batch", "append", "heads", "dim" }, 1, 2 },
    [CLI_BHSD] = { "[batch, heads, append, dim]", { "batch", "heads", "append", "dim" }, 2, 1 },
};

/* True if new keys are packed as queries are; their arrays then have no batch dimension. */
static int is_packed(const cli_inputs *inputs)
{
    return inputs->q.packed && operand_of(inputs, LAB_K_NEW)->tensor.rank == VECTOR_RANK - 1;
}

/* The number of new keys of each batch element, or of all if they are packed. */
static int64_t count_of(const cli_inputs *inputs)
{
    const int seq = layouts[inputs->layout].seq - is_packed(inputs);
    return operand_of(inputs, LAB_K_NEW)->tensor.shape[seq];
}

static cli_exit check_vectors(const cli_inputs *inputs, const heed_problem *problem, size_t row)
{
    const cli_operand_file *operand = operand_of(inputs, vectors[row].role);
    const char *option = vectors[row].option;
    const cli_layout layout = inputs->layout;
    const bool keys = vectors[row].role == LAB_K_NEW;
    const int64_t dim = keys ? problem->dim_qk : problem->dim_v;
    const int packed = is_packed(inputs);
    int64_t least[VECTOR_RANK], most[VECTOR_RANK];
    range ranges[VECTOR_RANK];
    cli_exit code = check_rank(option, operand, VECTOR_RANK - packed,
                               packed ? cli_packed_orders[layout] : layouts[layout].order);
    if (code != CLI_OK)
        return code;
    const int64_t fewest = packed ? problem->tokens_q : keys ? 1 : count_of(inputs);
    const int64_t all = packed ? problem->tokens_q : keys ? problem->seq_k : count_of(inputs);
    cli_layout_shape(layout, problem->batch, fewest, problem->heads_kv, dim, least);
    cli_layout_shape(layout, problem->batch, all, problem->heads_kv, dim, most);
    for (int i = 0; i < VECTOR_RANK; i++)
        ranges[i] = (range){ layouts[layout].names[i], least[i], most[i] };
    if (packed) {
        ranges[layouts[layout].seq].name = "tokens";
        memmove(ranges, ranges + 1, (VECTOR_RANK - 1) * sizeof *ranges);
    }
    code = check_sizes(option, operand, ranges);
    if (code == CLI_OK && operand->tensor.type != problem->type) {
        cli_error("--%s: %s has elements of type %s, K those of type %s; choose one with --type",
                  option, operand->path, heed_type_name(operand->tensor.type),
                  heed_type_name(problem->type));
        return CLI_USAGE;
    }
    return code;
}

/* Writes the strides of the array, which is dense: they are products of sizes. */
static void say_strides(const cli_inputs *inputs, size_t row, char *text, size_t size)
{
    const lab_tensor *tensor = &operand_of(inputs, vectors[row].role)->tensor;
    const int none = VECTOR_RANK - tensor->rank; /* 1 for packed keys: no batch dimension */
    const size_t length = strlen(text);
    int64_t distance[VECTOR_RANK] = { [VECTOR_RANK - 1] = 1 };
    for (int i = VECTOR_RANK - 1; i > 0; i--)
        distance[i - 1] = distance[i] * (i >= none ? tensor->shape[i - none] : 1);
    snprintf(text + length, size - length, " %s=%lld:%lld:%lld", vectors[row].strides,
             (long long)distance[0], (long long)distance[layouts[inputs->layout].seq],
             (long long)distance[layouts[inputs->layout].heads]);
}

static cli_exit say_vectors(const cli_inputs *inputs, const heed_problem *problem, char *text,
                            size_t size)
{
    char place[CLI_PLACE_SIZE];
    if (problem->tokens_k > 0) {
        cli_error("--k-new: %s has packed keys, to which none are appended; new keys go to padded "
                  "tensors, or to pages",
                  cli_input_print(&inputs->k, place));
        return CLI_USAGE;
    }
    cli_exit code = CLI_OK;
    for (size_t i = 0; i < (inputs->shared ? 1 : 2) && code == CLI_OK; i++)
        code = check_vectors(inputs, problem, i);
    if (code != CLI_OK)
        return code;
    const size_t length = strlen(text);
    if (is_packed(inputs))
        snprintf(text + length, size - length, " append=%lld:packed", (long long)problem->seq_q);
    else
        snprintf(text + length, size - length, " append=%lld", (long long)count_of(inputs));
    for (size_t i = 0; i < (inputs->shared ? 1 : 2); i++)
        say_strides(inputs, i, text, size);
    return CLI_OK;
}

/* -------------------------------------------------------------------------- */
/* Rotary embeddings                                                          */
/* -------------------------------------------------------------------------- */

static const char turns_order[] = "[positions, rotary / 2]";

/* Cosines and sines must have the same type, and the same shape except for unused positions. */
static cli_exit check_turns(const cli_inputs *inputs, const heed_problem *problem)
{
    const cli_operand_file *cos = operand_of(inputs, LAB_COS), *sin = operand_of(inputs, LAB_SIN);
    const int64_t most = (problem->dim_qk - (problem->shared ? problem->dim_v : 0)) / 2;
    const range positions = { "positions", problem->seq_k, INT64_MAX };
    cli_exit code = check_rank("rotary-cos", cos, TABLE_RANK, turns_order);
    if (code == CLI_OK)
        code = check_sizes("rotary-cos", cos, (range[]){ positions, { "rotary / 2", 1, most } });
    if (code == CLI_OK)
        code = check_rank("rotary-sin", sin, TABLE_RANK, turns_order);
    if (code != CLI_OK)
        return code;
    const int64_t pairs = cos->tensor.shape[1];
    code = check_sizes("rotary-sin", sin, (range[]){ positions, { "rotary / 2", pairs, pairs } });
    if (code == CLI_OK && sin->tensor.kind != cos->tensor.kind) {
        cli_error("--rotary-sin: %s has elements of type %s; they must be of %s, as those of "
                  "--rotary-cos",
                  sin->path, lab_data_name(sin->tensor.kind), lab_data_name(cos->tensor.kind));
        return CLI_USAGE;
    }
    return code;
}

/* True if one of @words, separated by blanks, begins with @start. */
static bool has_word(const char *words, const char *start)
{
    const size_t length = strlen(start);
    for (const char *at = words; *at; at += strcspn(at, " \t")) {
        at += strspn(at, " \t");
        if (strncmp(at, start, length) == 0)
            return true;
    }
    return false;
}

static cli_exit say_turns(const cli_inputs *inputs, const heed_problem *problem, const char *words,
                          char *text, size_t size)
{
    const cli_operand_file *cos = operand_of(inputs, LAB_COS);
    cli_exit code = check_turns(inputs, problem);
    if (code != CLI_OK)
        return code;
    const char *kind = lab_data_name(cos->tensor.kind);
    size_t length = strlen(text);
    length += (size_t)snprintf(text + length, size - length, " cos=%s sin=%s", kind, kind);
    if (!has_word(words, "rotary="))
        snprintf(text + length, size - length, " rotary=%lld", 2 * (long long)cos->tensor.shape[1]);
    return CLI_OK;
}

cli_exit cli_new_keys_words(const cli_inputs *inputs, const heed_problem *problem,
                            const char *words, char *text, size_t size)
{
    cli_exit code = CLI_OK;
    if (operand_of(inputs, LAB_K_NEW)->path)
        code = say_vectors(inputs, problem, text, size);
    if (code == CLI_OK && operand_of(inputs, LAB_COS)->path)
        code = say_turns(inputs, problem, words, text, size);
    return code;
}

/* -------------------------------------------------------------------------- */
/* The problem                                                                */
/* -------------------------------------------------------------------------- */

/* The number of new keys of batch element @b. */
static int64_t added_to(const heed_problem *problem, const cli_inputs *inputs, int64_t b)
{
    const lab_tensor *cu = &operand_of(inputs, LAB_CU_Q)->tensor;
    if (!problem->append_packed)
        return problem->append;
    return (int64_t)(lab_data_get(cu->kind, cu->data, b + 1) - lab_data_get(cu->kind, cu->data, b));
}

/* The entries of a batch element in the page table; those of its new keys are the last. */
typedef struct entries {
    int64_t first, fresh, end;
} entries;

static entries entries_of(const heed_problem *problem, const cli_inputs *inputs, int64_t b)
{
    const int32_t *lengths = operand_of(inputs, LAB_LENGTHS)->tensor.data;
    const int64_t page = problem->page, added = added_to(problem, inputs, b);
    const int64_t end = (lengths[b] + page - 1) / page;
    return (entries){ .first = b > 0 ? problem->prefix / page : 0,
                      .fresh = added > 0 ? (lengths[b] - added) / page : end,
                      .end = end };
}

/* Reports that two entries of the table name the same page, one of them for new keys. */
static cli_exit refuse_page(const cli_inputs *inputs, int64_t other, int64_t entry)
{
    const cli_operand_file *table = operand_of(inputs, LAB_TABLE);
    const int64_t columns = table->tensor.shape[1];
    cli_error("--table: %s: entries [%lld, %lld] and [%lld, %lld] are both %d; new keys go to the "
              "former, and such a page must have only one entry",
              table->path, (long long)(other / columns), (long long)(other % columns),
              (long long)(entry / columns), (long long)(entry % columns),
              (int)((const int32_t *)table->tensor.data)[entry]);
    return CLI_USAGE;
}

/* Writes to @writers, for each page, 1 plus the index of the entry through which new keys are
 * written to it, or 0. */
static cli_exit find_writers(const heed_problem *problem, const cli_inputs *inputs,
                             int64_t *writers)
{
    const lab_tensor *table = &operand_of(inputs, LAB_TABLE)->tensor;
    const int32_t *pages = table->data;
    for (int64_t i = 0; i < 2 * problem->batch; i++) { /* new keys of all elements first */
        const int64_t b = i % problem->batch;
        const bool fresh = i < problem->batch;
        const entries own = entries_of(problem, inputs, b);
        for (int64_t n = fresh ? own.fresh : own.first; n < (fresh ? own.end : own.fresh); n++) {
            const int64_t entry = b * table->shape[1] + n;
            if (writers[pages[entry]])
                return refuse_page(inputs, writers[pages[entry]] - 1, entry);
            writers[pages[entry]] = fresh ? entry + 1 : 0;
        }
    }
    return CLI_OK;
}

static cli_exit check_pages(const heed_problem *problem, const cli_inputs *inputs)
{
    int64_t *writers = calloc((size_t)problem->pages, sizeof *writers);
    if (!writers) {
        cli_error("not enough memory for %lld pages", (long long)problem->pages);
        return CLI_ENVIRONMENT;
    }
    cli_exit code = find_writers(problem, inputs, writers);
    free(writers);
    return code;
}

cli_exit cli_new_keys_check(const heed_problem *problem, const cli_inputs *inputs)
{
    const cli_operand_file *cos = operand_of(inputs, LAB_COS);
    if (problem->rotary > 0 && problem->rotary != 2 * cos->tensor.shape[1]) {
        cli_error("--words: rotary is %lld; it must be %lld, for %lld cosine%s of each position in "
                  "%s",
                  (long long)problem->rotary, 2 * (long long)cos->tensor.shape[1],
                  (long long)cos->tensor.shape[1], lab_plural(cos->tensor.shape[1]), cos->path);
        return CLI_USAGE;
    }
    return problem->append > 0 && problem->page > 0 ? check_pages(problem, inputs) : CLI_OK;
}
