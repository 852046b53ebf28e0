/*
 * inputs.h - Q, K and V from files, and the problem that they define
 */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include "cli.h"
#include "operand_files.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"

/* The order of the dimensions of Q, K, V and O in files: [batch, seq, heads, dim], or [batch,
 * heads, seq, dim], as in PyTorch's scaled_dot_product_attention(). */
typedef enum cli_layout {
    CLI_BSHD,
    CLI_BHSD
} cli_layout;
extern const char *const cli_layout_names[];
#define CLI_OPTION_LAYOUT                                                                        \
    OPT_CHOICE("layout", 0, "LAYOUT", cli_layout_names, "bshd",                                  \
               "Order of the dimensions of arrays in files: bshd for [batch, seq, heads, dim], " \
               "bhsd for [batch, heads, seq, dim], PyTorch's")

/* One input array and its source. */
typedef struct cli_input {
    char label[8];    /* "Q", "K" or "V" */
    const char *path; /* its file; belongs to the command line */
    char name[256];   /* its name in a .safetensors file, or "" */
    bool packed;      /* it has no batch dimension: the tensor gets one of size 1 */
    lab_tensor tensor;
} cli_input;

/* Sequences and pages, from the arrays and operands. */
typedef struct cli_sequences {
    int64_t batch, seq_q, seq_k; /* their number, and the most queries and keys of one */
    int64_t tokens_q, tokens_k;  /* rows of packed arrays; 0: not packed */
    int64_t page, pages;         /* keys per page, and pages, of K and V; 0: no pages */
} cli_sequences;

typedef struct cli_inputs {
    cli_input q, k, v;
    bool shared;                /* V is a part of K, without a separate array */
    cli_operand_files operands; /* of verbs that read them */
    cli_sequences sequences;    /* likewise */
    cli_layout layout;
} cli_inputs;

/* cli_inputs_read() reads the arrays of --q, --k and --v, or of --tensors and --prefix, rounds them
 * to --type if that is given, and checks that they fit each other in the order of --layout. If
 * --dim-v is given, there is no V: it is a part of K. Verbs that read operands also take packed
 * sequences and pages (sequences.h). Free with cli_inputs_free(), also after a failure, which has
 * been printed. */
cli_exit cli_inputs_read(cli_inputs *inputs, const cli_args *args);
void cli_inputs_free(cli_inputs *inputs);

/* cli_inputs_read_group() reads only the three arrays with @prefix in @file, which is at @path. */
cli_exit cli_inputs_read_group(cli_inputs *inputs, lab_safetensors *file, const char *path,
                               const char *prefix, const cli_args *args);

/* cli_inputs_problem() makes the problem from the shapes, --layout, operands, --words, and --scale
 * if the verb has it. Its strides are those of the arrays in memory. Warns if --layout was not
 * given and the shapes look like the other order. A failure has been printed. */
cli_exit cli_inputs_problem(heed_problem *problem, const cli_inputs *inputs, const cli_args *args);

/* cli_input_print() writes "Q (Q.npy: [1, 512, 8, 64])", with the shape in the file, and returns
 * @text. */
#define CLI_PLACE_SIZE 512
const char *cli_input_print(const cli_input *input, char text[CLI_PLACE_SIZE]);

/* cli_input_seq() returns the number of queries or keys; for packed arrays the number of tokens,
 * for pages the keys of one. */
int64_t cli_input_seq(const cli_input *input, cli_layout layout);

/* cli_packed_order() and cli_page_order() return the order of the dimensions of packed arrays and
 * of pages, such as "[tokens, heads, dim]". */
const char *cli_packed_order(cli_layout layout);
const char *cli_page_order(cli_layout layout);

/* cli_inputs_sort() brings the elements into the order [batch, seq, heads, dim] of lab_values and
 * lab_bench_tensors, whatever the strides of their problem. */
cli_exit cli_inputs_sort(cli_inputs *inputs);

/* cli_layout_shape() writes the shape of Q, K, V or O in a file of @layout. */
void cli_layout_shape(cli_layout layout, int64_t batch, int64_t seq, int64_t heads, int64_t dim,
                      int64_t shape[4]);

/* Array formats, by file name extension. */
typedef enum cli_format {
    CLI_FORMAT_UNKNOWN,
    CLI_FORMAT_NPY,
    CLI_FORMAT_SAFETENSORS
} cli_format;
cli_format cli_format_of(const char *path);

#endif /* CLI_INPUTS_H */
