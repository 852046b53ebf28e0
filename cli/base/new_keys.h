/*
 * new_keys.h - new keys and values from files, appended to K and V, and rotary embeddings
 */
#ifndef CLI_NEW_KEYS_H
#define CLI_NEW_KEYS_H

#include "inputs.h"

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

#endif /* CLI_NEW_KEYS_H */
