/*
 * inputs.h - Q, K and V from files, and the problem that they make
 */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include "cli.h"
#include "tensor/tensor.h"

/* One input array and where it is from. */
typedef struct cli_input {
    char label[8];    /* "Q", "K" or "V" */
    const char *path; /* its file; belongs to the command line */
    char name[256];   /* its name in a .safetensors file, or "" */
    lab_tensor tensor;
} cli_input;

typedef struct cli_inputs {
    cli_input q, k, v;
} cli_inputs;

/* cli_inputs_read() reads the arrays that --q, --k and --v, or --tensors and --prefix, name, rounds
 * them to --type if that is given, and checks that they fit each other. Free with
 * cli_inputs_free(), also after a failure, which has been printed. */
cli_exit cli_inputs_read(cli_inputs *inputs, const cli_args *args);
void cli_inputs_free(cli_inputs *inputs);

/* cli_inputs_problem() makes the problem from the shapes, --mask and --scale. A failure has been
 * printed. */
cli_exit cli_inputs_problem(heed_problem *problem, const cli_inputs *inputs, const cli_args *args);

/* Choices of --type and --mask. */
extern const char *const cli_type_names[];
extern const char *const cli_mask_names[];

/* Formats of arrays by the end of a file's name. */
typedef enum cli_format {
    CLI_FORMAT_UNKNOWN,
    CLI_FORMAT_NPY,
    CLI_FORMAT_SAFETENSORS
} cli_format;
cli_format cli_format_of(const char *path);

#endif /* CLI_INPUTS_H */
