/*
 * suggest.c - "did you mean": the name nearest to a mistyped word
 */
#include "suggest.h"

#include <string.h>

/* Longer words are not compared: no name is that long. */
#define WORD_MAX 64

/* With more slips than this a suggestion would be a guess. */
static size_t slips_allowed(const char *word)
{
    size_t length = strlen(word);
    return length <= 3 ? 1 : length / 3 + 1;
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edit distance with swaps of adjacent letters. Three rows of the usual table are enough. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    size_t length = strlen(b);

    for (size_t j = 0; j <= length; j++)
        above[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t changed = a[i - 1] != b[j - 1];
            row[j] = min_size(above[j - 1] + changed, min_size(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min_size(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[length];
}

lab_suggestion lab_suggest(const char *word)
{
    return (lab_suggestion){ .word = word, .best = NULL, .distance = slips_allowed(word) + 1 };
}

void lab_suggest_consider(lab_suggestion *suggestion, const char *name)
{
    if (strlen(suggestion->word) > WORD_MAX || strlen(name) > WORD_MAX)
        return;
    size_t distance = edit_distance(suggestion->word, name);
    if (distance < suggestion->distance) {
        suggestion->distance = distance;
        suggestion->best = name;
    }
}
