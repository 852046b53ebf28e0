/*
 * inputs.c - Q, K and V from files, and the problem that they make
 */
#include "inputs.h"

#include <string.h>
#include <sys/stat.h>

#include "base/ends.h"
#include "base/plural.h"
#include "tensor/npy.h"

const char *const cli_layout_names[] = { "bshd", "bhsd", NULL };

#define WORDS_SIZE HEED_SPEC_SIZE /* of --words, and of words for files */

/* The dimensions of the arrays. */
enum {
    BATCH,
    SEQ,
    HEADS,
    DIM,
    RANK
};
static const char *const dimension_names[] = { "batch", "seq", "heads", "dim" };

/* The index of each dimension in the shape of an array. */
static const int places[][RANK] = {
    [CLI_BSHD] = { [BATCH] = 0, [SEQ] = 1, [HEADS] = 2, [DIM] = 3 },
    [CLI_BHSD] = { [BATCH] = 0, [SEQ] = 2, [HEADS] = 1, [DIM] = 3 },
};
static const char *const orders[] = {
    [CLI_BSHD] = "[batch, seq, heads, dim]", [CLI_BHSD] = "[batch, heads, seq, dim]"
};
const char *const cli_packed_orders[] = {
    [CLI_BSHD] = "[tokens, heads, dim]", [CLI_BHSD] = "[heads, tokens, dim]"
};
const char *const cli_page_orders[] = {
    [CLI_BSHD] = "[pages, page, heads, dim]", [CLI_BHSD] = "[pages, heads, page, dim]"
};

static int64_t size_of(const cli_input *input, cli_layout layout, int dimension)
{
    return input->tensor.shape[places[layout][dimension]];
}

int64_t cli_input_seq(const cli_input *input, cli_layout layout)
{
    return size_of(input, layout, SEQ);
}

static cli_layout other_layout(cli_layout layout)
{
    return layout == CLI_BSHD ? CLI_BHSD : CLI_BSHD;
}

void cli_layout_shape(cli_layout layout, int64_t batch, int64_t seq, int64_t heads, int64_t dim,
                      int64_t shape[4])
{
    const int64_t sizes[RANK] = { batch, seq, heads, dim };
    for (int i = 0; i < RANK; i++)
        shape[places[layout][i]] = sizes[i];
}

cli_format cli_format_of(const char *path)
{
    const char *rest = *path ? path + 1 : path; /* an extension alone is no name */
    return lab_ends_with(rest, ".npy")           ? CLI_FORMAT_NPY
           : lab_ends_with(rest, ".safetensors") ? CLI_FORMAT_SAFETENSORS
                                                 : CLI_FORMAT_UNKNOWN;
}

/* -------------------------------------------------------------------------- */
/* Reading                                                                    */
/* -------------------------------------------------------------------------- */

