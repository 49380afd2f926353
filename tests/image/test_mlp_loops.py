"""The loops of `mlp` in the application: hops of their chains and nothing else."""

import re
import subprocess

import elf
import pytest
from test_loops import OFFSETS, count, disassemble, in_general, loops

REGISTERS = ["rax", "rdx", "rsi", "r8", "r9", "r10", "r11", "rbx", "rbp", "r12", "r13", "r14"]
# Rounds of a lap, by chains.
ROUNDS = {1: 48, 2: 24, 3: 16, 4: 12, 6: 8, 8: 6, 10: 5, 12: 4, 16: 1, 24: 1, 32: 1, 48: 1, 64: 1}
CALLERS = {"rbx", "rbp", "r12", "r13", "r14", "r15"}


@pytest.fixture(name="application", scope="module")
def fixture_application(build):
    return build / "ironchase.elf"


def one_round(chains):
    """The instructions of a round, in their order."""
    hops = [f"mov (%{register}),%{register}" for register in REGISTERS[:chains]]
    for chain in range(len(REGISTERS), chains):
        place = f"{8 * chain:#x}(%rdi)"
        hops += [f"mov {place},%r15", "mov (%r15),%r15", f"mov %r15,{place}"]
    return hops


def plain(text):
    """Some base registers cannot be encoded without an offset, be it 0."""
    return re.sub(r"\b0x0\(", "(", text)


def lap_of(code):
    return [plain(text) for text in max(loops(code), key=len)]


@pytest.mark.parametrize("chains", ROUNDS)
def test_a_lap_is_rounds_of_hops(application, chains):
    lap = lap_of(disassemble(application, f"mlp_hops_{chains}"))
    assert lap[:-2] == one_round(chains) * ROUNDS[chains]
    assert count(map(in_general, lap[-2:])) == {f"sub ${ROUNDS[chains]:#x},%rcx": 1, "jae LAP": 1}


@pytest.mark.parametrize("chains", [n for n in ROUNDS if n <= len(REGISTERS)])
def test_at_most_a_tenth_is_overhead(application, chains):
    assert len(lap_of(disassemble(application, f"mlp_hops_{chains}"))) \
        <= 1.1 * chains * ROUNDS[chains]


@pytest.mark.parametrize("chains", ROUNDS)
def test_the_rest_is_rounds_of_hops(application, chains):
    """The only other loop, where a lap has more than one round."""
    code = disassemble(application, f"mlp_hops_{chains}")
    rests = sorted(loops(code), key=len)[:-1]
    assert len(rests) == (ROUNDS[chains] > 1)
    for rest in rests:
        assert [plain(text) for text in rest[:-2]] == one_round(chains)
        assert count(map(in_general, rest[-2:])) == {"dec %rcx": 1, "jne LAP": 1}


@pytest.mark.parametrize("chains", ROUNDS)
def test_around_the_laps(application, chains):
    """Each cursor is taken and put back once, in its place. No vector registers, no calls, no
    constants from memory, no jump through a register; the stack only for what is the caller's."""
    code = disassemble(application, f"mlp_hops_{chains}")
    texts = [plain(text) for _, text in code]
    for chain, register in enumerate(REGISTERS[:chains]):
        place = f"{8 * chain:#x}(%rdi)" if chain else "(%rdi)"
        assert texts.count(f"mov {place},%{register}") == 1
        assert texts.count(f"mov %{register},{place}") == 1
    pushed = [text.split()[1][1:] for text in texts if text.startswith("push")]
    popped = [text.split()[1][1:] for text in texts if text.startswith("pop")]
    used = set(re.findall(r"%(\w+)", " ".join(texts)))
    assert popped == pushed[::-1] and set(pushed) == used & CALLERS
    assert not [text for text in texts
                if re.search(r"%[re]?sp|%[xyz]mm|%rip|\*|call|lock|rep|nop", text)]
    assert not [text for start in loops(code) for text in start if re.match("push|pop", text)]


@pytest.mark.parametrize("chains", ROUNDS)
def test_bytes_are_the_same_wherever_they_lie(application, chains):
    image = elf.Elf.read(application)
    loop = image.symbol(f"mlp_hops_{chains}")
    assert loop.size > 0 and loop.address % 64 == 0
    assert not [entry for entry in image.relocations()
                if loop.address <= entry.address < loop.address + loop.size]


@pytest.mark.parametrize("offset", OFFSETS)
def test_no_instruction_is_there_for_alignment(application, root, tmp_path, offset):
    """Assembled so far beyond a line, the loops have the same bytes."""
    source = (root / "kernels/mlp_loops.S").read_text(encoding="utf-8")
    assert source.count(".p2align 6\n") == 1
    moved = source.replace(".p2align 6\n", f".p2align 6\n.skip {offset}, 0x90\n")
    subprocess.run(["gcc", "-c", "-x", "assembler-with-cpp", "-", "-o", tmp_path / "a.o"],
                   input=moved, text=True, check=True)
    there, here = elf.Elf.read(tmp_path / "a.o"), elf.Elf.read(application)
    for chains in ROUNDS:
        name = f"mlp_hops_{chains}"
        assert there.symbol(name).address % 64 == offset
        assert there.symbol_bytes(name) == here.symbol_bytes(name)
