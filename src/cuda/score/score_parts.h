/*
 * score_parts.h - declarations shared by score.c and score_*.c
 */
#ifndef HEED_CUDA_SCORE_PARTS_H
#define HEED_CUDA_SCORE_PARTS_H

#include "score.h"

#define LOG2_E 1.4426950408889634

/* Marks of steps. */
enum {
    OF_KEY = 1,    /* depends on the key or the score, */
    OF_SCORE = 2,  /* on the score */
    IN_ROW = 4,    /* computed by score_row_of() */
    IN_FIELD = 8,  /* and stored for the keys, */
    AS_FLOAT = 16, /* as an integer at key 0, and per tile as a float at the lane's first key, */
    AS_PLACE = 32, /* as the address of its row of elements, */
    IN_UNIT = 64,  /* or in the unit of the logit */
    FOR_KEY = 128  /* computed by score_of() or is_visible() */
};

/* A term of a logit. */
typedef struct heed_score_term {
    int step;
    bool less; /* it is subtracted */
} heed_score_term;

typedef struct heed_score {
    heed_problem problem; /* without starts */
    heed_program program;
    heed_view view;
    unsigned marks[HEED_STEPS_MAX];
    int root; /* the logit's step; -1: none. It is the sum of */
    int core; /* this step, */
    int term_count;
    heed_score_term terms[HEED_STEPS_MAX]; /* and these; */
    bool products;                         /* the core is the unchanged score; */
    bool capped;                           /* or a softcap X of the core, */
    bool caps_products;                    /* or of the unchanged score, */
    double stretch;                        /* where 2y, to base 2, is this times the core; */
    double softcap;                        /* X */
    float unit;                            /* or the core times this */
    heed_text *text;
} heed_score;

/* A float converted from an integer that is linear in the key: its step, slope and sign. */
typedef struct heed_score_rising {
    int whole;
    int64_t rise;
    int sign; /* 1, -1, or 0: absolute value */
} heed_score_rising;

/* A term as a product: factors and divisors of the row, and a factor of the key. */
#define FACTORS_MAX 4
typedef struct heed_score_factors {
    int key;                  /* -1: none */
    bool rises;               /* it is linear in the key, */
    heed_score_rising number; /* as described here */
    int rows, row[FACTORS_MAX];
    bool divides[FACTORS_MAX];
} heed_score_factors;

static inline const heed_step *heed_score_step(const heed_score *p, int i)
{
    return &p->program.steps[i];
}

/* score_steps.c: heed_score_start() analyses a problem; heed_score_need_all() marks the steps that
 * kernels need. */
void heed_score_start(heed_score *p, const heed_problem *problem);
void heed_score_need_all(heed_score *p);

/* True if step @i is a float converted from an integer that is linear in the key; describes it in
 * @found. */
bool heed_score_find_rising(const heed_score *p, int i, heed_score_rising *found);

/* True if intervals over the pairs of a tile give useful bounds of step @i. */
bool heed_score_bounded(const heed_score *p, int i);

/* True if step @i loads elements along the keys; if it is a constant; if the problem's scale is
 * moderate, so its scores may have a different unit. */
bool heed_score_along_keys(const heed_score *p, int i);
bool heed_score_constant(const heed_score *p, int i);
bool heed_score_moderate(const heed_problem *problem);

/* Splits step @i into its factors. */
heed_score_factors heed_score_factors_of(const heed_score *p, int i);

/* score_print_step.c: the type of the elements that load @i reads, and the suffix of the functions
 * that read them ahead; NULL: not read ahead. */
heed_data heed_score_type_of(const heed_score *p, int i);
const char *heed_score_read_ahead(const heed_score *p, int i);

/* heed_score_staged() returns the step that reads elements of the bias ahead, two bytes each; -1 if
 * there is none. */
int heed_score_staged(const heed_score *p);

/* The type of a value in device code. */
const char *heed_score_kind_name(heed_kind kind);

/* Print @x, exactly and independent of the locale; step @i as a value, in code for a row or a key:
 * its name, or a constant; and the address of a row of elements, given by all but the last index of
 * @load. */
void heed_score_print_float(const heed_score *p, float x);
void heed_score_print_value(const heed_score *p, int i, bool in_row);
void heed_score_print_place(const heed_score *p, const heed_step *load, bool in_row);

/* Print the line that defines step @i; for a key also those of the steps that it depends on, each
 * once: @done marks printed ones. */
void heed_score_print_step(const heed_score *p, int i, bool in_row);
void heed_score_print_of_key(const heed_score *p, int i, bool done[HEED_STEPS_MAX]);

/* score_sight.c: the functions that sight.cuh calls, if tiles can be listed. */
void heed_score_print_sight(const heed_score *p);

#define PRINT(p, ...) heed_text_add((p)->text, __VA_ARGS__)

#endif /* HEED_CUDA_SCORE_PARTS_H */
