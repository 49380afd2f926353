#include "kernels/infer_cost.h"

#include <math.h>
#include <string.h>

enum { CHEAPER = 2, KINDS = 3 };

/* One question: by how much is a point of `dear` slower than its twin, which differs in `key`? */
struct question {
    const char *name, *title;
    uint64_t page;         /* of the dear one; 0: any */
    const char *placement; /* of the dear one; NULL: any */
    enum variant_key key;
    const char *dear; /* value of a text key; NULL: fixed by the members above */
    /* Values of the cheap one, the first that was measured counts. */
    union variant_value cheap[CHEAPER];
    const char *order[KINDS]; /* the same holds for the orders; ended by NULL */
    const char *sentence;     /* %.3g: ns; %s: the set; %s: the order */
    const char *without;      /* why it cannot be told when there is no pair */
};

static const struct question questions[] = {
    {
        .name = "translation_cost_4k",
        .title = "4 KiB pages",
        .page = PAGE_4K,
        .placement = "in-order",
        .key = V_PAGE_SIZE,
        .cheap = { { .number = PAGE_1G }, { .number = PAGE_2M } },
        .order = { "random" },
        .sentence = "4 KiB pages cost %.3g ns a load over the largest pages there are (set of %s, "
                    "same lines, %s order).",
        .without = "no set was measured on 4 KiB pages in order and on larger ones",
    },
    {
        .name = "translation_cost_2m",
        .title = "2 MiB pages",
        .page = PAGE_2M,
        .placement = "in-order",
        .key = V_PAGE_SIZE,
        .cheap = { { .number = PAGE_1G } },
        .order = { "random" },
        .sentence = "2 MiB pages cost %.3g ns a load over 1 GiB pages (set of %s, same lines, %s "
                    "order).",
        .without = "no set was measured on 2 MiB and on 1 GiB pages",
    },
    {
        .name = "placement_cost",
        .title = "Placement of pages",
        .page = PAGE_4K,
        .key = V_PLACEMENT,
        .dear = "scattered",
        .cheap = { { .text = "in-order" } },
        .order = { "random" },
        .sentence = "Scattered pages, as an operating system leaves them, cost %.3g ns a load over "
                    "pages in order (set of %s, 4 KiB pages, %s order).",
        .without = "no set was measured on scattered 4 KiB pages and on such in order",
    },
    {
        .name = "prefetch_gain",
        .title = "Prefetchers",
        .key = V_PREFETCHERS,
        .dear = "off",
        .cheap = { { .text = "found" } },
        .order = { "sequential", "page-local", "random" },
        .sentence = "The core's prefetchers save %.3g ns a load (set of %s, %s order).",
        .without = "no set was measured with the prefetchers as found and off",
    },
};

static bool has_text(const struct point *point, enum variant_key key, const char *text)
{
    return variant_has(&point->variant, key) && strcmp(point->variant.value[key].text, text) == 0;
}

static bool is_dear(const struct question *question, const char *order, const struct point *point)
{
    const struct variant *variant = &point->variant;
    return has_text(point, V_ORDER, order) &&
           (question->page == 0 || (variant_has(variant, V_PAGE_SIZE) &&
                                    variant->value[V_PAGE_SIZE].number == question->page)) &&
           (question->placement == NULL || has_text(point, V_PLACEMENT, question->placement)) &&
           (question->dear == NULL || has_text(point, question->key, question->dear));
}

static bool is_measured(const struct point *point)
{
    return isfinite(point->ns.median) && variant_has(&point->variant, V_WORKING_SET);
}

/* The point that differs from `dear` in the key alone; NULL if it was not measured. */
static const struct point *twin(const struct question *question, const struct point *dear,
                                const struct point *chase, size_t n)
{
    for (size_t i = 0; i < CHEAPER; i++) {
        struct variant wanted = dear->variant;
        wanted.value[question->key] = question->cheap[i];
        for (size_t j = 0; question->cheap[i].number != 0 && j < n; j++) {
            if (is_measured(&chase[j]) && variant_equal(&chase[j].variant, &wanted)) {
                return &chase[j];
            }
        }
    }
    return NULL;
}

struct pair {
    const struct point *dear, *cheap;
    const char *order;
};

static uint64_t set_of(const struct point *point)
{
    return point->variant.value[V_WORKING_SET].number;
}

/* The pair with the largest set, in the first order that has one. */
static struct pair find_pair(const struct question *question, const struct point *chase, size_t n)
{
    struct pair pair = { .dear = NULL };
    for (size_t kind = 0; kind < KINDS && question->order[kind] != NULL && !pair.dear; kind++) {
        for (size_t i = 0; i < n; i++) {
            if (!is_measured(&chase[i]) || !is_dear(question, question->order[kind], &chase[i]) ||
                (pair.dear != NULL && set_of(&chase[i]) <= set_of(pair.dear))) {
                continue;
            }
            const struct point *cheap = twin(question, &chase[i], chase, n);
            if (cheap != NULL) {
                pair = (struct pair){ &chase[i], cheap, question->order[kind] };
            }
        }
    }
    return pair;
}

/* Half of what a median may be off: its interval, or without one all samples. */
static double doubt(const struct point *point)
{
    const struct spread *ns = &point->ns;
    return isnan(ns->coverage) ? (ns->max - ns->min) / 2 : (ns->high - ns->low) / 2;
}

static bool is_smashed(const struct pair *pair)
{
    return ((pair->dear->flags | pair->cheap->flags) >> FLAG_SMASHED & 1) != 0;
}

static void answer(struct finding_list *list, const struct question *question,
                   const struct pair *pair, const char *reason)
{
    struct finding finding = { .name = question->name, .unit = "ns", NAN, NAN, false, false, "" };
    char set[SIZE_TEXT];
    if (reason != NULL || pair->dear == NULL) {
        tell(list, &finding, "%s: cannot tell: %s.", question->title,
             reason != NULL ? reason : question->without);
        return;
    }
    const double cost = pair->dear->ns.median - pair->cheap->ns.median;
    const double off = doubt(pair->dear) + doubt(pair->cheap);
    size_text(set_of(pair->dear), set);
    if (question->key == V_PAGE_SIZE && is_smashed(pair)) {
        tell(list, &finding, "%s: cannot tell: the host cuts large pages into small ones.",
             question->title);
    } else if (fabs(cost) <= off) {
        tell(list, &finding,
             "%s: cannot tell: at %s the difference, %.3g ns, is within the spread, %.3g ns.",
             question->title, set, cost, off);
    } else {
        finding.measured = cost;
        tell(list, &finding, question->sentence, cost, set, pair->order);
    }
}

void tell_costs(struct finding_list *list, const struct point *chase, size_t n, const char *reason)
{
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        const struct pair pair = find_pair(&questions[i], chase, n);
        answer(list, &questions[i], &pair, reason);
    }
}
