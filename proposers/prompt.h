/*
 * prompt.h - a request in words for a language model, and its answer taken apart
 */
#ifndef PROPOSERS_PROMPT_H
#define PROPOSERS_PROMPT_H

#include <jansson.h>

/* prompt_write() returns what to ask a model, for the caller to free; NULL if there is no memory.
 */
char *prompt_write(const json_t *request);

/* prompt_system is what the model is told first. */
extern const char prompt_system[];

/* prompt_read() makes a reply out of what a model said: a JSON object with name, source and
 * thought, bare or in a block of code; else the first block of code, with lines "name:" and
 * "thought:" around it. A refusal if there is no source in it. @number is for a name where there is
 * none. NULL if there is no memory. */
json_t *prompt_read(const char *text, long long number);

#endif /* PROPOSERS_PROMPT_H */
