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
    IN_ROW = 4,    /* score_row_of() computes it */
    IN_FIELD = 8,  /* and leaves it for the keys, */
    AS_FLOAT = 16, /* as a whole number at key 0, and for a tile a float at the lane's first key, */
    AS_PLACE = 32, /* the place of its row of elements, */
    IN_UNIT = 64,  /* or in the unit of the logit */
    FOR_KEY = 128  /* score_of() or is_visible() computes it */
};

/* A term of a logit. */
typedef struct heed_score_term {
    int step;
    bool less; /* it is taken off */
} heed_score_term;

typedef struct heed_score {
    heed_problem problem; /* without starts */
    heed_program program;
    heed_view view;
    unsigned marks[HEED_STEPS_MAX];
    int root; /* of the logit; -1: none. It is the sum of */
    int core; /* this step, */
    int term_count;
    heed_score_term terms[HEED_STEPS_MAX]; /* and these; */
    bool products;                         /* the core is the score, as it comes; */
    bool capped;    /* or twice the softcap times a half less 1 / (1 + e^2y), */
    double stretch; /* where 2y is this times the core to base 2; */
    float unit;     /* or the core times this */
    heed_text *text;
} heed_score;

/* A float that is made of a whole number that rises evenly: of which, and what sign it gets. */
typedef struct heed_score_rising {
    int whole;
    int64_t rise;
    int sign; /* 1, -1, or 0: the absolute value is taken */
} heed_score_rising;

/* A term: numbers of the row, multiplied or divided by, and one of the key. */
#define FACTORS_MAX 4
typedef struct heed_score_factors {
    int key;                  /* -1: none */
    bool rises;               /* it rises evenly, */
    heed_score_rising number; /* like this */
    int rows, row[FACTORS_MAX];
    bool divides[FACTORS_MAX];
} heed_score_factors;

static inline const heed_step *heed_score_step(const heed_score *p, int i)
{
    return &p->program.steps[i];
}

/* score_steps.c: heed_score_start() takes a problem apart; heed_score_need_all() marks the steps
 * that kernels need. */
void heed_score_start(heed_score *p, const heed_problem *problem);
void heed_score_need_all(heed_score *p);

/* Is step @i a float that is made of a whole number that rises evenly with the key, and of which?
 */
bool heed_score_find_rising(const heed_score *p, int i, heed_score_rising *found);

/* Can intervals over the pairs of a tile tell more of step @i than that it has a value? */
bool heed_score_bounded(const heed_score *p, int i);

/* Does step @i load elements that lie along the keys? Is it a constant? May scores of the problem
 * be in a unit of their own, since its scale is moderate? */
bool heed_score_along_keys(const heed_score *p, int i);
bool heed_score_constant(const heed_score *p, int i);
bool heed_score_moderate(const heed_problem *problem);

/* The factors that step @i is a product of. */
heed_score_factors heed_score_factors_of(const heed_score *p, int i);

/* score_print_step.c: the type of the elements that load @i reads, and the ending of the functions
 * that read them ahead; NULL: none does. */
heed_data heed_score_type_of(const heed_score *p, int i);
const char *heed_score_read_ahead(const heed_score *p, int i);

/* The type of a value in device code. */
const char *heed_score_kind_name(heed_kind kind);

/* Print @x, exactly and in any locale; the name of step @i where code is for a row, or for a key,
 * a constant itself; and the place of the element where all but the last index are as @load says.
 */
void heed_score_print_float(const heed_score *p, float x);
void heed_score_print_value(const heed_score *p, int i, bool in_row);
void heed_score_print_place(const heed_score *p, const heed_step *load, bool in_row);

/* Print the line that defines step @i; for a key also those of what it is made of, each once: @done
 * has what there is. */
void heed_score_print_step(const heed_score *p, int i, bool in_row);
void heed_score_print_of_key(const heed_score *p, int i, bool done[HEED_STEPS_MAX]);

/* score_sight.c: the functions that sight.cuh calls, where tiles can be listed. */
void heed_score_print_sight(const heed_score *p);

#define PRINT(p, ...) heed_text_add((p)->text, __VA_ARGS__)

#endif /* HEED_CUDA_SCORE_PARTS_H */
