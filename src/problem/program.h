/*
 * program.h - the steps of a logit between the product of Q and K and the softmax
 *
 * Softcap, bias, ALiBi, starts, masks of bytes or bits and the expressions of heed.h become one
 * list of steps, each of which computes a value from those of earlier steps (static single
 * assignment). Every backend runs that list: CPU kernels interpret it over vectors, CUDA kernels
 * are compiled with it as source text. A problem without any of these has an empty list. Causal
 * masks, windows and chunks are not part of it: they are intervals of keys (mask.c).
 */
#ifndef HEED_PROGRAM_H
#define HEED_PROGRAM_H

#include "../internal.h"
#include "operations.h"

typedef struct heed_step {
    heed_op op;
    heed_kind kind; /* of the value */
    int a, b, c;    /* numbers of steps; -1: none */
    heed_value value;
    int d; /* the fourth index of a load; -1: none */
} heed_step;

/* The source of a load, an operand or an array. Indices are clamped to the sizes. For bits, the
 * last index counts bits, and strides count words. */
#define HEED_SOURCES_MAX (HEED_ARRAYS_MAX + 7)
typedef struct heed_load {
    heed_data type;
    size_t buffer; /* offset of its address in heed_buffers */
    int rank;      /* indices, 1 to 4 */
    int32_t size[4];
    int64_t stride[4]; /* in elements; the last is 1 */
} heed_load;

/* Steps of one expression, and of a program: those of both expressions, and at most 36 of the named
 * words. */
#define HEED_EXPRESSION_STEPS_MAX 80
#define HEED_STEPS_MAX (2 * HEED_EXPRESSION_STEPS_MAX + 40)
typedef struct heed_program {
    int count;
    heed_step steps[HEED_STEPS_MAX];
    int source_count;
    heed_load sources[HEED_SOURCES_MAX];
    int score;   /* the step that computes the logit, or -1: unchanged */
    int visible; /* the step that decides whether the key is visible, or -1: always visible */
} heed_program;

/* program.c: heed_program_make() makes the list of a valid, normalized problem. The same problem
 * always gives the same list. */
void heed_program_make(heed_program *program, const heed_problem *problem);

/* True if the problem's list is not empty. */
bool heed_problem_modifies(const heed_problem *problem);

/* True if its list hides keys. */
bool heed_problem_hides_by_program(const heed_problem *problem);

/* Sets @needed for the steps that step @last needs, including itself. */
void heed_program_needed(const heed_program *program, int last, bool needed[HEED_STEPS_MAX]);

/* Adds a step, or finds an existing one that computes the same, or evaluates it if its inputs are
 * constants. Returns its number, or -1 if there are too many. */
int heed_program_add(heed_program *program, heed_op op, heed_kind kind, int a, int b, int c);
int heed_program_float(heed_program *program, float real);
int heed_program_int(heed_program *program, heed_kind kind, int32_t whole);
int heed_program_leaf(heed_program *program, heed_op op);
int heed_program_position(heed_program *program, const heed_problem *problem);
int heed_program_load(heed_program *program, const heed_load *from, const int indices[4]);

/* The same for a given step. */
int heed_program_step(heed_program *program, const heed_step *step);

/* heed_program_apply() computes one step other than a leaf or a load from values of kind @from
 * (that of the second one for a selection). It defines each step for every backend. */
heed_value heed_program_apply(heed_op op, heed_kind from, heed_value a, heed_value b, heed_value c);

/* expression.c: adds the steps of the expression @text of @problem, whose value is of @kind (int
 * becomes float); s is the value of step @score, or may not be used if that is -1. Returns the
 * number of the step; or -1, with the reason in @why and its position in @text in *@at. An empty
 * text is an error. heed_expression_check() only checks the expression, and accepts an empty
 * text. */
bool heed_expression_check(const heed_problem *problem, const char *text, heed_kind kind, char *why,
                           size_t size, size_t *at);

/* Removes the blanks of an expression, and fills the buffer after its end with zeros. */
void heed_expression_squeeze(char text[HEED_EXPRESSION_SIZE]);

int heed_expression_add(heed_program *program, const heed_problem *problem, const char *text,
                        heed_kind kind, int score, char *why, size_t size, size_t *at);

#endif /* HEED_PROGRAM_H */
