/* The scripted processor: what stands in for hw/insn.S in a host test.
 *
 * It answers CPUID from recorded leaves, holds a file of MSRs that refuse what a real processor
 * refuses, hands ports and memory-mapped registers to devices of the test, keeps one clock for all
 * of them, and writes down every access in order. A test starts with processor_reset(), scripts
 * what the code under test will meet, runs it, and looks at what it answered and what it touched.
 *
 *     processor_reset();
 *     recording_load("tests/data/cpuid/genoa.txt", NULL);     (tests/fakes/recording.h)
 *     *processor_msr(0x8b) = (struct scripted_msr){ .value = 0x0a101148, .read_only = true };
 *
 * What no script covers: CPUID answers as the real processor does out of range, MSRs refuse (or
 * read as 0 and swallow, as under QEMU), ports read all ones, and a memory-mapped access ends the
 * test, since it would be a page fault. */
#ifndef TESTS_FAKES_PROCESSOR_H
#define TESTS_FAKES_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hw/insn.h"

/* An empty machine: no leaf, no MSR, no device, time 0, nothing logged. */
void processor_reset(void);

/* ---- CPUID ---- */

/* The leaf's registers, to be set or changed; added as zeros if it is new. ANY_SUBLEAF: a leaf that
 * does not look at ECX. */
enum { ANY_SUBLEAF = -1 };
struct cpuid_regs *processor_cpuid(uint32_t leaf, int64_t subleaf);

/* ---- model-specific and extended control registers ---- */

struct scripted_msr {
    uint64_t value;
    uint64_t reserved; /* a write that sets one of these is refused */
    uint64_t fixed;    /* a write leaves these as they are */
    bool read_only;    /* every write is refused */
    bool absent;       /* refused altogether, whatever the default is */
};

/* The register, to be set or changed; added as zero (all bits can be written) if it is new. */
struct scripted_msr *processor_msr(uint32_t number);

/* True: unscripted MSRs read as 0 and swallow writes. False (after a reset): they refuse. */
void processor_tolerate_msrs(bool tolerate);

/* XCR0: `valid` bits can be set, bit 0 must be, bit 2 needs bit 1, bits 5..7 come together and need
 * bit 2. Refuses while CR4.OSXSAVE is off (valid 0). */
void processor_set_xcr0(uint64_t valid, uint64_t value);

/* ---- ports and memory-mapped registers ---- */

struct device {
    void *self;
    uint64_t first, last; /* ports or addresses, both included */
    uint64_t (*read)(void *self, uint64_t offset, unsigned bits);
    void (*write)(void *self, uint64_t offset, unsigned bits, uint64_t value); /* NULL: ignored */
};

void processor_add_ports(const struct device *device);
void processor_add_memory(const struct device *device);

/* ---- time ---- */

/* Time stamp now, and how far each access and each processor_tsc() moves it. */
void processor_set_time(uint64_t tsc, uint64_t step);
void processor_advance(uint64_t ticks);
uint64_t processor_time(void); /* without moving it */
uint64_t processor_tsc(void);  /* RDTSC: moves by one step, then tells */

/* ---- hooks ---- */

/* For registers that live: counters, self-clearing bits. Each may be NULL. */
struct hooks {
    void *self;
    /* Before each access, logged or not; may jump out of it (a fault in the middle). */
    void (*before)(void *self);
    /* What RDMSR answers instead of the stored value; what WRMSR stores instead of the new one.
     * Called for scripted registers only, after the checks. */
    uint64_t (*read_msr)(void *self, uint32_t number, uint64_t stored);
    uint64_t (*write_msr)(void *self, uint32_t number, uint64_t stored, uint64_t written);
    /* RDPMC; false: refused. Without it every RDPMC is. */
    bool (*read_counter)(void *self, uint32_t index, uint64_t *value);
};

void processor_set_hooks(const struct hooks *hooks);

/* ---- the log ---- */

enum access_kind {
    ACCESS_CPUID, /* address: leaf, value: subleaf */
    ACCESS_RDMSR,
    ACCESS_WRMSR,
    ACCESS_RDPMC,
    ACCESS_XGETBV,
    ACCESS_XSETBV,
    ACCESS_IN,
    ACCESS_OUT,
    ACCESS_READ,
    ACCESS_WRITE,
};

struct access {
    enum access_kind kind;
    unsigned bits;    /* of ports and memory: 8, 16, 32, 64 */
    bool refused;     /* value: what was to be written, or 0 */
    uint64_t address; /* register number, port or address */
    uint64_t value;   /* read or written */
};

enum { LOGGED_ACCESSES = 1 << 16 }; /* later ones are counted, not kept */

size_t processor_accesses(void);                                 /* since reset or clear */
const struct access *processor_access(size_t index);             /* NULL if not kept */
size_t processor_count(enum access_kind kind, uint64_t address); /* among those kept */
void processor_clear_log(void);

#endif
