#!/usr/bin/env python3
"""Everything that is said about the sources without running them.

usage: lint.py [--format] BUILD [CHECK]...

BUILD/lint.flags has the compiler flags, as the Makefile writes them. With --format the sources are
laid out anew instead of being checked.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import includes

ROOT = Path(__file__).resolve().parent.parent.parent
# How many warnings there were in headers that are not looked at.
SUMMARY = re.compile(r"\d+ warnings?( and \d+ errors?)? generated\.|Suppressed .*|Use -header-.*")
LAYERS = ["hw", "kernels", "console", "boot", "tests"]


def c_files(*suffixes):
    return [str(path.relative_to(ROOT)) for layer in LAYERS
            for path in sorted((ROOT / layer).rglob("*")) if path.suffix in suffixes]


def shell_files():
    scripts = [path for folder in (".ci", "linker", "tests")
               for path in sorted((ROOT / folder).rglob("*"))
               if path.is_file() and path.suffix in ("", ".sh")]
    return [str(path.relative_to(ROOT)) for path in scripts
            if path.read_bytes().startswith((b"#!/bin/sh", b"#!/bin/bash", b"#!/usr/bin/env bash"))]


def is_host(file):
    return file.startswith("tests/") and not file.startswith("tests/qemu/loaders/")


def flags(build, file):
    """The compiler flags of a source file."""
    by_kind = dict(line.split(" ", 1) for line in
                   (Path(build) / "lint.flags").read_text(encoding="utf-8").splitlines())
    return by_kind["host" if is_host(file) else "image"].split()


def run(*command):
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    return done.returncode, (done.stdout + done.stderr).strip()


def complaint(*command):
    status, output = run(*command)
    lines = [line for line in output.split("\n") if not SUMMARY.fullmatch(line)]
    return "\n".join(lines) or f"{command[0]} failed" if status else ""


def each(files, check):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [text for text in pool.map(check, files) if text]


def check_format(_build):
    return each(c_files(".c", ".h"),
                lambda file: complaint("clang-format", "--dry-run", "--Werror", file))


def check_tidy(build):
    return each(c_files(".c"), lambda file: complaint(
        "clang-tidy", "--quiet", file, "--", *flags(build, file)))


def check_cppcheck(build):
    """One run over each part, so that a function's caller is seen with it.

    Comparing the ends of what the linker laid out is no comparison of two objects.
    """
    found = []
    for part in (False, True):
        files = [file for file in c_files(".c") if is_host(file) == part]
        if files:
            places = [flag for flag in flags(build, files[0]) if flag.startswith(("-I", "-D"))]
            found.append(complaint(
                "cppcheck", "--quiet", "--error-exitcode=1", "--std=c11", "--platform=unix64",
                "--enable=warning,performance,portability", "--inline-suppr",
                "--suppress=missingIncludeSystem", "--suppress=comparePointers",
                f"-j{os.cpu_count()}", *places, *files))
    return [text for text in found if text]


def check_shellcheck(_build):
    return [text for text in [complaint("shellcheck", *shell_files())] if text]


def check_includes(_build):
    return list(includes.check(ROOT))


CHECKS = {"format": check_format, "tidy": check_tidy, "cppcheck": check_cppcheck,
          "shellcheck": check_shellcheck, "includes": check_includes}


def lay_out():
    status, output = run("clang-format", "-i", *c_files(".c", ".h"))
    print(output or "format: done")
    return status


def main(build, *names):
    failed = False
    for name in names or CHECKS:
        found = CHECKS[name](build)
        failed = failed or bool(found)
        print("\n".join(found + [f"lint: {name}: {'failed' if found else 'ok'}"]), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["--format"]:
        sys.exit(lay_out())
    if not arguments or set(arguments[1:]) - set(CHECKS):
        raise SystemExit(f"usage: lint.py [--format] BUILD [{'|'.join(CHECKS)}]...")
    sys.exit(main(*arguments))
