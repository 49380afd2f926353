#include "console/results_json.h"

#include "console/memory_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { JSON_FORMAT_VERSION = 1 };

/* Firmware that has nothing to say says "". */
static void text_or_null(struct json *json, const char *key, const char *text)
{
    json_text(json, key, text && text[0] ? text : NULL);
}

/* 0 where the machine does not tell. */
static void unsigned_or_null(struct json *json, const char *key, uint64_t number)
{
    if (number) {
        json_unsigned(json, key, number);
    } else {
        json_null(json, key);
    }
}

/* Addresses are text: a JSON number above 2^53 is read back altered by most programs. */
static void address_text(struct json *json, const char *key, uint64_t address)
{
    char text[24];
    (void)snprintf(text, sizeof text, "0x%" PRIx64, address);
    json_text(json, key, text);
}

void results_json_program(struct json *json, const struct program *program)
{
    json_object_on_line(json, "program");
    json_text(json, "name", "ironchase");
    json_text(json, "version", program->version);
    json_text(json, "commit", program->commit);
    json_text(json, "compiler", program->compiler);
    json_text(json, "platform", program->platform);
    json_end(json);
}

static const char *const size_name[PAGE_SIZES] = { "4K", "2M", "1G" };
static const char *const cache_type_name[] = { NULL, "data", "instruction", "unified" };
static const char *const tlb_accesses_name[] = { "all", "loads", "stores" };
static const char *const core_type_name[] = { NULL, "performance", "efficient" };

static const char *const feature_name[FEATURES] = {
    [FEATURE_PAGES_1G] = "pages-1g",
    [FEATURE_NX] = "nx",
    [FEATURE_LA57] = "la57",
    [FEATURE_X2APIC] = "x2apic",
    [FEATURE_XSAVE] = "xsave",
    [FEATURE_AVX] = "avx",
    [FEATURE_AVX2] = "avx2",
    [FEATURE_AVX512F] = "avx512f",
    [FEATURE_FMA] = "fma",
    [FEATURE_TSC] = "tsc",
    [FEATURE_INVARIANT_TSC] = "invariant-tsc",
    [FEATURE_APERF_MPERF] = "aperf-mperf",
    [FEATURE_RDTSCP] = "rdtscp",
    [FEATURE_CLFLUSH] = "clflush",
    [FEATURE_CLFLUSHOPT] = "clflushopt",
    [FEATURE_ERMS] = "erms",
    [FEATURE_MTRR] = "mtrr",
    [FEATURE_PAT] = "pat",
    [FEATURE_MCE] = "mce",
    [FEATURE_PCID] = "pcid",
    [FEATURE_CET_SS] = "cet-ss",
    [FEATURE_HYBRID] = "hybrid",
};

static void caches(struct json *json, const struct processor *processor)
{
    json_list(json, "caches");
    for (unsigned i = 0; i < processor->caches; i++) {
        const struct cache *cache = &processor->cache[i];
        json_object_on_line(json, NULL);
        json_unsigned(json, "level", cache->level);
        json_text(json, "type", cache_type_name[cache->type]);
        json_unsigned(json, "size", cache->size);
        unsigned_or_null(json, "ways", cache->ways);
        unsigned_or_null(json, "sets", cache->sets);
        unsigned_or_null(json, "line", cache->line);
        unsigned_or_null(json, "shared_by", cache->shared_by);
        json_end(json);
    }
    json_end(json);
}

static void tlbs(struct json *json, const struct processor *processor)
{
    json_list(json, "tlb");
    for (unsigned i = 0; i < processor->tlbs; i++) {
        const struct tlb *tlb = &processor->tlb[i];
        json_object_on_line(json, NULL);
        json_unsigned(json, "level", tlb->level);
        json_text(json, "type", cache_type_name[tlb->type]);
        json_text(json, "accesses", tlb_accesses_name[tlb->accesses]);
        json_list(json, "page_sizes");
        for (size_t size = 0; size < PAGE_SIZES; size++) {
            if (tlb->page_sizes >> size & 1) {
                json_text(json, NULL, size_name[size]);
            }
        }
        json_end(json);
        unsigned_or_null(json, "entries", tlb->entries);
        unsigned_or_null(json, "ways", tlb->ways);
        json_end(json);
    }
    json_end(json);
}

static void features(struct json *json, uint64_t present)
{
    json_list_on_line(json, "features");
    for (size_t i = 0; i < FEATURES; i++) {
        if (present >> i & 1) {
            json_text(json, NULL, feature_name[i]);
        }
    }
    json_end(json);
}

