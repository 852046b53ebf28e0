/*
 * operand_files.h - operands of a problem from files, other than Q, K and V: bias, masks, lengths,
 * page tables, new keys, ...
 */
#ifndef CLI_OPERAND_FILES_H
#define CLI_OPERAND_FILES_H

#include "cli.h"
#include "tensor/tensor.h"
#include "tensor/view.h"

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

#endif /* CLI_OPERAND_FILES_H */
