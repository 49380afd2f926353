/* Identity, features, hypervisors and confidential guests, from recorded and from scripted CPUID. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw/cpuid.h"
#include "hw/survey.h"
#include "tests/fakes/processor.h"
#include "tests/fakes/recording.h"

#define RECORDINGS "tests/data/cpuid/"

static const char *const feature_names[FEATURES] = {
    [FEATURE_PAGES_1G] = "pages_1g",
    [FEATURE_NX] = "nx",
    [FEATURE_LA57] = "la57",
    [FEATURE_X2APIC] = "x2apic",
    [FEATURE_XSAVE] = "xsave",
    [FEATURE_AVX] = "avx",
    [FEATURE_AVX2] = "avx2",
    [FEATURE_AVX512F] = "avx512f",
    [FEATURE_FMA] = "fma",
    [FEATURE_TSC] = "tsc",
    [FEATURE_INVARIANT_TSC] = "invariant_tsc",
    [FEATURE_APERF_MPERF] = "aperf_mperf",
    [FEATURE_RDTSCP] = "rdtscp",
    [FEATURE_CLFLUSH] = "clflush",
    [FEATURE_CLFLUSHOPT] = "clflushopt",
    [FEATURE_ERMS] = "erms",
    [FEATURE_MTRR] = "mtrr",
    [FEATURE_PAT] = "pat",
    [FEATURE_MCE] = "mce",
    [FEATURE_PCID] = "pcid",
    [FEATURE_CET_SS] = "cet_ss",
    [FEATURE_HYBRID] = "hybrid",
};

static const char *const core_type_names[] = { "unknown", "performance", "efficient" };

static void expect_text(const struct recording *recording, const char *name, const char *found)
{
    const char *wanted = recording_expects(recording, name);
    assert_string_equal(found, wanted != NULL ? wanted : "");
}

static void expect_number(const struct recording *recording, const char *name, unsigned found)
{
    const char *wanted = recording_expects(recording, name);
    assert_non_null(wanted);
    assert_int_equal(found, strtoul(wanted, NULL, 10));
}

static void list_features(const struct processor *processor, char *text, size_t capacity)
{
    size_t length = 0;
    for (unsigned i = 0; i < FEATURES; i++) {
        if (has_feature(processor, i)) {
            length += (size_t)snprintf(text + length, capacity - length, "%s%s",
                                       length > 0 ? " " : "", feature_names[i]);
        }
    }
}

static bool is_listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length) {
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static void recorded_processor_is_identified(void **state)
{
    struct recording recording;
    struct processor processor;
    processor_reset();
    assert_true(recording_load(*state, &recording));
    survey_processor(&processor);

    expect_text(&recording, "vendor", processor.vendor);
    expect_text(&recording, "brand", processor.brand);
    expect_text(&recording, "hypervisor", processor.hypervisor);
    expect_text(&recording, "emulated", processor.emulated ? "yes" : "");
    expect_text(&recording, "core_type", core_type_names[processor.core_type]);
    expect_number(&recording, "family", processor.family);
    expect_number(&recording, "model", processor.model);
    expect_number(&recording, "stepping", processor.stepping);
    expect_number(&recording, "physical_bits", processor.physical_bits);
    expect_number(&recording, "linear_bits", processor.linear_bits);
    assert_false(processor.confidential);
    assert_int_equal(processor.microcode, 0);

    const char *wanted = recording_expects(&recording, "features");
    assert_non_null(wanted);
    char found[512] = "";
    list_features(&processor, found, sizeof(found));
    for (unsigned i = 0; i < FEATURES; i++) {
        if (is_listed(wanted, feature_names[i]) != is_listed(found, feature_names[i])) {
            fail_msg("feature %s: found %s", feature_names[i], found);
        }
    }
}

/* ---- leaves ---- */

static void load(const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof(path), RECORDINGS "%s", name);
    processor_reset();
    assert_true(recording_load(path, NULL));
}

static void leaf_out_of_range_is_zero(void **state)
{
    (void)state;
    struct cpuid_regs regs;
    load("kaby_lake.txt");
    assert_true(cpuid_read(0x16, 0, &regs));
    assert_int_equal(regs.eax, 1800);
    assert_false(cpuid_read(0x18, 0, &regs));
    assert_int_equal(regs.eax | regs.ebx | regs.ecx | regs.edx, 0);
    assert_false(cpuid_read(0x80000019, 0, &regs));
    assert_false(cpuid_read(0x40000000, 0, &regs));
}

