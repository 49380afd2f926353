/* Machine checks (SDM vol. 3B, 16.3; AMD APM vol. 2, 9.3): what the banks say, and whether a
 * machine in that state may go on. The banks are left alone: they are for the firmware and the
 * board's controller to report. */
#ifndef HW_TRAP_MCE_H
#define HW_TRAP_MCE_H

#include <stdbool.h>
#include <stdint.h>

#define MSR_MCG_CAP    0x179 /* bits 7:0: number of banks */
#define MSR_MCG_STATUS 0x17A
#define MCG_RIPV       (UINT64_C(1) << 0) /* the interrupted program can be gone on with */
#define MCG_MCIP       (UINT64_C(1) << 2) /* set: another machine check shuts the machine down */

#define BANK_VALID   (UINT64_C(1) << 63)
#define BANK_PCC     (UINT64_C(1) << 57) /* the processor's state is corrupt */
#define BANK_MISC    (UINT64_C(1) << 59) /* the bank's MISC register holds something */
#define BANK_ADDRESS (UINT64_C(1) << 58)
/* Intel "action required", AMD "task context corrupt": the interrupted program can't go on as
 * if nothing had been. */
#define BANK_ACTION  (UINT64_C(1) << 55)

enum { MACHINE_CHECK_BANKS = 8 }; /* that are written down; all are judged */

struct machine_check {
    uint64_t status; /* MCG_STATUS */
    unsigned banks;  /* that the processor has */
    unsigned valid;  /* of them */
    unsigned recorded;
    struct machine_check_bank {
        unsigned number;
        uint64_t status, address, misc; /* the last two 0 where the status says there is none */
    } bank[MACHINE_CHECK_BANKS];
    uint64_t status_union; /* all valid banks' status words, ORed */
    bool unreadable;       /* a register that ought to be there refused */
};

enum machine_check_verdict {
    MACHINE_CHECK_GO_ON,    /* nothing was lost */
    MACHINE_CHECK_END_BODY, /* the machine is sound, what ran on it is not */
    MACHINE_CHECK_HALT,     /* the state of the processor is not known */
};

/* Reads MCG_STATUS and every bank. `scalable`: the processor has AMD's MCAX registers, through which
 * alone the banks from 32 on can be reached. Under our interrupt table only. Window: yes. */
void machine_check_read(struct machine_check *check, bool scalable);

/* Go on only if RIPV is set and no valid bank has PCC. Pure. */
enum machine_check_verdict machine_check_judge(const struct machine_check *check);

/* Clears MCIP and nothing else, so that a later machine check is an exception again and not a
 * shutdown. False if the processor refuses. Under our interrupt table only. Window: yes. */
bool machine_check_done(const struct machine_check *check);

#endif