static void processor_members(struct json *json, const struct processor *processor)
{
    json_text(json, "vendor", processor->vendor);
    json_text(json, "model", processor->brand);
    json_unsigned(json, "family", processor->family);
    json_unsigned(json, "model_number", processor->model);
    json_unsigned(json, "stepping", processor->stepping);
    unsigned_or_null(json, "microcode", processor->microcode);
    json_text(json, "core_type", core_type_name[processor->core_type]);
    text_or_null(json, "hypervisor", processor->hypervisor);
    json_bool(json, "emulated", processor->emulated);
    unsigned_or_null(json, "physical_bits", processor->physical_bits);
    unsigned_or_null(json, "linear_bits", processor->linear_bits);
    features(json, processor->features);
    caches(json, processor);
    tlbs(json, processor);
}

static void pages(struct json *json, const struct machine *machine)
{
    json_list(json, "page_sizes");
    for (size_t size = 0; size < PAGE_SIZES; size++) {
        json_object_on_line(json, NULL);
        json_text(json, "size", size_name[size]);
        json_bool(json, "available", machine->page_available[size]);
        text_or_null(json, "reason", machine->page_reason[size]);
        json_end(json);
    }
    json_end(json);
}

static void board(struct json *json, const struct board *board)
{
    json_object(json, "board");
    text_or_null(json, "vendor", board->vendor);
    text_or_null(json, "product", board->product);
    text_or_null(json, "serial", board->serial);
    text_or_null(json, "board_vendor", board->board_vendor);
    text_or_null(json, "board_product", board->board_product);
    json_end(json);
}

static void firmware(struct json *json, const struct machine *machine)
{
    const struct firmware *firmware = &machine->firmware;
    char revision[24];
    /* 2.70 is coded as 2 in the upper half and 70 in the lower one (UEFI 2.10, 4.2.1). */
    (void)snprintf(revision, sizeof revision, "%u.%02u", firmware->uefi_revision >> 16,
                   firmware->uefi_revision & 0xFFFF);
    json_object(json, "firmware");
    text_or_null(json, "vendor", firmware->vendor);
    unsigned_or_null(json, "revision", firmware->revision);
    json_text(json, "uefi", firmware->uefi_revision ? revision : NULL);
    text_or_null(json, "bios_vendor", machine->board.bios_vendor);
    text_or_null(json, "bios_version", machine->board.bios_version);
    text_or_null(json, "bios_date", machine->board.bios_date);
    json_end(json);
}

static void switch_state(struct json *json, const char *key, uint32_t off, uint32_t readable,
                         unsigned number)
{
    const char *const state = (off >> number & 1) != 0 ? "off" : "on";
    json_text(json, key, (readable >> number & 1) != 0 ? state : NULL);
}

static void prefetchers(struct json *json, const struct prefetcher_facts *facts)
{
    json_object(json, "prefetchers");
    json_list(json, "switches");
    for (unsigned i = 0; i < facts->switches; i++) {
        json_object_on_line(json, NULL);
        json_text(json, "name", facts->name[i]);
        switch_state(json, "found", facts->found_off, facts->readable, i);
        json_bool(json, "works", (facts->works >> i & 1) != 0);
        json_end(json);
    }
    json_end(json);
    json_text(json, "without_switch", facts->without_switch);
    json_text(json, "reason", facts->reason);
    json_end(json);
}

void results_json_machine(struct json *json, const struct machine *machine)
{
    json_object(json, "machine");
    processor_members(json, &machine->processor);
    json_unsigned(json, "memory_bytes", machine->memory_bytes);
    json_unsigned(json, "arena_bytes", machine->arena_bytes);
    pages(json, machine);
    prefetchers(json, &machine->prefetchers);
    memory_json_dimms(json, &machine->memory);
    json_null(json, "numa_nodes");
    board(json, &machine->board);
    firmware(json, machine);
    json_bool(json, "secure_boot", machine->firmware.secure_boot);
    json_end(json);
}

void results_json_clock(struct json *json, const struct clock *clock)
{
    json_object_on_line(json, "clock");
    unsigned_or_null(json, "tsc_hz", clock->tsc_hz);
    text_or_null(json, "source", clock->source);
    text_or_null(json, "checked_by", clock->checked_by);
    json_number(json, "disagreement_ppm",
                clock->checked_by[0] ? clock->disagreement_ppm : (double)NAN);
    json_bool(json, "invariant", clock->invariant);
    json_number(json, "core_hz", clock->core_hz > 0 ? clock->core_hz : (double)NAN);
    text_or_null(json, "core_source", clock->core_source);
    text_or_null(json, "reason", clock->reason);
    json_end(json);
}

