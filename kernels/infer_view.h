/* The one curve of a run that says most about its caches. Pure. Window: no. */
#ifndef KERNELS_INFER_VIEW_H
#define KERNELS_INFER_VIEW_H

#include "kernels/infer_fit.h"
#include "kernels/result.h"

struct view_curve {
    size_t points;
    double set[CURVE_SIZES]; /* bytes, not falling */
    double ns[CURVE_SIZES];
    double cycles[CURVE_SIZES];  /* NAN: not counted */
    double l3_miss[CURVE_SIZES]; /* per load, NAN: not counted */
    bool small_pages;            /* TLBs have their part in it */
    bool emulated;               /* the time means nothing */
};

/* Gathers the curve from the points of the chase: random order, on large pages in order where that
 * curve has enough points, for neither TLBs nor placement has a part in it then. No points: none. */
void choose_view(const struct point *chase, size_t n, struct view_curve *curve);
/* Adds a point, in order of size; those without a set or a finite time above 0 are left out. */
void view_add(struct view_curve *curve, uint64_t set, double ns, double cycles, double l3_miss);

#endif
