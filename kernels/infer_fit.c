#include "kernels/infer_fit.h"

#include "kernels/statistics.h"

#include <math.h>
#include <string.h>

#define STEP          1.0905 /* between two sizes that are tried: an eighth of an octave */
#define REACH         1.415  /* how far a rise is moved at a time: four such steps */
#define SWEEPS        20
#define KNOWN_TO      0.025 /* no shape is closer to a real cache than that */
#define ROUNDING      0.29  /* standard deviation of what rounding to whole numbers does */
#define SPIKE         1.25  /* times a later value: a larger set cannot be that much faster */
#define SPIKE_WEIGHT  1e-4
#define SPIKE_LOOKS   3   /* so many points ahead */
#define NOISY         1.1 /* times KNOWN_TO: noise hides what distinguishes the shapes */
#define PER_RISE      4.0 /* what a rise costs: size, amount, and the choice among shapes... */
#define PER_PLAIN     3.5 /* ...and among two */
#define DEGENERATE    1e-6
#define ALL_SHAPES    ((1u << MISS_SHAPES) - 1)
#define PLAIN_SHAPES  (1u << MISS_CLIFF | 1u << MISS_SHARE)
#define MEDIAN_TO_DEV 1.48 /* of a normal distribution */

/* One way to look for a staircase. */
struct search {
    const struct fit_data *data;
    unsigned shapes; /* that may be used: bit i */
    double per_rise;
};

double staircase_at(const struct staircase *stairs, double set)
{
    double value = stairs->base;
    for (size_t i = 0; i < stairs->rises; i++) {
        const struct rise *rise = &stairs->rise[i];
        value += rise->amount * miss_share(rise->shape, set / rise->size);
    }
    return value;
}

/* --- Amounts -------------------------------------------------------------------------------- */

enum { UNKNOWNS = FIT_RISES + 1 }; /* the base and the amounts */

struct equations {
    size_t count;
    double left[UNKNOWNS][UNKNOWNS], right[UNKNOWNS];
    double least[UNKNOWNS]; /* a pivot that is no larger has lost all its digits */
};

static double regressor(const struct staircase *stairs, size_t unknown, double set)
{
    if (unknown == 0) {
        return 1;
    }
    const struct rise *rise = &stairs->rise[unknown - 1];
    return miss_share(rise->shape, set / rise->size);
}

static void add_point(struct equations *normal, const double row[UNKNOWNS], double weight,
                      double value)
{
    for (size_t j = 0; j < normal->count; j++) {
        for (size_t k = 0; k < normal->count; k++) {
            normal->left[j][k] += weight * row[j] * row[k];
        }
        normal->right[j] += weight * row[j] * value;
    }
}

/* Normal equations; unknowns that are left out get a row of zeros. */
static void set_up(const struct fit_data *data, const struct staircase *stairs,
                   const bool *left_out, struct equations *normal)
{
    *normal = (struct equations){ .count = stairs->rises + 1 };
    for (size_t i = 0; i < data->points; i++) {
        double row[UNKNOWNS] = { 0 };
        for (size_t j = 0; j < normal->count; j++) {
            row[j] = left_out[j] ? 0 : regressor(stairs, j, data->set[i]);
        }
        add_point(normal, row, data->weight[i], data->value[i]);
    }
}

/* Makes the matrix triangular: it is symmetric and not negative, so no pivot is searched for. The row
 * of an unknown that is left out, or that the ones before determine, becomes zero. */
static void eliminate(struct equations *normal)
{
    for (size_t i = 0; i < normal->count; i++) {
        const double *pivot = normal->left[i];
        if (pivot[i] <= normal->least[i]) {
            memset(normal->left[i], 0, sizeof normal->left[i]);
            continue;
        }
        for (size_t j = i + 1; j < normal->count; j++) {
            const double factor = normal->left[j][i] / pivot[i];
            for (size_t k = i; k < normal->count; k++) {
                normal->left[j][k] -= factor * pivot[k];
            }
            normal->right[j] -= factor * normal->right[i];
        }
    }
}

/* Solves; unknowns without a row are 0. */
static void solve(struct equations *normal, double solution[UNKNOWNS])
{
    for (size_t i = 0; i < normal->count; i++) {
        normal->least[i] = DEGENERATE * normal->left[i][i];
    }
    eliminate(normal);
    for (size_t i = normal->count; i-- > 0;) {
        double rest = normal->right[i];
        for (size_t k = i + 1; k < normal->count; k++) {
            rest -= normal->left[i][k] * solution[k];
        }
        solution[i] = normal->left[i][i] > 0 ? rest / normal->left[i][i] : 0;
    }
}

/* The unknown that is farthest below 0; `count` if none is. */
static size_t most_negative(const double *solution, size_t count)
{
    size_t worst = count;
    for (size_t i = 0; i < count; i++) {
        if (solution[i] < 0 && (worst == count || solution[i] < solution[worst])) {
            worst = i;
        }
    }
    return worst;
}

