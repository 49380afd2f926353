#include "console/report_machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "console/format.h"
#include "console/report_memory.h"

static void print(struct console *console, const char *what, const struct line *line)
{
    char lead[24];
    (void)snprintf(lead, sizeof lead, "%-10s", what);
    console_paragraph(console, lead, line->text);
}

static void print_processor(struct console *console, const struct processor *processor)
{
    struct line line = { 0 };
    line_add(&line, "%s (%s family %Xh model %Xh stepping %u", processor->brand, processor->vendor,
             processor->family, processor->model, processor->stepping);
    if (processor->microcode) {
        line_add(&line, ", microcode %" PRIX64 "h", processor->microcode);
    }
    static const char *const core[] = { "", ", performance core", ", efficient core" };
    line_add(&line, "%s)", core[processor->core_type]);
    print(console, "Processor", &line);
}

static void print_caches(struct console *console, const struct processor *processor)
{
    static const char *const suffix[] = { "", "d", "i", "" };
    char size[FORMAT_ROOM];
    struct line line = { 0 };
    for (unsigned i = 0; i < processor->caches; i++) {
        const struct cache *cache = &processor->cache[i];
        line_add(&line, "%sL%u%s %s", i ? ", " : "", cache->level, suffix[cache->type],
                 format_size(cache->size, size));
        if (cache->ways) {
            line_add(&line, " %u-way", cache->ways);
        }
        if (cache->shared_by > 1) {
            line_add(&line, " for %u threads", cache->shared_by);
        }
    }
    line_add(&line, processor->caches ? " (claimed)" : "the processor does not say");
    print(console, "Caches", &line);
}

static void print_memory(struct console *console, const struct machine *machine)
{
    static const char *const name[] = { "4K", "2M", "1G" };
    char all[FORMAT_ROOM];
    char arena[FORMAT_ROOM];
    struct line line = { 0 };
    line_add(&line, "%s, %s of it to measure in; pages of", format_size(machine->memory_bytes, all),
             format_size(machine->arena_bytes, arena));
    for (size_t i = 0; i < PAGE_SIZES; i++) {
        if (machine->page_available[i]) {
            line_add(&line, " %s", name[i]);
        }
    }
    for (size_t i = 0; i < PAGE_SIZES; i++) {
        if (!machine->page_available[i] && machine->page_reason[i]) {
            line_add(&line, "; no %s: %s", name[i], machine->page_reason[i]);
        }
    }
    print(console, "Memory", &line);
}

static void print_board(struct console *console, const struct machine *machine)
{
    const struct board *board = &machine->board;
    const struct firmware *firmware = &machine->firmware;
    struct line line = { 0 };
    line_add(&line, "%s %s", board->vendor, board->product);
    if (board->board_product[0] && strcmp(board->board_product, board->product) != 0) {
        line_add(&line, ", board %s %s", board->board_vendor, board->board_product);
    }
    if (line.used > 1) {
        print(console, "System", &line);
    }
    line = (struct line){ 0 };
    if (board->bios_version[0]) {
        line_add(&line, "%s %s", board->bios_vendor, board->bios_version);
    }
    if (board->bios_date[0]) {
        line_add(&line, "%s%s", line.used ? " of " : "", board->bios_date);
    }
    if (firmware->uefi_revision) {
        line_add(&line, "%sUEFI %u.%02u by %s, Secure Boot %s", line.used ? ", " : "",
                 firmware->uefi_revision >> 16, firmware->uefi_revision & 0xFFFF, firmware->vendor,
                 firmware->secure_boot ? "on" : "off");
    }
    if (line.used) {
        print(console, "Firmware", &line);
    }
}

static void print_clock(struct console *console, const struct clock *clock)
{
    char frequency[FORMAT_ROOM];
    struct line line = { 0 };
    if (clock->tsc_hz) {
        line_add(&line, "TSC at %s by %s", format_frequency((double)clock->tsc_hz, frequency),
                 clock->source);
    } else {
        line_add(&line, "none: %s", clock->reason ? clock->reason : "no usable TSC");
    }
    if (clock->checked_by[0]) {
        char ppm[FORMAT_ROOM];
        line_add(&line, "; %s differs by %s ppm", clock->checked_by,
                 format_number(clock->disagreement_ppm, ppm));
    }
    if (clock->core_hz > 0) {
        line_add(&line, "; core at %s by %s", format_frequency(clock->core_hz, frequency),
                 clock->core_source);
    }
    print(console, "Clock", &line);
}