static cli_exit read_npy(cli_input *input, const char *option, const cli_args *args)
{
    lab_error error;
    input->path = cli_args_text(args, option);
    if (!input->path) {
        cli_error("--%s is missing: give --q, --k and --v, or --tensors", option);
        return CLI_USAGE;
    }
    heed_status status = lab_npy_read(&input->tensor, input->path, cli_args_choice(args, "type"),
                                      &error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

static cli_exit read_three_npy(cli_inputs *inputs, const cli_args *args)
{
    cli_exit code = read_npy(&inputs->q, "q", args);
    if (code == CLI_OK)
        code = read_npy(&inputs->k, "k", args);
    return code == CLI_OK && !inputs->shared ? read_npy(&inputs->v, "v", args) : code;
}

/* Lists the prefixes of arrays whose names end in "q". */
static void list_prefixes(const lab_safetensors *file, const char *path)
{
    char list[256] = "";
    size_t length = 0;
    for (size_t i = 0; i < lab_safetensors_count(file) && length < sizeof list; i++) {
        const char *name = lab_safetensors_at(file, i)->name;
        size_t end = strlen(name);
        if (end > 1 && name[end - 1] == 'q')
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%.*s",
                                       length ? ", " : "", (int)end - 1, name);
    }
    if (length)
        cli_message("%s has arrays named q with these prefixes: %s%s", path, list,
                    length < sizeof list ? "" : "...");
}

static heed_status read_named(lab_safetensors *file, cli_input *input, const char *prefix,
                              const char *name, lab_error *error)
{
    int length = snprintf(input->name, sizeof input->name, "%s%s", prefix, name);
    if (length < 0 || (size_t)length >= sizeof input->name)
        return lab_fail(error, HEED_ERR_INVALID, "--prefix: longer than %zu bytes",
                        sizeof input->name - 2);
    return lab_safetensors_read(file, input->name, false, &input->tensor, error);
}

static cli_exit read_group(cli_inputs *inputs, lab_safetensors *file, const char *path,
                           const char *prefix)
{
    lab_error error;
    inputs->q.path = inputs->k.path = inputs->v.path = path;
    heed_status status = read_named(file, &inputs->q, prefix, "q", &error);
    if (status == HEED_OK)
        status = read_named(file, &inputs->k, prefix, "k", &error);
    if (status == HEED_OK && !inputs->shared)
        status = read_named(file, &inputs->v, prefix, "v", &error);
    if (status != HEED_OK)
        cli_fail_error(status, &error);
    if (status == HEED_ERR_INVALID)
        list_prefixes(file, path);
    return cli_exit_of(status);
}

static cli_exit read_tensors(cli_inputs *inputs, const cli_args *args)
{
    lab_error error;
    lab_safetensors *file;
    const char *path = cli_args_text(args, "tensors"), *given = cli_args_text(args, "prefix");
    heed_status status = lab_safetensors_open(&file, path, &error);
    if (status != HEED_OK)
        return cli_fail_error(status, &error);
    cli_exit code = read_group(inputs, file, path, given ? given : "");
    lab_safetensors_close(file);
    return code;
}

/* -------------------------------------------------------------------------- */
/* Checking                                                                   */
/* -------------------------------------------------------------------------- */

const char *cli_input_print(const cli_input *input, char text[CLI_PLACE_SIZE])
{
    char shape[LAB_SHAPE_SIZE];
    const int added = input->packed;
    lab_shape_print(input->tensor.shape + added, input->tensor.rank - added, shape);
    snprintf(text, CLI_PLACE_SIZE, "%s (%s%s%s: %s)", input->label, input->path,
             input->name[0] ? " " : "", input->name, shape);
    return text;
}

static cli_exit check_rank(const cli_input *input, cli_layout layout)
{
    char place[CLI_PLACE_SIZE];
    if (input->tensor.rank == RANK)
        return CLI_OK;
    cli_error("%s has %d dimension%s; it must have 4: %s", cli_input_print(input, place),
              input->tensor.rank, lab_plural(input->tensor.rank), orders[layout]);
    return CLI_USAGE;
}

/* Two arrays that must agree in a dimension. */
typedef struct pair {
    const cli_input *a, *b;
    int dimension;
} pair;

/* Packed sides and pages have no batch to compare. */
static bool is_same(const cli_inputs *inputs, const pair *two, cli_layout layout)
{
    const bool other = inputs->q.packed || inputs->k.packed ||
                       inputs->operands.operand[LAB_TABLE].path;
    if ((two->b == &inputs->v && inputs->shared) ||
        (two->dimension == BATCH && two->a == &inputs->q && other))
        return true;
    return size_of(two->a, layout, two->dimension) == size_of(two->b, layout, two->dimension);
}

static bool are_groups(const cli_inputs *inputs, cli_layout layout)
{
    int64_t heads_kv = size_of(&inputs->k, layout, HEADS);
    /* heed_problem_check() reports zeros */
    return heads_kv < 1 || size_of(&inputs->q, layout, HEADS) % heads_kv == 0;
}

/* The first pair that does not fit; PAIRS: none. */
#define PAIRS 6
static int find_misfit(const cli_inputs *inputs, cli_layout layout, pair pairs[PAIRS])
{
    const cli_input *q = &inputs->q, *k = &inputs->k, *v = &inputs->v;
    const pair all[PAIRS] = {
        { q, k, BATCH }, { q, v, BATCH }, { k, v, BATCH },
        { k, v, SEQ },   { k, v, HEADS }, { q, k, DIM },
    };
    int i = 0;
    memcpy(pairs, all, sizeof all);
    while (i < PAIRS && is_same(inputs, &pairs[i], layout))
        i++;
    return i;
}

static bool fits(const cli_inputs *inputs, cli_layout layout)
{
    pair pairs[PAIRS];
    return find_misfit(inputs, layout, pairs) == PAIRS && are_groups(inputs, layout);
}

/* Suggests the other order if the arrays fit in it. */
static void suggest_layout(const cli_inputs *inputs)
{
    cli_layout other = other_layout(inputs->layout);
    if (fits(inputs, other))
        cli_message("as %s they fit: --layout %s", orders[other], cli_layout_names[other]);
}

static cli_exit check_same(const pair *two, cli_layout layout)
{
    char place[2][CLI_PLACE_SIZE];
    cli_error("%s and %s differ in %s: %lld and %lld", cli_input_print(two->a, place[0]),
              cli_input_print(two->b, place[1]), dimension_names[two->dimension],
              (long long)size_of(two->a, layout, two->dimension),
              (long long)size_of(two->b, layout, two->dimension));
    return CLI_USAGE;
}

static cli_exit check_groups(const cli_inputs *inputs)
{
    const cli_input *q = &inputs->q, *k = &inputs->k;
    char place[2][CLI_PLACE_SIZE];
    int64_t heads_q = size_of(q, inputs->layout, HEADS);
    int64_t heads_kv = size_of(k, inputs->layout, HEADS);
    if (are_groups(inputs, inputs->layout))
        return CLI_OK;
    cli_error("%s and %s: %lld head%s cannot be shared among %lld; K's must divide Q's",
              cli_input_print(q, place[0]), cli_input_print(k, place[1]), (long long)heads_q,
              lab_plural(heads_q), (long long)heads_kv);
    return CLI_USAGE;
}

static cli_exit check_types(const cli_input *a, const cli_input *b)
{
    char place[2][CLI_PLACE_SIZE];
    if (a->tensor.type == b->tensor.type)
        return CLI_OK;
    cli_error("%s and %s have different types, %s and %s; choose one with --type",
              cli_input_print(a, place[0]), cli_input_print(b, place[1]),
              heed_type_name(a->tensor.type), heed_type_name(b->tensor.type));
    return CLI_USAGE;
}

static cli_exit check_shapes(const cli_inputs *inputs)
{
    const cli_input *q = &inputs->q, *k = &inputs->k, *v = &inputs->v;
    pair pairs[PAIRS];
    cli_exit code = check_rank(q, inputs->layout);
    if (code == CLI_OK)
        code = check_rank(k, inputs->layout);
    if (code == CLI_OK && !inputs->shared)
        code = check_rank(v, inputs->layout);
    if (code != CLI_OK)
        return code;
    int misfit = find_misfit(inputs, inputs->layout, pairs);
    code = misfit < PAIRS ? check_same(&pairs[misfit], inputs->layout) : check_groups(inputs);
    if (code != CLI_OK)
        suggest_layout(inputs);
    if (code == CLI_OK)
        code = check_types(q, k);
    return code == CLI_OK && !inputs->shared ? check_types(q, v) : code;
}

static cli_exit convert(cli_inputs *inputs, const cli_args *args)
{
    lab_error error;
    int choice = cli_args_has(args, "type") ? cli_args_choice(args, "type") : -1;
    cli_operand_file *const operands = inputs->operands.operand;
    lab_tensor *const all[] = { &inputs->q.tensor, &inputs->k.tensor, &inputs->v.tensor,
                                &operands[LAB_K_NEW].tensor, &operands[LAB_V_NEW].tensor };
    for (size_t i = 0; choice >= 0 && i < sizeof all / sizeof *all; i++) {
        heed_status status = all[i]->data ? lab_tensor_convert(all[i], (heed_type)choice, &error)
                                          : HEED_OK;
        if (status != HEED_OK)
            return cli_fail_error(status, &error);
    }
    return CLI_OK;
}

/* With --dim-v V is a part of K: there is no array or file of V. */
static cli_exit check_shared(const cli_args *args)
{
    static const char *const options[] = { "v", "v-new", "v-out" };
    if (!cli_args_has(args, "dim-v") || !cli_args_given(args, "dim-v"))
        return CLI_OK;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (cli_args_text(args, options[i])) {
            cli_error("--%s and --dim-v exclude each other: with --dim-v, V is a part of K",
                      options[i]);
            return CLI_USAGE;
        }
    return CLI_OK;
}

static cli_exit check_sources(const cli_args *args)
{
    bool arrays = cli_args_text(args, "q") || cli_args_text(args, "k") || cli_args_text(args, "v");
    if (arrays && cli_args_text(args, "tensors")) {
        cli_error("--tensors and --q, --k, --v exclude each other");
        return CLI_USAGE;
    }
    if (cli_args_text(args, "prefix") && !cli_args_text(args, "tensors")) {
        cli_error("--prefix needs --tensors");
        return CLI_USAGE;
    }
    return check_shared(args);
}

/* True if the verb reads operands from files. */
static bool has_operands(const cli_args *args)
{
    return cli_args_has(args, "bias");
}

static cli_inputs no_inputs(const cli_args *args)
{
    return (cli_inputs){ .q = { .label = "Q" },
                         .k = { .label = "K" },
                         .v = { .label = "V" },
                         .shared = cli_args_has(args, "dim-v") && cli_args_given(args, "dim-v"),
                         .layout = (cli_layout)cli_args_choice(args, "layout") };
}

cli_exit cli_inputs_read_group(cli_inputs *inputs, lab_safetensors *file, const char *path,
                               const char *prefix, const cli_args *args)
{
    *inputs = no_inputs(args);
    cli_exit code = read_group(inputs, file, path, prefix);
    return code == CLI_OK ? check_shapes(inputs) : code;
}

cli_exit cli_inputs_read(cli_inputs *inputs, const cli_args *args)
{
    *inputs = no_inputs(args);
    cli_exit code = check_sources(args);
    if (code == CLI_OK && has_operands(args))
        code = cli_new_keys_options(args);
    if (code == CLI_OK)
        code = cli_args_text(args, "tensors") ? read_tensors(inputs, args)
                                              : read_three_npy(inputs, args);
    if (code == CLI_OK && has_operands(args))
        code = cli_operand_files_read(&inputs->operands, args);
    if (code == CLI_OK)
        code = convert(inputs, args);
    if (code == CLI_OK && has_operands(args))
        code = cli_sequences_prepare(inputs);
    if (code == CLI_OK)
        code = check_shapes(inputs);
    return code == CLI_OK && has_operands(args) ? cli_sequences_read(inputs) : code;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat one, other;
    return a && b && stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

bool cli_inputs_have(const cli_inputs *inputs, const char *path, int role)
{
    const char *paths[LAB_INPUTS];
    for (int i = 0; i < LAB_INPUTS; i++)
        paths[i] = inputs->operands.operand[i].path;
    paths[LAB_Q] = inputs->q.path;
    paths[LAB_K] = inputs->k.path;
    paths[LAB_V] = inputs->v.path;
    for (int i = 0; i < LAB_INPUTS; i++)
        if (i != role && is_same_file(path, paths[i]))
            return true;
    return false;
}

void cli_inputs_free(cli_inputs *inputs)
{
    lab_tensor_free(&inputs->q.tensor);
    lab_tensor_free(&inputs->k.tensor);
    lab_tensor_free(&inputs->v.tensor);
    cli_operand_files_free(&inputs->operands);
}

cli_exit cli_inputs_sort(cli_inputs *inputs)
{
    cli_input *all[] = { &inputs->q, &inputs->k, &inputs->v };
    lab_error error;
    for (int i = 0; inputs->layout != CLI_BSHD && i < 3; i++) {
        heed_status status = lab_tensor_swap(&all[i]->tensor, &error);
        if (status != HEED_OK)
            return cli_fail_error(status, &error);
    }
    inputs->layout = CLI_BSHD;
    return CLI_OK;
}

/* Arrays in the wrong order look as if Q had more heads than K has keys, which is rare. Without a
 * warning they would give wrong answers. No warning if --layout is given. */
static void warn_of_layout(const cli_inputs *inputs, const cli_args *args)
{
    cli_layout layout = inputs->layout, other = other_layout(layout);
    int64_t heads = size_of(&inputs->q, layout, HEADS), keys = size_of(&inputs->k, layout, SEQ);
    if (inputs->sequences.page == 0 && heads > keys && !cli_args_given(args, "layout") &&
        fits(inputs, other))
        cli_warning(
            "the arrays are read as %s: %lld head%s, %lld key%s; if they are %s, use --layout "
            "%s, else --layout %s",
            orders[layout], (long long)heads, lab_plural(heads), (long long)keys, lab_plural(keys),
            orders[other], cli_layout_names[other], cli_layout_names[layout]);
}

/* Strides of a dense array [batch, heads, seq, dim]; zeros for the other order. */
static heed_strides strides_of(cli_layout layout, int64_t seq, int64_t heads, int64_t dim)
{
    if (layout == CLI_BSHD)
        return (heed_strides){ 0 };
    /* may overflow if the array has no elements, but then its sizes are refused */
    uint64_t head = (uint64_t)seq * (uint64_t)dim;
    return (heed_strides){ .batch = (int64_t)((uint64_t)heads * head),
                           .seq = dim,
                           .head = (int64_t)head };
}

static heed_strides strides_in(const cli_input *input, cli_layout layout)
{
    return strides_of(layout, size_of(input, layout, SEQ), size_of(input, layout, HEADS),
                      size_of(input, layout, DIM));
}

/* Adds the words of a spec that files and --words give to a problem with everything else. */
static cli_exit read_words(heed_problem *problem, const cli_inputs *inputs, const cli_args *args)
{
    const char *const given = cli_args_text(args, "words");
    const char *const words = given && strcmp(given, "none") != 0 ? given : "";
    char spec[2 * HEED_SPEC_SIZE + WORDS_SIZE], said[HEED_SPEC_SIZE] = "";
    heed_problem complete;
    cli_exit code = has_operands(args)
                        ? cli_operand_files_words(&inputs->operands, problem, said, sizeof said)
                        : CLI_OK;
    if (code == CLI_OK && has_operands(args))
        code = cli_new_keys_words(inputs, problem, words, said, sizeof said);
    if (code != CLI_OK)
        return code;
    if (strlen(words) >= WORDS_SIZE) {
        cli_error("--words has %zu characters; the limit is %d", strlen(words), WORDS_SIZE - 1);
        return CLI_USAGE;
    }
    size_t length = heed_problem_print(problem, spec, HEED_SPEC_SIZE);
    snprintf(spec + length, sizeof spec - length, "%s %s", said, words);
    heed_status status = heed_problem_parse(&complete, spec);
    if (status != HEED_OK)
        return cli_fail(status, "--words");
    *problem = complete;
    if (!has_operands(args))
        return CLI_OK;
    code = cli_operand_files_complete(&inputs->operands, problem);
    if (code == CLI_OK)
        code = cli_sequences_check(problem, inputs);
    return code == CLI_OK ? cli_new_keys_check(problem, inputs) : code;
}

cli_exit cli_inputs_problem(heed_problem *problem, const cli_inputs *inputs, const cli_args *args)
{
    const cli_input *q = &inputs->q, *k = &inputs->k, *v = &inputs->v;
    cli_layout layout = inputs->layout;
    *problem = (heed_problem){
        .size = sizeof(heed_problem),
        .type = q->tensor.type,
        .batch = size_of(q, layout, BATCH),
        .heads_q = size_of(q, layout, HEADS),
        .heads_kv = size_of(k, layout, HEADS),
        .seq_q = size_of(q, layout, SEQ),
        .seq_k = size_of(k, layout, SEQ),
        .dim_qk = size_of(q, layout, DIM),
        .dim_v = inputs->shared ? cli_args_integer(args, "dim-v") : size_of(v, layout, DIM),
        .shared = inputs->shared,
        .scale = cli_args_has(args, "scale") ? (float)cli_args_real(args, "scale") : 0,
        .q = strides_in(q, layout),
        .k = strides_in(k, layout),
    };
    if (!inputs->shared)
        problem->v = strides_in(v, layout);
    problem->o = strides_of(layout, problem->seq_q, problem->heads_q, problem->dim_v);
    if (has_operands(args))
        cli_sequences_complete(problem, inputs);
    warn_of_layout(inputs, args);
    heed_status status = heed_problem_check(problem);
    if (status != HEED_OK)
        return cli_fail(status, "the arrays");
    cli_exit code = read_words(problem, inputs, args);
    if (code == CLI_OK)
        heed_problem_normalize(problem, problem);
    return code;
}
