/*
 * surrogate.h - predicted scores of untried points: a Gaussian process
 *
 * The correlation of two points is, with d_j how far apart their values of knob j are in the order
 * of the space's file, as a share of all its steps,
 *
 *     (1 - a) prod_j exp(-d_j / l_j) + a mean_j exp(-d_j / l_j)
 *
 * The product says that points alike in everything are alike; the mean that each knob has an effect
 * of its own, which few samples teach much sooner. The exponential, rather than something smoother,
 * lets there be cliffs, as where registers begin to spill. a, the lengths l_j and the share of
 * noise are those, of a few values each, that make what was seen most likely.
 *
 * Sources: C. E. Rasmussen and C. K. I. Williams, "Gaussian processes for machine learning" (2006);
 * D. R. Jones, M. Schonlau and W. J. Welch, "Efficient global optimization of expensive black-box
 * functions" (1998), for expected improvement.
 */
#ifndef LAB_SURROGATE_H
#define LAB_SURROGATE_H

#include <stddef.h>

#include "lab/search/space.h"

typedef struct lab_surrogate lab_surrogate;

/* More samples than that cannot be fitted. */
#define LAB_SURROGATE_SAMPLES 256

/* lab_surrogate_create() returns one for the points of @space, which must outlive it; NULL if there
 * is no memory. */
lab_surrogate *lab_surrogate_create(const lab_space *space);
void lab_surrogate_destroy(lab_surrogate *surrogate);

/* lab_surrogate_fit() takes @count samples, 1 to LAB_SURROGATE_SAMPLES, over: values[i], finite, at
 * points[i]. It chooses its parameters anew when there are an eighth more than when it did so last.
 */
void lab_surrogate_fit(lab_surrogate *surrogate, const lab_point *points, const double *values,
                       size_t count);

/* lab_surrogate_predict() writes what the value at @point is expected to be, and its standard
 * deviation without noise. */
void lab_surrogate_predict(const lab_surrogate *surrogate, const lab_point *point, double *mean,
                           double *deviation);

/* lab_surrogate_likeness() returns the correlation of two points, 0 to 1. */
double lab_surrogate_likeness(const lab_surrogate *surrogate, const lab_point *a,
                              const lab_point *b);

/* lab_expected_improvement() returns by how much a normal value is below @best in the mean, where
 * not being below it counts as 0. */
double lab_expected_improvement(double mean, double deviation, double best);

#endif /* LAB_SURROGATE_H */
