"""The loops of `mlp` execute what their file shows, wherever they lie, and little beside loads."""

import functools
import re
import subprocess

import pytest

# Rounds of a lap, by chains; and those that live in registers.
ROUNDS = {1: 48, 2: 24, 3: 16, 4: 12, 6: 8, 8: 6, 10: 5, 12: 4, 16: 1, 24: 1, 32: 1, 48: 1, 64: 1}
REGISTERS = 12
OFFSETS = (0, 1, 17, 63)


@pytest.fixture(name="instructions", scope="module")
def fixture_instructions(build, tmp_path_factory):
    """instructions(arguments…): of the one call that the program watches."""
    program = build / "model/watch_mlp"
    assert program.exists(), "run `make model` first"

    @functools.cache
    def run(*arguments):
        out = tmp_path_factory.mktemp("callgrind") / "out"
        done = subprocess.run(["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no",
                               f"--callgrind-out-file={out}", program, *map(str, arguments)],
                              check=False, text=True, capture_output=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        total = int(re.search(r"^totals: (\d+)", out.read_text(encoding="utf-8"), re.MULTILINE)[1])
        assert total > 0
        return total
    return run


def expected(chains, rounds):
    """Instructions of so many rounds beyond those of none."""
    hops = min(chains, REGISTERS) + 3 * max(chains - REGISTERS, 0)
    laps, rest = divmod(rounds, ROUNDS[chains])
    return laps * (hops * ROUNDS[chains] + 2) + rest * (hops + 2)


@pytest.mark.parametrize("rounds", [1, 47, 48, 1000])
@pytest.mark.parametrize("chains", ROUNDS)
def test_instructions_of_a_loop(instructions, chains, rounds):
    assert instructions("loop", chains, "-", rounds) - instructions("loop", chains, "-", 0) \
        == expected(chains, rounds)


@pytest.mark.parametrize("chains", [n for n in ROUNDS if n <= REGISTERS])
def test_at_most_a_tenth_is_overhead(instructions, chains):
    """All that a sample calls: whole rounds, and the longest rest. A sample lasts a millisecond, in
    which each chain has some 5,000 loads even if one takes 200 ns."""
    operations = 5000 * chains + chains - 1
    assert operations < instructions("kernel", chains, operations) <= 1.1 * operations


@pytest.mark.parametrize("chains", [1, 8, 12, 64])
def test_alignment_does_not_matter(instructions, chains):
    assert len({instructions("loop", chains, offset, 99) for offset in (*OFFSETS, "-")}) == 1
