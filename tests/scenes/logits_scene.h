/*
 * logits_scene.h - problems whose operands and expressions change logits, and their expected
 * results
 *
 *     logits_begin(&scene, "b2 h4/2 s37/53 d24 f32 causal=tl", &feature);
 *     logits_define(&scene);
 *     logits_check_kernels(&scene, context);
 *     logits_end(&scene);
 *
 * All of these fail the test on errors.
 */
#ifndef LOGITS_SCENE_H
#define LOGITS_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heed.h"

/* A query, or a query and a key, with the data of a scene. */
typedef struct logits_pair {
    const struct logits_scene *scene;
    int64_t batch, head, query, key;
    int64_t position;
} logits_pair;

typedef double logits_score_fn(const logits_pair *at, double s);
typedef bool logits_visible_fn(const logits_pair *at);

/* Words of a spec, and the meaning of their expressions. */
typedef struct logits_feature {
    const char *words;
    logits_score_fn *score;
    logits_visible_fn *visible;
} logits_feature;

typedef struct logits_scene {
    heed_problem problem;
    const logits_feature *feature;
    heed_buffers buffers;
    double *o, *lse; /* by the definition */
    uint64_t seed;
} logits_scene;

/* logits_begin() makes random tensors and operands for a problem, @shape with the words of
 * @feature. logits_end() frees them. logits_make() returns zeroed memory. */
void logits_begin(logits_scene *s, const char *shape, const logits_feature *f);
void logits_end(logits_scene *s);
void *logits_make(size_t bytes);

/* logits_define() computes scene->o and scene->lse by the definition, in float64. */
void logits_define(logits_scene *s);

/* logits_run() fills O and LSE with @kernel; returns false if it cannot run here.
 * logits_check_kernels() runs every kernel that this machine supports, with configs that split keys
 * and that do not, and compares each result with the definition. */
bool logits_run(logits_scene *s, heed_context *context, const char *kernel);
void logits_check_kernels(logits_scene *s, heed_context *context);

/* logits_near() compares two numbers, infinities and NaN included. */
bool logits_near(double got, double wanted, double limit);

/* logits_queries() returns the number of queries of all heads; logits_pair_of() returns pair number
 * @n of them, with key 0. */
int64_t logits_queries(const heed_problem *p);
logits_pair logits_pair_of(const logits_scene *s, int64_t n);

/* logits_sees() returns whether the query of a pair sees its key; logits_truth_at() the value of a
 * mask. logits_q_row() and logits_k_row() are rows of Q and O, of K and V. */
bool logits_sees(const logits_scene *s, const logits_pair *at);
bool logits_truth_at(const logits_scene *s, const heed_operand *operand, const void *data,
                     const logits_pair *at);
int64_t logits_q_row(const heed_problem *p, const logits_pair *at);
int64_t logits_k_row(const heed_problem *p, const logits_pair *at);

/* logits_operand_count() returns the number of elements of an operand, dense;
 * logits_operand_index() the index for a pair. logits_float_type() is the type of its numbers. */
int64_t logits_operand_count(const heed_problem *p, const heed_operand *operand);
int64_t logits_operand_index(const heed_problem *p, const heed_operand *operand,
                             const logits_pair *at);
heed_type logits_float_type(heed_data type);

/* logits_floor_divide() rounds down, like the operator // of expressions. */
int64_t logits_floor_divide(int64_t a, int64_t b);

#endif /* LOGITS_SCENE_H */
