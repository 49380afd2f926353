#!/usr/bin/env python3
"""Makes files of what a run sent over the serial line because it could write nowhere else.

usage: serial_files.py CAPTURE [OUTPUT]

CAPTURE is what a terminal program, a BMC or QEMU recorded; "-" is standard input. The files of each
run found in it go to OUTPUT/RUN0001, OUTPUT/RUN0002 and so on (OUTPUT: the current folder), named as
on a stick; console.log is made of the lines that people read. A folder that exists is not touched.

Lines of a file look as console/serial_file.h says: @<name> <number> <crc> <mark><text>. Every
character is checked. What is missing or altered is named, and the exit status is then 1; of the
files that are made of independent lines (journal.jsl, results.csv) the whole lines are kept, a
results.json with a gap is not written. If OUTPUT cannot be written the exit status is 2.
"""

import re
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path

LINE = re.compile(rb"@([a-z0-9][a-z0-9._-]{0,23}) (\d+) ([0-9a-f]{8}) ([:+!])(.*)", re.DOTALL)
# A line of a file as it looks with a wrong character in it. It begins where a terminal's line does:
# what people read may have the like further on, in the name of a machine.
ALTERED = re.compile(rb"(?:\x1b\[[0-9;?=]*[A-Za-z]|[\0\r])*(?:" + LINE.pattern +
                     rb"|@(?:journal\.jsl|results\.csv|results\.json) \d)", re.DOTALL)
END = re.compile(rb"end (\d+) ([0-9a-f]{8})")
FIRST_LINE = re.compile(rb"Ironchase \d")
LOG = "console.log"
OF_LINES = (".jsl", ".csv", ".log")


@dataclass
class File:
    """One file on its way: its pieces by number, from `begin` or `rest` on."""
    name: str
    rest: bool
    pieces: dict = field(default_factory=dict)  # number: (mark, text)
    end: tuple = None                           # (number, bytes, crc)

    def missing(self):
        """Numbers that never came, as text."""
        last = self.end[0] if self.end else max(self.pieces, default=0) + 1
        gone = [number for number in range(1, last) if number not in self.pieces]
        ranges = []
        for number in gone:
            if ranges and ranges[-1][1] == number - 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)

    def text(self):
        """Its bytes; lines with a missing piece are left out."""
        whole, line, broken, expected = [], [], False, 1
        for number in sorted(self.pieces):
            mark, text = self.pieces[number]
            if number != expected:
                # What was lost may have ended a line: the next line that is sure to begin is the
                # one after the next end.
                broken = True
            expected = number + 1
            line.append(text)
            if mark == b":":
                if not broken:
                    whole.append(b"".join(line) + b"\n")
                line, broken = [], False
        if line and not broken and self.end:
            whole.append(b"".join(line))
        return b"".join(whole)

    def complaints(self):
        gone = self.missing()
        if gone:
            yield f"{self.name}: lines {gone} of it are missing or altered"
        if not self.end:
            yield f"{self.name}: its end is missing"
        elif not gone:
            text = self.text()
            if (len(text), zlib.crc32(text)) != self.end[1:]:
                yield f"{self.name}: is not what was sent"
        if self.rest:
            yield f"{self.name}: only what the stick did not take; it belongs behind the file there"


@dataclass
class Run:
    files: dict = field(default_factory=dict)
    log: list = field(default_factory=list)


class Reader:
    """Sorts the lines of a capture into runs."""

    def __init__(self):
        self.runs = []
        self.altered = []  # lines that cannot be believed

    def read(self, capture):
        for line in capture.split(b"\n"):
            line = line.rstrip(b"\r\0")
            found = LINE.search(line)
            if found and self._is_true(found):
                self._take(*found.groups())
            elif ALTERED.match(line):
                self.altered.append(line.decode("ascii", "replace"))
            else:
                self._read_by_people(line)

    @staticmethod
    def _is_true(found):
        name, number, crc, mark, text = found.groups()
        return zlib.crc32(b"%s %s %s%s" % (name, number, mark, text)) == int(crc, 16)

    def _read_by_people(self, line):
        first = FIRST_LINE.search(line)
        if first:
            self.runs.append(Run())
            line = line[first.start():]
        if self.runs:
            self.runs[-1].log.append(line.split(b"\r")[-1])

    def _take(self, name, number, _crc, mark, text):
        name, number = name.decode(), int(number)
        if not self.runs:
            self.runs.append(Run())
        files = self.runs[-1].files
        if mark == b"!" and text in (b"begin", b"rest"):
            # A terminal that shows the serial line twice doubles everything.
            if name in files and number == 0 and not files[name].pieces:
                return
            if name in files and files[name].end:
                self.runs.append(Run())
                files = self.runs[-1].files
            files[name] = File(name, rest=text == b"rest")
            return
        file = files.setdefault(name, File(name, rest=False))
        if mark == b"!":
            end = END.fullmatch(text)
            if end:
                file.end = (number, int(end[1]), int(end[2], 16))
        else:
            file.pieces[number] = (mark, text)


def log_of(run):
    lines = list(run.log)
    while lines and not lines[-1]:
        lines.pop()
    return b"".join(line + b"\n" for line in lines)


def free_folder(output):
    for number in range(1, 10000):
        folder = output / f"RUN{number:04}"
        if not folder.exists():
            return folder
    raise SystemExit(f"serial_files: {output}: holds 9999 runs already")


def save(run, output):
    """Writes what is whole of a run; returns what is to be said against it."""
    folder = free_folder(output)
    folder.mkdir(parents=True)
    complaints = []
    for file in run.files.values():
        found = list(file.complaints())
        complaints += found
        damaged = [text for text in found if not text.startswith(f"{file.name}: only")]
        if damaged and not file.name.endswith(OF_LINES):
            complaints.append(f"{file.name}: not written")
            continue
        (folder / (file.name + (".rest" if file.rest else ""))).write_bytes(file.text())
    if run.log:
        (folder / LOG).write_bytes(log_of(run))
    print(f"{folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
    return [f"{folder}: {text}" for text in complaints]


def main(arguments):
    if not 1 <= len(arguments) <= 2 or arguments[0].startswith("--"):
        raise SystemExit("usage: serial_files.py CAPTURE [OUTPUT]")
    try:
        capture = sys.stdin.buffer.read() if arguments[0] == "-" else Path(
            arguments[0]).read_bytes()
    except OSError as error:
        raise SystemExit(f"serial_files: {arguments[0]}: {error.strerror}") from None
    reader = Reader()
    reader.read(capture)
    runs = [run for run in reader.runs if run.files]
    if not runs:
        raise SystemExit("serial_files: there is no file of a run in it")
    output = Path(arguments[1] if len(arguments) == 2 else ".")
    try:
        complaints = [text for run in runs for text in save(run, output)]
    except OSError as error:
        print(f"serial_files: {error.filename or output}: {error.strerror}", file=sys.stderr)
        return 2
    complaints += [f"altered on the way: {line[:60]}" for line in reader.altered]
    for text in complaints:
        print(f"serial_files: {text}", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
