#include "kernels/infer_view.h"

#include <math.h>
#include <string.h>

static bool is_candidate(const struct point *point)
{
    const struct variant *variant = &point->variant;
    return variant_has(variant, V_WORKING_SET) && variant_has(variant, V_ORDER) &&
           strcmp(variant->value[V_ORDER].text, "random") == 0 && isfinite(point->ns.median);
}

static bool same_view(const struct variant *a, const struct variant *b)
{
    struct variant other = *b;
    variant_set_number(&other, V_WORKING_SET, a->value[V_WORKING_SET].number);
    return variant_equal(a, &other);
}

static bool has_large_pages(const struct point *point)
{
    const struct variant *variant = &point->variant;
    return variant_has(variant, V_PAGE_SIZE) && variant->value[V_PAGE_SIZE].number > PAGE_4K;
}

/* How well a view serves: its points, those on large pages counting 4/3 of the others. */
static size_t worth(const struct point *of, const struct point *chase, size_t n)
{
    size_t points = 0;
    for (size_t i = 0; i < n; i++) {
        points += is_candidate(&chase[i]) && same_view(&of->variant, &chase[i].variant);
    }
    return points * (has_large_pages(of) ? 4 : 3);
}

/* A point of the view that serves best, the first of equals; NULL if none serves. */
static const struct point *best_view(const struct point *chase, size_t n)
{
    const struct point *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t own = is_candidate(&chase[i]) ? worth(&chase[i], chase, n) : 0;
        if (own > most) {
            most = own;
            best = &chase[i];
        }
    }
    return best;
}

void view_add(struct view_curve *curve, uint64_t set, double ns, double cycles, double l3_miss)
{
    size_t i = curve->points;
    if (set == 0 || !isfinite(ns) || ns <= 0 || curve->points == CURVE_SIZES) {
        return;
    }
    for (; i > 0 && curve->set[i - 1] > (double)set; i--) {
        curve->set[i] = curve->set[i - 1];
        curve->ns[i] = curve->ns[i - 1];
        curve->cycles[i] = curve->cycles[i - 1];
        curve->l3_miss[i] = curve->l3_miss[i - 1];
    }
    curve->set[i] = (double)set;
    curve->ns[i] = ns;
    curve->cycles[i] = cycles;
    curve->l3_miss[i] = l3_miss;
    curve->points++;
}

void choose_view(const struct point *chase, size_t n, struct view_curve *curve)
{
    const struct point *view = best_view(chase, n);
    *curve = (struct view_curve){ .points = 0 };
    if (view == NULL) {
        return;
    }
    curve->small_pages = !has_large_pages(view);
    for (size_t i = 0; i < n; i++) {
        const struct point *point = &chase[i];
        if (!is_candidate(point) || !same_view(&view->variant, &point->variant)) {
            continue;
        }
        curve->small_pages = curve->small_pages || (point->flags >> FLAG_SMASHED & 1) != 0;
        curve->emulated = curve->emulated || (point->flags >> FLAG_EMULATED & 1) != 0;
        view_add(curve, point->variant.value[V_WORKING_SET].number, point->ns.median,
                 point->cycles.samples > 0 ? point->cycles.median : NAN, point->counter[C_L3_MISS]);
    }
}
