/* What the handlers make of a frame, and what a machine check means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hw/trap.h"
#include "tests/fakes/processor.h"
#include "tests/fakes/ring0.h"

#include <string.h>

extern const int32_t insn_may_fault[], insn_may_fault_end[];
void insn_refused(void);

static struct traps traps;
static char said[16][128];
static unsigned lines;

static void hear(void *self, const char *line)
{
    (void)self;
    strncpy(said[lines++ % 16], line, sizeof said[0] - 1);
}

static int set_up(void **state)
{
    (void)state;
    processor_reset();
    ring0_reset();
    memset(said, 0, sizeof said);
    lines = 0;
    traps = (struct traps){
        .way_out_ip = 0x1111, .way_out_sp = 0x2222, .way_out_context = 0x3333, .say = hear
    };
    trap_use(&traps);
    return 0;
}

static struct trap_frame frame_of(uint64_t vector, uint64_t ip)
{
    return (struct trap_frame){
        .vector = vector, .code = 9, .ip = ip, .cs = 8, .ss = 16, .sp = 0x5000, .flags = 0x10546
    };
}

static void handle(void *frame)
{
    trap_handle(frame);
}

static uint64_t first_primitive(void)
{
    return (uint64_t)(uintptr_t)insn_may_fault + (uint64_t)(int64_t)insn_may_fault[0];
}

/* ---- faults ----------------------------------------------------------------------------------- */

static void test_fault_in_a_body(void **state)
{
    (void)state;
    for (uint64_t vector = 0; vector < TRAP_VECTORS; vector++) {
        if (vector == TRAP_NMI || vector == TRAP_MACHINE_CHECK) {
            continue;
        }
        struct trap_frame frame = frame_of(vector, 0x4444);
        traps.in_body = true;
        traps.faulted = false;
        ring0_run(handle, &frame);
        assert_null(ring0()->died);
        assert_true(traps.faulted);
        assert_false(traps.in_body);
        assert_int_equal(traps.fault.vector, vector);
        assert_int_equal(traps.fault.code, 9);
        assert_int_equal(traps.fault.ip, 0x4444);
        assert_int_equal(traps.fault.address, vector == TRAP_PAGE_FAULT ? 0x1234 : 0);
        assert_int_equal(frame.ip, 0x1111);
        assert_int_equal(frame.sp, 0x2222);
        assert_int_equal(frame.rbx, 0x3333);
        assert_int_equal(frame.flags, 2); /* no IF, no DF, no TF */
        assert_int_equal(frame.cs, 8);
        assert_int_equal(frame.ss, 16);
    }
}

static void test_fault_outside_a_body(void **state)
{
    (void)state;
    struct trap_frame frame = frame_of(TRAP_PAGE_FAULT, 0xABCDEF0123);
    ring0_run(handle, &frame);
    assert_string_equal(ring0()->died, "halted");
    assert_false(traps.faulted);
    assert_int_equal(lines, 2);
    assert_string_equal(said[0], "exception eh, error code 9h, rip abcdef0123h, rsp 5000h, "
                                 "cr2 1234h");
}

static void test_nobody_listens(void **state)
{
    (void)state;
    struct trap_frame frame = frame_of(TRAP_DIVIDE, 0);
    traps.say = NULL;
    ring0_run(handle, &frame);
    assert_string_equal(ring0()->died, "halted");
}

static void test_refused_primitive(void **state)
{
    (void)state;
    static const uint64_t answers[] = { TRAP_GENERAL_PROTECTION, TRAP_INVALID_OPCODE };
    assert_int_equal((uintptr_t)insn_may_fault_end - (uintptr_t)insn_may_fault, 4);
    for (unsigned i = 0; i < 2; i++) {
        struct trap_frame frame = frame_of(answers[i], first_primitive());
        trap_handle(&frame); /* in a body or out of it */
        assert_int_equal(frame.ip, (uintptr_t)insn_refused);
        assert_int_equal(frame.sp, 0x5000);
        assert_int_equal(frame.flags, 0x10546);
        assert_false(traps.faulted);
    }
    /* Any other exception there is a fault, and so is one a byte further. */
    traps.in_body = true;
    struct trap_frame divide = frame_of(TRAP_DIVIDE, first_primitive());
    trap_handle(&divide);
    assert_true(traps.faulted);
    traps.in_body = true;
    struct trap_frame beside = frame_of(TRAP_GENERAL_PROTECTION, first_primitive() + 1);
    trap_handle(&beside);
    assert_int_equal(beside.ip, 0x1111);
}

