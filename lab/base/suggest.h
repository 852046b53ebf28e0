/*
 * suggest.h - "did you mean": the name nearest to a mistyped word
 *
 *     lab_suggestion suggestion = lab_suggest(word);
 *     lab_suggest_consider(&suggestion, name);   for each known name
 *     ... suggestion.best ...
 */
#ifndef LAB_SUGGEST_H
#define LAB_SUGGEST_H

#include <stddef.h>

/* A search for the name nearest to a word by edit distance, where a swap of adjacent letters is one
 * edit. */
typedef struct lab_suggestion {
    const char *word;
    const char *best; /* NULL while nothing is near enough */
    size_t distance;
} lab_suggestion;
lab_suggestion lab_suggest(const char *word);
void lab_suggest_consider(lab_suggestion *suggestion, const char *name);

#endif /* LAB_SUGGEST_H */
