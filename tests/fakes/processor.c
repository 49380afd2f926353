#include "tests/fakes/processor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAVES = 256, MSRS = 256, DEVICES = 16 };

struct leaf {
    uint32_t leaf;
    int64_t subleaf;
    struct cpuid_regs regs;
};

struct msr {
    uint32_t number;
    struct scripted_msr scripted;
};

struct devices {
    struct device device[DEVICES];
    size_t count;
};

static struct {
    struct leaf leaf[LEAVES];
    size_t leaves;
    struct msr msr[MSRS];
    size_t msrs;
    bool tolerant;
    uint64_t xcr0, xcr0_valid;
    struct devices ports, memory;
    uint64_t tsc, step;
    struct hooks hooks;
    struct access log[LOGGED_ACCESSES];
    size_t accesses;
} script;

static void stop(const char *what, uint64_t number)
{
    fprintf(stderr, "scripted processor: %s %#" PRIx64 "\n", what, number);
    abort();
}

void processor_reset(void)
{
    memset(&script, 0, sizeof(script));
}

/* Every instruction begins here. */
static void step(void)
{
    script.tsc += script.step;
    if (script.hooks.before != NULL) {
        script.hooks.before(script.hooks.self);
    }
}

static void write_down(struct access access)
{
    if (script.accesses < LOGGED_ACCESSES) {
        script.log[script.accesses] = access;
    }
    script.accesses++;
}

/* ---- CPUID ---- */

static struct leaf *find_leaf(uint32_t leaf, int64_t subleaf)
{
    for (size_t i = 0; i < script.leaves; i++) {
        if (script.leaf[i].leaf == leaf && script.leaf[i].subleaf == subleaf) {
            return &script.leaf[i];
        }
    }
    return NULL;
}

struct cpuid_regs *processor_cpuid(uint32_t leaf, int64_t subleaf)
{
    struct leaf *found = find_leaf(leaf, subleaf);
    if (found == NULL) {
        if (script.leaves == LEAVES) {
            stop("too many leaves, at", leaf);
        }
        found = &script.leaf[script.leaves++];
        *found = (struct leaf){ .leaf = leaf, .subleaf = subleaf };
    }
    return &found->regs;
}

/* Out of range, Intel's processors and QEMU answer with the highest basic leaf; AMD's zeros are the
 * kinder case. */
static uint32_t answered_leaf(uint32_t leaf)
{
    const struct leaf *basic = find_leaf(0, ANY_SUBLEAF);
    bool of_hypervisor = leaf >> 28 == 4; /* ranges of 256 leaves */
    const struct leaf *range =
        find_leaf(leaf & (of_hypervisor ? 0xffffff00 : 0xffff0000), ANY_SUBLEAF);
    if (basic == NULL || (range != NULL && leaf <= range->regs.eax)) {
        return leaf;
    }
    return basic->regs.eax;
}

void insn_cpuid(uint32_t leaf, uint32_t subleaf, struct cpuid_regs *out)
{
    step();
    uint32_t answered = answered_leaf(leaf);
    const struct leaf *found = find_leaf(answered, subleaf);
    if (found == NULL) {
        found = find_leaf(answered, ANY_SUBLEAF);
    }
    *out = found != NULL ? found->regs : (struct cpuid_regs){ 0 };
    write_down((struct access){ .kind = ACCESS_CPUID, .address = leaf, .value = subleaf });
}

/* ---- registers ---- */

static struct msr *find_msr(uint32_t number)
{
    for (size_t i = 0; i < script.msrs; i++) {
        if (script.msr[i].number == number) {
            return &script.msr[i];
        }
    }
    return NULL;
}

struct scripted_msr *processor_msr(uint32_t number)
{
    struct msr *found = find_msr(number);
    if (found == NULL) {
        if (script.msrs == MSRS) {
            stop("too many registers, at", number);
        }
        found = &script.msr[script.msrs++];
        *found = (struct msr){ .number = number };
    }
    return &found->scripted;
}

void processor_tolerate_msrs(bool tolerate)
{
    script.tolerant = tolerate;
}

