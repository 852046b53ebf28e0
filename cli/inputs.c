/*
 * inputs.c - Q, K and V from files, and the problem that they make
 */
#include "inputs.h"

#include <string.h>

#include "tensor/npy.h"
#include "tensor/safetensors.h"

const char *const cli_type_names[] = { "f32", "f16", "bf16", NULL };
static const heed_type types[] = { HEED_F32, HEED_F16, HEED_BF16 };

const char *const cli_mask_names[] = { "none", "causal", "causal=tl", "causal=br", NULL };
static const heed_mask masks[] = { HEED_MASK_NONE, HEED_MASK_CAUSAL_TOP_LEFT,
                                   HEED_MASK_CAUSAL_TOP_LEFT, HEED_MASK_CAUSAL_BOTTOM_RIGHT };
#define MASK_CAUSAL 1 /* the choice that is only right where queries = keys */

/* Dimensions of the arrays. */
enum {
    BATCH,
    SEQ,
    HEADS,
    DIM,
    RANK
};
static const char *const dimension_names[] = { "batch", "seq", "heads", "dim" };

cli_format cli_format_of(const char *path)
{
    static const struct {
        const char *end;
        cli_format format;
    } formats[] = { { ".npy", CLI_FORMAT_NPY }, { ".safetensors", CLI_FORMAT_SAFETENSORS } };
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t end = strlen(formats[i].end);
        if (length > end && strcmp(path + length - end, formats[i].end) == 0)
            return formats[i].format;
    }
    return CLI_FORMAT_UNKNOWN;
}

/* -------------------------------------------------------------------------- */
/* Reading                                                                    */
/* -------------------------------------------------------------------------- */

/* An error that a function of the laboratory has put in words. */
static cli_exit lab_failed(heed_status status, const lab_error *error)
{
    cli_error("%s", error->text);
    return cli_exit_of(status);
}

static cli_exit read_npy(cli_input *input, const char *option, const cli_args *args)
{
    lab_error error;
    input->path = cli_args_text(args, option);
    if (!input->path) {
        cli_error("--%s is missing: give --q, --k and --v, or --tensors", option);
        return CLI_USAGE;
    }
    bool bf16 = cli_args_choice(args, "type") == (int)HEED_BF16;
    heed_status status = lab_npy_read(&input->tensor, input->path,
                                      bf16 ? LAB_NPY_BF16 : LAB_NPY_REFUSE, &error);
    return status == HEED_OK ? CLI_OK : lab_failed(status, &error);
}

static cli_exit read_three_npy(cli_inputs *inputs, const cli_args *args)
{
    cli_exit code = read_npy(&inputs->q, "q", args);
    if (code == CLI_OK)
        code = read_npy(&inputs->k, "k", args);
    return code == CLI_OK ? read_npy(&inputs->v, "v", args) : code;
}

/* The arrays that end in "q" say which prefixes there are. */
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
    return lab_safetensors_read(file, input->name, &input->tensor, error);
}

static cli_exit read_tensors(cli_inputs *inputs, const cli_args *args)
{
    lab_error error;
    lab_safetensors *file;
    const char *path = cli_args_text(args, "tensors"), *given = cli_args_text(args, "prefix");
    const char *prefix = given ? given : "";

    inputs->q.path = inputs->k.path = inputs->v.path = path;
    heed_status status = lab_safetensors_open(&file, path, &error);
    if (status != HEED_OK)
        return lab_failed(status, &error);
    status = read_named(file, &inputs->q, prefix, "q", &error);
    if (status == HEED_OK)
        status = read_named(file, &inputs->k, prefix, "k", &error);
    if (status == HEED_OK)
        status = read_named(file, &inputs->v, prefix, "v", &error);
    if (status != HEED_OK)
        lab_failed(status, &error);
    if (status == HEED_ERR_INVALID)
        list_prefixes(file, path);
    lab_safetensors_close(file);
    return cli_exit_of(status);
}

/* -------------------------------------------------------------------------- */
/* Checking                                                                   */
/* -------------------------------------------------------------------------- */

/* "Q (Q.npy: [1, 512, 8, 64])" */
#define PLACE_SIZE 512
static const char *print_place(const cli_input *input, char text[PLACE_SIZE])
{
    char shape[LAB_SHAPE_SIZE];
    lab_shape_print(input->tensor.shape, input->tensor.rank, shape);
    snprintf(text, PLACE_SIZE, "%s (%s%s%s: %s)", input->label, input->path,
             input->name[0] ? " " : "", input->name, shape);
    return text;
}

static cli_exit check_rank(const cli_input *input)
{
    char place[PLACE_SIZE];
    if (input->tensor.rank == RANK)
        return CLI_OK;
    cli_error("%s has %d dimensions; it must have 4: [batch, seq, heads, dim]",
              print_place(input, place), input->tensor.rank);
    return CLI_USAGE;
}

