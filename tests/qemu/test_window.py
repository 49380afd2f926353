"""What comes while the processor is ours and cannot be held back: NMIs and machine checks, sent to
the very image by QEMU's monitor while it stands still inside a window.

The machines have one processor: an NMI from the monitor goes to all, and the others have the
firmware's handlers.
"""

import re
import subprocess
import time

import elf
from conftest import SECONDS, SMALL, Ended
from machine import Machine
from processor import FLAG_IF, WATCHED, Processor, debugger

NMIS = 12
MACHINE_CHECKS = 3

# Of a bank's status, and of MCG_STATUS (SDM vol. 3B, 16.3): as the hardware would set them.
VALID, UNCORRECTED, ENABLED, ADDRESS = 1 << 63, 1 << 61, 1 << 60, 1 << 58
# Uncorrected throughout: QEMU raises no exception for others.
ERROR = VALID | UNCORRECTED | ENABLED | ADDRESS | 0x134
CORRUPT, ACTION = 1 << 57, 1 << 55
RETURN_VALID, IN_PROGRESS = 1, 4


def send_machine_check(machine, bank, more):
    said = machine.hmp(
        f"mce 0 {bank} {ERROR | more:#x} {RETURN_VALID | IN_PROGRESS} 0x12340 0")
    assert not said.strip(), said


def strike(processor, times, send):
    """Stops in so many windows at chance moments; in each the machine is sent something."""
    last = None
    while times > 0:
        with processor.stopped_in_window() as registers:
            assert not registers["RFL"] & FLAG_IF
            # Two moments at one place may be one moment, and two NMIs then one.
            if registers != last:
                send()
                times -= 1
            last = registers
        time.sleep(0.02)


def instructions(path):
    """{address: text} of hw/window.S."""
    symbol = elf.Elf.read(path).symbol
    done = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", f"--start-address={symbol('window_code').address}",
         f"--stop-address={symbol('window_code_end').address}", path],
        check=True, text=True, capture_output=True)
    found = re.findall(r"^ +([0-9a-f]+):\t(.*)$", done.stdout, re.MULTILINE)
    return {int(address, 16): " ".join(text.split()) for address, text in found}


def strike_each_instruction(processor, path):
    """Sends an NMI before each instruction of the way into a window and out of it, from LIDT to
    LIDT. Returns the instructions, and how many NMIs were sent."""
    machine, code = processor.machine, instructions(path)
    first = elf.Elf.read(path).symbol("window_cross").address
    with processor.stopped_in_window():
        base = processor.image_base(path)
    visited, struck = [], []
    with debugger(machine) as stub:
        for address in code:
            stub.set_breakpoint(base + address)
        # The first crossing may be half over; then the second has all of it.
        while first not in visited or visited[-1] != max(code):
            stub.run_to_breakpoint()
            registers = processor.registers()
            here = registers["RIP"] - base
            if visited:
                stub.set_breakpoint(base + visited[-1])
            stub.clear_breakpoint(base + here)  # so that it can go on from here
            visited.append(here)
            if processor.is_ours(registers):
                machine.hmp("nmi")
                struck.append(here)
        for address in code:
            if address != visited[-1]:
                stub.clear_breakpoint(base + address)
    return [code[address] for address in dict.fromkeys(struck)], len(struck)


def test_nmis_and_harmless_machine_checks(boot, build):
    """All are taken by our handlers, each once, and the run completes as if nothing had been."""
    sent, texts = [], []

    def during(machine):
        processor = Processor(machine)
        processor.start_run()
        strike(processor, NMIS, lambda: machine.hmp("nmi"))
        strike(processor, MACHINE_CHECKS, lambda: send_machine_check(machine, 1, 0))
        struck, count = strike_each_instruction(processor, build / "ironchase.elf")
        texts.extend(struck)
        sent.append(NMIS + count)

    ended = boot(["experiments=chase", "max_working_set=64K"], base=WATCHED, during=during,
                 processors=1)
    results = ended.results()
    assert results["status"] == "complete"
    assert results["windows"]["nmis"] == sent[0]
    assert results["windows"]["machine_checks"] == MACHINE_CHECKS
    assert f"{sent[0]} NMIs and {MACHINE_CHECKS} machine checks came in windows" in ended.serial
    assert len(texts) > 20
    for part in ("%cr3", "%rsp", "lidt", "ret"):
        assert any(part in text for text in texts), part


def check_failed_experiment(ended):
    """The first pass has failed, with the exception as its reason."""
    assert re.search(r"^fault: #MC vector 18, ", ended.serial, re.MULTILINE)
    records = ended.journal()
    (failed,) = [record for record in records if record["type"] == "experiment"]
    assert failed["status"] == "failed" and failed["fault"]["vector"] == 18
    assert "end" not in [record["type"] for record in records]


def check_last_words(serial):
    """Our UART, without the firmware, has said what struck, both banks, and that it is the end."""
    words = serial[serial.index("machine check: MCG_STATUS 5h"):]
    for bank, more in ((1, ACTION), (2, CORRUPT)):
        assert f"bank {bank:x}h: STATUS {ERROR | more:x}h, ADDR 12340h" in words
    assert "exception 12h" in words
    assert words.rstrip().endswith("the machine is halted, please switch it off")


def test_machine_checks_that_take_something(image, tmp_path):
    """One that takes the data ends the experiment, and the run goes on; one that takes the
    processor ends everything."""
    with Machine(tmp_path, image, settings=[*WATCHED, *SMALL, "repeat=2"],
                 processors=1) as machine:
        processor = Processor(machine)
        processor.start_run()
        with processor.stopped_in_window():
            send_machine_check(machine, 1, ACTION)
        machine.wait_for("^chase: failed", SECONDS)
        with processor.stopped_in_window():
            send_machine_check(machine, 2, CORRUPT)
        machine.wait_for("the machine is halted", SECONDS)
        time.sleep(0.5)
        machine.qmp("stop")
        registers = processor.registers()
    assert registers["HLT"] == 1 and not registers["RFL"] & FLAG_IF
    assert processor.in_window(registers)
    ended = Ended(None, machine.serial, machine.stick, machine)
    check_failed_experiment(ended)
    check_last_words(ended.serial)