void results_json_settings(struct json *json, const struct results *results)
{
    json_object(json, "settings");
    for (size_t i = 0; i < results->settings; i++) {
        const struct setting_note *note = &results->setting[i];
        json_object_on_line(json, note->key);
        json_text(json, "value", note->value);
        json_text(json, "source", note->source);
        json_end(json);
    }
    json_end(json);
}

void results_json_noise(struct json *json, const struct noise *noise)
{
    if (!noise->measured) {
        json_null(json, "noise");
        return;
    }
    json_object_on_line(json, "noise");
    json_number(json, "seconds", noise->seconds);
    json_number(json, "smi_count", noise->smi_count);
    json_number(json, "largest_gap_ns", noise->largest_gap_ns);
    json_null(json, "gaps"); /* only the largest is kept */
    json_end(json);
}

static void strikes(struct json *json, const struct strikes *strikes)
{
    if (!strikes) {
        json_null(json, "windows");
        return;
    }
    json_object_on_line(json, "windows");
    json_unsigned(json, "opened", strikes->windows);
    json_unsigned(json, "nmis", strikes->nmis);
    json_unsigned(json, "machine_checks", strikes->machine_checks);
    json_unsigned(json, "interrupts", strikes->interrupts);
    json_end(json);
}

void results_json_spread(struct json *json, const char *key, const struct spread *spread)
{
    if (spread->samples == 0) {
        json_null(json, key);
        return;
    }
    json_object_on_line(json, key);
    json_number(json, "median", spread->median);
    json_number(json, "min", spread->min);
    json_number(json, "max", spread->max);
    json_number(json, "mad", spread->mad);
    if (isfinite(spread->low) && isfinite(spread->high)) {
        json_list(json, "ci95");
        json_number(json, NULL, spread->low);
        json_number(json, NULL, spread->high);
        json_end(json);
    } else {
        json_null(json, "ci95");
    }
    json_number(json, "coverage", spread->coverage);
    json_number(json, "within", spread->within);
    json_number(json, "between", spread->between);
    json_unsigned(json, "samples", spread->samples);
    json_unsigned(json, "visits", spread->visits);
    json_end(json);
}

void results_json_variant(struct json *json, const struct variant *variant)
{
    json_object_on_line(json, "variant");
    for (enum variant_key key = 0; key < VARIANT_KEYS; key++) {
        if (!variant_has(variant, key)) {
            continue;
        }
        if (variant_is_text(key)) {
            json_text(json, variant_name[key], variant->value[key].text);
        } else {
            json_unsigned(json, variant_name[key], variant->value[key].number);
        }
    }
    json_end(json);
}

void results_json_flags(struct json *json, uint32_t flags)
{
    json_list_on_line(json, "flags");
    for (size_t i = 0; i < FLAGS; i++) {
        if (flags >> i & 1) {
            json_text(json, NULL, flag_name[i]);
        }
    }
    json_end(json);
}

static void counters(struct json *json, const struct point *point)
{
    bool any = false;
    for (size_t i = 0; i < COUNTERS; i++) {
        any = any || isfinite(point->counter[i]);
    }
    if (!any) {
        json_null(json, "counters");
        return;
    }
    json_object_on_line(json, "counters");
    for (size_t i = 0; i < COUNTERS; i++) {
        json_number(json, counter_name[i], point->counter[i]);
    }
    json_end(json);
}

/* Memory types as the MTRRs code them (SDM vol. 3A, table 12-8). */
static const char *memory_type_name(uint8_t type)
{
    static const char *const name[] = { "UC", "WC", NULL, NULL, "WT", "WP", "WB" };
    return type < sizeof name / sizeof name[0] ? name[type] : NULL;
}

/* As read back, by name. */
static void proof_of_prefetchers(struct json *json, const struct point_proof *proof,
                                 const struct prefetcher_facts *facts)
{
    if (!proof->prefetchers_known) {
        json_null(json, "prefetchers");
        return;
    }
    json_object(json, "prefetchers");
    for (unsigned i = 0; i < facts->switches; i++) {
        switch_state(json, facts->name[i], proof->prefetchers_off, facts->readable, i);
    }
    json_end(json);
}

