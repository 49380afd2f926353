#include "tests/hosted/journal_read.h"

#include "kernels/statistics.h"

#include <math.h>
#include <string.h>

enum { RESULTS_VERSION = 1, JOURNAL_VERSION = 1, MOST_VISITS = 64 };

static const char cut_short[] = "the run was cut short";

static void set_text(cJSON *to, const char *key, const char *text)
{
    cJSON *value = cJSON_CreateString(text);
    json_tree_set(to, key, value);
    cJSON_Delete(value);
}

static void set_number(cJSON *to, const char *key, double number)
{
    cJSON *value = isfinite(number) ? cJSON_CreateNumber(number) : NULL;
    json_tree_set(to, key, value);
    cJSON_Delete(value);
}

static void set_nulls(cJSON *to, const char *const *key)
{
    for (; *key != NULL; key++) {
        json_tree_set(to, *key, NULL);
    }
}

/* ---- points of a few visits --------------------------------------------------------------------- */

/* The visit records of one variant. */
struct visits {
    const cJSON *record[MOST_VISITS];
    size_t count;
};

/* One field of the summaries of a point's visits. */
struct summaries {
    double value[MOST_VISITS];
    size_t count;
};

static struct summaries collect(const struct visits *visits, const char *clock, const char *field)
{
    struct summaries found = { .count = 0 };
    for (size_t i = 0; i < visits->count; i++) {
        const double value = json_tree_number(json_tree_member(visits->record[i], clock), field);
        if (isfinite(value)) {
            found.value[found.count++] = value;
        }
    }
    return found;
}

/* The rank-th of them from below, 0: their median. */
static double pick(const struct visits *visits, const char *clock, const char *field, size_t rank)
{
    const struct summaries all = collect(visits, clock, field);
    const struct column column = { all.value, sizeof all.value[0], all.count };
    return rank == 0 ? column_median(&column) : column_rank(&column, rank);
}

static double sum(const struct summaries *summaries)
{
    double all = 0;
    for (size_t i = 0; i < summaries->count; i++) {
        all += summaries->value[i];
    }
    return all;
}

/* Of all visits' samples only what each visit's summary tells: no interval can be had from that. */
static void set_spread(cJSON *point, const struct visits *visits, const char *clock)
{
    static const char *const unknown[] = { "ci95", "coverage", "within", "between", NULL };
    const struct summaries samples = collect(visits, clock, "samples");
    if (samples.count == 0) {
        json_tree_set(point, clock, NULL);
        return;
    }
    cJSON *spread = cJSON_AddObjectToObject(point, clock);
    set_number(spread, "median", pick(visits, clock, "median", 0));
    set_number(spread, "min", pick(visits, clock, "min", 1));
    set_number(spread, "max", pick(visits, clock, "max", samples.count));
    set_number(spread, "mad", pick(visits, clock, "mad", 0));
    set_nulls(spread, unknown);
    set_number(spread, "samples", sum(&samples));
    set_number(spread, "visits", (double)samples.count);
}

static bool has_text(const cJSON *list, const char *text)
{
    bool found = false;
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        found = found || (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0);
    }
    return found;
}

static void set_flags(cJSON *point, const struct visits *visits)
{
    cJSON *flags = cJSON_AddArrayToObject(point, "flags");
    for (size_t i = 0; i < visits->count; i++) {
        const cJSON *of_visit = json_tree_member(visits->record[i], "flags");
        const cJSON *flag = of_visit != NULL ? of_visit->child : NULL;
        for (; flag != NULL; flag = flag->next) {
            if (cJSON_IsString(flag) && !has_text(flags, flag->valuestring)) {
                (void)cJSON_AddItemToArray(flags, cJSON_CreateString(flag->valuestring));
            }
        }
    }
    (void)cJSON_AddItemToArray(flags, cJSON_CreateString("partial"));
}

