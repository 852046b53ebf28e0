/*
 * inputs.h - Q, K, V and operands of a problem from files, and the problem that they define
 */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include "cli.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "tensor/view.h"

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

/* Rows for the option tables of verbs that read operands. */
#define CLI_OPTIONS_OPERANDS                                                                      \
    OPT_PATH("bias", 0, "FILE",                                                                   \
             "Add a bias to the logits: [batch, heads, seq_q, seq_k], where all but the last "    \
             "may be 1, or missing in front, to broadcast; f32, f16 or bf16"),                    \
        OPT_PATH("shown", 0, "FILE",                                                              \
                 "Hide keys where this is false: an array of the same shapes, of bytes, or of "   \
                 "32-bit words of bits, (seq_k + 31) / 32 of them"),                              \
        OPT_PATH("slopes", 0, "FILE", "Slopes of ALiBi: [heads] or [batch, heads], f32"),         \
        OPT_PATH("sinks", 0, "FILE",                                                              \
                 "One more logit per head, without a value: [heads] or [batch, heads], f32"),     \
        OPT_PATH("starts", 0, "FILE",                                                             \
                 "The first key that each query sees: [seq_q] or [batch, seq_q], i32"),           \
        OPT_PATH("lengths", 0, "FILE", "The number of keys of each batch element: [batch], i32"), \
        OPT_PATH("cu-seqlens-q", 0, "FILE",                                                       \
                 "The first row of each sequence of a packed Q, [tokens, heads, dim], and the "   \
                 "end of the last: [batch + 1], i32 or i64 [default: sequences of equal "         \
                 "length, as many as the other arrays have, or one]"),                            \
        OPT_PATH("cu-seqlens-k", 0, "FILE", "The same for packed K and V"),                       \
        OPT_PATH("table", 0, "FILE",                                                              \
                 "K and V are pages, [pages, page, heads, dim]; FILE has the page numbers of "    \
                 "each sequence: [batch, pages of a sequence], i32"),                             \
        OPT_PATH("k-new", 0, "FILE",                                                              \
                 "New keys, appended to K before the attention, [batch, append, heads, dim]: "    \
                 "the last ones that --lengths counts; or [tokens, heads, dim], packed as Q is"), \
        OPT_PATH("v-new", 0, "FILE", "Their values, appended to V"),                              \
        OPT_PATH("rotary-cos", 0, "FILE",                                                         \
                 "Cosines of a rotary embedding of the new keys and of Q: [positions, half the "  \
                 "columns], f32, f16 or bf16, for at least as many positions as K has keys. The " \
                 "first half of the columns is rotated with the second one, or with --words "     \
                 "rotary=COLUMNS:interleaved each column with its neighbour"),                    \
        OPT_PATH("rotary-sin", 0, "FILE", "Its sines"),                                           \
        OPT_LIST("array", 0, "NAME=FILE",                                                         \
                 "An array that the words score=... and visible=... read as NAME, of f32, i32 "   \
                 "or bytes; may be given up to four times")

/* The array of an option. */
typedef struct cli_operand_file {
    const char *path; /* its file, or its name in the file of --tensors; NULL: none */
    char name[HEED_ARRAY_NAME_SIZE];
    lab_tensor tensor;
} cli_operand_file;

typedef struct cli_operand_files {
    cli_operand_file operand[LAB_INPUTS]; /* by role; those of Q, K and V are empty */
} cli_operand_files;

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

/* cli_inputs_have() returns true if an array, other than that of @role, was read from the file
 * @path. */
bool cli_inputs_have(const cli_inputs *inputs, const char *path, int role);

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

/* The order of the dimensions of packed arrays and of pages, by layout, such as "[tokens, heads,
 * dim]". */
extern const char *const cli_packed_orders[], *const cli_page_orders[];

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

/* -------------------------------------------------------------------------- */
/* operand_files.c: bias, masks, lengths, page tables, new keys, ...          */
/* -------------------------------------------------------------------------- */

/* cli_operand_files_read() reads the files of the options. If an option's value does not end in
 * .npy, it names an array in the file of --tensors. A failure has been printed. Free with
 * cli_operand_files_free(), also after a failure. */
cli_exit cli_operand_files_read(cli_operand_files *operands, const cli_args *args);
void cli_operand_files_free(cli_operand_files *operands);

/* cli_operand_files_words() writes the words of a spec for the files read for @problem, each after
 * a blank, to @text. A file of a wrong type or shape is a failure, which has been printed. */
cli_exit cli_operand_files_words(const cli_operand_files *operands, const heed_problem *problem,
                                 char *text, size_t size);

/* cli_operand_files_complete() checks that each operand of @problem has a file, and each file an
 * operand. A failure has been printed. */
cli_exit cli_operand_files_complete(const cli_operand_files *operands, const heed_problem *problem);

/* -------------------------------------------------------------------------- */
/* sequences.c: packed sequences and pages                                    */
/* -------------------------------------------------------------------------- */

/* A packed array, [tokens, heads, dim], holds the rows of many sequences, one after another. After
 * cli_sequences_prepare() its tensor has a first dimension of size 1, as if it were a batch of one.
 */

/* cli_sequences_prepare() treats arrays of three dimensions as packed, and K and V as pages if
 * --table is given, and checks that each has the dimensions that its option needs. A failure has
 * been printed. */
cli_exit cli_sequences_prepare(cli_inputs *inputs);

/* cli_sequences_read() writes the number of sequences and their longest possible lengths, for
 * arrays that fit each other, to inputs->sequences. Packed arrays without cumulative lengths get
 * those of sequences of equal length, as many as the other arrays have, or else one. A failure has
 * been printed. */
cli_exit cli_sequences_read(cli_inputs *inputs);

/* cli_sequences_complete() adds the sizes of sequences and pages to @problem, which has those of
 * the arrays. */
void cli_sequences_complete(heed_problem *problem, const cli_inputs *inputs);

/* cli_sequences_check() checks that lengths and page numbers are valid: otherwise a kernel would
 * read past the arrays. A failure has been printed. */
cli_exit cli_sequences_check(const heed_problem *problem, const cli_inputs *inputs);

/* -------------------------------------------------------------------------- */
/* new_keys.c: new keys and values, appended to K and V, and rotary embeddings */
/* -------------------------------------------------------------------------- */

/* cli_new_keys_options() checks that options that need each other are all given. A failure has been
 * printed. */
cli_exit cli_new_keys_options(const cli_args *args);

/* cli_new_keys_words() appends the words of a spec for the files read for @problem, which has the
 * sizes of K and V, to @text, without rotary= if @words have it. A file of a wrong type or shape is
 * a failure, which has been printed. */
cli_exit cli_new_keys_words(const cli_inputs *inputs, const heed_problem *problem,
                            const char *words, char *text, size_t size);

/* cli_new_keys_check() checks that the files have the positions and columns that @problem, of these
 * and other words, rotates, and that each page to which new keys are written has a single entry in
 * the table. Page numbers must be valid. A failure has been printed. */
cli_exit cli_new_keys_check(const heed_problem *problem, const cli_inputs *inputs);

#endif /* CLI_INPUTS_H */
