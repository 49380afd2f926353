#!/usr/bin/env python3
"""The hosted program beside other people's, in one run on one machine, as a table.

usage: bench.py [--peers DIR] [--runs N] [--largest SIZE] PROGRAM FOLDER

PROGRAM is the hosted program; what is built and left goes into FOLDER. In DIR are looked for:
chase.c and e3.c (one C file each), and multichase, a checkout. All but the last stay on one
processor; all use 4 KiB pages, as the system leaves them. With several runs the programs take
turns, and each figure is the median of theirs, with the median distance from it.
"""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SMALLEST = 4096


def bytes_of(text):
    """Of 64K, 64 KiB or 64KB."""
    number, unit = re.fullmatch(r"(\d+) ?([KMG])(?:i?B)?", text).groups()
    return int(number) * UNITS[unit]


def name_of(size):
    for unit, factor in reversed(UNITS.items()):
        if size >= factor:
            return f"{size / factor:.4g} {unit}iB"
    return f"{size} B"


def run(command, **options):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, check=False, **options)
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip().split("\n")[-1])
    return done.stdout


class Ours:
    """The random order on scattered 4 KiB pages, by the suite quick."""

    name = "ironchase"

    def __init__(self, program, largest):
        self.command = [program, "suite=quick", "experiments=chase", "page_sizes=4K",
                        f"max_working_set={largest}"]

    def measure(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        run([*self.command, "--output", folder])
        text = (folder / "RUN0001/results.json").read_text(encoding="utf-8")
        chase, = json.loads(text)["experiments"]
        return {point["variant"]["working_set"]: point["ns"]["median"]
                for point in chase["points"] if point["variant"]["order"] == "random"
                and point["variant"]["placement"] == "scattered"}


class OneFile:
    """A C file whose program prints lines of a size and ns."""

    def __init__(self, source, argument, flags):
        self.source, self.argument, self.flags = source, argument, flags
        self.name = f"{source.stem} {argument}"
        self.program = None

    def build(self, folder):
        self.program = folder / self.source.stem
        run(["gcc", "-O2", *self.flags, f"-I{self.source.parent}", self.source, "-o", self.program])

    def measure(self, _folder):
        rows = re.findall(r"^ *(\d+ ?[KMG]i?B) +([\d.]+)", run([self.program, self.argument]),
                          re.MULTILINE)
        return {bytes_of(size): float(ns) for size, ns in rows}


class Multichase:
    """A size a call; the whole set is one locality, as in ours, and a node a line.

    It binds its own threads, of which one watches the other: on one processor they take turns, and
    the figures double."""

    name = "multichase"

    def __init__(self, source, largest, processors):
        self.source, self.largest, self.processors = source, bytes_of(largest), processors
        self.folder = None

    def build(self, folder):
        self.folder = folder / "multichase"
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.source, self.folder)
        run(["make", "multichase"], cwd=self.folder)

    def measure(self, _folder):
        found = {}
        size = SMALLEST
        while size <= self.largest:
            found[size] = float(run([self.folder / "multichase", "-a", "-s", "64", "-n", "2",
                                     "-m", f"{size >> 10}k", "-T", f"{size >> 10}k"],
                                    preexec_fn=lambda: os.sched_setaffinity(0, self.processors)))
            size *= 4
        return found


def find_peers(folder, largest, processors):
    """The programs that are there, each with None, or with why it is left out."""
    if folder is None:
        return [], ["no PEERS=dir: nothing to compare with"]
    candidates = [(folder / "chase.c", lambda path: OneFile(path, "0", [])),
                  (folder / "e3.c", lambda path: OneFile(path, "1", ["-march=native"])),
                  (folder / "multichase", lambda path: Multichase(path, largest,
                                                                       processors))]
    found = [make(path) for path, make in candidates if path.exists()]
    missing = [f"left out: {path.name} is not in {folder}" for path, _ in candidates
               if not path.exists()]
    return found, missing


def build_peers(peers, folder):
    built, failed = [], []
    for peer in peers:
        try:
            peer.build(folder)
            built.append(peer)
        except (OSError, RuntimeError) as why:
            failed.append(f"left out: {peer.name} does not build: {why}")
    return built, failed


def measure_all(programs, runs, folder):
    """{program: ({size: [ns of each run]}, [seconds of each run])}; they take turns."""
    results = {program: ({}, []) for program in programs}
    for turn in range(runs):
        for program in programs:
            print(f"run {turn + 1} of {runs}: {program.name}", file=sys.stderr, flush=True)
            begin = time.monotonic()
            figures = program.measure(folder / "run")
            results[program][1].append(time.monotonic() - begin)
            for size, ns in figures.items():
                results[program][0].setdefault(size, []).append(ns)
    return results


def figure(values, runs):
    if not values:
        return "-"
    middle = statistics.median(values)
    if runs < 3:
        return f"{middle:.4g}"
    spread = statistics.median(abs(value - middle) for value in values)
    return f"{middle:.4g} ±{100 * spread / middle:.2g} %"


def print_table(results, runs):
    programs = list(results)
    others = {size for program in programs[1:] for size in results[program][0]}
    sizes = sorted(others or results[programs[0]][0])
    rows = [["ns a load", *(program.name for program in programs)]]
    rows += [[name_of(size), *(figure(results[program][0].get(size, []), runs)
                               for program in programs)] for size in sizes]
    rows.append(["sizes", *(str(len(results[program][0])) for program in programs)])
    rows.append(["seconds", *(f"{statistics.median(results[program][1]):.1f}"
                              for program in programs)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths)).rstrip())


def processor_name():
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--largest", default="1G")
    parser.add_argument("program", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    processors = os.sched_getaffinity(0)
    cpu = max(processors)
    os.sched_setaffinity(0, {cpu})
    options.folder.mkdir(parents=True, exist_ok=True)
    peers, left_out = find_peers(options.peers, options.largest, processors)
    peers, failed = build_peers(peers, options.folder)
    print(f"machine: {processor_name()}, processor {cpu}, Linux {platform.release()}")
    for line in left_out + failed:
        print(line)
    results = measure_all([Ours(options.program.resolve(), options.largest), *peers],
                          options.runs, options.folder.resolve())
    print_table(results, options.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
