#include "hw/survey.h"

#include <stdio.h>
#include <string.h>

#include "hw/caches.h"
#include "hw/cpuid.h"
#include "hw/tlb.h"

enum { HYPERVISOR_RANGES = 2 }; /* one may stand before another: KVM behind Hyper-V's */

static bool bit(uint32_t value, unsigned number)
{
    return (value >> number & 1) != 0;
}

static unsigned field(uint32_t value, unsigned high, unsigned low)
{
    return value >> low & (uint32_t)((2ULL << (high - low)) - 1);
}

/* ---- identity ---- */

/* Registers as the characters they spell; anything unprintable ends the text. */
static void spell(char *text, size_t capacity, const uint32_t *registers, size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count * 4 && length + 1 < capacity; i++) {
        char c = (char)(registers[i / 4] >> i % 4 * 8 & 0xff);
        if (c < ' ' || c > '~') {
            break;
        }
        text[length++] = c;
    }
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    text[length] = '\0';
}

static void read_vendor(struct processor *processor)
{
    struct cpuid_regs regs;
    insn_cpuid(0, 0, &regs);
    const uint32_t order[] = { regs.ebx, regs.edx, regs.ecx };
    spell(processor->vendor, sizeof(processor->vendor), order, 3);
}

static void read_brand(struct processor *processor)
{
    uint32_t registers[12] = { 0 };
    for (size_t i = 0; i < 3; i++) {
        struct cpuid_regs regs;
        cpuid_read(0x80000002 + (uint32_t)i, 0, &regs);
        const uint32_t part[] = { regs.eax, regs.ebx, regs.ecx, regs.edx };
        memcpy(&registers[i * 4], part, sizeof(part));
    }
    char brand[sizeof(processor->brand)];
    spell(brand, sizeof(brand), registers, 12);
    const char *start = brand + strspn(brand, " ");
    memcpy(processor->brand, start, strlen(start) + 1);
}

/* The extended model belongs to families 6 and 15, and to Zhaoxin's 7. */
static void read_signature(struct processor *processor)
{
    struct cpuid_regs regs;
    cpuid_read(1, 0, &regs);
    unsigned family = field(regs.eax, 11, 8);
    unsigned model = field(regs.eax, 7, 4);
    if (family == 6 || family == 7 || family == 15) {
        model |= field(regs.eax, 19, 16) << 4;
    }
    if (family == 15) {
        family += field(regs.eax, 27, 20);
    }
    processor->family = family;
    processor->model = model;
    processor->stepping = field(regs.eax, 3, 0);
}

/* ---- hypervisor ---- */

static const struct {
    const char *signature;
    const char *name;
    bool emulated;
} hypervisors[] = {
    { "TCGTCGTCGTCG", "TCG", true },      { "KVMKVMKVM", "KVM", false },
    { "Linux KVM Hv", "KVM", false },     { "XenVMMXenVMM", "Xen", false },
    { "VMwareVMware", "VMware", false },  { "VBoxVBoxVBox", "VirtualBox", false },
    { "bhyve bhyve", "bhyve", false },    { "Microsoft Hv", "Hyper-V", false },
    { "ACRNACRNACRN", "ACRN", false },    { "prl hyperv", "Parallels", false },
    { "lrpepyh vr", "Parallels", false }, { "QNXQVMBSQG", "QNX", false },
};

enum { KNOWN_HYPERVISORS = sizeof(hypervisors) / sizeof(hypervisors[0]) };

static void read_signature_of(uint32_t range, char signature[13])
{
    struct cpuid_regs regs;
    insn_cpuid(range, 0, &regs);
    const uint32_t order[] = { regs.ebx, regs.ecx, regs.edx };
    spell(signature, 13, order, 3);
}

/* Index into the table, or KNOWN_HYPERVISORS. */
static size_t find_hypervisor(const char *signature)
{
    size_t i = 0;
    while (i < KNOWN_HYPERVISORS && strcmp(hypervisors[i].signature, signature) != 0) {
        i++;
    }
    return i;
}

/* A later range that names a hypervisor names the real one: KVM and Xen put themselves at 40000100h
 * when they show Windows guests a Hyper-V interface first. */
