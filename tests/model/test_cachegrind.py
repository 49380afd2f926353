"""The measured loops in a processor whose caches are known: they miss as theory says, and execute
what their files show, wherever they lie."""

import functools
import re
import subprocess

import pytest

LINE = 64
L1 = {"size": 32 * 1024, "ways": 8}
LAST = {"size": 256 * 1024, "ways": 16}
LINES = L1["size"] // LINE  # that fit in the first cache
SETS = LINES // L1["ways"]

LOOPS = ("chase_hops", "spin_adds", "read_lines")
OFFSETS = (0, 1, 17, 63)


@pytest.fixture(scope="module")
def program(build):
    path = build / "model/watch_loops"
    assert path.exists(), "run `make model` first"
    return path


def valgrind(*arguments):
    done = subprocess.run(["valgrind", "--quiet", *map(str, arguments)], check=False, text=True,
                          capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


# ---- misses --------------------------------------------------------------------------------------

def geometry(option, cache):
    return f"--{option}={cache['size']},{cache['ways']},{LINE}"


def function_costs(text, function):
    """Sum of each event over a function's lines in cachegrind's output."""
    events, total, inside = [], {}, False
    for line in text.splitlines():
        if line.startswith("events: "):
            events = line.split()[1:]
            total = dict.fromkeys(events, 0)
        elif line.startswith("fn="):
            inside = line == f"fn={function}"
        elif inside and line[:1].isdigit():
            for event, cost in zip(events, line.split()[1:]):
                total[event] += int(cost)
    return total


@pytest.fixture(name="costs", scope="module")
def fixture_costs(program, tmp_path_factory):
    """costs(function, arguments…): what the function cost in a run of the program."""
    @functools.cache
    def run(function, *arguments):
        out = tmp_path_factory.mktemp("cachegrind") / "out"
        # Unoptimised: valgrind drops loads whose value nobody uses, as those of read_lines.
        valgrind("--tool=cachegrind", "--cache-sim=yes", "--vex-iropt-level=0",
                 geometry("D1", L1), geometry("LL", LAST), f"--cachegrind-out-file={out}", program,
                 *arguments)
        return function_costs(out.read_text(encoding="utf-8"), function)
    return run


def chase_misses(costs, order, lines, laps=8):
    """(first cache, last cache) misses a hop once the first laps are over, which bring the data."""
    few, many = (costs("chase_hops", "chase", order, lines * LINE, n * lines)
                 for n in (2, 2 + laps))
    hops = laps * lines
    assert many["Dr"] - few["Dr"] == hops  # one load a hop
    assert many["Dw"] == 0
    return tuple((many[event] - few[event]) / hops for event in ("D1mr", "DLmr"))


@pytest.mark.parametrize("order", ["random", "sequential", "page-local"])
def test_chase_in_the_cache_never_misses(costs, order):
    assert chase_misses(costs, order, LINES // 2) == (0, 0)


@pytest.mark.parametrize("order", ["random", "sequential", "page-local"])
def test_chase_of_twice_the_cache_always_misses(costs, order):
    """A cycle through twice as many lines as a set holds, whatever its order: when a line's turn
    comes again, it is the one that was used longest ago, and just gone."""
    assert chase_misses(costs, order, 2 * LINES) == (1, 0)


def test_chase_beyond_all_caches_goes_to_memory(costs):
    assert chase_misses(costs, "random", 2 * LAST["size"] // LINE, laps=2) == (1, 1)


@pytest.mark.parametrize("order", ["random", "sequential"])
@pytest.mark.parametrize("extra", [1, SETS // 2, SETS - 1])
def test_chase_just_beyond_the_cache(costs, order, extra):
    """So many sets have one line more than they can hold, and miss on each; the others never."""
    lines = LINES + extra
    first, last = chase_misses(costs, order, lines)
    # A call's return address is one more line; it takes part in one set.
    assert first == pytest.approx(extra * (L1["ways"] + 1) / lines, abs=0.01 / extra)
    assert last == 0


def test_read_takes_each_line_once(costs):
    lines = 2 * LINES + 5
    few, many = (costs("read_lines", "read", lines * LINE, laps) for laps in (1, 5))
    # and the return address of each call
    assert many["Dr"] - few["Dr"] == 4 * (lines + 1)
    assert many["D1mr"] - few["D1mr"] == pytest.approx(4 * lines, abs=4 * (SETS // 8 + 1))
    assert many["Dw"] == 0


# ---- instructions --------------------------------------------------------------------------------

@pytest.fixture(name="instructions", scope="module")
def fixture_instructions(program, tmp_path_factory):
    """instructions(loop, offset, n): of a call of the loop for n operations, the call included."""
    @functools.cache
    def run(loop, offset, n):
        out = tmp_path_factory.mktemp("callgrind") / "out"
        valgrind("--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}", program,
                 "count", loop, offset, n)
        total = int(re.search(r"^totals: (\d+)", out.read_text(encoding="utf-8"), re.MULTILINE)[1])
        assert total > 0
        return total
    return run


def expected(loop, n):
    """Instructions of n operations beyond those of none."""
    return {"chase_hops": n // 64 * 66 + n % 64,
            "spin_adds": n * 66,
            "read_lines": n // 8 * 11 + n % 8 * 4}[loop]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
def test_instructions_of_a_loop(instructions, loop, n):
    assert instructions(loop, "-", n) - instructions(loop, "-", 0) == expected(loop, n)


@pytest.mark.parametrize("hops", [500, 1000, 1023, 4095])
def test_at_most_a_tenth_is_overhead(instructions, hops):
    """From some hundred hops on; a sample has thousands. The call is counted, too."""
    assert instructions("chase_hops", "-", hops) <= 1.1 * hops


@pytest.mark.parametrize("loop", LOOPS)
def test_alignment_does_not_matter(instructions, loop):
    assert len({instructions(loop, offset, 999) for offset in OFFSETS}) == 1
    # Its own place takes the same, too.
    assert instructions(loop, OFFSETS[0], 999) == instructions(loop, "-", 999)
