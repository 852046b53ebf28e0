/*
 * new_keys.h - keys and values of files that are appended to K and V, and rotary embeddings
 */
#ifndef CLI_NEW_KEYS_H
#define CLI_NEW_KEYS_H

#include "inputs.h"

/* cli_new_keys_options() says whether the options that belong together are all there. A failure has
 * been printed. */
cli_exit cli_new_keys_options(const cli_args *args);

/* cli_new_keys_words() writes the words of a spec that say what was read for @problem, which has
 * the sizes of K and V, to the end of @text, but for rotary= where @words have it. A file of a
 * wrong type or shape is a failure, which has been printed. */
cli_exit cli_new_keys_words(const cli_inputs *inputs, const heed_problem *problem,
                            const char *words, char *text, size_t size);

/* cli_new_keys_check() says whether the files have what @problem, of these and other words,
 * rotates, and whether each page that new keys are written to is that of one place in one sequence.
 * Numbers of pages must be those of pages that exist. A failure has been printed. */
cli_exit cli_new_keys_check(const heed_problem *problem, const cli_inputs *inputs);

#endif /* CLI_NEW_KEYS_H */
