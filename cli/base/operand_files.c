/*
 * operand_files.c - bias, slopes, sinks, starts, masks and arrays from files
 */
#include "inputs.h"

#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "tensor/convert.h"
#include "tensor/npy.h"
#include "tensor/safetensors.h"

#define BIT(kind) (1U << (kind))
#define DIMENSIONS 4

#define FLOATS (BIT(HEED_DATA_F32) | BIT(HEED_DATA_F16) | BIT(HEED_DATA_BF16))

/* The operands: their words, kinds and dimensions. The last dimension is required. Shapes of those
 * without dimensions are read elsewhere: of sequences and pages in sequences.c, of new keys and
 * rotary embeddings in new_keys.c. So are kinds of 0. */
static const struct {
    lab_role role;
    const char *option, *word;
    bool typed; /* the word has a type */
    unsigned kinds;
    char along[DIMENSIONS + 1]; /* letters as in a spec, and k for keys */
} rows[] = {
    { LAB_BIAS, "bias", "bias", true, FLOATS, "bhqk" },
    { LAB_SHOWN, "shown", "shown", true, BIT(HEED_DATA_BYTES) | BIT(HEED_DATA_BITS), "bhqk" },
    { LAB_SLOPES, "slopes", "alibi", false, BIT(HEED_DATA_F32), "bh" },
    { LAB_SINKS, "sinks", "sinks", false, BIT(HEED_DATA_F32), "bh" },
    { LAB_STARTS, "starts", "starts", false, BIT(HEED_DATA_I32), "bq" },
    { LAB_LENGTHS, "lengths", "lengths", false, BIT(HEED_DATA_I32), "b" },
    { LAB_TABLE, "table", "paged", false, 0, "" },
    { LAB_CU_Q, "cu-seqlens-q", "varlen", false, 0, "" },
    { LAB_CU_K, "cu-seqlens-k", "varlen", false, 0, "" },
    { LAB_K_NEW, "k-new", "append", false, FLOATS, "" },
    { LAB_V_NEW, "v-new", "append", false, FLOATS, "" },
    { LAB_COS, "rotary-cos", "rotary", false, FLOATS, "" },
    { LAB_SIN, "rotary-sin", "rotary", false, FLOATS, "" },
};
#define ROWS (sizeof rows / sizeof *rows)

/* -------------------------------------------------------------------------- */
/* Reading                                                                    */
/* -------------------------------------------------------------------------- */

static cli_exit read_named(cli_operand_file *operand, const char *path, const char *option)
{
    lab_error error;
    lab_safetensors *file;
    if (!path) {
        cli_error("--%s: '%s' does not end in .npy, and there is no --tensors whose array it "
                  "could be",
                  option, operand->path);
        return CLI_USAGE;
    }
    heed_status status = lab_safetensors_open(&file, path, &error);
    if (status == HEED_OK) {
        status = lab_safetensors_read(file, operand->path, true, &operand->tensor, &error);
        lab_safetensors_close(file);
    }
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

static cli_exit read_file(cli_operand_file *operand, const char *option, const cli_args *args)
{
    lab_error error;
    if (cli_format_of(operand->path) != CLI_FORMAT_NPY)
        return read_named(operand, cli_args_text(args, "tensors"), option);
    heed_status status = lab_npy_read(&operand->tensor, operand->path, LAB_NPY_OPERAND, &error);
    return status == HEED_OK ? CLI_OK : cli_fail_error(status, &error);
}

/* "NAME=FILE" */
static cli_exit read_array(cli_operand_files *operands, size_t index, const cli_args *args)
{
    const char *text = cli_args_list(args, "array", index), *sign = strchr(text, '=');
    size_t length = sign ? (size_t)(sign - text) : 0;
    if (!sign || length == 0 || length >= HEED_ARRAY_NAME_SIZE || sign[1] == '\0') {
        cli_error("--array: '%s' must be NAME=FILE, with a name of 1 to %d characters", text,
                  HEED_ARRAY_NAME_SIZE - 1);
        return CLI_USAGE;
    }
    if (index >= HEED_ARRAYS_MAX) {
        cli_error("--array is given %zu times; the limit is %d", cli_args_list_count(args, "array"),
                  HEED_ARRAYS_MAX);
        return CLI_USAGE;
    }
    cli_operand_file *operand = &operands->operand[LAB_ARRAYS + index];
    memcpy(operand->name, text, length);
    operand->path = sign + 1;
    return read_file(operand, "array", args);
}

static cli_exit check_kind(size_t row, const cli_operand_file *operand)
{
    char list[64] = "";
    if (rows[row].kinds & BIT(operand->tensor.kind))
        return CLI_OK;
    for (unsigned kind = HEED_DATA_F32; kind <= HEED_DATA_BITS; kind++)
        if (rows[row].kinds & BIT(kind))
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] ? ", " : "",
                     lab_data_name((heed_data)kind));
    cli_error("--%s: %s has elements of type %s; they must be of %s", rows[row].option,
              operand->path, lab_data_name(operand->tensor.kind), list);
    return CLI_USAGE;
}