static void read_hypervisor(struct processor *processor)
{
    for (uint32_t i = 0; i < HYPERVISOR_RANGES; i++) {
        char signature[13];
        read_signature_of(LEAF_HYPERVISOR + i * HYPERVISOR_RANGE, signature);
        size_t known = find_hypervisor(signature);
        if (known < KNOWN_HYPERVISORS) {
            (void)snprintf(processor->hypervisor, sizeof(processor->hypervisor), "%s",
                           hypervisors[known].name);
            processor->emulated = hypervisors[known].emulated;
        } else if (i == 0) {
            (void)snprintf(processor->hypervisor, sizeof(processor->hypervisor), "%s",
                           signature[0] != '\0' ? signature : "unknown");
        }
    }
}

/* QEMU can be told to hide its hypervisor leaves; its own processor models still say who they are.
 * Whether it emulates or uses KVM cannot be told then, so the worse is assumed. */
static void name_hidden_hypervisor(struct processor *processor)
{
    if (strncmp(processor->brand, "QEMU ", 5) == 0) {
        memcpy(processor->hypervisor, "QEMU", sizeof("QEMU"));
        processor->emulated = true;
    }
}

/* ---- confidential guests ---- */

/* Leaf 21h spells its name in EBX, EDX, ECX. */
static bool is_tdx_guest(void)
{
    struct cpuid_regs regs;
    char name[13];
    if (!cpuid_read(0x21, 0, &regs)) {
        return false;
    }
    const uint32_t order[] = { regs.ebx, regs.edx, regs.ecx };
    spell(name, sizeof(name), order, 3);
    return strcmp(name, "IntelTDX") == 0;
}

/* The bit alone means that the processor can have SEV guests; hypervisors show it to such only. */
static bool is_sev_guest(void)
{
    struct cpuid_regs regs;
    return cpuid_hypervisor() && cpuid_read(0x8000001f, 0, &regs) && bit(regs.eax, 1);
}

/* Hyper-V hides SNP and TDX from a guest that it helps along, and tells in a leaf of its own. */
static bool is_isolated_by_hyperv(void)
{
    enum { ISOLATION_IS_TOLD = 22, ISOLATED_BY_SNP = 2, ISOLATED_BY_TDX = 3 };
    char signature[13];
    struct cpuid_regs features;
    struct cpuid_regs isolation;
    read_signature_of(LEAF_HYPERVISOR, signature);
    if (strcmp(signature, "Microsoft Hv") != 0 || !cpuid_read(0x40000003, 0, &features) ||
        !bit(features.ebx, ISOLATION_IS_TOLD) || !cpuid_read(0x4000000c, 0, &isolation)) {
        return false;
    }
    unsigned type = field(isolation.ebx, 3, 0);
    return type == ISOLATED_BY_SNP || type == ISOLATED_BY_TDX;
}

/* ---- features ---- */

enum cpuid_register { EAX, EBX, ECX, EDX };

static const struct {
    enum feature feature;
    uint32_t leaf;
    enum cpuid_register from;
    unsigned bit;
} feature_bits[] = {
    { FEATURE_TSC, 1, EDX, 4 },
    { FEATURE_MCE, 1, EDX, 7 },
    { FEATURE_MTRR, 1, EDX, 12 },
    { FEATURE_PAT, 1, EDX, 16 },
    { FEATURE_CLFLUSH, 1, EDX, 19 },
    { FEATURE_FMA, 1, ECX, 12 },
    { FEATURE_PCID, 1, ECX, 17 },
    { FEATURE_X2APIC, 1, ECX, 21 },
    { FEATURE_XSAVE, 1, ECX, 26 }, /* not OSXSAVE, which only mirrors CR4 */
    { FEATURE_AVX, 1, ECX, 28 },
    { FEATURE_APERF_MPERF, 6, ECX, 0 },
    { FEATURE_AVX2, 7, EBX, 5 },
    { FEATURE_ERMS, 7, EBX, 9 },
    { FEATURE_AVX512F, 7, EBX, 16 },
    { FEATURE_CLFLUSHOPT, 7, EBX, 23 },
    { FEATURE_CET_SS, 7, ECX, 7 },
    { FEATURE_LA57, 7, ECX, 16 },
    { FEATURE_HYBRID, 7, EDX, 15 },
    { FEATURE_NX, 0x80000001, EDX, 20 },
    { FEATURE_PAGES_1G, 0x80000001, EDX, 26 },
    { FEATURE_RDTSCP, 0x80000001, EDX, 27 },
    { FEATURE_INVARIANT_TSC, 0x80000007, EDX, 8 },
};

