/*
 * expression.h - the expressions of heed.h, as the reference computes them
 *
 * A tree of its own making, which shares nothing with the library: values are doubles and whole
 * numbers of 32 bits, and each has a bound of how far a computation in float32 may be off it, which
 * grows from step to step (running error analysis). Where that leaves open which way a comparison,
 * floor() or int() goes, the value is in doubt: no bound is known.
 */
#ifndef LAB_EXPRESSION_H
#define LAB_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"

/* Operations of float32 are off by so many of its unit roundoffs. */
#define LAB_UNITS_SUM 1.0      /* + - * and conversions, which round once */
#define LAB_UNITS_QUOTIENT 2.0 /* / and sqrt, which devices approximate */
#define LAB_UNITS_FUNCTION 4.0 /* exp, log; tanh in units of 1 */

/* A comparison is in doubt within so many times the error, which is a standard one. */
#define LAB_DOUBT 4.0

/* A number, and how far off it may be. */
typedef struct lab_number {
    double value;
    double error;
} lab_number;

/* Decisions of an expression - comparisons, floor(), int() - that float32 may take either way, in
 * the order in which they come. */
typedef struct lab_doubt {
    unsigned turned; /* bits of those to take the other way */
    int count;       /* so many have come */
    bool open;       /* there is one whose other outcome is not known */
} lab_doubt;

/* Where an expression is computed, and how. */
typedef struct lab_evaluation {
    const heed_problem *problem;
    const heed_buffers *data;
    int64_t batch, head, query, key;
    int64_t position; /* of the query */
    lab_number s;     /* the logit */
    bool single;      /* every step rounds to float32, and there are no errors */
    lab_doubt doubt;  /* goes on counting */
} lab_evaluation;

typedef struct lab_node {
    int op;
    int kind;
    int child[3]; /* numbers of nodes; of an element of an array, its indices */
    double value; /* of a constant; of an element, the number of the array */
} lab_node;

#define LAB_NODES 256 /* a node takes a character at least */
typedef struct lab_expression {
    int count;
    int root;
    lab_node nodes[LAB_NODES];
} lab_expression;

/* lab_expression_parse() reads @text, an expression of @problem. False if it is not. */
bool lab_expression_parse(lab_expression *expression, const heed_problem *problem,
                          const char *text);

/* lab_expression_number() and lab_expression_truth() compute it. */
lab_number lab_expression_number(const lab_expression *expression, lab_evaluation *at);
bool lab_expression_truth(const lab_expression *expression, lab_evaluation *at);

/* lab_number_rounded() returns @value as a step of float32 leaves it that is off by @units of its
 * own, and by @error because of what it was made of. */
lab_number lab_number_rounded(double value, double error, double units, bool single);

#endif /* LAB_EXPRESSION_H */
