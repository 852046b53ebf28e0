/*
 * sequences.h - packed sequences and pages: arrays checked against the cumulative lengths and page
 * tables of files
 *
 * A packed array, [tokens, heads, dim], holds the rows of many sequences, one after another. Behind
 * cli_sequences_prepare() its tensor has a first dimension of size 1, as if it were a batch of one.
 */
#ifndef CLI_SEQUENCES_H
#define CLI_SEQUENCES_H

#include "inputs.h"

/* cli_sequences_prepare() takes arrays of three dimensions for packed ones, K and V beside --table
 * for pages, and checks that each has the dimensions that its option needs. A failure has been
 * printed. */
cli_exit cli_sequences_prepare(cli_inputs *inputs);

/* cli_sequences_read() finds out, for arrays that fit each other, how many sequences there are and
 * how long they can be, to inputs->sequences. Packed arrays without cumulative lengths get those of
 * sequences of equal length, as many as the other arrays say, or else one. A failure has been
 * printed. */
cli_exit cli_sequences_read(cli_inputs *inputs);

/* cli_sequences_complete() gives @problem, which has the sizes of the arrays, those of sequences
 * and pages. */
void cli_sequences_complete(heed_problem *problem, const cli_inputs *inputs);

/* cli_sequences_check() says whether lengths and numbers of pages are those of keys and pages that
 * exist: a kernel would read beyond the arrays. A failure has been printed. */
cli_exit cli_sequences_check(const heed_problem *problem, const cli_inputs *inputs);

#endif /* CLI_SEQUENCES_H */