cli_exit cli_operand_files_read(cli_operand_files *operands, const cli_args *args)
{
    cli_exit code = CLI_OK;
    memset(operands, 0, sizeof *operands);
    for (size_t i = 0; i < ROWS && code == CLI_OK; i++) {
        cli_operand_file *operand = &operands->operand[rows[i].role];
        operand->path = cli_args_text(args, rows[i].option);
        if (operand->path)
            code = read_file(operand, rows[i].option, args);
        if (operand->path && code == CLI_OK && rows[i].kinds)
            code = check_kind(i, operand);
    }
    for (size_t i = 0; i < cli_args_list_count(args, "array") && code == CLI_OK; i++)
        code = read_array(operands, i, args);
    return code;
}

void cli_operand_files_free(cli_operand_files *operands)
{
    for (int role = 0; role < LAB_INPUTS; role++)
        lab_tensor_free(&operands->operand[role].tensor);
}

/* -------------------------------------------------------------------------- */
/* Words                                                                      */
/* -------------------------------------------------------------------------- */

static const char *name_of_dimension(char letter)
{
    return letter == 'b' ? "batch" : letter == 'h' ? "heads" : letter == 'q' ? "seq_q" : "seq_k";
}

static int64_t size_of_dimension(const heed_problem *problem, char letter, bool bits)
{
    return letter == 'b'   ? problem->batch
           : letter == 'h' ? problem->heads_q
           : letter == 'q' ? problem->seq_q
           : bits          ? (problem->seq_k + 31) / 32
                           : problem->seq_k;
}

/* Writes the letters of the dimensions that are not broadcast to @along. */
static cli_exit find_along(size_t row, const cli_operand_file *operand, const heed_problem *problem,
                           char along[DIMENSIONS + 1])
{
    const lab_tensor *tensor = &operand->tensor;
    char shape[LAB_SHAPE_SIZE];
    int most = (int)strlen(rows[row].along), missing = most - tensor->rank;
    lab_shape_print(tensor->shape, tensor->rank, shape);
    if (tensor->rank < 1 || missing < 0) {
        cli_error("--%s: %s has shape %s, %d dimension%s; it must have 1 to %d", rows[row].option,
                  operand->path, shape, tensor->rank, lab_plural(tensor->rank), most);
        return CLI_USAGE;
    }
    for (int i = 0; i < tensor->rank; i++) {
        char letter = rows[row].along[missing + i];
        bool last = missing + i == most - 1;
        int64_t size = size_of_dimension(problem, letter, tensor->kind == HEED_DATA_BITS);
        if (tensor->shape[i] != size && (last || tensor->shape[i] != 1)) {
            cli_error("--%s: %s has shape %s: dimension %d (%s) is %lld; it must be %lld%s",
                      rows[row].option, operand->path, shape, i, name_of_dimension(letter),
                      (long long)tensor->shape[i], (long long)size, last ? "" : ", or 1");
            return CLI_USAGE;
        }
        if (tensor->shape[i] == size && letter != 'k')
            along[strlen(along)] = letter;
    }
    return CLI_OK;
}

