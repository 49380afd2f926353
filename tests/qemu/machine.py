"""A PC in QEMU with UEFI firmware (OVMF), as the tests and `make run` use it.

    with Machine(directory, image, settings=["suite=smoke"]) as machine:
        machine.wait_for("complete", timeout=60)
        status = machine.wait(timeout=60)
        print(machine.stick.read("RESULTS/RUN0001/results.csv"))

The image is copied first, so a run never changes it. There is no KVM: the emulator is the machine.
"""

import contextlib
import json
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

FIRMWARE = Path("/usr/share/OVMF")
PARTITION_OFFSET = 1 << 20

# What isa-debug-exit makes of the values 16 and 17 that the application writes to port 0xf4.
SUCCESS, FAILURE = 33, 35

ESCAPE_SEQUENCE = re.compile(r"\x1b\[[0-9;?=]*[A-Za-z]")


class MachineError(Exception):
    pass


def plain(text):
    """Text without the terminal's escape sequences."""
    return ESCAPE_SEQUENCE.sub("", text)


class Stick:
    """The FAT file system on an image of a USB stick, reached with mtools while nobody uses it."""

    def __init__(self, path):
        self.path = Path(path)
        self.volume = f"{path}@@{PARTITION_OFFSET}"

    def _mtools(self, *command, check=True, **options):
        return subprocess.run([command[0], "-i", self.volume, *command[1:]], check=check,
                              capture_output=True, stdin=subprocess.DEVNULL, **options)

    def names(self, folder=""):
        """The names in a folder; none if there is no such folder."""
        done = self._mtools("mdir", "-b", f"::/{folder}", check=False, text=True)
        return sorted(line.rstrip("/").rsplit("/", 1)[1] for line in done.stdout.split("\n")
                      if line.startswith("::"))

    def runs(self):
        return [name for name in self.names("RESULTS") if re.fullmatch(r"RUN\d{4}", name)]

    def read(self, path):
        return self._mtools("mcopy", f"::/{path}", "-").stdout

    def write(self, path, data):
        with tempfile.NamedTemporaryFile() as file:
            file.write(data if isinstance(data, bytes) else data.encode())
            file.flush()
            self._mtools("mcopy", "-o", file.name, f"::/{path}")

    def make_folder(self, path):
        self._mtools("mmd", f"::/{path}")

    def remove(self, path):
        self._mtools("mdel", f"::/{path}")

    def copy_out(self, folder, target):
        """Copies the files of a folder into the folder `target`, which is made."""
        Path(target).mkdir(parents=True, exist_ok=True)
        for name in self.names(folder):
            (Path(target) / name).write_bytes(self.read(f"{folder}/{name}"))