/* Sets base and amounts, none below 0: the most negative is left out until none is. */
static void set_amounts(const struct fit_data *data, struct staircase *stairs)
{
    const size_t count = stairs->rises + 1;
    bool left_out[UNKNOWNS + 1] = { false };
    double solution[UNKNOWNS] = { 0 };
    for (size_t worst = 0; worst < count; left_out[worst] = true) {
        struct equations normal;
        set_up(data, stairs, left_out, &normal);
        solve(&normal, solution);
        worst = most_negative(solution, count);
    }
    stairs->base = solution[0];
    for (size_t i = 0; i < stairs->rises; i++) {
        stairs->rise[i].amount = solution[i + 1];
    }
}

/* Weighted sum of squares. */
static double misfit(const struct fit_data *data, const struct staircase *stairs)
{
    double sum = 0;
    for (size_t i = 0; i < data->points; i++) {
        const double error = data->value[i] - staircase_at(stairs, data->set[i]);
        sum += data->weight[i] * error * error;
    }
    return sum;
}

/* Bayesian information criterion, less is better. Deviations below KNOWN_TO say nothing: the 1. */
static double cost(const struct search *search, const struct staircase *stairs)
{
    const double n = (double)search->data->points;
    return n * log(misfit(search->data, stairs) / n + 1) +
           search->per_rise * (double)stairs->rises * log(n);
}

/* --- Places --------------------------------------------------------------------------------- */

/* What the rises there are can explain, as vectors at right angles (too large for a firmware's
 * stack), and what is left of the values. */
static struct {
    size_t vectors;
    double vector[UNKNOWNS][CURVE_SIZES];
    double root[CURVE_SIZES]; /* of the weights */
    double rest[CURVE_SIZES];
} space;

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void take_out(double *from, const double *vector, size_t n)
{
    const double part = dot(from, vector, n);
    for (size_t i = 0; i < n; i++) {
        from[i] -= part * vector[i];
    }
}

/* Gram-Schmidt over base and rises. */
static void span_space(const struct fit_data *data, const struct staircase *stairs)
{
    const size_t n = data->points;
    space.vectors = 0;
    for (size_t i = 0; i < n; i++) {
        space.root[i] = sqrt(data->weight[i]);
        space.rest[i] = space.root[i] * data->value[i];
    }
    for (size_t j = 0; j <= stairs->rises; j++) {
        double *vector = space.vector[space.vectors];
        for (size_t i = 0; i < n; i++) {
            vector[i] = space.root[i] * regressor(stairs, j, data->set[i]);
        }
        const double before = dot(vector, vector, n);
        for (size_t k = 0; k < space.vectors; k++) {
            take_out(vector, space.vector[k], n);
        }
        const double after = dot(vector, vector, n);
        if (after > DEGENERATE * before) {
            for (size_t i = 0; i < n; i++) {
                vector[i] /= sqrt(after);
            }
            take_out(space.rest, vector, n);
            space.vectors++;
        }
    }
}

/* By how much the misfit falls if such a rise is added and all amounts are chosen anew. */
static double gain(const struct fit_data *data, const struct rise *rise)
{
    double with_rest = 0, own = 0, along[UNKNOWNS] = { 0 };
    for (size_t i = 0; i < data->points; i++) {
        const double x = space.root[i] * miss_share(rise->shape, data->set[i] / rise->size);
        with_rest += x * space.rest[i];
        own += x * x;
        for (size_t j = 0; x > 0 && j < space.vectors; j++) {
            along[j] += x * space.vector[j][i];
        }
    }
    const double across = own - dot(along, along, space.vectors);
    return with_rest > 0 && across > DEGENERATE * own ? with_rest * with_rest / across : 0;
}

/* The rise between two sizes that explains most of what `stairs` leaves; false if none does. */
static bool best_rise(const struct search *search, const struct staircase *stairs, double from,
                      double to, struct rise *best)
{
    double most = 0, size = from;
    span_space(search->data, stairs);
    while (size <= to) {
        for (unsigned shape = 0; shape < MISS_SHAPES; shape++) {
            const struct rise rise = { size, 0, (enum miss_shape)shape };
            const double gained =
                (search->shapes >> shape & 1) != 0 ? gain(search->data, &rise) : 0;
            if (gained > most) {
                most = gained;
                *best = rise;
            }
        }
        size *= STEP;
    }
    return most > 0;
}

static double smallest(const struct search *search)
{
    return search->data->set[0];
}

/* Beyond the last point nothing could be seen of a rise. */
static double largest(const struct search *search)
{
    return search->data->set[search->data->points - 1] / STEP;
}

static struct staircase without(const struct staircase *stairs, size_t rise)
{
    struct staircase fewer = *stairs;
    fewer.rises--;
    memmove(&fewer.rise[rise], &fewer.rise[rise + 1], (fewer.rises - rise) * sizeof *fewer.rise);
    return fewer;
}

