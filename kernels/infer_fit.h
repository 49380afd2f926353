/* A latency curve as the sum of what each level adds: base + sum of amount x miss_share.
 *
 * Every level beyond the first adds its extra latency to the loads that the one before misses, so the
 * curve of a chase is such a sum whatever the machine, with one rise for each cache, and others for
 * TLBs. The sum is fitted by weighted least squares with no rise negative; how many rises there are is
 * what the Bayesian information criterion says (Schwarz, Estimating the Dimension of a Model, 1978):
 * one more must explain more than chance would. Pure but for a work space of its own, so that one
 * caller at a time may use it. Window: no. */
#ifndef KERNELS_INFER_FIT_H
#define KERNELS_INFER_FIT_H

#include "kernels/curve.h"
#include "kernels/infer_shape.h"

enum { FIT_RISES = 7 };

struct fit_data {
    size_t points;
    double set[CURVE_SIZES];    /* bytes, not falling */
    double value[CURVE_SIZES];  /* ns or cycles, above 0 */
    double weight[CURVE_SIZES]; /* set by fit_staircase */
};

struct rise {
    double size;   /* bytes: of the cache that begins to miss */
    double amount; /* what a miss costs more than a hit */
    enum miss_shape shape;
};

struct staircase {
    double base; /* of a set that fits everywhere */
    size_t rises;
    struct rise rise[FIT_RISES]; /* by size */
};

/* What the staircase says of a set of so many bytes. */
double staircase_at(const struct staircase *stairs, double set);

/* Fits `stairs` to the points; at least four are needed for a rise. Single points that stand out
 * (a neighbour's interference) and values that were rounded to whole numbers are allowed for. */
void fit_staircase(struct fit_data *data, struct staircase *stairs);

#endif