static cli_exit say_operand(size_t row, const cli_operand_file *operand,
                            const heed_problem *problem, char *text, size_t size)
{
    char along[DIMENSIONS + 1] = "";
    size_t length = strlen(text);
    cli_exit code = find_along(row, operand, problem, along);
    if (rows[row].typed)
        snprintf(text + length, size - length, " %s=%s:%s", rows[row].word,
                 lab_data_name(operand->tensor.kind), along);
    else
        snprintf(text + length, size - length, " %s=%s", rows[row].word, along);
    return code;
}

static cli_exit say_array(const cli_operand_file *operand, char *text, size_t size)
{
    const lab_tensor *tensor = &operand->tensor;
    heed_data kind = tensor->kind;
    char shape[LAB_SHAPE_SIZE];
    size_t length = strlen(text);
    if (kind != HEED_DATA_F32 && kind != HEED_DATA_I32 && kind != HEED_DATA_BYTES) {
        cli_error("--array: %s has elements of type %s; they must be of f32, i32 or bytes",
                  operand->path, lab_data_name(kind));
        return CLI_USAGE;
    }
    if (tensor->rank < 1 || tensor->rank > HEED_ARRAY_RANK_MAX) {
        cli_error("--array: %s has shape %s, %d dimension%s; it must have 1 to %d", operand->path,
                  lab_shape_print(tensor->shape, tensor->rank, shape), tensor->rank,
                  lab_plural(tensor->rank), HEED_ARRAY_RANK_MAX);
        return CLI_USAGE;
    }
    length += (size_t)snprintf(text + length, size - length, " array=%s:%s:", operand->name,
                               lab_data_name(kind));
    for (int i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] == 0) {
            cli_error("--array: %s has shape %s: dimension %d is 0; it must be 1 or more",
                      operand->path, lab_shape_print(tensor->shape, tensor->rank, shape), i);
            return CLI_USAGE;
        }
    for (int i = 0; i < tensor->rank && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%lld", i ? "x" : "",
                                   (long long)tensor->shape[i]);
    return CLI_OK;
}

cli_exit cli_operand_files_words(const cli_operand_files *operands, const heed_problem *problem,
                                 char *text, size_t size)
{
    cli_exit code = CLI_OK;
    text[0] = '\0';
    for (size_t i = 0; i < ROWS && code == CLI_OK; i++)
        if (operands->operand[rows[i].role].path && rows[i].along[0])
            code = say_operand(i, &operands->operand[rows[i].role], problem, text, size);
    for (int i = 0; i < HEED_ARRAYS_MAX && code == CLI_OK; i++)
        if (operands->operand[LAB_ARRAYS + i].path)
            code = say_array(&operands->operand[LAB_ARRAYS + i], text, size);
    return code;
}

cli_exit cli_operand_files_complete(const cli_operand_files *operands, const heed_problem *problem)
{
    for (size_t i = 0; i < ROWS; i++) {
        lab_view view = lab_view_of(problem, rows[i].role);
        if (view.kind != HEED_DATA_NONE && !operands->operand[rows[i].role].tensor.data) {
            cli_error("--words: %s needs its elements: give --%s FILE, which implies the word",
                      rows[i].word, rows[i].option);
            return CLI_USAGE;
        }
    }
    for (int i = 0; i < HEED_ARRAYS_MAX; i++)
        if (problem->arrays[i].name[0] &&
            strcmp(problem->arrays[i].name, operands->operand[LAB_ARRAYS + i].name) != 0) {
            cli_error("--words: array %s needs its elements: give --array %s=FILE, which says the "
                      "word itself",
                      problem->arrays[i].name, problem->arrays[i].name);
            return CLI_USAGE;
        }
    return CLI_OK;
}