static bool read_msr(uint32_t number, uint64_t *value)
{
    const struct msr *msr = find_msr(number);
    if (msr == NULL) {
        *value = script.tolerant ? 0 : *value;
        return script.tolerant;
    }
    if (msr->scripted.absent) {
        return false;
    }
    *value = script.hooks.read_msr != NULL
                 ? script.hooks.read_msr(script.hooks.self, number, msr->scripted.value)
                 : msr->scripted.value;
    return true;
}

bool insn_rdmsr(uint32_t msr, uint64_t *value)
{
    step();
    bool done = read_msr(msr, value);
    write_down((struct access){
        .kind = ACCESS_RDMSR, .refused = !done, .address = msr, .value = done ? *value : 0 });
    return done;
}

static bool write_msr(uint32_t number, uint64_t value)
{
    struct msr *msr = find_msr(number);
    if (msr == NULL) {
        return script.tolerant;
    }
    struct scripted_msr *scripted = &msr->scripted;
    if (scripted->absent || scripted->read_only || (value & scripted->reserved) != 0) {
        return false;
    }
    uint64_t stored = (scripted->value & scripted->fixed) | (value & ~scripted->fixed);
    scripted->value =
        script.hooks.write_msr != NULL
            ? script.hooks.write_msr(script.hooks.self, number, scripted->value, stored)
            : stored;
    return true;
}

bool insn_wrmsr(uint32_t msr, uint64_t value)
{
    step();
    bool done = write_msr(msr, value);
    write_down(
        (struct access){ .kind = ACCESS_WRMSR, .refused = !done, .address = msr, .value = value });
    return done;
}

bool insn_rdpmc(uint32_t index, uint64_t *value)
{
    step();
    bool done = script.hooks.read_counter != NULL &&
                script.hooks.read_counter(script.hooks.self, index, value);
    write_down((struct access){
        .kind = ACCESS_RDPMC, .refused = !done, .address = index, .value = done ? *value : 0 });
    return done;
}

void processor_set_xcr0(uint64_t valid, uint64_t value)
{
    script.xcr0_valid = valid;
    script.xcr0 = value;
}

bool insn_xgetbv(uint32_t index, uint64_t *value)
{
    step();
    bool done = index == 0 && script.xcr0_valid != 0;
    if (done) {
        *value = script.xcr0;
    }
    write_down((struct access){
        .kind = ACCESS_XGETBV, .refused = !done, .address = index, .value = done ? *value : 0 });
    return done;
}

/* SDM vol. 1, 13.3: which sets of state components XCR0 takes. */
static bool xcr0_is_legal(uint64_t value)
{
    bool sse = (value & 2) != 0;
    bool avx = (value & 4) != 0;
    uint64_t avx512 = value & 0xe0;
    return (value & 1) != 0 && (!avx || sse) && (avx512 == 0 || (avx && avx512 == 0xe0)) &&
           (value & ~script.xcr0_valid) == 0;
}

bool insn_xsetbv(uint32_t index, uint64_t value)
{
    step();
    bool done = index == 0 && script.xcr0_valid != 0 && xcr0_is_legal(value);
    if (done) {
        script.xcr0 = value;
    }
    write_down((struct access){
        .kind = ACCESS_XSETBV, .refused = !done, .address = index, .value = value });
    return done;
}

/* ---- devices ---- */

static void add_device(struct devices *devices, const struct device *device)
{
    if (devices->count == DEVICES) {
        stop("too many devices, at", device->first);
    }
    devices->device[devices->count++] = *device;
}

void processor_add_ports(const struct device *device)
{
    add_device(&script.ports, device);
}

void processor_add_memory(const struct device *device)
{
    add_device(&script.memory, device);
}

static const struct device *find_device(const struct devices *devices, uint64_t address)
{
    for (size_t i = 0; i < devices->count; i++) {
        if (address >= devices->device[i].first && address <= devices->device[i].last) {
            return &devices->device[i];
        }
    }
    return NULL;
}

