/*
 * prompt.h - the prompt for a language model, and the parser of its answer
 */
#ifndef PROPOSERS_PROMPT_H
#define PROPOSERS_PROMPT_H

#include <jansson.h>

/* prompt_write() returns the prompt, to be freed by the caller; NULL if there is no memory.
 */
char *prompt_write(const json_t *request);

/* prompt_system is the system prompt. */
extern const char prompt_system[];

/* prompt_read() makes a reply from a model's answer: a JSON object with name, source and thought,
 * bare or in a block of code; else the first block of code, with lines "name:" and "thought:"
 * around it. Returns a refusal if there is no source in it, NULL if there is no memory. @number
 * makes a name if there is none. */
json_t *prompt_read(const char *text, long long number);

#endif /* PROPOSERS_PROMPT_H */
