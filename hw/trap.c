#include "hw/trap.h"

#include "hw/cpu.h"

/* hw/insn.S: the places where an instruction may be refused, each as its distance from the entry,
 * and where to go on then. */
extern const int32_t insn_may_fault[], insn_may_fault_end[];
void insn_refused(void);

/* The processor has one interrupt table, so its handlers have one place to work on. */
static struct traps *traps;

void trap_use(struct traps *those)
{
    traps = those;
}

/* ---- the last words --------------------------------------------------------------------------- */

enum { LINE_ROOM = 120 };

struct line {
    char text[LINE_ROOM];
    unsigned used;
};

static void add_text(struct line *line, const char *text)
{
    while (*text && line->used < LINE_ROOM - 1) {
        line->text[line->used++] = *text++;
    }
    line->text[line->used] = '\0';
}

static void add_hex(struct line *line, const char *name, uint64_t value)
{
    char digits[17];
    unsigned at = 16;
    digits[at] = '\0';
    do {
        digits[--at] = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value);
    add_text(line, name);
    add_text(line, &digits[at]);
    add_text(line, "h");
}

static void say(const struct line *line)
{
    if (traps->say) {
        traps->say(traps->say_self, line->text);
    }
}

static void say_machine_check(const struct machine_check *check)
{
    struct line line = { .used = 0 };
    add_hex(&line, "machine check: MCG_STATUS ", check->status);
    add_hex(&line, ", banks ", check->banks);
    add_hex(&line, ", valid ", check->valid);
    say(&line);
    for (unsigned i = 0; i < check->recorded; i++) {
        const struct machine_check_bank *bank = &check->bank[i];
        line.used = 0;
        add_hex(&line, "  bank ", bank->number);
        add_hex(&line, ": STATUS ", bank->status);
        add_hex(&line, ", ADDR ", bank->address);
        add_hex(&line, ", MISC ", bank->misc);
        say(&line);
    }
}

static void say_frame(const struct trap_frame *frame)
{
    struct line line = { .used = 0 };
    add_hex(&line, "exception ", frame->vector);
    add_hex(&line, ", error code ", frame->code);
    add_hex(&line, ", rip ", frame->ip);
    add_hex(&line, ", rsp ", frame->sp);
    add_hex(&line, ", cr2 ", cpu_read_cr2());
    say(&line);
}

/* For a state that neither we nor the firmware could go on from. */
static void halt(const char *why)
{
    struct line line = { .used = 0 };
    add_text(&line, why);
    add_text(&line, "; the machine is halted, please switch it off");
    say(&line);
    for (;;) {
        cpu_disable_interrupts();
        cpu_halt();
    }
}

/* ---- the handlers ----------------------------------------------------------------------------- */

static bool refused_primitive(const struct trap_frame *frame)
{
    if (frame->vector != TRAP_GENERAL_PROTECTION && frame->vector != TRAP_INVALID_OPCODE) {
        return false;
    }
    for (const int32_t *at = insn_may_fault; at != insn_may_fault_end; at++) {
        if (frame->ip == (uint64_t)(uintptr_t)at + (uint64_t)(int64_t)*at) {
            return true;
        }
    }
    return false;
}

/* Sends the frame to the way out. A string instruction may have been under way with DF set, or
 * single steps been on: the flags start afresh, interrupts off (bit 1 is always one). */
static void end_body(struct trap_frame *frame)
{
    traps->in_body = false;
    traps->faulted = true;
    traps->fault.vector = frame->vector;
    traps->fault.code = frame->code;
    traps->fault.ip = frame->ip;
    traps->fault.address = frame->vector == TRAP_PAGE_FAULT ? cpu_read_cr2() : 0;
    frame->ip = traps->way_out_ip;
    frame->sp = traps->way_out_sp;
    frame->rbx = traps->way_out_context;
    frame->flags = 2;
}

static void handle_machine_check(struct trap_frame *frame)
{
    struct machine_check *check = &traps->machine_check;
    traps->machine_checks++;
    machine_check_read(check, traps->scalable_mca);
    enum machine_check_verdict verdict = machine_check_judge(check);
    bool end = verdict == MACHINE_CHECK_END_BODY || traps->machine_checks >= TRAP_MACHINE_CHECKS;
    if (verdict == MACHINE_CHECK_HALT || (end && !traps->in_body) || !machine_check_done(check)) {
        say_machine_check(check);
        say_frame(frame);
        halt("a machine check left the processor in a state that is not known");
    }
    if (end) {
        end_body(frame);
    }
}

static void handle_fault(struct trap_frame *frame)
{
    if (refused_primitive(frame)) {
        frame->ip = (uint64_t)(uintptr_t)insn_refused;
    } else if (traps->in_body) {
        end_body(frame);
    } else {
        say_frame(frame);
        halt("an exception where none can be recovered from");
    }
}

void trap_handle(struct trap_frame *frame)
{
    if (frame->vector == TRAP_NMI) {
        traps->nmis++;
    } else if (frame->vector == TRAP_MACHINE_CHECK) {
        handle_machine_check(frame);
    } else {
        handle_fault(frame);
    }
}
