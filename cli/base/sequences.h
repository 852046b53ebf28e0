/*
 * sequences.h - packed sequences and pages: arrays checked against the cumulative lengths and page
 * tables of files
 *
 * A packed array, [tokens, heads, dim], holds the rows of many sequences, one after another. After
 * cli_sequences_prepare() its tensor has a first dimension of size 1, as if it were a batch of one.
 */
#ifndef CLI_SEQUENCES_H
#define CLI_SEQUENCES_H

#include "inputs.h"

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

#endif /* CLI_SEQUENCES_H */
