/* The plan as text, for dry_run. */
#include "boot/plan.h"
#include "console/format.h"

#include <stdio.h>
#include <string.h>

enum { VALUES_SHOWN = 6 };

/* Where the lines go. */
struct printer {
    const struct plan *plan;
    void (*line)(void *self, const char *text);
    void *self;
};

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* The value of a key, as tables show it. */
static const char *value_text(const struct variant *variant, enum variant_key key,
                              char text[FORMAT_ROOM])
{
    const union variant_value *value = &variant->value[key];
    if (variant_is_text(key)) {
        return value->text;
    }
    if (key == V_PAGE_SIZE) {
        return format_page_size(value->number, text);
    }
    if (key == V_WORKING_SET || key == V_STRIDE || key == V_PAD) {
        return format_size(value->number, text);
    }
    (void)snprintf(text, FORMAT_ROOM, "%llu", (unsigned long long)value->number);
    return text;
}

static bool same_value(const struct variant *a, const struct variant *b, enum variant_key key)
{
    if (!variant_has(a, key) || !variant_has(b, key)) {
        return false;
    }
    return variant_is_text(key) ? strcmp(a->value[key].text, b->value[key].text) == 0
                                : a->value[key].number == b->value[key].number;
}

/* Is it the first that is measured with this value? */
static bool is_new_value(const struct measurement *measurement, size_t index, enum variant_key key)
{
    for (size_t i = 0; i < index; i++) {
        if (measurement[i].skip == NULL &&
            same_value(&measurement[i].variant, &measurement[index].variant, key)) {
            return false;
        }
    }
    return true;
}

/* Different values of a number that has many: how many, the smallest and the largest. */
struct range {
    size_t values;
    const struct variant *least, *most;
};

static void widen(struct range *range, const struct variant *variant, enum variant_key key)
{
    const uint64_t number = variant->value[key].number;
    range->values++;
    if (range->least == NULL || number < range->least->value[key].number) {
        range->least = variant;
    }
    if (range->most == NULL || number > range->most->value[key].number) {
        range->most = variant;
    }
}

/* "4K, 2M", or "4 KiB to 64 MiB (15 values)" where that would be long. */
static void append_values(const struct measurement *measurement, size_t count, enum variant_key key,
                          char *line, size_t length)
{
    struct range range = { .values = 0 };
    const size_t start = length;
    char from[FORMAT_ROOM], to[FORMAT_ROOM];
    for (size_t i = 0; i < count; i++) {
        const struct variant *variant = &measurement[i].variant;
        if (measurement[i].skip != NULL || !variant_has(variant, key) ||
            !is_new_value(measurement, i, key)) {
            continue;
        }
        widen(&range, variant, key);
        if (range.values <= VALUES_SHOWN) {
            length +=
                (size_t)snprintf(line + length, PLAN_LINE - length, "%s%.30s",
                                 range.values > 1 ? ", " : "", value_text(variant, key, from));
        }
    }
    if (range.values > VALUES_SHOWN && !variant_is_text(key)) {
        (void)snprintf(line + start, PLAN_LINE - start, "%s to %s (%zu values)",
                       value_text(range.least, key, from), value_text(range.most, key, to),
                       range.values);
    } else if (range.values > VALUES_SHOWN) {
        (void)snprintf(line + length, PLAN_LINE - length, ", ... (%zu values)", range.values);
    }
}

static void print_variants(const struct printer *printer, const struct planned *planned)
{
    const struct measurement *measurement = printer->plan->measurement + planned->first;
    for (enum variant_key key = 0; key < VARIANT_KEYS; key++) {
        char line[PLAN_LINE];
        const int start = snprintf(line, sizeof line, "    %-13s ", variant_name[key]);
        append_values(measurement, planned->count, key, line, (size_t)start);
        if (line[start] != '\0') {
            printer->line(printer->self, line);
        }
    }
}

static const char *skip_of(const void *self, size_t index)
{
    return ((const struct measurement *)self)[index].skip;
}

static void print_left_out(const struct printer *printer, const struct planned *planned)
{
    char line[PLAN_LINE] = "    ";
    const struct measurement *measurement = printer->plan->measurement + planned->first;
    const size_t indent = strlen(line);
    if (plan_reasons(skip_of, measurement, planned->count, line + indent, sizeof line - indent) >
        0) {
        printer->line(printer->self, line);
    }
}

static void print_experiment(const struct printer *printer, const struct planned *planned)
{
    char line[PLAN_LINE], duration[FORMAT_ROOM];
    (void)snprintf(line, sizeof line, "  %-12.20s %s", planned->kernel->name,
                   planned->kernel->title);
    printer->line(printer->self, line);
    if (planned->kernel == &selftest_row) {
        (void)snprintf(line, sizeof line, "    about %s",
                       format_duration(planned->seconds, duration));
    } else {
        (void)snprintf(line, sizeof line, "    %zu measurement%s, about %s", planned->measured,
                       plural(planned->measured), format_duration(planned->seconds, duration));
    }
    printer->line(printer->self, line);
    print_variants(printer, planned);
    print_left_out(printer, planned);
}

void plan_print(const struct plan *plan, void (*line)(void *self, const char *text), void *self)
{
    const struct printer printer = { plan, line, self };
    char text[PLAN_LINE], duration[FORMAT_ROOM];
    (void)snprintf(text, sizeof text,
                   "Plan of the suite %s: at least %u sample%s a point in %u visit%s, seed %llu",
                   plan->suite, plan->sampling.repetitions, plural(plan->sampling.repetitions),
                   plan->sampling.visits, plural(plan->sampling.visits),
                   (unsigned long long)plan->sampling.seed);
    line(self, text);
    for (size_t i = 0; i < plan->experiments; i++) {
        print_experiment(&printer, &plan->experiment[i]);
    }
    format_duration(plan->seconds, duration);
    if (plan->repeat > 1) {
        (void)snprintf(text, sizeof text, "All of it %u times, about %s", plan->repeat, duration);
    } else {
        (void)snprintf(text, sizeof text, "All of it, about %s", duration);
    }
    line(self, text);
    if (plan->time_limit > 0) {
        (void)snprintf(text, sizeof text, "It stops after %s (time_limit).",
                       format_duration(plan->time_limit, duration));
        line(self, text);
    }
}