static uint64_t all_ones(unsigned bits)
{
    return UINT64_MAX >> (64 - bits);
}

static uint64_t device_read(enum access_kind kind, uint64_t address, unsigned bits)
{
    step();
    const struct device *device =
        find_device(kind == ACCESS_IN ? &script.ports : &script.memory, address);
    if (device == NULL && kind == ACCESS_READ) {
        stop("read from unmapped memory", address);
    }
    uint64_t value =
        device != NULL ? device->read(device->self, address - device->first, bits) : UINT64_MAX;
    value &= all_ones(bits);
    write_down((struct access){ .kind = kind, .bits = bits, .address = address, .value = value });
    return value;
}

static void device_write(enum access_kind kind, uint64_t address, unsigned bits, uint64_t value)
{
    step();
    const struct device *device =
        find_device(kind == ACCESS_OUT ? &script.ports : &script.memory, address);
    if (device == NULL && kind == ACCESS_WRITE) {
        stop("write to unmapped memory", address);
    }
    if (device != NULL && device->write != NULL) {
        device->write(device->self, address - device->first, bits, value);
    }
    write_down((struct access){ .kind = kind, .bits = bits, .address = address, .value = value });
}

uint8_t insn_in8(uint16_t port)
{
    return (uint8_t)device_read(ACCESS_IN, port, 8);
}

uint16_t insn_in16(uint16_t port)
{
    return (uint16_t)device_read(ACCESS_IN, port, 16);
}

uint32_t insn_in32(uint16_t port)
{
    return (uint32_t)device_read(ACCESS_IN, port, 32);
}

void insn_out8(uint16_t port, uint8_t value)
{
    device_write(ACCESS_OUT, port, 8, value);
}

void insn_out16(uint16_t port, uint16_t value)
{
    device_write(ACCESS_OUT, port, 16, value);
}

void insn_out32(uint16_t port, uint32_t value)
{
    device_write(ACCESS_OUT, port, 32, value);
}

uint8_t insn_read8(uint64_t address)
{
    return (uint8_t)device_read(ACCESS_READ, address, 8);
}

uint16_t insn_read16(uint64_t address)
{
    return (uint16_t)device_read(ACCESS_READ, address, 16);
}

uint32_t insn_read32(uint64_t address)
{
    return (uint32_t)device_read(ACCESS_READ, address, 32);
}

uint64_t insn_read64(uint64_t address)
{
    return device_read(ACCESS_READ, address, 64);
}

void insn_write8(uint64_t address, uint8_t value)
{
    device_write(ACCESS_WRITE, address, 8, value);
}

void insn_write16(uint64_t address, uint16_t value)
{
    device_write(ACCESS_WRITE, address, 16, value);
}

void insn_write32(uint64_t address, uint32_t value)
{
    device_write(ACCESS_WRITE, address, 32, value);
}

void insn_write64(uint64_t address, uint64_t value)
{
    device_write(ACCESS_WRITE, address, 64, value);
}

/* ---- time, hooks, log ---- */

void processor_set_time(uint64_t tsc, uint64_t step_ticks)
{
    script.tsc = tsc;
    script.step = step_ticks;
}

void processor_advance(uint64_t ticks)
{
    script.tsc += ticks;
}

uint64_t processor_time(void)
{
    return script.tsc;
}

uint64_t processor_tsc(void)
{
    script.tsc += script.step;
    return script.tsc;
}

void processor_set_hooks(const struct hooks *hooks)
{
    script.hooks = *hooks;
}

size_t processor_accesses(void)
{
    return script.accesses;
}

const struct access *processor_access(size_t index)
{
    bool kept = index < script.accesses && index < LOGGED_ACCESSES;
    return kept ? &script.log[index] : NULL;
}

size_t processor_count(enum access_kind kind, uint64_t address)
{
    size_t count = 0;
    for (size_t i = 0; processor_access(i) != NULL; i++) {
        if (script.log[i].kind == kind && script.log[i].address == address) {
            count++;
        }
    }
    return count;
}

void processor_clear_log(void)
{
    script.accesses = 0;
}