static cJSON *point_of_visits(const struct visits *visits)
{
    static const char *const known[] = { "variant", "operations", "unit" };
    static const char *const unknown[] = { "counters", "topdown", "predicted", "class", NULL };
    static const char *const unproved[] = { "cycle_length", "page_leaves", "memory_type",
                                            "tables",       "prefetchers", NULL };
    const cJSON *latest = visits->record[visits->count - 1];
    cJSON *point = cJSON_CreateObject();
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        json_tree_set(point, known[i], json_tree_member(latest, known[i]));
    }
    set_spread(point, visits, "ns");
    set_spread(point, visits, "cycles");
    set_nulls(point, unknown);
    set_flags(point, visits);
    set_text(point, "reason", "made of the summaries of its visits: the run was cut short");
    set_nulls(cJSON_AddObjectToObject(point, "proof"), unproved);
    return point;
}

/* Takes the records of a variant out of the list, and gives them to `taken`, or back. */
static void take_out(cJSON *list, const cJSON *variant, cJSON *taken)
{
    cJSON *next;
    for (cJSON *record = list != NULL ? list->child : NULL; record != NULL; record = next) {
        next = record->next;
        if (cJSON_Compare(json_tree_member(record, "variant"), variant, 1)) {
            cJSON *out = cJSON_DetachItemViaPointer(list, record);
            if (taken != NULL) {
                (void)cJSON_AddItemToArray(taken, out);
            } else {
                cJSON_Delete(out);
            }
        }
    }
}

/* Makes a point of the visits of the first variant in the list, and takes them out. */
static void make_point(cJSON *list, cJSON *points)
{
    struct visits visits = { .count = 0 };
    cJSON *taken = cJSON_CreateArray();
    cJSON *variant = cJSON_Duplicate(json_tree_member(list->child, "variant"), 1);
    take_out(list, variant, taken);
    for (const cJSON *record = taken->child; record != NULL && visits.count < MOST_VISITS;
         record = record->next) {
        visits.record[visits.count++] = record;
    }
    if (collect(&visits, "ns", "median").count > 0) {
        (void)cJSON_AddItemToArray(points, point_of_visits(&visits));
    }
    cJSON_Delete(variant);
    cJSON_Delete(taken);
}

/* ---- records ------------------------------------------------------------------------------------ */

static void forget_visits(struct journal_read *journal)
{
    cJSON_Delete(journal->visits);
    journal->visits = cJSON_CreateArray();
}

/* An experiment without its end: what is known of it stands for the whole. */
static void close_current(struct journal_read *journal)
{
    cJSON *current = journal->current;
    if (current == NULL) {
        return;
    }
    cJSON *points = json_tree_member(current, "points");
    while (journal->visits->child != NULL) {
        make_point(journal->visits, points);
    }
    set_text(current, "status", cJSON_GetArraySize(points) > 0 ? "partial" : "skipped");
    set_text(current, "reason", cut_short);
    journal->current = NULL;
}

static void keep(cJSON **place, const cJSON *record)
{
    cJSON_Delete(*place);
    *place = cJSON_Duplicate(record, 1);
}

static void take_header(struct journal_read *journal, const cJSON *record)
{
    if (strcmp(json_tree_text(record, "schema"), "ironchase-journal") == 0 &&
        json_tree_number(record, "version") == JOURNAL_VERSION) {
        keep(&journal->header, record);
    }
}

static void take_begin(struct journal_read *journal, const cJSON *record)
{
    static const char *const unknown[] = { "status", "reason", "fault", NULL };
    close_current(journal);
    forget_visits(journal);
    cJSON *experiment = cJSON_CreateObject();
    set_text(experiment, "name", json_tree_text(record, "experiment"));
    set_text(experiment, "title", json_tree_text(record, "title"));
    set_nulls(experiment, unknown);
    (void)cJSON_AddArrayToObject(experiment, "points");
    (void)cJSON_AddArrayToObject(experiment, "checks");
    (void)cJSON_AddItemToArray(journal->experiments, experiment);
    journal->current = experiment;
}

static bool is_of_current(const struct journal_read *journal, const cJSON *record, const char *key)
{
    return journal->current != NULL &&
           strcmp(json_tree_text(record, key), json_tree_text(journal->current, "name")) == 0;
}

static void take_visit(struct journal_read *journal, const cJSON *record)
{
    if (is_of_current(journal, record, "experiment") &&
        cJSON_IsObject(json_tree_member(record, "variant"))) {
        (void)cJSON_AddItemToArray(journal->visits, cJSON_Duplicate(record, 1));
    }
}

