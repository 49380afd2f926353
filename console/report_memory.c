#include "console/report_memory.h"

#include <stdio.h>
#include <string.h>

#include "console/format.h"
#include "console/line.h"

static void print(struct console *console, const char *what, const struct line *line)
{
    char lead[24];
    (void)snprintf(lead, sizeof lead, "%-10s", what);
    console_paragraph(console, lead, line->text);
}

/* ---- modules ---- */

static bool is_populated(const struct dimm *dimm)
{
    return dimm->bytes != 0 || !dimm->size_told;
}

/* Do they look alike on the banner? */
static bool alike(const struct dimm *a, const struct dimm *b)
{
    return a->bytes == b->bytes && a->kind == b->kind && a->rated == b->rated &&
           a->configured == b->configured && a->correction == b->correction;
}

static bool is_first_of_its_kind(const struct memory_facts *memory, unsigned index)
{
    for (unsigned i = 0; i < index; i++) {
        if (is_populated(&memory->dimm[i]) && alike(&memory->dimm[i], &memory->dimm[index])) {
            return false;
        }
    }
    return true;
}

static unsigned count_alike(const struct memory_facts *memory, const struct dimm *dimm)
{
    unsigned count = 0;
    for (unsigned i = 0; i < memory->dimms; i++) {
        count += is_populated(&memory->dimm[i]) && alike(&memory->dimm[i], dimm);
    }
    return count;
}

/* "8 x 64 GiB DDR5-5600 at 4800 MT/s, ECC". */
static void add_kind(struct line *line, const struct dimm *dimm, unsigned count)
{
    char size[FORMAT_ROOM];
    line_add(line, "%u x %s", count, dimm->bytes != 0 ? format_size(dimm->bytes, size) : "? GiB");
    line_add(line, " %s", dimm->kind != NULL ? dimm->kind : "memory");
    if (dimm->rated != 0) {
        line_add(line, "-%u", dimm->rated);
    }
    if (dimm->configured != 0) {
        line_add(line, " at %u MT/s", dimm->configured);
    }
    if (dimm->correction > ECC_NONE) {
        line_add(line, "%s", dimm->correction == ECC_PARITY ? ", parity" : ", ECC");
    } else if (dimm->correction == ECC_NONE) {
        line_add(line, ", no ECC");
    }
}

static void add_kinds(struct line *line, const struct memory_facts *memory)
{
    const char *between = ": ";
    for (unsigned i = 0; i < memory->dimms; i++) {
        const struct dimm *dimm = &memory->dimm[i];
        if (is_populated(dimm) && is_first_of_its_kind(memory, i)) {
            line_add(line, "%s", between);
            add_kind(line, dimm, count_alike(memory, dimm));
            between = "; ";
        }
    }
}

void report_dimms(struct console *console, const struct memory_facts *memory)
{
    struct line line = { 0 };
    if (memory->dimms != 0) {
        line_add(&line, "%u of %u sockets", memory->populated, memory->dimms + memory->lost);
        if (memory->channels != 0) {
            line_add(&line, ", %u of %u channels", memory->channels_populated, memory->channels);
        }
        add_kinds(&line, memory);
    }
    if (memory->reason != NULL) {
        line_add(&line, "%s%s", line.used != 0 ? "; " : "not known: ", memory->reason);
    }
    if (line.used != 0) {
        print(console, "DIMMs", &line);
    }
}