class Machine:
    """One machine, from power-on to the end of the process.

    directory   where the stick, the firmware's variables and the log are kept
    image       the image that is copied to the stick; None for a machine without one
    settings    "key=value" strings, passed as SMBIOS OEM strings
    screen      a graphics card
    serial      a serial port; its output is in `self.serial`
    read_only   the stick is write-protected
    prepare     called with the Stick before power-on, to change files on it
    arguments   more of QEMU's command line
    show        called with each piece of serial text as it comes
    """

    def __init__(self, directory, image, *, settings=(), memory="4G", processors=2, cpu="max",
                 screen=True, serial=True, read_only=False, prepare=None, arguments=(), show=None):
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.stick = None
        self._show = show
        self._output = []
        self._arrived = threading.Condition()
        self._qmp = None
        if image is not None:
            self.stick = Stick(self.directory / "stick.img")
            subprocess.run(["cp", "--sparse=always", str(image), str(self.stick.path)], check=True)
            if prepare:
                prepare(self.stick)
        shutil.copy(FIRMWARE / "OVMF_VARS_4M.fd", self.directory / "variables.fd")
        # A socket's path may have 107 bytes only, and a test's folder is longer.
        self._socket_folder = tempfile.mkdtemp(prefix="ironchase-")
        self.command = self._command_line(memory, processors, cpu, screen, serial, read_only,
                                          settings) + [str(a) for a in arguments]
        try:
            self._start()
        except OSError:
            shutil.rmtree(self._socket_folder, ignore_errors=True)
            raise

    def _command_line(self, memory, processors, cpu, screen, serial, read_only, settings):
        command = [
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none",
            "-machine", "q35,accel=tcg", "-cpu", cpu, "-m", memory, "-smp", str(processors),
            "-drive", "if=pflash,format=raw,unit=0,readonly=on,"
                      f"file={FIRMWARE / 'OVMF_CODE_4M.fd'}",
            "-drive", f"if=pflash,format=raw,unit=1,file={self.directory / 'variables.fd'}",
            "-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-no-reboot",
            "-qmp", f"unix:{self._socket_folder}/qmp,server=on,wait=off",
            "-vga", "std" if screen else "none",
            "-device", "qemu-xhci,id=xhci",
        ]
        if serial:
            command += ["-chardev", "stdio,id=serial,signal=off", "-serial", "chardev:serial"]
        if self.stick:
            read_only_option = "on" if read_only else "off"
            command += ["-drive", f"if=none,id=stick,format=raw,readonly={read_only_option},"
                                  f"file={self.stick.path}",
                        "-device", "usb-storage,bus=xhci.0,drive=stick,removable=on,bootindex=0"]
        if settings:
            # QEMU takes a comma for the end of a value unless it is doubled.
            values = [",value=ironchase:" + setting.replace(",", ",,") for setting in settings]
            command += ["-smbios", "type=11" + "".join(values)]
        return command

    def _start(self):
        self._errors = open(self.directory / "qemu.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stderr=self._errors,
                                        stdout=subprocess.PIPE)
        self._reader = threading.Thread(target=self._read_serial, daemon=True)
        self._reader.start()

    def _read_serial(self):
        with open(self.directory / "serial.log", "wb") as log:
            while piece := self.process.stdout.read1(4096):
                log.write(piece)
                log.flush()
                text = piece.decode("utf-8", "replace")
                if self._show:
                    self._show(text)
                with self._arrived:
                    self._output.append(text)
                    self._arrived.notify_all()
        with self._arrived:
            self._arrived.notify_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.power_off()

    @property
    def serial(self):
        """What the serial port has sent so far, without escape sequences."""
        with self._arrived:
            return plain("".join(self._output))

    def running(self):
        return self.process.poll() is None

    def _died(self, waited_for):
        self._errors.seek(0)
        raise MachineError(f"{waited_for}; QEMU says: {self._errors.read().strip() or 'nothing'}; "
                           f"the serial port ends with: {self.serial[-1500:]}")

    def wait_for(self, pattern, timeout):
        """Waits until the serial output matches a regular expression; returns the match."""
        end = time.monotonic() + timeout
        while True:
            if found := re.search(pattern, self.serial, re.MULTILINE):
                return found
            if not self._reader.is_alive():
                self._died(f"the machine ended before it printed {pattern!r}")
            if time.monotonic() >= end:
                self._died(f"no {pattern!r} in {timeout} s")
            with self._arrived:
                self._arrived.wait(min(1.0, max(0.0, end - time.monotonic())))

    def wait(self, timeout=None):
        """Waits for the machine to end by itself; returns the exit status of QEMU."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._died(f"the machine still runs after {timeout} s")
        self._reader.join()
        return status

    def type(self, text):
        """Sends text, or bytes, to the serial port; a machine that has ended does not hear it."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(text if isinstance(text, bytes) else text.encode())
            self.process.stdin.flush()

    def power_off(self):
        """Cuts the power: nothing gets a chance to finish."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        with contextlib.suppress(BrokenPipeError):  # keys that the machine did not live to read
            self.process.stdin.close()
        if self._qmp:
            self._qmp.close()
            self._qmp = None
        self._errors.close()
        shutil.rmtree(self._socket_folder, ignore_errors=True)

    def _qmp_connect(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(30)
        end = time.monotonic() + 10
        while True:
            try:
                connection.connect(f"{self._socket_folder}/qmp")
                break
            except OSError:
                if time.monotonic() >= end or not self.running():
                    self._died("the monitor does not answer")
                time.sleep(0.05)
        self._qmp = connection.makefile("rw", encoding="utf-8")
        self._qmp.readline()
        self.qmp("qmp_capabilities")

    def qmp(self, command, **arguments):
        """One command to QEMU's monitor; returns what it returned."""
        if not self._qmp:
            self._qmp_connect()
        self._qmp.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._qmp.flush()
        while line := self._qmp.readline():
            answer = json.loads(line)
            if "error" in answer:
                raise MachineError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
        return self._died(f"the monitor is gone after {command}")

    def hmp(self, line):
        """One command to QEMU's human monitor, such as "nmi"; returns its text."""
        return self.qmp("human-monitor-command", **{"command-line": line})

    def press(self, key):
        """Presses a key of the keyboard, by QEMU's name for it."""
        self.hmp(f"sendkey {key}")

    def screenshot(self, path):
        """Writes what the screen shows as a PNG file."""
        self.qmp("screendump", filename=str(path), format="png")