static void hypervisor_range_ends_where_it_says(void **state)
{
    (void)state;
    struct cpuid_regs regs;
    load("qemu_max.txt");
    assert_true(cpuid_read(0x40000000, 0, &regs));
    assert_false(cpuid_read(0x40000010, 0, &regs)); /* QEMU answers with leaf 0Dh */
    assert_int_equal(regs.eax, 0);
    assert_false(cpuid_read(0x40000100, 0, &regs));
}

/* What a range that is not there answers may look like a large number. */
static void range_that_is_not_there_has_no_leaves(void **state)
{
    (void)state;
    struct cpuid_regs regs;
    load("alder_lake_p.txt");
    processor_cpuid(1, ANY_SUBLEAF)->ecx |= 0x80000000;
    processor_cpuid(0x20, ANY_SUBLEAF)->eax = 0xfc004121;
    assert_false(cpuid_read(0x40000100, 0, &regs));
    assert_int_equal(regs.eax, 0);
    processor_cpuid(0x20, ANY_SUBLEAF)->eax = 0x40000200; /* this one even to its range */
    assert_true(cpuid_read(0x40000100, 0, &regs));
}

static void descriptors_skip_count_and_invalid_registers(void **state)
{
    (void)state;
    uint8_t found[CPUID_DESCRIPTORS];
    load("lynnfield.txt");
    assert_int_equal(cpuid_descriptors(found), 10);
    assert_int_equal(found[0], 0x5a);
    processor_cpuid(2, ANY_SUBLEAF)->edx |= 0x80000000;
    assert_int_equal(cpuid_descriptors(found), 6);
}

/* ---- hypervisors ---- */

/* Twelve characters in EBX, ECX, EDX, the order of hypervisors. */
static void set_signature(uint32_t leaf, uint32_t highest, const char *text)
{
    char padded[13] = "";
    (void)snprintf(padded, sizeof(padded), "%s", text);
    struct cpuid_regs *regs = processor_cpuid(leaf, ANY_SUBLEAF);
    regs->eax = highest;
    memcpy(&regs->ebx, padded, 4);
    memcpy(&regs->ecx, padded + 4, 4);
    memcpy(&regs->edx, padded + 8, 4);
}

static void load_guest(const char *name, const char *signature)
{
    load(name);
    processor_cpuid(1, ANY_SUBLEAF)->ecx |= 0x80000000;
    set_signature(0x40000000, 0x4000000c, signature);
}

static void hypervisor_has_the_name_people_know(void **state)
{
    (void)state;
    static const struct {
        const char *signature, *name;
    } known[] = {
        { "KVMKVMKVM", "KVM" },    { "Microsoft Hv", "Hyper-V" },      { "VMwareVMware", "VMware" },
        { "XenVMMXenVMM", "Xen" }, { "VBoxVBoxVBox", "VirtualBox" },   { "bhyve bhyve ", "bhyve" },
        { "TCGTCGTCGTCG", "TCG" }, { "SomethingNew", "SomethingNew" }, { "", "unknown" },
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct processor processor;
        load_guest("sapphire_rapids.txt", known[i].signature);
        survey_processor(&processor);
        assert_string_equal(processor.hypervisor, known[i].name);
        assert_int_equal(processor.emulated, strcmp(known[i].name, "TCG") == 0);
        assert_false(processor.confidential);
    }
}

static void kvm_behind_a_hyperv_interface_is_kvm(void **state)
{
    (void)state;
    struct processor processor;
    load_guest("sapphire_rapids.txt", "Microsoft Hv");
    set_signature(0x40000100, 0x40000101, "KVMKVMKVM");
    survey_processor(&processor);
    assert_string_equal(processor.hypervisor, "KVM");
}

static void signature_without_the_hypervisor_bit_is_none(void **state)
{
    (void)state;
    struct processor processor;
    load("sapphire_rapids.txt");
    set_signature(0x40000000, 0x40000001, "KVMKVMKVM");
    survey_processor(&processor);
    assert_string_equal(processor.hypervisor, "");
}

static void hidden_qemu_is_found_by_its_brand(void **state)
{
    (void)state;
    struct processor processor;
    load("qemu_qemu64.txt");
    processor_cpuid(1, ANY_SUBLEAF)->ecx &= 0x7fffffff;
    survey_processor(&processor);
    assert_string_equal(processor.hypervisor, "QEMU");
    assert_true(processor.emulated);
}

/* ---- confidential guests ---- */

