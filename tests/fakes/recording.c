#include "tests/fakes/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/processor.h"

enum { LINE = 512 };

static void refuse(const char *path, const char *line)
{
    fprintf(stderr, "%s: cannot read this line: %s", path, line);
    abort();
}

static bool take_cpuid(const char *line)
{
    uint32_t leaf;
    char subleaf[9];
    struct cpuid_regs regs;
    if (sscanf(line, "cpuid %" SCNx32 " %8s %" SCNx32 " %" SCNx32 " %" SCNx32 " %" SCNx32, &leaf,
               subleaf, &regs.eax, &regs.ebx, &regs.ecx, &regs.edx) != 6) {
        return false;
    }
    int64_t number = strcmp(subleaf, "-") == 0 ? ANY_SUBLEAF : strtoll(subleaf, NULL, 16);
    *processor_cpuid(leaf, number) = regs;
    return true;
}

static bool take_msr(const char *line)
{
    uint32_t number;
    uint64_t value;
    if (sscanf(line, "msr %" SCNx32 " %" SCNx64, &number, &value) != 2) {
        return false;
    }
    processor_msr(number)->value = value;
    return true;
}

static bool take_expectation(const char *line, struct recording *recording)
{
    struct expectation expect;
    if (sscanf(line, "expect %23s %255[^\n]", expect.name, expect.value) != 2) {
        return false;
    }
    if (recording != NULL) {
        if (recording->expectations == EXPECTATIONS) {
            return false;
        }
        recording->expect[recording->expectations++] = expect;
    }
    return true;
}

bool recording_load(const char *path, struct recording *recording)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    if (recording != NULL) {
        recording->expectations = 0;
    }
    char line[LINE];
    while (fgets(line, sizeof(line), file) != NULL) {
        bool blank = line[0] == '#' || line[0] == '\n';
        if (!blank && !take_cpuid(line) && !take_msr(line) && !take_expectation(line, recording)) {
            refuse(path, line);
        }
    }
    fclose(file);
    return true;
}

const char *recording_expects(const struct recording *recording, const char *name)
{
    for (size_t i = 0; i < recording->expectations; i++) {
        if (strcmp(recording->expect[i].name, name) == 0) {
            return recording->expect[i].value;
        }
    }
    return NULL;
}

/* ---- dumps ---- */

/* Leaves whose answer depends on ECX (SDM vol. 2A and APM vol. 3, CPUID). */
static bool has_subleaves(uint32_t leaf)
{
    static const uint32_t leaves[] = { 0x04, 0x07, 0x0b, 0x0d,       0x0f,       0x10,      0x12,
                                       0x14, 0x17, 0x18, 0x1b,       0x1d,       0x1e,      0x1f,
                                       0x20, 0x23, 0x24, 0x8000001d, 0x80000020, 0x80000026 };
    for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
        if (leaves[i] == leaf) {
            return true;
        }
    }
    return false;
}

/* Older dumps do not number the subleaves: they follow each other. */
struct dump_position {
    uint32_t leaf;
    uint32_t next_subleaf;
};

static void take_dump_line(const char *line, struct dump_position *position)
{
    uint32_t leaf;
    struct cpuid_regs regs;
    if (sscanf(line, "CPUID %8" SCNx32 ": %8" SCNx32 "-%8" SCNx32 "-%8" SCNx32 "-%8" SCNx32, &leaf,
               &regs.eax, &regs.ebx, &regs.ecx, &regs.edx) != 5) {
        return;
    }
    if (!has_subleaves(leaf)) {
        *processor_cpuid(leaf, ANY_SUBLEAF) = regs;
        return;
    }
    if (leaf != position->leaf) {
        *position = (struct dump_position){ .leaf = leaf };
    }
    const char *numbered = strstr(line, "[SL ");
    uint32_t subleaf =
        numbered != NULL ? (uint32_t)strtoul(numbered + 4, NULL, 16) : position->next_subleaf;
    position->next_subleaf = subleaf + 1;
    *processor_cpuid(leaf, subleaf) = regs;
}

bool recording_load_dump(const char *path, unsigned logical)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    /* A dump of one processor may have no heading. */
    bool inside = logical == 0;
    bool found = false;
    struct dump_position position = { 0 };
    char line[LINE];
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *heading = strstr(line, "Logical CPU #");
        if (heading != NULL) {
            inside = strtoul(heading + strlen("Logical CPU #"), NULL, 10) == logical;
        } else if (inside && strncmp(line, "CPUID ", 6) == 0) {
            take_dump_line(line, &position);
            found = true;
        }
    }
    fclose(file);
    return found;
}
