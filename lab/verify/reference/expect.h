/*
 * expect.h - the right answer on some rows of a problem, and how far a kernel may be off
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
 * that is the larger of the sum in their own order and its mean over all orders,
 *
 *     (d + 1) * (sum x_c^2 / 6 + (sum x_c)^2 / 3)
 *
 * n is the number of keys. Of heed's own kernels (lab_sampling) long sums are in parts: the naive
 * implementation makes them in parts of LAB_PART products, and n is the same sum of squares as
 * r_j^2, of the sum of more weights than that: in parts, and then of the parts. A kernel that adds
 * thousands of keys one after the other has larger errors where values are alike: a kernel of
 * somebody else's may. It may also make the LSE first and take exp(logit - LSE) for a weight, or
 * merge by LSEs, so that the rounding of the LSE is in all weights: the model has the term
 *
 *             + e^2 * LSE^2 |o|^2                              if |LSE| is at most 2^15
 *
 * Where logits are changed (logit.h), 1 + r_j^2 becomes the square of what the steps make of that
 * error, with errors of their own: softcap multiplies it by its derivative and adds 4 softcap, a
 * sum of t and a bias or a slope's term adds |t| + |bias|, steps of expressions add 1 to 4 times
 * their value (expression.h), all in float32 units. A sink is a key with the value 0.
 *
 * Weights are off in proportion to the error s_j of a logit t_j where that is a small part of 1.
 * Where it is not, each logit may be the highest one that is as near to the highest, t, as
 *
 *     t - t_j <= 4 (s^2 + s_j^2)^(1/2)                         if that is more than 1
 *
 * and may have all the weight, or any part of it. If there are two or more, the sink included, the
 * row is tied: as no mix of their values is farther off, the budget of O grows by the largest |v_j
 * - o| among them, in place of which e r_j counts as 1 in the model if it is more. That of the LSE
 * grows by the logarithm of their number, and by how much higher t_j + 4 s_j is than t + 4 s. Such
 * rows are rare, or else every row of some values is: other rows alone decide for these, and no
 * touch is looked for in a tied row (sample.h).
 *
 * Where it is in doubt which way a comparison, floor() or int() of an expression goes, each key j
 * concerned has weights from p_j - a_j to p_j + b_j, over all ways. With A and B their sums, the
 * budget of O becomes
 *
 *     (budget * (1 + B) + sum max(a_j, b_j) |v_j - o|) / (1 - A)
 *
 * as sum (p_j + d_j) (v_j - o) = sum d_j (v_j - o), and that of the LSE grows by the larger of
 * log(1 + B) and -log(1 - A). A row is left out where A is more than 0.9, more than three decisions
 * about one key are in doubt, or another outcome of one is not known: its budgets are infinite, its
 * LSE is NaN here, and left_out counts it.
 *
 * Numbers below the normal ones of float32 may as well be 0: a weight beside a much heavier sink,
 * and a product or a sum of products of small values. The model has the term (sum l_j)^2: l_j is
 * p_j |v_j| if p_j is such a number, else the norm of min(p_j |v_jc|, 2^-126) over the columns c
 * whose product is less than 2^-102.
 *
 * A row is weightless that sees keys, all of them with logits of -infinity: O = 0 and LSE =
 * -infinity are heed's convention, NaN comes of the formula. Of heed's own kernels the budgets are
 * 0 there. Of others' they are infinite, but each element of O must be 0 or NaN, and the LSE
 * -infinity or NaN: see lab_expect_misplaced().
 *
 * Where half-precision accumulation is permitted (acc=f16), the naive implementation rounds its
 * sums of both products to f16 after every B = LAB_HALF_BLOCK terms. In the model the x_c are then
 * the sums of B terms, d is their number, r_j^2 is multiplied by (h / e)^2, with h the unit
 * roundoff of f16, and the term of the float32 sums becomes
 *
 *             + h^2 * (m |o|^2 + |a|^2)                        m = n / B sums, rounded up
 *
 * A row may overflow if, in half precision, terms of one sum can add up to more than 65504: the
 * products q_c k_c that raise a logit, those that lower it if its key has any weight, or |v_j|
 * times exp(logit_j - highest logit). It is not judged, unless it is weightless: its budgets are
 * infinite.
 *
 * Where products of rounded operands are permitted (products.h), an operand that is rounded to
 * nearest is off by up to w of itself. For TF32 w is 2^-11; for two bfloat16 it is 2^-16, as the
 * first one leaves 2^-8 of the operand and the second one 2^-8 of that. A product then has g errors
 * of up to w: one of either operand, and for two bfloat16 a third one, the product of the low parts
 * that is left out, which is up to 2^-8 times 2^-8 of the whole. Errors of a sum are independent
 * where operands differ, and in common where they are alike. The model has both:
 *
 *             + w^2 * (g sum p_j^2 |v_j|^2 + |o|^2)            outputs
 *             + (w / e)^2 * (g sum x_c^2 + (sum x_c)^2)        logits: in r_j^2
 *
 * The error d_c of an element q_c of the query, as a part of it, is in all logits of its row, which
 * moves O by
 *
 *             sum_c d_c q_c sum_j p_j scale k_jc (v_j - o)
 *
 * The model has the square of that with all d_c = w, as where elements of the query are alike, and
 * its mean over independent d_c, of which a few draws of the signs are taken (common.h).
 *
 * An operand of TF32 that is cut off loses 0 to 2 w of itself: w, and an error as before. The sum
 * of products loses up to 2 w by either side (Q and K, or weights and V) in common. A kernel may
 * round one of the two at another place than the naive implementation does, Q with the scale in it
 * say, or weights beside another maximum. 2 * 1.5 times w |sum x_c| has room for that one. The
 * other one is rounded alike in both, and so in naive, which is the larger of the errors with
 * operands rounded to nearest and cut off.
 *
 * Budgets are small beside |o| on every other row, so that no kernel passes that computes something
 * else. The LSE is judged likewise, in float32 throughout.
 *
 * The 1.5 is for the sake of honest kernels. On four million rows of the hardest kind, of 2 to 30
 * keys and 1 to 16 dims, the largest error of any kernel was 0.69 of what is allowed, and a tenth
 * of the rows that reach one ratio reach a ratio 0.15 higher. Kernels that round operands of
 * products reached 0.56 on nine million such rows.
 */
