#include "hw/trap_mce.h"

#include "hw/insn.h"

/* Where bank n's STATUS register is; ADDR and MISC follow it. Above bank 31 Intel's numbers belong
 * to other registers (480h is VMX's), and AMD's are in the scalable range (APM vol. 2, 9.3.2.5). */
enum { LEGACY_BANKS = 32 };
#define MSR_MC0_STATUS  0x401
#define MSR_MCA_STATUS  UINT32_C(0xC0002001)
#define LEGACY_STRIDE   4
#define SCALABLE_STRIDE 0x10

static uint32_t bank_status_msr(unsigned bank)
{
    return bank < LEGACY_BANKS ? MSR_MC0_STATUS + LEGACY_STRIDE * bank
                               : MSR_MCA_STATUS + SCALABLE_STRIDE * bank;
}

static void write_down(struct machine_check *check, unsigned number, uint64_t status)
{
    if (check->recorded == MACHINE_CHECK_BANKS) {
        return;
    }
    struct machine_check_bank *bank = &check->bank[check->recorded++];
    uint32_t msr = bank_status_msr(number);
    bank->number = number;
    bank->status = status;
    bank->address = 0;
    bank->misc = 0;
    if (status & BANK_ADDRESS) {
        (void)insn_rdmsr(msr + 1, &bank->address);
    }
    if (status & BANK_MISC) {
        (void)insn_rdmsr(msr + 2, &bank->misc);
    }
}

void machine_check_read(struct machine_check *check, bool scalable)
{
    uint64_t capabilities = 0, status = 0;
    check->valid = 0;
    check->recorded = 0;
    check->status_union = 0;
    check->unreadable =
        !insn_rdmsr(MSR_MCG_CAP, &capabilities) || !insn_rdmsr(MSR_MCG_STATUS, &status);
    check->status = status;
    check->banks = (unsigned)(capabilities & 0xFF);
    for (unsigned i = 0; i < check->banks; i++) {
        uint64_t bank = 0;
        if (i >= LEGACY_BANKS && !scalable) {
            break;
        }
        if (!insn_rdmsr(bank_status_msr(i), &bank)) {
            check->unreadable = true;
        } else if (bank & BANK_VALID) {
            check->valid++;
            check->status_union |= bank;
            write_down(check, i, bank);
        }
    }
}

enum machine_check_verdict machine_check_judge(const struct machine_check *check)
{
    if (check->unreadable || !(check->status & MCG_RIPV) || (check->status_union & BANK_PCC)) {
        return MACHINE_CHECK_HALT;
    }
    return check->status_union & BANK_ACTION ? MACHINE_CHECK_END_BODY : MACHINE_CHECK_GO_ON;
}

bool machine_check_done(const struct machine_check *check)
{
    return insn_wrmsr(MSR_MCG_STATUS, check->status & ~MCG_MCIP);
}