static void test_nmi_is_counted_and_nothing_else(void **state)
{
    (void)state;
    struct trap_frame frame = frame_of(TRAP_NMI, 0x4444), before = frame;
    traps.in_body = true;
    trap_handle(&frame);
    trap_handle(&frame);
    assert_int_equal(traps.nmis, 2);
    assert_memory_equal(&frame, &before, sizeof frame);
    assert_true(traps.in_body);
    assert_false(traps.faulted);
}

/* ---- machine checks --------------------------------------------------------------------------- */

static void script_banks(unsigned banks, uint64_t status)
{
    processor_msr(MSR_MCG_CAP)->value = 0x0F000000U | banks;
    processor_msr(MSR_MCG_STATUS)->value = status;
    for (unsigned i = 0; i < banks && i < 32; i++) {
        for (unsigned j = 0; j < 4; j++) {
            processor_msr(0x400 + 4 * i + j)->value = 0;
        }
    }
}

static const struct judged {
    uint64_t status, banks;
    bool unreadable;
    enum machine_check_verdict verdict;
} judged[] = {
    { MCG_RIPV | MCG_MCIP, 0, false, MACHINE_CHECK_GO_ON },
    { MCG_RIPV, BANK_VALID, false, MACHINE_CHECK_GO_ON },
    { MCG_RIPV | 2, BANK_VALID | BANK_ACTION, false, MACHINE_CHECK_END_BODY },
    { MCG_RIPV, BANK_VALID | BANK_PCC, false, MACHINE_CHECK_HALT },
    { MCG_RIPV, BANK_VALID | BANK_PCC | BANK_ACTION, false, MACHINE_CHECK_HALT },
    { MCG_MCIP, BANK_VALID, false, MACHINE_CHECK_HALT },
    { MCG_MCIP | 2, 0, false, MACHINE_CHECK_HALT },
    { MCG_RIPV, 0, true, MACHINE_CHECK_HALT },
};

static void test_judgement(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof judged / sizeof judged[0]; i++) {
        const struct machine_check check = { .status = judged[i].status,
                                             .status_union = judged[i].banks,
                                             .unreadable = judged[i].unreadable };
        assert_int_equal(machine_check_judge(&check), judged[i].verdict);
    }
}

static void test_banks_are_written_down(void **state)
{
    (void)state;
    struct machine_check check;
    script_banks(12, 5);
    processor_msr(0x400 + 4 * 3 + 1)->value = BANK_VALID | BANK_ADDRESS | 0x17;
    processor_msr(0x400 + 4 * 3 + 2)->value = 0xAAAA;
    processor_msr(0x400 + 4 * 3 + 3)->value = 0xBBBB;   /* MISC, said to hold nothing */
    processor_msr(0x400 + 4 * 5 + 1)->value = BANK_PCC; /* not valid: does not count */
    processor_msr(0x400 + 4 * 11 + 1)->value = BANK_VALID | BANK_MISC;
    processor_msr(0x400 + 4 * 11 + 3)->value = 0xCCCC;
    machine_check_read(&check, false);
    assert_int_equal(check.status, 5);
    assert_int_equal(check.banks, 12);
    assert_int_equal(check.valid, 2);
    assert_int_equal(check.recorded, 2);
    assert_int_equal(check.bank[0].number, 3);
    assert_int_equal(check.bank[0].address, 0xAAAA);
    assert_int_equal(check.bank[0].misc, 0);
    assert_int_equal(check.bank[1].number, 11);
    assert_int_equal(check.bank[1].address, 0);
    assert_int_equal(check.bank[1].misc, 0xCCCC);
    assert_int_equal(machine_check_judge(&check), MACHINE_CHECK_GO_ON);
    for (size_t i = 0; i < processor_accesses(); i++) {
        assert_int_not_equal(processor_access(i)->kind, ACCESS_WRMSR);
    }
}

/* More banks than are written down: the ninth decides all the same. */
static void test_every_bank_is_judged(void **state)
{
    (void)state;
    struct machine_check check;
    script_banks(20, MCG_RIPV);
    for (unsigned i = 0; i < 20; i++) {
        processor_msr(0x401 + 4 * i)->value = BANK_VALID;
    }
    processor_msr(0x401 + 4 * 19)->value = BANK_VALID | BANK_PCC;
    machine_check_read(&check, false);
    assert_int_equal(check.valid, 20);
    assert_int_equal(check.recorded, MACHINE_CHECK_BANKS);
    assert_int_equal(machine_check_judge(&check), MACHINE_CHECK_HALT);
}