static cli_exit check_same(const cli_input *a, const cli_input *b, int dimension)
{
    char place[2][PLACE_SIZE];
    if (a->tensor.shape[dimension] == b->tensor.shape[dimension])
        return CLI_OK;
    cli_error("%s and %s differ in %s: %lld and %lld", print_place(a, place[0]),
              print_place(b, place[1]), dimension_names[dimension],
              (long long)a->tensor.shape[dimension], (long long)b->tensor.shape[dimension]);
    return CLI_USAGE;
}

static cli_exit check_groups(const cli_input *q, const cli_input *k)
{
    char place[2][PLACE_SIZE];
    int64_t heads_q = q->tensor.shape[HEADS], heads_kv = k->tensor.shape[HEADS];
    if (heads_kv < 1 || heads_q % heads_kv == 0)
        return CLI_OK; /* heed_problem_check() speaks about zeros */
    cli_error("%s and %s: %lld heads cannot be shared out among %lld; K's must divide Q's",
              print_place(q, place[0]), print_place(k, place[1]), (long long)heads_q,
              (long long)heads_kv);
    return CLI_USAGE;
}

static cli_exit check_types(const cli_input *a, const cli_input *b)
{
    char place[2][PLACE_SIZE];
    if (a->tensor.type == b->tensor.type)
        return CLI_OK;
    cli_error("%s and %s have different types, %s and %s; --type says which one to use",
              print_place(a, place[0]), print_place(b, place[1]), heed_type_name(a->tensor.type),
              heed_type_name(b->tensor.type));
    return CLI_USAGE;
}

static cli_exit check_shapes(const cli_inputs *inputs)
{
    const cli_input *q = &inputs->q, *k = &inputs->k, *v = &inputs->v;
    const struct {
        const cli_input *a, *b;
        int dimension;
    } same[] = { { q, k, BATCH }, { q, v, BATCH }, { k, v, SEQ }, { k, v, HEADS }, { q, k, DIM } };

    cli_exit code = check_rank(q);
    if (code == CLI_OK)
        code = check_rank(k);
    if (code == CLI_OK)
        code = check_rank(v);
    for (size_t i = 0; code == CLI_OK && i < sizeof same / sizeof same[0]; i++)
        code = check_same(same[i].a, same[i].b, same[i].dimension);
    if (code == CLI_OK)
        code = check_groups(q, k);
    if (code == CLI_OK)
        code = check_types(q, k);
    return code == CLI_OK ? check_types(q, v) : code;
}

static cli_exit convert(cli_inputs *inputs, const cli_args *args)
{
    lab_error error;
    int choice = cli_args_choice(args, "type");
    cli_input *all[] = { &inputs->q, &inputs->k, &inputs->v };
    for (int i = 0; choice >= 0 && i < 3; i++) {
        heed_status status = lab_tensor_convert(&all[i]->tensor, types[choice], &error);
        if (status != HEED_OK)
            return lab_failed(status, &error);
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
    return CLI_OK;
}

cli_exit cli_inputs_read(cli_inputs *inputs, const cli_args *args)
{
    *inputs = (cli_inputs){ .q = { .label = "Q" }, .k = { .label = "K" }, .v = { .label = "V" } };
    cli_exit code = check_sources(args);
    if (code == CLI_OK)
        code = cli_args_text(args, "tensors") ? read_tensors(inputs, args)
                                              : read_three_npy(inputs, args);
    if (code == CLI_OK)
        code = convert(inputs, args);
    return code == CLI_OK ? check_shapes(inputs) : code;
}

void cli_inputs_free(cli_inputs *inputs)
{
    lab_tensor_free(&inputs->q.tensor);
    lab_tensor_free(&inputs->k.tensor);
    lab_tensor_free(&inputs->v.tensor);
}

cli_exit cli_inputs_problem(heed_problem *problem, const cli_inputs *inputs, const cli_args *args)
{
    const int64_t *q = inputs->q.tensor.shape, *k = inputs->k.tensor.shape,
                  *v = inputs->v.tensor.shape;
    int mask = cli_args_choice(args, "mask");
    *problem = (heed_problem){
        .type = inputs->q.tensor.type,
        .mask = masks[mask],
        .batch = q[BATCH],
        .heads_q = q[HEADS],
        .heads_kv = k[HEADS],
        .seq_q = q[SEQ],
        .seq_k = k[SEQ],
        .dim_qk = q[DIM],
        .dim_v = v[DIM],
        .scale = (float)cli_args_real(args, "scale"),
    };
    if (mask == MASK_CAUSAL && problem->seq_q != problem->seq_k) {
        cli_error("--mask causal: there are %lld queries and %lld keys; say causal=tl or causal=br",
                  (long long)problem->seq_q, (long long)problem->seq_k);
        return CLI_USAGE;
    }
    heed_status status = heed_problem_normalize(problem, problem);
    return status == HEED_OK ? CLI_OK : cli_fail(status, "the arrays");
}
