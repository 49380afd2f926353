#!/usr/bin/env python3
"""Builds everything that is tested, runs every suite, and closes with one line that sums them up.

usage: run_tests.py [--make MAKE] [--build DIRECTORY] [SUITE]...

Suites: unit (tests/unit, one program a file) and pytest (everything under tests/ in Python). What
does not build counts as a failed test, and so does a program that ends without saying what it did.
"""

import argparse
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROCESSORS = os.cpu_count() or 1
UNIT_SECONDS = 300
PYTEST_SECONDS = 3600

# What cmocka prints for a test, at its end.
CMOCKA_LINE = re.compile(r"^\[\s+(OK|FAILED|SKIPPED)\s+\] (\w+)$", re.MULTILINE)


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other):
        return Count(self.passed + other.passed, self.failed + other.failed,
                     self.skipped + other.skipped)

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def build_all(make, targets):
    """Each target is a test of its own: that it can be made."""
    count = Count()
    for target in targets:
        # The open files are those of the make that called, which shares out its jobs.
        done = subprocess.run([*make.split(), "-k", target], cwd=ROOT, check=False,
                              stdin=subprocess.DEVNULL, close_fds=False)
        print(f"build: {target} {'made' if done.returncode == 0 else 'FAILED'}", flush=True)
        count += Count(passed=1) if done.returncode == 0 else Count(failed=1)
    return count


def count_cmocka(output):
    """How many tests a program's output names, by what became of them."""
    fate = {"OK": 0, "FAILED": 0, "SKIPPED": 0}
    for name in {name: result for result, name in CMOCKA_LINE.findall(output)}.values():
        fate[name] += 1
    return Count(fate["OK"], fate["FAILED"], fate["SKIPPED"])


def run_program(program):
    """One unit test program; returns its count and what is worth showing of it."""
    if not program.exists():
        return Count(failed=1), f"{program.name}: was not built"
    start = time.monotonic()
    try:
        done = subprocess.run([program], cwd=ROOT, check=False, capture_output=True, text=True,
                              errors="replace", timeout=UNIT_SECONDS, stdin=subprocess.DEVNULL)
        output, status = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as late:
        output, status = str(late), -1
    count = count_cmocka(output)
    if status and not count.failed or not count.passed + count.failed + count.skipped:
        count += Count(failed=1)
        output += f"\n{program.name}: ended with status {status}"
    text = f"unit: {program.name}: {count} ({time.monotonic() - start:.1f} s)"
    return count, text + ("\n" + output if count.failed else "")


def run_unit(build):
    programs = [build / "unit" / source.stem
                for source in sorted((ROOT / "tests/unit").glob("test_*.c"))]
    total = Count()
    with ThreadPoolExecutor(PROCESSORS) as pool:
        for count, text in pool.map(run_program, programs):
            print(text, flush=True)
            total += count
    return total


def count_junit(path):
    total = Count()
    for suite in xml.parse(path).getroot().iter("testsuite"):
        tests, failures, errors, skipped = (
            int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped"))
        total += Count(tests - failures - errors - skipped, failures + errors, skipped)
    return total


def run_pytest(build):
    report = build / "pytest.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-n", str(PROCESSORS), "--dist", "worksteal",
               f"--junitxml={report}", "tests"]
    try:
        status = subprocess.run(command, cwd=ROOT, check=False, timeout=PYTEST_SECONDS,
                                stdin=subprocess.DEVNULL, env=os.environ | {"BUILD": str(build)}
                                ).returncode
    except subprocess.TimeoutExpired:
        status = -1
        print(f"pytest: not done after {PYTEST_SECONDS} s", flush=True)
    count = count_junit(report) if report.exists() else Count()
    if status and not count.failed:
        count += Count(failed=1)
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--make", default="make")
    parser.add_argument("--build", default="build")
    parser.add_argument("suites", nargs="*")
    options = parser.parse_args()
    build = ROOT / options.build
    suites = {"unit": (["unit"], run_unit),
              "pytest": (["image", "model", "hosted", "plugins", "loaders",
                          f"{options.build}/lint.flags"], run_pytest)}
    if unknown := set(options.suites) - set(suites):
        raise SystemExit(f"run_tests: no suite {', '.join(sorted(unknown))}: "
                         f"there are {', '.join(suites)}")
    total = Count()
    for name, (targets, run) in suites.items():
        if not options.suites or name in options.suites:
            total += build_all(options.make, targets)
            total += run(build)
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
