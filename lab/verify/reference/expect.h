/*
 * expect.h - the correct result for some rows of a problem, and the error allowed to a kernel
 *
 * An output row may differ from the float64 reference by
 *
 *     |o - reference| <= 2 * max(naive, model) + unit * |reference|         (2-norms over the row)
 *
 * naive is the error of lab_naive_row() on the same row; unit the unit roundoff of the element
 * type. Where naive is lucky - a row of few keys or few dims can come out exact - the model takes
 * its place: 1.5 times the standard error of a computation that rounds every quantity once where
 * the naive implementation must,
 *
 *     (model / 1.5)^2 =
 *               unit^2 * (|o|^2 + sum p_j^2 |v_j|^2)           outputs; weights
 *             + e^2 * (n |o|^2 + |a|^2)                        float32 sums, a = sum p_j |v_j|
 *             + e^2 * sum p_j^2 (1 + r_j^2) |v_j - o|^2        exponentials; logits
 *
 * with e the unit roundoff of float32, p the softmax, and r_j^2 the sum of the squares of the
 * partial sums of logit j, each of which is rounded. As kernels add the d terms x_c in any order,
 * that is the larger of the sum in their natural order and its mean over all orders,
 *
 *     (d + 1) * (sum x_c^2 / 6 + (sum x_c)^2 / 3)
 *
 * n is the number of keys. heed's own kernels (lab_sampling) compute long sums in parts. For them
 * the naive implementation uses parts of LAB_PART products, and n becomes, for more weights than
 * that, the same sum of squares as r_j^2: of the sums in parts, and then of the sum of the parts. A
 * kernel that adds thousands of keys one after another has larger errors where values are alike;
 * this is allowed to other kernels. They may also compute the LSE first and take exp(logit - LSE)
 * as a weight, or merge by LSEs, so that the rounding of the LSE is in all weights: the model has
 * the term
 *
 *             + e^2 * LSE^2 |o|^2                              if |LSE| is at most 2^15
 *
 * Where logits are changed (logit.h), the steps propagate that error and add their own, and 1 +
 * r_j^2 becomes the square of the result: softcap multiplies it by its derivative and adds 4
 * softcap, a sum of t and a bias or a slope's term adds |t| + |bias|, steps of expressions add 1 to
 * 4 times their value (expression.h), all in float32 units. A sink is a key with the value 0.
 *
 * The error of a weight is proportional to the error s_j of its logit t_j while s_j is much smaller
 * than 1. Otherwise any logit may be the highest that is as close to the highest, t, as
 *
 *     t - t_j <= 4 (s^2 + s_j^2)^(1/2)                         if that is more than 1
 *
 * and may have all the weight, or any part of it. If there are two or more, the sink included, the
 * row is tied. The budget of O grows by the largest |v_j - o| among them, as no mix of their values
 * is farther off; in return e r_j counts as at most 1 in the model. The budget of the LSE grows by
 * the logarithm of their number, and by the excess of t_j + 4 s_j over t + 4 s. Tied rows are rare,
 * but with some values every row is tied, and passing proves nothing then. A touch is never checked
 * in a tied row (sample.h).
 *
 * Where the result of a comparison, floor() or int() of an expression is in doubt, each key j
 * concerned has weights from p_j - a_j to p_j + b_j, over all possible results. With A and B their
 * sums, the budget of O becomes
 *
 *     (budget * (1 + B) + sum max(a_j, b_j) |v_j - o|) / (1 - A)
 *
 * as sum (p_j + d_j) (v_j - o) = sum d_j (v_j - o), and that of the LSE grows by the larger of
 * log(1 + B) and -log(1 - A). A row is left out where A is more than 0.9, more than three decisions
 * about one key are in doubt, or another outcome of one is not known: its budgets are infinite, its
 * LSE is NaN here, and left_out counts it.
 *
 * Numbers that are subnormal in float32 may be flushed to 0: a weight beside a much heavier sink,
 * and a product or a sum of products of small values. The model has the term (sum l_j)^2: l_j is
 * p_j |v_j| if p_j is such a number, else the norm of min(p_j |v_jc|, 2^-126) over the columns c
 * whose product is less than 2^-102.
 *
 * A row is weightless if it sees keys and all their logits are -infinity: O = 0 and LSE = -infinity
 * are heed's convention; the formula gives NaN. For heed's own kernels the budgets are 0 there. For
 * others they are infinite, but each element of O must be 0 or NaN, and the LSE -infinity or NaN:
 * see lab_expect_misplaced().
 *
 * Where half-precision accumulation is permitted (acc=f16), the naive implementation rounds its
 * sums of both products to f16 after every B = LAB_HALF_BLOCK terms. In the model the x_c are then
 * the sums of B terms, d is the number of these sums, r_j^2 is multiplied by (h / e)^2, with h the
 * unit roundoff of f16, and the term of the float32 sums becomes
 *
 *             + h^2 * (m |o|^2 + |a|^2)                        m = n / B sums, rounded up
 *
 * A row may overflow if, in half precision, terms of one sum can add up to more than 65504: the
 * products q_c k_c that raise a logit, those that lower it if its key has any weight, or |v_j|
 * times exp(logit_j - highest logit). It is not judged, unless it is weightless: its budgets are
 * infinite.
 *
 * Where products of rounded operands are permitted (products.h), an operand that is rounded to
 * nearest has a relative error of up to w. For TF32 w is 2^-11; for two bfloat16 it is 2^-16, as
 * the first one leaves 2^-8 of the operand and the second one 2^-8 of that. A product then has g
 * errors of up to w: one from each operand, and for two bfloat16 a third from the omitted product
 * of the low parts, which is up to 2^-8 times 2^-8 of the whole. Errors of a sum are independent
 * where operands differ, and common where they are alike. The model has both:
 *
 *             + w^2 * (g sum p_j^2 |v_j|^2 + |o|^2)            outputs
 *             + (w / e)^2 * (g sum x_c^2 + (sum x_c)^2)        logits: in r_j^2
 *
 * The relative error d_c of an element q_c of the query is in all logits of its row, which moves O
 * by
 *
 *             sum_c d_c q_c sum_j p_j scale k_jc (v_j - o)
 *
 * The model has the square of that with all d_c = w, as if all elements of the query were alike,
 * and its mean over independent d_c, estimated from a few draws of the signs (model.c).
 *
 * A TF32 operand that is truncated loses between 0 and 2 w of itself: w on average, and an error as
 * before. The sum of products loses up to 2 w from each side (Q and K, or weights and V) in common.
 * A kernel may round one side at another place than the naive implementation does: Q after the
 * scale, say, or weights relative to another maximum. 2 * 1.5 times w |sum x_c| has room for that
 * side. The other side is rounded in the same way by both, so its error is in naive, which is the
 * larger of the errors with operands rounded to nearest and truncated.
 *
 * On all other rows budgets are small relative to |o|, so no kernel passes that computes something
 * else. The LSE is judged likewise, in float32 throughout.
 *
 * The factor 1.5 protects correct kernels. On four million rows of the hardest kind, of 2 to 30
 * keys and 1 to 16 dims, the largest error of any kernel was 0.69 of the allowed one, and a tenth
 * of the rows that reach a ratio also reach one that is 0.15 higher. Kernels that round operands of
 * products reached 0.56 on nine million such rows.
 */
