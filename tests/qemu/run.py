#!/usr/bin/env python3
"""Boots a copy of the image in QEMU and shows the run: what `make run` does after building.

usage: run.py IMAGE WORK_DIRECTORY RESULT_DIRECTORY [KEY=VALUE]...

More settings are in the environment's RUN_SETTINGS, separated and quoted as in a shell.
The files that the run left on the stick are copied to RESULT_DIRECTORY. The exit status is 0 only
if the application ended with success: it tells QEMU so (on_finish=qemu-exit), or its results.json
does.
"""

import contextlib
import json
import os
import select
import shlex
import shutil
import subprocess
import sys
import termios
import tty
from pathlib import Path

from machine import SUCCESS, Machine, MachineError, plain

LONGEST_ESCAPE = 16
DEFAULTS = ["countdown=0", "on_finish=qemu-exit", "suite=smoke"]
ENDS = ("qemu-exit", "reboot", "shutdown")  # what on_finish may be: QEMU ends with the machine
POWER_OFF = 0  # QEMU's exit status after a reboot or a shutdown, whatever came before


class Terminal:
    """Shows serial text as it comes, without what would clear or move about the user's screen."""

    def __init__(self):
        self.held = ""

    def show(self, text):
        text = self.held + text
        self.held = self.cut_off(text)
        text = text[:len(text) - len(self.held)]
        sys.stdout.write(plain(text).replace("\r\n", "\n"))
        sys.stdout.flush()

    @staticmethod
    def cut_off(text):
        """The end of a text that may be the beginning of an escape sequence or a line's end."""
        if text.endswith("\r"):
            return "\r"
        start = text.rfind("\x1b")
        tail = text[start:]
        return tail if start >= 0 and plain(tail) == tail and len(tail) <= LONGEST_ESCAPE else ""


@contextlib.contextmanager
def single_keys():
    """Lets keys through as they are pressed, where there is a keyboard; says whether there is."""
    if not sys.stdin.isatty():
        yield False
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield True
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def wait(machine):
    """Waits for the machine's end; what is typed meanwhile goes to its serial port."""
    with single_keys() as keyboard:
        while keyboard and machine.running():
            ready, _, _ = select.select([sys.stdin], [], [], 0.2)
            if ready:
                machine.type(os.read(sys.stdin.fileno(), 64))
    return machine.wait()


def collect(stick, target):
    """Brings the files of the run from the stick in place of an earlier run's, which stay if it
    left none; returns how many there were."""
    target, new = Path(target), Path(f"{target}.new")
    shutil.rmtree(new, ignore_errors=True)
    runs = stick.runs()
    if not runs:
        return 0
    try:
        stick.copy_out(f"RESULTS/{runs[-1]}", new)
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip()
        raise MachineError(f"the stick cannot be read: {said}") from None
    files = len(list(new.iterdir()))
    if files:
        shutil.rmtree(target, ignore_errors=True)
        new.rename(target)
    return files


def say_what_is_there(files, target, so_far):
    if files:
        print(f"\nmake run: {files} files{so_far} in {target}")
    elif Path(target).exists():
        print(f"\nmake run: this run left no files; {target} holds an earlier run's")
    else:
        print("\nmake run: this run left no files")


def refusal(settings):
    """Why a run with these settings is not begun; None if it is."""
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            return f"{setting!r} in SET is not key=value"
        if key.strip().lower() == "on_finish" and value.strip(' "').lower() not in ENDS:
            return ("an on_finish is needed that ends the machine: "
                    f"{', '.join(ENDS[:-1])} or {ENDS[-1]}")
    return None


def has_succeeded(status, files, target):
    """Whether the application ended with success, from QEMU's exit status and the run's files."""
    if status != POWER_OFF:
        return status == SUCCESS
    try:
        results = json.loads((Path(target) / "results.json").read_bytes()) if files else {}
    except (OSError, ValueError):
        return False
    return results.get("status") in ("complete", "partial")


def main(image, work, target, *settings):
    try:
        settings = [*settings, *shlex.split(os.environ.get("RUN_SETTINGS", ""))]
    except ValueError as error:
        print(f"make run: SET is wrongly quoted: {str(error).lower()}", file=sys.stderr)
        return 1
    if why := refusal(settings):
        print(f"make run: {why}", file=sys.stderr)
        return 1
    shutil.rmtree(work, ignore_errors=True)
    interrupted = False
    with Machine(work, image, settings=[*DEFAULTS, *settings], show=Terminal().show) as machine:
        try:
            status = wait(machine)
        except KeyboardInterrupt:
            interrupted = True
    files = collect(machine.stick, target)
    say_what_is_there(files, target, " so far" if interrupted else "")
    if interrupted:
        print("make run: interrupted", file=sys.stderr)
        return 130
    if has_succeeded(status, files, target):
        return 0
    (why,) = (Path(work) / "qemu.log").read_text(encoding="utf-8").strip().split("\n")[-1:]
    if status == POWER_OFF:
        why = why or "no results.json says that the run is complete"
    print(f"make run: the run failed (QEMU's exit status is {status}) {why}".rstrip(),
          file=sys.stderr)
    return 1


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise SystemExit("usage: run.py IMAGE WORK_DIRECTORY RESULT_DIRECTORY [KEY=VALUE]...")
    try:
        sys.exit(main(*sys.argv[1:]))
    except (MachineError, OSError) as error:
        print(f"make run: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("make run: interrupted before the machine was on", file=sys.stderr)
        sys.exit(130)
