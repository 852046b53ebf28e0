/*
 * problem_parse.h - declarations shared by the spec's parser and the table of its words
 */
#ifndef HEED_PROBLEM_PARSE_H
#define HEED_PROBLEM_PARSE_H

#include "problem.h"

/* A spec being read. */
typedef struct heed_parser {
    const char *spec;
    const char *word;                   /* the word being read ... */
    const char *end;                    /* ... up to here */
    const char *where[HEED_PART_COUNT]; /* where the spec gives each part; NULL: not yet */
    const char *layout;                 /* one of heed_layouts; NULL: not given */
    bool plain_causal;                  /* the word causal without an alignment */
    heed_problem problem;
} heed_parser;

/* One word of the grammar: its name, and the function that reads the value after @text. */
typedef struct heed_word heed_word;
struct heed_word {
    const char *text; /* the whole word, or the part before its value: a letter, or a name with = */
    heed_part part;
    heed_status (*read)(heed_parser *p, const heed_word *word, const char *value);
    int option;
    const char *form; /* how the word is written, for errors; NULL: there is no end to expect */
};

/* heed_word_find() returns the word that @p is at, or NULL if it is unknown. */
const heed_word *heed_word_find(const heed_parser *p);

/* heed_word_nearest() returns the text of the word most similar to the unknown one, or NULL. */
const char *heed_word_nearest(const heed_parser *p);

/* heed_parse_fail() fails with a message of three lines: the error, the spec, and a caret below the
 * character at @at. */
heed_status heed_parse_fail(const heed_parser *p, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* heed_parse_quote() returns the number of characters of the word or value from @at to @end that a
 * message should quote. */
int heed_parse_quote(const char *at, const char *end);

#endif /* HEED_PROBLEM_PARSE_H */