static bool is_confidential(void)
{
    struct processor processor;
    survey_processor(&processor);
    return processor.confidential;
}

static void sev_guest_is_told_from_its_host(void **state)
{
    (void)state;
    load("genoa.txt");
    assert_false(is_confidential()); /* the processor can have such guests, and is none */
    load_guest("genoa.txt", "KVMKVMKVM");
    assert_true(is_confidential());
    processor_cpuid(0x8000001f, ANY_SUBLEAF)->eax &= ~2U;
    assert_false(is_confidential());
}

static void tdx_guest_is_found(void **state)
{
    (void)state;
    load_guest("sapphire_rapids.txt", "KVMKVMKVM");
    assert_false(is_confidential());
    processor_cpuid(0, ANY_SUBLEAF)->eax = 0x21;
    *processor_cpuid(0x21, 0) = (struct cpuid_regs){ 0, 0x65746e49, 0x20202020, 0x5844546c };
    assert_true(is_confidential());
}

static void isolation_by_hyperv_is_found(void **state)
{
    (void)state;
    load_guest("genoa.txt", "Microsoft Hv");
    processor_cpuid(0x8000001f, ANY_SUBLEAF)->eax = 0;
    processor_cpuid(0x4000000c, ANY_SUBLEAF)->ebx = 0x22;
    assert_false(is_confidential()); /* the leaf is not announced */
    processor_cpuid(0x40000003, ANY_SUBLEAF)->ebx = 1U << 22;
    assert_true(is_confidential());
    processor_cpuid(0x4000000c, ANY_SUBLEAF)->ebx = 0x21; /* virtualisation based security */
    assert_false(is_confidential());
    processor_cpuid(0x4000000c, ANY_SUBLEAF)->ebx = 0x23;
    assert_true(is_confidential());
}

/* ---- hybrid AMD, old processors ---- */

static void amd_core_type_counts_where_cores_differ(void **state)
{
    (void)state;
    struct processor processor;
    load("turin.txt");
    processor_cpuid(0x80000026, 0)->ebx |= 1U << 28;
    survey_processor(&processor);
    assert_int_equal(processor.core_type, CORE_UNKNOWN);
    processor_cpuid(0x80000026, 0)->eax |= 1U << 30;
    survey_processor(&processor);
    assert_int_equal(processor.core_type, CORE_EFFICIENT);
    processor_cpuid(0x80000026, 0)->ebx &= 0x0fffffff;
    survey_processor(&processor);
    assert_int_equal(processor.core_type, CORE_PERFORMANCE);
}

static void processor_with_two_leaves_is_survived(void **state)
{
    (void)state;
    struct processor processor;
    processor_reset();
    *processor_cpuid(0, ANY_SUBLEAF) = (struct cpuid_regs){ 1, 0x756e6547, 0x6c65746e, 0x49656e69 };
    *processor_cpuid(1, ANY_SUBLEAF) = (struct cpuid_regs){ 0x00000f4a, 0, 0, 0x10 };
    survey_processor(&processor);
    assert_string_equal(processor.vendor, "GenuineIntel");
    assert_string_equal(processor.brand, "");
    assert_int_equal(processor.family, 15);
    assert_int_equal(processor.model, 4);
    assert_int_equal(processor.features, 1ULL << FEATURE_TSC);
    assert_int_equal(processor.physical_bits, 36);
    assert_int_equal(processor.linear_bits, 48);
    assert_int_equal(processor.caches, 0);
    assert_int_equal(processor.tlbs, 0);
}

/* ---- MSRs ---- */

static void intel_microcode_is_read_as_the_manual_wants(void **state)
{
    (void)state;
    struct processor processor;
    load("sapphire_rapids.txt");
    processor_msr(0x8b)->value = 0x2b00064300000000;
    processor_msr(0x8b)->fixed = UINT64_MAX;
    survey_processor(&processor);
    processor_clear_log();
    survey_msrs(&processor);
    assert_int_equal(processor.microcode, 0x2b000643);
    static const enum access_kind order[] = { ACCESS_WRMSR, ACCESS_CPUID, ACCESS_RDMSR };
    static const uint64_t addresses[] = { 0x8b, 1, 0x8b };
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(processor_access(i)->kind, order[i]);
        assert_int_equal(processor_access(i)->address, addresses[i]);
    }
    assert_int_equal(processor_access(0)->value, 0);
}