/* What does not let itself be switched. */
static void print_unswitched(struct console *console, const char *what,
                             const struct prefetcher_facts *facts)
{
    struct line line = { 0 };
    if (facts->reason != NULL) {
        line_add(&line, "%s%s", facts->switches == 0 ? "as found: " : "", facts->reason);
    }
    if (facts->without_switch != NULL) {
        line_add(&line, "%sno switch: %s", line.used > 0 ? "; " : "", facts->without_switch);
    }
    if (line.used > 0) {
        print(console, what, &line);
    }
}

/* Each by name, as it was found. */
static void print_prefetchers(struct console *console, const struct prefetcher_facts *facts)
{
    struct line line = { 0 };
    for (unsigned i = 0; i < facts->switches; i++) {
        const bool readable = (facts->readable >> i & 1) != 0;
        const char *const state = (facts->found_off >> i & 1) != 0 ? "off" : "on";
        line_add(&line, "%s%s %s%s", i > 0 ? ", " : "", facts->name[i], readable ? state : "?",
                 (facts->works >> i & 1) != 0 ? "" : " (stuck)");
    }
    if (line.used > 0) {
        print(console, "Prefetch", &line);
    }
    print_unswitched(console, line.used > 0 ? "" : "Prefetch", facts);
}

static void print_settings(struct console *console, const struct results *results)
{
    enum { LONG_ENOUGH = 150 };
    const char *what = "Settings";
    struct line line = { 0 };
    for (size_t i = 0; i < results->settings; i++) {
        const struct setting_note *note = &results->setting[i];
        if (strcmp(note->source, "default") == 0) {
            continue;
        }
        if (line.used > LONG_ENOUGH) {
            line_add(&line, ",");
            print(console, what, &line);
            line = (struct line){ 0 };
            what = "";
        }
        line_add(&line, "%s%s = %.64s (%s)", line.used ? ", " : "", note->key, note->value,
                 note->source);
    }
    if (!line.used) {
        line_add(&line, "all at their defaults");
    }
    print(console, what, &line);
}

void report_banner(struct console *console, const struct results *results)
{
    const struct program *program = &results->program;
    const struct machine *machine = results->machine;
    console_line(console, "Ironchase %s (commit %s, %s, %s)", program->version, program->commit,
                 program->compiler, program->platform);
    if (results->started[0]) {
        console_line(console, "%-10s%s", "Started", results->started);
    }
    if (results->name[0]) {
        console_line(console, "%-10s%s", "Name", results->name);
    }
    print_processor(console, &machine->processor);
    print_caches(console, &machine->processor);
    print_memory(console, machine);
    report_dimms(console, &machine->memory);
    print_board(console, machine);
    print_clock(console, &machine->clock);
    print_prefetchers(console, &machine->prefetchers);
    print_settings(console, results);
}

/* A warning nobody overlooks. */
static void warn(struct console *console, const char *text)
{
    char stars[LINE_MOST + 1];
    size_t columns = console_columns(console);
    memset(stars, '*', columns);
    stars[columns] = 0;
    console_line(console, "%s", stars);
    console_paragraph(console, "*** ", text);
    console_line(console, "%s", stars);
    console_blank(console);
}

void report_warnings(struct console *console, const struct machine *machine)
{
    const struct processor *processor = &machine->processor;
    char text[LINE_MOST + 1];
    if (processor->hypervisor[0] && processor->emulated) {
        (void)snprintf(text, sizeof text,
                       "EMULATOR (%s): this processor is a program. The run shows that everything "
                       "works; the times say nothing about any machine.",
                       processor->hypervisor);
        warn(console, text);
    } else if (processor->hypervisor[0]) {
        (void)snprintf(text, sizeof text,
                       "HYPERVISOR (%s): this is a virtual machine. These are the guest's times; "
                       "its host may interrupt it, share its caches and split its pages.",
                       processor->hypervisor);
        warn(console, text);
    }
    if (machine->clock.tsc_hz && !machine->clock.invariant && !processor->emulated) {
        warn(console, "CLOCK: the TSC of this processor is not invariant. It may change its pace "
                      "with the core's frequency.");
    }
}