/* A point has all that its visits had. */
static void take_point(struct journal_read *journal, const cJSON *record)
{
    static const char *const without[] = { "type", "seconds", "experiment", "samples", NULL };
    if (!is_of_current(journal, record, "experiment")) {
        return;
    }
    cJSON *point = cJSON_CreateObject();
    json_tree_set_all(point, record, without);
    take_out(journal->visits, json_tree_member(point, "variant"), NULL);
    (void)cJSON_AddItemToArray(json_tree_member(journal->current, "points"), point);
}

static void take_experiment(struct journal_read *journal, const cJSON *record)
{
    static const char *const without[] = { "type", "seconds", "points", NULL };
    if (is_of_current(journal, record, "name")) {
        json_tree_set_all(journal->current, record, without);
        journal->current = NULL;
    }
}

static void take_finding(struct journal_read *journal, const cJSON *record)
{
    static const char *const without[] = { "type", "seconds", NULL };
    cJSON *finding = cJSON_CreateObject();
    json_tree_set_all(finding, record, without);
    (void)cJSON_AddItemToArray(journal->findings, finding);
}

static void take_noise(struct journal_read *journal, const cJSON *record)
{
    keep(&journal->noise, record);
}

static void take_end(struct journal_read *journal, const cJSON *record)
{
    keep(&journal->end, record);
}

static const struct {
    const char *type;
    void (*take)(struct journal_read *journal, const cJSON *record);
} kinds[] = {
    { "header", take_header },         { "begin", take_begin }, { "visit", take_visit },
    { "point", take_point },           { "noise", take_noise }, { "finding", take_finding },
    { "experiment", take_experiment }, { "end", take_end },
};

void journal_read_line(struct journal_read *journal, const char *line, size_t n)
{
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    cJSON *record = json_tree_read(line, n);
    const char *type = json_tree_text(record, "type");
    size_t kind = 0;
    if (journal->experiments == NULL) {
        journal->experiments = cJSON_CreateArray();
        journal->findings = cJSON_CreateArray();
        journal->visits = cJSON_CreateArray();
    }
    while (kind < KINDS && strcmp(type, kinds[kind].type) != 0) {
        kind++;
    }
    if (kind < KINDS) {
        kinds[kind].take(journal, record);
    } else {
        journal->broken++;
    }
    cJSON_Delete(record);
}

/* ---- the document ------------------------------------------------------------------------------- */

/* The latest record that has such a member, which may be null there. */
static const cJSON *latest(const struct journal_read *journal, const char *key)
{
    const cJSON *const records[] = { journal->end, journal->noise, journal->header };
    const cJSON *found = NULL;
    for (size_t i = 0; i < sizeof records / sizeof records[0] && found == NULL; i++) {
        found = json_tree_member(records[i], key);
    }
    return found;
}

static void set_status(cJSON *results, const struct journal_read *journal)
{
    if (journal->end != NULL) {
        json_tree_set(results, "status", json_tree_member(journal->end, "status"));
        json_tree_set(results, "reason", json_tree_member(journal->end, "reason"));
    } else {
        set_text(results, "status", "partial");
        set_text(results, "reason", cut_short);
    }
}

cJSON *journal_read_results(struct journal_read *journal)
{
    static const char *const members[] = { "started", "name",     "repeat_line", "machine",
                                           "clock",   "settings", "noise" };
    if (journal->header == NULL) {
        return NULL;
    }
    close_current(journal);
    cJSON *results = cJSON_CreateObject();
    set_text(results, "schema", "ironchase-results");
    set_number(results, "version", RESULTS_VERSION);
    json_tree_set(results, "program", latest(journal, "program"));
    set_status(results, journal);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        json_tree_set(results, members[i], latest(journal, members[i]));
    }
    json_tree_set(results, "experiments", journal->experiments);
    json_tree_set(results, "findings", journal->findings);
    return results;
}

void journal_read_close(struct journal_read *journal)
{
    cJSON *const all[] = { journal->header,      journal->noise,    journal->end,
                           journal->experiments, journal->findings, journal->visits };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        cJSON_Delete(all[i]);
    }
    *journal = (struct journal_read){ .header = NULL };
}