static void amd_microcode_is_only_read(void **state)
{
    (void)state;
    struct processor processor;
    load("genoa.txt");
    *processor_msr(0x8b) = (struct scripted_msr){ .value = 0x0a101148, .read_only = true };
    survey_processor(&processor);
    survey_msrs(&processor);
    assert_int_equal(processor.microcode, 0x0a101148);
    assert_int_equal(processor_count(ACCESS_WRMSR, 0x8b), 0);
}

static void refused_microcode_stays_unknown(void **state)
{
    (void)state;
    struct processor processor;
    load("kaby_lake.txt");
    survey_processor(&processor);
    survey_msrs(&processor);
    assert_int_equal(processor.microcode, 0);
}

static void nothing_is_asked_of_a_hypervisor(void **state)
{
    (void)state;
    struct processor processor;
    load("qemu_max.txt");
    processor_tolerate_msrs(true);
    survey_processor(&processor);
    processor_clear_log();
    survey_msrs(&processor);
    assert_int_equal(processor_accesses(), 0);
}

static void memory_encryption_takes_address_bits(void **state)
{
    (void)state;
    struct processor processor;
    load("genoa.txt");
    processor_msr(0xc0010010)->value = 1U << 23;
    survey_processor(&processor);
    survey_msrs(&processor);
    assert_int_equal(processor.physical_bits, 52 - 6);
    processor_msr(0xc0010010)->value = 0;
    survey_processor(&processor);
    survey_msrs(&processor);
    assert_int_equal(processor.physical_bits, 52);

    load("sapphire_rapids.txt"); /* announces TME */
    processor_msr(0x982)->value = 6ULL << 32 | 3;
    survey_processor(&processor);
    survey_msrs(&processor);
    assert_int_equal(processor.physical_bits, 52 - 6);
    processor_msr(0x982)->value = 6ULL << 32 | 1; /* locked, not active */
    survey_processor(&processor);
    survey_msrs(&processor);
    assert_int_equal(processor.physical_bits, 52);
}

static const struct CMUnitTest scripted[] = {
    cmocka_unit_test(leaf_out_of_range_is_zero),
    cmocka_unit_test(hypervisor_range_ends_where_it_says),
    cmocka_unit_test(range_that_is_not_there_has_no_leaves),
    cmocka_unit_test(descriptors_skip_count_and_invalid_registers),
    cmocka_unit_test(hypervisor_has_the_name_people_know),
    cmocka_unit_test(kvm_behind_a_hyperv_interface_is_kvm),
    cmocka_unit_test(signature_without_the_hypervisor_bit_is_none),
    cmocka_unit_test(hidden_qemu_is_found_by_its_brand),
    cmocka_unit_test(sev_guest_is_told_from_its_host),
    cmocka_unit_test(tdx_guest_is_found),
    cmocka_unit_test(isolation_by_hyperv_is_found),
    cmocka_unit_test(amd_core_type_counts_where_cores_differ),
    cmocka_unit_test(processor_with_two_leaves_is_survived),
    cmocka_unit_test(intel_microcode_is_read_as_the_manual_wants),
    cmocka_unit_test(amd_microcode_is_only_read),
    cmocka_unit_test(refused_microcode_stays_unknown),
    cmocka_unit_test(nothing_is_asked_of_a_hypervisor),
    cmocka_unit_test(memory_encryption_takes_address_bits),
};

enum { SCRIPTED = sizeof(scripted) / sizeof(scripted[0]), MOST_RECORDINGS = 64 };

/* One test a recording, named after what it does and the file. */
int main(void)
{
    static struct CMUnitTest tests[SCRIPTED + MOST_RECORDINGS];
    static char names[MOST_RECORDINGS][96];
    glob_t files;
    if (glob(RECORDINGS "*.txt", 0, NULL, &files) != 0 || files.gl_pathc > MOST_RECORDINGS) {
        fprintf(stderr, "no recorded processors in " RECORDINGS "\n");
        return EXIT_FAILURE;
    }
    memcpy(tests, scripted, sizeof(scripted));
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *file = strrchr(files.gl_pathv[i], '/') + 1;
        (void)snprintf(names[i], sizeof(names[i]), "identifies_%.*s", (int)strcspn(file, "."),
                       file);
        tests[SCRIPTED + i] = (struct CMUnitTest){ .name = names[i],
                                                   .test_func = recorded_processor_is_identified,
                                                   .initial_state = files.gl_pathv[i] };
    }
    int failed = _cmocka_run_group_tests("cpuid", tests, SCRIPTED + files.gl_pathc, NULL, NULL);
    globfree(&files);
    return failed;
}