static void proof(struct json *json, const struct point_proof *proof, const struct machine *machine)
{
    json_object_on_line(json, "proof");
    unsigned_or_null(json, "cycle_length", proof->cycle_length);
    if (proof->leaves_known) {
        json_object(json, "page_leaves");
        for (size_t size = 0; size < PAGE_SIZES; size++) {
            json_unsigned(json, size_name[size], proof->leaves[size]);
        }
        json_end(json);
    } else {
        json_null(json, "page_leaves");
    }
    /* A host that hides its tables hides the type with them. */
    json_text(json, "memory_type", proof->tables ? memory_type_name(proof->memory_type) : NULL);
    unsigned_or_null(json, "tables", proof->tables);
    proof_of_prefetchers(json, proof, &machine->prefetchers);
    json_end(json);
}

void results_json_point(struct json *json, const struct point *point, const struct machine *machine)
{
    results_json_variant(json, &point->variant);
    json_number(json, "operations", point->operations);
    json_text(json, "unit", point->unit);
    results_json_spread(json, "ns", &point->ns);
    results_json_spread(json, "cycles", &point->cycles);
    counters(json, point);
    json_null(json, "topdown");
    json_number(json, "predicted", point->predicted);
    json_text(json, "class", point->class);
    results_json_flags(json, point->flags);
    json_text(json, "reason", point->reason);
    proof(json, &point->proof, machine);
}

static void fault(struct json *json, const struct fault *fault)
{
    if (fault->vector == 0 && fault->ip == 0) {
        json_null(json, "fault");
        return;
    }
    json_object_on_line(json, "fault");
    json_unsigned(json, "vector", fault->vector);
    json_unsigned(json, "code", fault->code);
    address_text(json, "ip", fault->ip);
    address_text(json, "address", fault->address);
    json_end(json);
}

void results_json_experiment(struct json *json, const struct experiment *experiment)
{
    json_text(json, "name", experiment->name);
    json_text(json, "title", experiment->title);
    json_text(json, "status", experiment_status_name[experiment->status]);
    text_or_null(json, "reason", experiment->reason);
    fault(json, &experiment->fault);
}

void results_json_checks(struct json *json, const struct check *check, size_t n)
{
    json_list(json, "checks");
    for (size_t i = 0; i < n; i++) {
        json_object_on_line(json, NULL);
        json_text(json, "name", check[i].name);
        json_bool(json, "ok", check[i].ok);
        json_text(json, "text", check[i].text);
        json_end(json);
    }
    json_end(json);
}

void results_json_finding(struct json *json, const struct finding *finding)
{
    json_text(json, "name", finding->name);
    json_number(json, "measured", finding->measured);
    json_text(json, "unit", finding->unit);
    json_number(json, "claimed", finding->claimed);
    if (finding->agreement_known) {
        json_bool(json, "agrees", finding->agrees);
    } else {
        json_null(json, "agrees");
    }
    json_text(json, "text", finding->text);
}

static void experiments(struct json *json, const struct results *results)
{
    json_list(json, "experiments");
    for (size_t e = 0; e < results->experiments; e++) {
        const struct experiment *experiment = &results->experiment[e];
        json_object(json, NULL);
        results_json_experiment(json, experiment);
        json_list(json, "points");
        for (size_t p = 0; p < experiment->points; p++) {
            json_object_on_line(json, NULL);
            results_json_point(json, &results->point[experiment->first_point + p],
                               results->machine);
            json_end(json);
        }
        json_end(json);
        results_json_checks(json, results->check + experiment->first_check, experiment->checks);
        json_end(json);
    }
    json_end(json);
}

static void findings(struct json *json, const struct results *results)
{
    json_list(json, "findings");
    for (size_t i = 0; i < results->findings; i++) {
        json_object_on_line(json, NULL);
        results_json_finding(json, &results->finding[i]);
        json_end(json);
    }
    json_end(json);
}

enum status results_json_write(const struct sink *to, const struct results *results)
{
    struct json json;
    json_open(&json, to);
    json_object(&json, NULL);
    json_text(&json, "schema", "ironchase-results");
    json_unsigned(&json, "version", JSON_FORMAT_VERSION);
    results_json_program(&json, &results->program);
    json_text(&json, "status", run_status_name[results->status]);
    text_or_null(&json, "reason", results->status_reason);
    text_or_null(&json, "started", results->started);
    json_text(&json, "name", results->name);
    json_text(&json, "repeat_line", results->repeat_line);
    results_json_machine(&json, results->machine);
    results_json_clock(&json, &results->machine->clock);
    results_json_settings(&json, results);
    results_json_noise(&json, &results->noise);
    strikes(&json, results->strikes);
    experiments(&json, results);
    findings(&json, results);
    json_end(&json);
    return json_close(&json);
}
