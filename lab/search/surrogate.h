/*
 * surrogate.h - predicted scores of untried points: a Gaussian process
 *
 * The correlation of two points is, where d_j is the distance between their values of knob j in the
 * order of the space's file, as a share of all steps,
 *
 *     (1 - a) prod_j exp(-d_j / l_j) + a mean_j exp(-d_j / l_j)
 *
 * The product models similarity in all knobs together; the mean models separate effects of each
 * knob, which can be learned from few samples. The exponential, rather than a smoother kernel,
 * allows cliffs, such as the onset of register spills. a, the lengths l_j and the share of noise
 * are chosen from a few values each by maximum likelihood.
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

/* Maximum number of samples. */
#define LAB_SURROGATE_SAMPLES 256

/* lab_surrogate_create() returns a surrogate for the points of @space, which must outlive it; NULL
 * if there is no memory. */
lab_surrogate *lab_surrogate_create(const lab_space *space);
void lab_surrogate_destroy(lab_surrogate *surrogate);

/* lab_surrogate_fit() fits @count samples, 1 to LAB_SURROGATE_SAMPLES: values[i], finite, at
 * points[i]. It chooses its parameters again when there are an eighth more samples than last time.
 */
void lab_surrogate_fit(lab_surrogate *surrogate, const lab_point *points, const double *values,
                       size_t count);

/* lab_surrogate_predict() writes the expected value at @point, and its standard deviation without
 * noise. */
void lab_surrogate_predict(const lab_surrogate *surrogate, const lab_point *point, double *mean,
                           double *deviation);

/* lab_surrogate_likeness() returns the correlation of two points, 0 to 1. */
double lab_surrogate_likeness(const lab_surrogate *surrogate, const lab_point *a,
                              const lab_point *b);

/* lab_expected_improvement() returns the mean of max(@best - value, 0) for a normally distributed
 * value. */
double lab_expected_improvement(double mean, double deviation, double best);

#endif /* LAB_SURROGATE_H */