#ifndef LAB_EXPECT_H
#define LAB_EXPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "heed.h"
#include "lab/verify/reference/reference.h"

/* Beyond this the rounding of an LSE leaves too little of a weight that is made of it. */
#define LAB_LSE_FAR 0x1p15

/* Which rows to look at: all, if that is little enough work, else a sample. */
typedef struct lab_sampling {
    uint64_t seed; /* chooses the rows of a sample */
    int64_t work;  /* key and value elements to read, about; a few rows are taken in any case */
    int threads;   /* 1 or more */
    int64_t least; /* rows to look at in any case; 0: a few. A single one is a random one */
    int64_t also;  /* a row to look at too, counted from 1; 0: none */
    bool own;      /* a kernel of heed is judged, which promises what heed.h says */
} lab_sampling;

typedef struct lab_expect {
    int64_t dim;        /* dim_v of the problem */
    int64_t count;      /* rows looked at, */
    int64_t left_out;   /* of which so many are not judged, as an expression is in doubt there */
    int64_t *rows;      /* which: ascending, each once */
    double *o;          /* [count][dim] */
    double *lse;        /* [count] */
    double *o_budget;   /* [count]: largest norm of a row's error; of its finite elements alone.
                         * INFINITY: not judged, or weightless */
    double *lse_budget; /* [count] */
    bool *tied;         /* [count]: rounding decides which key is the heaviest */
} lab_expect;

/* lab_expect_create() computes what to expect of @problem, normalized, on the q, k and v of @data.
 * Returns HEED_OK or HEED_ERR_NO_MEMORY, with *@result NULL. */
heed_status lab_expect_create(lab_expect **result, const heed_problem *problem,
                              const heed_buffers *data, const lab_sampling *sampling);

/* lab_expect_weightless() says whether row @i of @expect is weightless, and not held to what heed
 * promises of such rows. */
bool lab_expect_weightless(const lab_expect *expect, int64_t i);

/* lab_expect_misplaced() returns the first column of @o, the output of row @i of @expect, that is
 * finite and should not be, or the other way round; -1 for the LSE, which is not looked at if @lse
 * is NULL; expect->dim for none, and for a row that is not judged. In a weightless row that is a
 * column that is neither 0 nor NaN, and an LSE that is neither -infinity nor NaN. The sign of an
 * infinity in O is not judged elsewhere: it may as well have become a NaN. */
int64_t lab_expect_misplaced(const lab_expect *expect, int64_t i, const double *o,
                             const float *lse);

/* lab_row_norm() returns the norm of a row, lab_row_distance() that of the difference of two over
 * the columns that are finite in @b. */
double lab_row_norm(const double *a, int64_t dim);
double lab_row_distance(const double *a, const double *b, int64_t dim);

/* lab_expect_destroy() frees @expect; NULL is ignored. */
void lab_expect_destroy(lab_expect *expect);

/* lab_half_overflows() says whether a kernel that accumulates both matrix products of @problem in
 * half precision may overflow on @row: terms of one sum can add up to more than 65504. @weights is
 * the softmax, as lab_reference_row() writes it. */
bool lab_half_overflows(const heed_problem *problem, const heed_buffers *data, lab_row row,
                        const double *weights);

#endif /* LAB_EXPECT_H */
