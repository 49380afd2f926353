"""Who has the first processor of a machine at a moment: its firmware, or we; and a debugger for it.

A window or a guard is known by the interrupt table that is loaded, a window also by its page
tables. What an NMI or a machine check hits at any other time is the firmware, which dies of it.
"""

import re
import socket
import tempfile
import time
from contextlib import contextmanager

import elf
from conftest import SECONDS
from machine import MachineError

FLAG_IF = 1 << 9
# The run waits in its countdown until it has been looked at, and is started with a key.
WATCHED = ["countdown=600", "on_finish=qemu-exit", "suite=smoke"]

REGISTER = re.compile(r"\b(RIP|RFL|CR3|CR4|IDT|GDT|TR|HLT) *= *([0-9a-f]+)")


class Processor:
    """Made while the firmware has the processor: what its registers are then is the firmware's."""

    def __init__(self, machine):
        self.machine = machine
        machine.wait_for("The run starts in 600 s", SECONDS)
        machine.qmp("stop")
        self.firmware = self.registers()
        machine.qmp("cont")

    def start_run(self):
        self.machine.type(" ")

    def registers(self):
        """{name: value}, of a machine that stands still."""
        text = self.machine.hmp("info registers")
        return {name: int(value, 16) for name, value in REGISTER.findall(text)}

    def is_ours(self, registers):
        return registers["IDT"] != self.firmware["IDT"]

    def in_window(self, registers):
        return self.is_ours(registers) and registers["CR3"] != self.firmware["CR3"]

    @contextmanager
    def stopped_in_window(self):
        """Lets the machine run until it happens to be in a window; there it stands still."""
        end = time.monotonic() + SECONDS
        self.machine.qmp("stop")
        while not self.in_window(registers := self.registers()):
            assert time.monotonic() < end, f"no window was met: {registers}"
            self.machine.qmp("cont")
            time.sleep(0.02)
            self.machine.qmp("stop")
        yield registers
        self.machine.qmp("cont")

    def image_base(self, path):
        """Where the firmware has put the image whose ELF file is `path`. In a window: our interrupt
        table tells where its handlers are."""
        gate = [int(word, 16) for word in re.findall(
            "0x([0-9a-f]{16})", self.machine.hmp(f"xp /2gx {self.registers()['IDT']:#x}"))]
        handler = gate[0] & 0xFFFF | gate[0] >> 48 << 16 | (gate[1] & 0xFFFFFFFF) << 32
        return handler - elf.Elf.read(path).symbol("trap_entries").address


class Debugger:
    """Breakpoints, by QEMU's gdb stub (GDB manual, appendix E: the remote serial protocol)."""

    def __init__(self, machine, connection):
        self._machine = machine
        self._connection = connection
        self._stream = connection.makefile("rb")

    def _command(self, text):
        """Sends a packet and returns the answer to it."""
        checksum = sum(text.encode()) % 256
        self._connection.sendall(f"${text}#{checksum:02x}".encode())
        while (byte := self._stream.read(1)) != b"$":
            assert byte in (b"+", b"-"), f"the stub says {byte}"
        answer = b""
        while (byte := self._stream.read(1)) != b"#":
            answer += byte
        self._stream.read(2)
        self._connection.sendall(b"+")
        return answer.decode()

    def set_breakpoint(self, address):
        assert self._command(f"Z1,{address:x},1") == "OK"

    def clear_breakpoint(self, address):
        assert self._command(f"z1,{address:x},1") == "OK"

    def run_to_breakpoint(self):
        try:
            assert self._command("c").startswith("T05")
        except TimeoutError:
            raise MachineError("no breakpoint was met; the serial port ends with: "
                               f"{self._machine.serial[-1500:]}") from None

    def detach(self):
        """The machine runs on without breakpoints."""
        assert self._command("D") == "OK"
        self._stream.close()


@contextmanager
def debugger(machine):
    """Stops the machine for as long as the debugger has no run_to_breakpoint()."""
    with tempfile.TemporaryDirectory(prefix="ironchase-") as folder, \
            socket.socket(socket.AF_UNIX) as connection:
        machine.qmp("stop")  # or the stub would tell, unasked, that it stopped the machine
        machine.hmp(f"gdbserver unix:{folder}/gdb,server=on,wait=off")
        connection.settimeout(SECONDS)
        connection.connect(f"{folder}/gdb")
        stub = Debugger(machine, connection)
        yield stub
        stub.detach()
    machine.hmp("gdbserver none")
