"""The measured loops in the application: nothing in them but what is measured."""

import re
import subprocess

import elf
import pytest

SOURCES = {"chase_hops": "chase_loop.S", "spin_adds": "spin.S", "read_lines": "read_loop.S"}
OFFSETS = (0, 1, 17, 63)  # beyond a line
LOOPS = {  # what a lap may have, and how often
    "chase_hops": {"mov (%rax),%rax": 64, "dec %rcx": 1, "jne LAP": 1},
    "spin_adds": {"add %rdx,%rax": 64, "dec %rdi": 1, "jne LAP": 1},
    "read_lines": {"mov LINE(%rdi),%rax": 8, "add $0x200,%rdi": 1, "dec %rcx": 1, "jne LAP": 1},
}
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(.*)$")
JUMP = re.compile(r"^(j\w+)\s+([0-9a-f]+)")


def disassemble(path, function):
    """[(address, instruction)] of a function."""
    done = subprocess.run(["objdump", "--no-show-raw-insn", f"--disassemble={function}", path],
                          check=True, text=True, capture_output=True)
    found = (INSTRUCTION.match(line) for line in done.stdout.splitlines())
    return [(int(match[1], 16), " ".join(match[2].split())) for match in found if match]


def loops(code):
    """The bodies of the loops: from a jump's target to the jump back."""
    for address, text in code:
        jump = JUMP.match(text)
        if jump and int(jump[2], 16) <= address:
            start = int(jump[2], 16)
            yield [line for at, line in code if start <= at <= address]


def in_general(text):
    """An instruction without where it jumps, and with any line of a lap for another."""
    text = re.sub(r"^(j\w+) .*", r"\1 LAP", text)
    return re.sub(r"(0x[0-9a-f]*[048c]0)?\(%rdi\)", "LINE(%rdi)", text)


def count(texts):
    found = {}
    for text in texts:
        found[text] = found.get(text, 0) + 1
    return found


@pytest.fixture(name="application", scope="module")
def fixture_application(build):
    return build / "ironchase.elf"


@pytest.mark.parametrize("name", LOOPS)
def test_a_lap_is_what_it_should_be(application, name):
    lap = max(loops(disassemble(application, name)), key=len)
    assert count(map(in_general, lap)) == LOOPS[name]


def test_reads_are_of_different_lines(application):
    lap = max(loops(disassemble(application, "read_lines")), key=len)
    offsets = sorted(int(text.split()[1].split("(")[0] or "0", 16) for text in lap
                     if "(%rdi)" in text)
    assert offsets == [64 * i for i in range(8)]


@pytest.mark.parametrize("name", LOOPS)
def test_nothing_else_is_touched(application, name):
    """Around the laps, too: no stores, no stack, no calls, no constants from memory, and no jump
    through a register."""
    for _, text in disassemble(application, name):
        memory = re.search(r"[^,\s]*\(.*\)", text)
        assert not memory or re.fullmatch(r"mov (0x\w+)?\((%rax|%rdi)\),%rax", text), text
        assert not re.search(r"%[re]?[sb]p|%[xyz]mm|%rip|\*|call|push|pop|lock|rep", text), text


@pytest.mark.parametrize("name", LOOPS)
def test_bytes_are_the_same_wherever_they_lie(application, build, name):
    """No relocation points into a loop: a copy does what the original does."""
    image = elf.Elf.read(application)
    loop = image.symbol(name)
    assert loop.size > 0
    assert not [entry for entry in image.relocations()
                if loop.address <= entry.address < loop.address + loop.size]
    code = image.symbol_bytes(name)
    assert (build / "ironchase.efi").read_bytes().count(code) == 1


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("name", LOOPS)
def test_no_instruction_is_there_for_alignment(application, root, tmp_path, name, offset):
    """Assembled so far beyond a line, a loop has the same bytes."""
    source = (root / "kernels" / SOURCES[name]).read_text(encoding="utf-8")
    assert source.count(".p2align 6\n") == 1
    moved = source.replace(".p2align 6\n", f".p2align 6\n.skip {offset}, 0x90\n")
    subprocess.run(["gcc", "-c", "-x", "assembler-with-cpp", "-", "-o", tmp_path / "a.o"],
                   input=moved, text=True, check=True)
    there = elf.Elf.read(tmp_path / "a.o")
    assert there.symbol(name).address % 64 == offset
    assert there.symbol_bytes(name) == elf.Elf.read(application).symbol_bytes(name)


def test_the_check_sees_more_than_a_load(tmp_path):
    """The same loop as a compiler may write it: the counter in memory, a store, an addition."""
    (tmp_path / "a.c").write_text("""
        void *chase_hops(void *cursor, volatile unsigned long hops)
        { for (; hops; hops--) cursor = *(void **)cursor; return cursor; }
        """)
    subprocess.run(["gcc", "-O1", "-c", "a.c", "-o", "a.o"], cwd=tmp_path, check=True)
    lap = max(loops(disassemble(tmp_path / "a.o", "chase_hops")), key=len)
    assert count(map(in_general, lap)) != LOOPS["chase_hops"]