static void read_features(struct processor *processor)
{
    for (size_t i = 0; i < sizeof(feature_bits) / sizeof(feature_bits[0]); i++) {
        struct cpuid_regs regs;
        cpuid_read(feature_bits[i].leaf, 0, &regs);
        const uint32_t registers[] = { regs.eax, regs.ebx, regs.ecx, regs.edx };
        if (bit(registers[feature_bits[i].from], feature_bits[i].bit)) {
            processor->features |= 1ULL << feature_bits[i].feature;
        }
    }
}

static void read_address_bits(struct processor *processor)
{
    struct cpuid_regs regs;
    bool told = cpuid_read(0x80000008, 0, &regs) && field(regs.eax, 7, 0) != 0;
    processor->physical_bits = told ? field(regs.eax, 7, 0) : 36;
    processor->linear_bits = told ? field(regs.eax, 15, 8) : 48;
}

/* Intel: leaf 1Ah of the executing core. AMD: the core's level of leaf 80000026h, where cores
 * differ (EAX bit 30). */
static enum core_type read_core_type(void)
{
    struct cpuid_regs regs;
    if (cpuid_read(0x1a, 0, &regs) && regs.eax != 0) {
        unsigned type = field(regs.eax, 31, 24);
        return type == 0x40 ? CORE_PERFORMANCE : type == 0x20 ? CORE_EFFICIENT : CORE_UNKNOWN;
    }
    if (cpuid_read(0x80000026, 0, &regs) && bit(regs.eax, 30)) {
        return field(regs.ebx, 31, 28) == 0 ? CORE_PERFORMANCE : CORE_EFFICIENT;
    }
    return CORE_UNKNOWN;
}

void survey_processor(struct processor *processor)
{
    *processor = (struct processor){ 0 };
    read_vendor(processor);
    read_brand(processor);
    read_signature(processor);
    if (cpuid_hypervisor()) {
        read_hypervisor(processor);
    } else {
        name_hidden_hypervisor(processor);
    }
    processor->confidential = is_tdx_guest() || is_sev_guest() || is_isolated_by_hyperv();
    read_features(processor);
    read_address_bits(processor);
    processor->core_type = read_core_type();
    survey_caches(processor);
    survey_tlbs(processor);
}

/* ---- MSRs ---- */

enum { MSR_MICROCODE = 0x8b, MSR_TME_ACTIVATE = 0x982, MSR_SYSCFG = 0xc0010010U };

/* Intel keeps the revision in the high half, stale until CPUID has run; AMD in the low one. */
static void read_microcode(struct processor *processor)
{
    uint64_t value;
    struct cpuid_regs regs;
    bool intel = is_intel(processor);
    if (!intel && !is_amd(processor)) {
        return;
    }
    if (intel) {
        (void)insn_wrmsr(MSR_MICROCODE, 0);
        insn_cpuid(1, 0, &regs);
    }
    if (insn_rdmsr(MSR_MICROCODE, &value)) {
        processor->microcode = intel ? value >> 32 : value & 0xffffffff;
    }
}

/* Intel: the key numbers of TME-MK sit in the top address bits (TME announced by leaf 7, active and
 * locked). AMD: SME, if firmware switched it on (SYSCFG bit 23), takes those that 8000001Fh tells. */
static unsigned bits_of_memory_encryption(const struct processor *processor)
{
    struct cpuid_regs regs;
    uint64_t value;
    if (is_intel(processor)) {
        bool active = cpuid_read(7, 0, &regs) && bit(regs.ecx, 13) &&
                      insn_rdmsr(MSR_TME_ACTIVATE, &value) && (value & 3) == 3;
        return active ? (unsigned)(value >> 32 & 0xf) : 0;
    }
    bool active = is_amd(processor) && cpuid_read(0x8000001f, 0, &regs) && bit(regs.eax, 0) &&
                  insn_rdmsr(MSR_SYSCFG, &value) && (value >> 23 & 1) != 0;
    return active ? field(regs.ebx, 11, 6) : 0;
}

void survey_msrs(struct processor *processor)
{
    if (processor->hypervisor[0] != '\0') {
        return;
    }
    read_microcode(processor);
    unsigned taken = bits_of_memory_encryption(processor);
    if (taken < processor->physical_bits) {
        processor->physical_bits -= taken;
    }
}
