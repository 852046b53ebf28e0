/*
 * expression.h - parses and evaluates the expressions of heed.h for the reference
 *
 * The parser and the tree share nothing with the library. Values are doubles and 32-bit integers,
 * each with a bound on the error of a float32 computation, which grows from step to step (running
 * error analysis). If that bound leaves the result of a comparison, floor() or int() open, the
 * value is in doubt: no bound is known.
 */
#ifndef LAB_REFERENCE_EXPRESSION_H
#define LAB_REFERENCE_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"

/* Errors of float32 operations, in unit roundoffs of float32. */
#define LAB_UNITS_SUM 1.0      /* + - * and conversions, which round once */
#define LAB_UNITS_QUOTIENT 2.0 /* / and sqrt, which devices approximate */
#define LAB_UNITS_FUNCTION 4.0 /* exp, log; tanh in units of 1 */

/* A comparison is in doubt within this many standard errors. */
#define LAB_DOUBT 4.0

/* A number, and its error. */
typedef struct lab_number {
    double value;
    double error;
} lab_number;

/* Decisions of an expression - comparisons, floor(), int() - that float32 may take either way, in
 * the order of evaluation. */
typedef struct lab_doubt {
    unsigned turned; /* bit i: take the i-th the other way */
    int count;       /* decisions so far */
    bool open;       /* the other outcome of one is unknown */
} lab_doubt;

/* Where an expression is computed, and how. */
typedef struct lab_evaluation {
    const heed_problem *problem;
    const heed_buffers *data;
    int64_t batch, head, query, key;
    int64_t position; /* of the query */
    lab_number s;     /* the logit */
    bool single;      /* every step rounds to float32, and there are no errors */
    lab_doubt doubt;  /* counts on */
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

/* lab_expression_number() and lab_expression_truth() evaluate it. */
lab_number lab_expression_number(const lab_expression *expression, lab_evaluation *at);
bool lab_expression_truth(const lab_expression *expression, lab_evaluation *at);

/* lab_number_rounded() returns @value after a float32 step with an error of @units, and an error
 * @error inherited from its inputs. */
lab_number lab_number_rounded(double value, double error, double units, bool single);

#endif /* LAB_REFERENCE_EXPRESSION_H */
