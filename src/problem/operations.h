/*
 * operations.h - the operations of a program's steps (program.h), for host and device code
 */
#ifndef HEED_OPERATIONS_H
#define HEED_OPERATIONS_H

/* Types of values: integers have 32 bits. */
typedef enum heed_kind {
    HEED_KIND_FLOAT,
    HEED_KIND_INT,
    HEED_KIND_BOOL
} heed_kind;

/* Operations, of a, b and c, the values of earlier steps. Comparisons and arithmetic take two of
 * one kind. */
typedef enum heed_op {
    HEED_OP_FLOAT,    /* the number value.real */
    HEED_OP_INT,      /* value.whole */
    HEED_OP_BOOL,     /* value.whole, 0 or 1 */
    HEED_OP_SCORE,    /* scale * q.k, float */
    HEED_OP_QUERY,    /* int: the query's number, */
    HEED_OP_POSITION, /* its position as aligned by masks, */
    HEED_OP_KEY,      /* the key's number, */
    HEED_OP_HEAD,     /* the query head's, */
    HEED_OP_BATCH,    /* the batch element's */
    HEED_OP_LOAD,     /* the element of source value.whole at indices a, b, c, d, as many as its
                         rank */
    HEED_OP_ADD,      /* float, int */
    HEED_OP_SUB,
    HEED_OP_MUL,
    HEED_OP_DIV, /* float; int: rounded down, 0 where b is 0 */
    HEED_OP_MOD, /* int: a - b * (a / b), a where b is 0 */
    HEED_OP_MIN, /* float, int; a NaN on either side propagates */
    HEED_OP_MAX,
    HEED_OP_NEG,
    HEED_OP_ABS,
    HEED_OP_EXP, /* float */
    HEED_OP_LOG,
    HEED_OP_TANH,
    HEED_OP_SQRT,
    HEED_OP_FLOOR,
    HEED_OP_TO_FLOAT, /* int, bool */
    HEED_OP_TO_INT,   /* float, rounded towards zero, clamped to 32 bits, NaN to 0; bool */
    HEED_OP_LESS,     /* bool, of float or int */
    HEED_OP_LESS_EQUAL,
    HEED_OP_EQUAL, /* of bool too */
    HEED_OP_NOT_EQUAL,
    HEED_OP_AND, /* bool */
    HEED_OP_OR,
    HEED_OP_NOT,
    HEED_OP_SELECT, /* b if a, which is bool, else c */
    HEED_OPS
} heed_op;

typedef union heed_value {
    float real;
    int whole; /* 0 or 1 for a bool */
} heed_value;

#endif /* HEED_OPERATIONS_H */
