"""The loops of `ilp` executed: as many instructions as their operations and a counter, and the
experiment as a whole on the processor at hand."""

import json
import re
import subprocess
from pathlib import Path

import pytest

LAPS = 1000
COUNTS = {**{f"{kind}_{precision}": (15, 8) for kind in ("add", "mul")
             for precision in ("single", "double")},
          "fma_double": (15, 8), "add_integer": (12, 64), "mul_integer": (12, 8)}
HAS_FMA = " fma " in Path("/proc/cpuinfo").read_text(encoding="utf-8")


def operations():
    """Of a lap of each loop."""
    laps = {f"ilp_{kind}_{n}": -(-least // n) * n for kind, (most, least) in COUNTS.items()
            for n in range(1, most + 1) if HAS_FMA or kind != "fma_double"}
    return laps | {"ilp_load": 24, "ilp_store": 24}


def costs_of_functions(text):
    """Instructions of each function in callgrind's output, without what it calls. To callgrind a
    jump to a function's beginning is a call of itself, of a name with a number behind it."""
    names, costs, function, called = {}, {}, None, False
    for line in text.splitlines():
        if match := re.match(r"fn=(\(\d+\))(?: ([^\s']+)\S*)?", line):
            names.setdefault(match[1], match[2])
            function = names[match[1]]
        elif match := re.match(r"cfn=(\(\d+\))(?: ([^\s']+)\S*)?", line):
            names.setdefault(match[1], match[2])
        elif line.startswith("calls="):
            called = True
        elif re.match(r"[+*\d-]\S* \d+$", line) and function:
            if not called:
                costs[function] = costs.get(function, 0) + int(line.split()[1])
            called = False
    return costs


def test_instructions_of_every_loop(build, tmp_path):
    out = tmp_path / "out"
    done = subprocess.run(["valgrind", "--quiet", "--tool=callgrind",
                           f"--callgrind-out-file={out}", build / "model/watch_ilp", str(LAPS)],
                          check=False, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    found = costs_of_functions(out.read_text(encoding="utf-8"))
    expected = {name: LAPS * (count + 2) + 1 for name, count in operations().items()}
    assert {name: found.get(name) for name in expected} == expected


@pytest.fixture(name="points", scope="module")
def fixture_points(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ilp")
    subprocess.run([build / "hosted/ironchase", "suite=smoke", "experiments=ilp", "--output",
                    folder], check=True, text=True, capture_output=True, timeout=120)
    results = json.loads((folder / "RUN0001/results.json").read_text(encoding="utf-8"))
    ilp, = results["experiments"]
    assert ilp["status"] == "ok"
    return {(point["variant"]["operation"], point["variant"].get("accumulators")): point
            for point in ilp["points"]}


def test_what_smoke_measures(points):
    kinds = [kind.replace("_", "-") for kind in COUNTS if HAS_FMA or kind != "fma_double"]
    assert set(points) == {(kind, n) for kind in kinds for n in (1, 4, 12)} | {
        ("load", None), ("store", None)}


def test_chains_run_side_by_side(points):
    """Twelve chains take less than half the time of one, on any processor with a pipeline; bounds
    are loose since the host may be busy."""
    for (kind, accumulators), point in points.items():
        assert point["ns"]["median"] > 0
        if accumulators == 12:
            one = points[kind, 1]["ns"]["median"]
            assert point["ns"]["median"] < 0.8 * one, kind
            assert point["predicted"] >= one / 12 * 0.999