/* Bank 32 is at 480h by the old count, which is VMX's, and behind C0002000h on AMD. */
static void test_banks_above_31(void **state)
{
    (void)state;
    struct machine_check check;
    script_banks(34, MCG_RIPV);
    machine_check_read(&check, false);
    assert_false(check.unreadable);
    assert_int_equal(processor_count(ACCESS_RDMSR, 0x481), 0);
    processor_msr(0xC0002201)->value = BANK_VALID | BANK_MISC;
    processor_msr(0xC0002203)->value = 0xDDDD;
    processor_msr(0xC0002211)->value = 0;
    machine_check_read(&check, true);
    assert_false(check.unreadable);
    assert_int_equal(check.valid, 1);
    assert_int_equal(check.bank[0].number, 32);
    assert_int_equal(check.bank[0].misc, 0xDDDD);
    processor_msr(0xC0002211)->absent = true;
    machine_check_read(&check, true);
    assert_true(check.unreadable);
}

/* A harmless one goes on where it was, and clears MCIP only. */
static void test_machine_check_goes_on(void **state)
{
    (void)state;
    struct trap_frame frame = frame_of(TRAP_MACHINE_CHECK, 0x4444), before = frame;
    script_banks(2, MCG_RIPV | MCG_MCIP | 2);
    trap_handle(&frame);
    assert_memory_equal(&frame, &before, sizeof frame);
    assert_int_equal(traps.machine_checks, 1);
    assert_int_equal(processor_msr(MSR_MCG_STATUS)->value, MCG_RIPV | 2);
}

/* The same one again and again is a poisoned line that is read anew each time. */
static void test_machine_checks_do_not_go_on_for_ever(void **state)
{
    (void)state;
    traps.in_body = true;
    for (unsigned i = 1; i <= TRAP_MACHINE_CHECKS; i++) {
        struct trap_frame frame = frame_of(TRAP_MACHINE_CHECK, 0x4444);
        script_banks(2, MCG_RIPV | MCG_MCIP);
        trap_handle(&frame);
        assert_int_equal(frame.ip, i < TRAP_MACHINE_CHECKS ? 0x4444 : 0x1111);
    }
    assert_true(traps.faulted);
    assert_int_equal(traps.fault.vector, TRAP_MACHINE_CHECK);
}

static const struct halting {
    uint64_t status, bank;
    bool in_body, stuck; /* stuck: MCG_STATUS can't be written */
} halting[] = {
    { MCG_MCIP, BANK_VALID, true, false },
    { MCG_RIPV | MCG_MCIP, BANK_VALID | BANK_PCC, true, false },
    { MCG_RIPV | MCG_MCIP, BANK_VALID | BANK_ACTION, false, false },
    { MCG_RIPV | MCG_MCIP, BANK_VALID, true, true },
};

static void test_machine_check_halts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof halting / sizeof halting[0]; i++) {
        struct trap_frame frame = frame_of(TRAP_MACHINE_CHECK, 0x4444);
        script_banks(2, halting[i].status);
        processor_msr(0x405)->value = halting[i].bank;
        processor_msr(MSR_MCG_STATUS)->read_only = halting[i].stuck;
        traps.in_body = halting[i].in_body;
        lines = 0;
        ring0_run(handle, &frame);
        assert_string_equal(ring0()->died, "halted");
        assert_int_equal(lines, 4);
        assert_non_null(strstr(said[0], "machine check: MCG_STATUS"));
        assert_non_null(strstr(said[1], "bank 1h: STATUS"));
        assert_non_null(strstr(said[3], "halted"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_fault_in_a_body, set_up),
        cmocka_unit_test_setup(test_fault_outside_a_body, set_up),
        cmocka_unit_test_setup(test_nobody_listens, set_up),
        cmocka_unit_test_setup(test_refused_primitive, set_up),
        cmocka_unit_test_setup(test_nmi_is_counted_and_nothing_else, set_up),
        cmocka_unit_test_setup(test_judgement, set_up),
        cmocka_unit_test_setup(test_banks_are_written_down, set_up),
        cmocka_unit_test_setup(test_every_bank_is_judged, set_up),
        cmocka_unit_test_setup(test_banks_above_31, set_up),
        cmocka_unit_test_setup(test_machine_check_goes_on, set_up),
        cmocka_unit_test_setup(test_machine_checks_do_not_go_on_for_ever, set_up),
        cmocka_unit_test_setup(test_machine_check_halts, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