#ifndef LAB_EXPECT_H
#define LAB_EXPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"
#include "lab/verify/reference/reference.h"

/* Beyond this the rounding of an LSE makes weights computed from it too inaccurate. */
#define LAB_LSE_FAR 0x1p15

/* Which rows to judge: all, if that is little work, else a sample. */
typedef struct lab_sampling {
    uint64_t seed; /* chooses the rows of a sample */
    int64_t work;  /* approximate number of key and value elements to read; a few rows are always
                    * taken */
    int threads;   /* 1 or more */
    int64_t least; /* minimum number of rows; 0: a few. A single one is random */
    int64_t also;  /* an extra row, counted from 1; 0: none */
    bool own;      /* the kernel is heed's, and must keep the promises of heed.h */
} lab_sampling;

typedef struct lab_expect {
    int64_t dim;        /* dim_v of the problem */
    int64_t count;      /* judged rows, */
    int64_t left_out;   /* minus this many, where an expression is in doubt */
    int64_t *rows;      /* the rows: ascending, each once */
    double *o;          /* [count][dim] */
    double *lse;        /* [count] */
    double *o_budget;   /* [count]: largest norm of the error of a row's finite elements. INFINITY:
                         * not judged, or weightless */
    double *lse_budget; /* [count] */
    bool *tied;         /* [count]: rounding decides which key has the largest weight */
} lab_expect;

/* lab_expect_create() computes the expected results of @problem, normalized, for the q, k and v of
 * @data. Returns HEED_OK or HEED_ERR_NO_MEMORY, with *@result NULL. */
heed_status lab_expect_create(lab_expect **result, const heed_problem *problem,
                              const heed_buffers *data, const lab_sampling *sampling);

/* lab_expect_weightless() returns true if row @i of @expect is weightless, and heed's promise for
 * such rows does not apply. */
bool lab_expect_weightless(const lab_expect *expect, int64_t i);

/* lab_expect_undefined() returns true if the LSE of row @i of @expect is NaN or +infinity: then its
 * results are not numbers, and two of them cannot be compared. */
bool lab_expect_undefined(const lab_expect *expect, int64_t i);

/* lab_expect_misplaced() returns the first column of @o, the output of row @i of @expect, that is
 * finite and should not be, or vice versa; -1 for the LSE, which is not checked if @lse is NULL;
 * expect->dim for none, and for a row that is not judged. In a weightless row it returns a column
 * that is neither 0 nor NaN, or -1 for an LSE that is neither -infinity nor NaN. In other rows the
 * sign of an infinity in O is not judged: it may equally have become a NaN. */
int64_t lab_expect_misplaced(const lab_expect *expect, int64_t i, const double *o,
                             const float *lse);

/* lab_row_norm() returns the norm of a row, lab_row_distance() that of the difference of two over
 * the columns that are finite in @b. */
double lab_row_norm(const double *a, int64_t dim);
double lab_row_distance(const double *a, const double *b, int64_t dim);

/* lab_expect_blank() returns one with room for @count rows, which has none yet; NULL if out
 * of memory. lab_expect_destroy() frees @expect; NULL is ignored. */
lab_expect *lab_expect_blank(int64_t count, int64_t dim);
void lab_expect_destroy(lab_expect *expect);

#endif /* LAB_EXPECT_H */