/* A rise's neighbourhood is searched for a better place and shape; true if there is one. */
static bool move_rise(const struct search *search, struct staircase *stairs, size_t i)
{
    const struct staircase others = without(stairs, i);
    struct staircase moved = *stairs;
    if (!best_rise(search, &others, fmax(smallest(search), stairs->rise[i].size / REACH),
                   fmin(largest(search), stairs->rise[i].size * REACH), &moved.rise[i])) {
        return false;
    }
    set_amounts(search->data, &moved);
    if (misfit(search->data, &moved) >= misfit(search->data, stairs) * (1 - DEGENERATE)) {
        return false;
    }
    *stairs = moved;
    return true;
}

static void drop_nothings(struct staircase *stairs)
{
    for (size_t i = stairs->rises; i-- > 0;) {
        if (stairs->rise[i].amount <= 0) {
            *stairs = without(stairs, i);
        }
    }
}

/* Amounts, places and shapes of as many rises as there are. */
static void settle(const struct search *search, struct staircase *stairs)
{
    bool moved = true;
    set_amounts(search->data, stairs);
    for (int sweep = 0; moved && sweep < SWEEPS; sweep++) {
        moved = false;
        for (size_t i = 0; i < stairs->rises; i++) {
            moved = move_rise(search, stairs, i) || moved;
        }
    }
    drop_nothings(stairs);
}

/* --- How many ------------------------------------------------------------------------------- */

static bool keep_better(const struct search *search, const struct staircase *tried,
                        struct staircase *best)
{
    if (cost(search, tried) >= cost(search, best) - DEGENERATE) {
        return false;
    }
    *best = *tried;
    return true;
}

/* Rises are added while the last two were not both in vain: two together may explain what one
 * cannot. */
static void add_rises(const struct search *search, struct staircase *best)
{
    struct staircase stairs = *best;
    for (int in_vain = 0; in_vain < 2 && stairs.rises < FIT_RISES;) {
        if (!best_rise(search, &stairs, smallest(search), largest(search),
                       &stairs.rise[stairs.rises])) {
            return;
        }
        stairs.rises++;
        settle(search, &stairs);
        in_vain = keep_better(search, &stairs, best) ? 0 : in_vain + 1;
    }
}

static void sort_rises(struct staircase *stairs)
{
    for (size_t i = 1; i < stairs->rises; i++) {
        const struct rise rise = stairs->rise[i];
        size_t j = i;
        for (; j > 0 && stairs->rise[j - 1].size > rise.size; j--) {
            stairs->rise[j] = stairs->rise[j - 1];
        }
        stairs->rise[j] = rise;
    }
}

/* --- Weights -------------------------------------------------------------------------------- */

static bool all_whole(const struct fit_data *data)
{
    for (size_t i = 0; i < data->points; i++) {
        if (data->value[i] != floor(data->value[i])) {
            return false;
        }
    }
    return true;
}

/* A point that interference has lifted above larger sets. */
static bool is_spike(const struct fit_data *data, size_t i)
{
    bool spike = false;
    for (size_t j = i + 1; j < data->points && j <= i + SPIKE_LOOKS; j++) {
        spike = spike || data->value[i] > SPIKE * data->value[j];
    }
    return spike;
}

/* Standard deviation to which a value is known at best. */
static double known_to(const struct fit_data *data, size_t i, bool whole)
{
    const double known = KNOWN_TO * data->value[i];
    const double rounded = whole ? ROUNDING : 0;
    return sqrt(known * known + rounded * rounded);
}

static void set_weights(struct fit_data *data)
{
    const bool whole = all_whole(data);
    for (size_t i = 0; i < data->points; i++) {
        const double known = known_to(data, i, whole);
        data->weight[i] = (is_spike(data, i) ? SPIKE_WEIGHT : 1) / (known * known);
    }
}

/* Typical deviation of a point, in units of what it is known to at best. */
static double scatter_of(const struct fit_data *data, const struct staircase *stairs)
{
    const struct column column = { space.rest, sizeof *space.rest, data->points };
    for (size_t i = 0; i < data->points; i++) {
        const double error = data->value[i] - staircase_at(stairs, data->set[i]);
        space.rest[i] = fabs(error) * sqrt(data->weight[i]);
    }
    return MEDIAN_TO_DEV * column_median(&column);
}

/* How many rises, where, of which shapes; returns the criterion. */
static double look(const struct search *search, struct staircase *stairs)
{
    *stairs = (struct staircase){ .rises = 0 };
    set_amounts(search->data, stairs);
    add_rises(search, stairs);
    sort_rises(stairs);
    return cost(search, stairs);
}

void fit_staircase(struct fit_data *data, struct staircase *stairs)
{
    const struct search all = { data, ALL_SHAPES, PER_RISE };
    const struct search plain = { data, PLAIN_SHAPES, PER_PLAIN };
    struct staircase other;
    if (data->points < 4) {
        *stairs = (struct staircase){ .base = data->points > 0 ? data->value[0] : NAN };
        return;
    }
    set_weights(data);
    const double cost_of_all = look(&all, stairs);
    if (scatter_of(data, stairs) >= NOISY && look(&plain, &other) < cost_of_all) {
        *stairs = other;
    }
}
