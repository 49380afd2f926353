"""The loops of the experiment `ilp` in the application: each instruction of each lap, and no other."""

import re
import struct
import subprocess

import elf
import pytest

OFFSETS = (1, 17, 63)  # beyond where a loop stands
GENERAL = ["%" + name for name in "rax rbx rcx rdx rbp r8 r9 r10 r11 r12 r13 r14".split()]
VECTOR = [f"%xmm{i}" for i in range(1, 16)]
READ = 8 * 29  # offsets of the words in the registers' memory
WRITTEN = READ + 8 * 24

KINDS = {  # accumulators, one operation, fewest operations of a lap
    "add_single": (VECTOR, "addss %xmm0,{}", 8),
    "add_double": (VECTOR, "addsd %xmm0,{}", 8),
    "mul_single": (VECTOR, "mulss %xmm0,{}", 8),
    "mul_double": (VECTOR, "mulsd %xmm0,{}", 8),
    "fma_double": (VECTOR, "vfmadd231sd %xmm0,%xmm0,{}", 8),
    "add_integer": (GENERAL, "add %r15,{}", 64),
    "mul_integer": (GENERAL, "imul %r15,{}", 8),
}


def expected_laps():
    """What each loop repeats, by name, in the order of the table."""
    laps = {}
    for kind, (registers, operation, least) in KINDS.items():
        for n in range(1, len(registers) + 1):
            laps[f"ilp_{kind}_{n}"] = [operation.format(register) for register in registers[:n]
                                       ] * -(-least // n)
    laps["ilp_load"] = [f"mov {READ + 8 * i:#x}(%rdi),{GENERAL[i % 12]}" for i in range(24)]
    laps["ilp_store"] = [f"mov {GENERAL[i % 12]},{WRITTEN + 8 * i:#x}(%rdi)" for i in range(24)]
    return laps


LAPS = expected_laps()


@pytest.fixture(name="application", scope="module")
def fixture_application(build):
    return build / "ironchase.elf"


@pytest.fixture(name="image", scope="module")
def fixture_image(application):
    return elf.Elf.read(application)


@pytest.fixture(name="code", scope="module")
def fixture_code(application):
    """Instructions of each function of the file, up to its last return."""
    done = subprocess.run(["objdump", "-d", "--no-show-raw-insn", application], check=True,
                          text=True, capture_output=True)
    code = {}
    for part in done.stdout.split("\n\n"):
        name = re.match(r"\s*[0-9a-f]+ <(\w+)>:\n", part)
        if name and name[1].startswith("ilp_"):
            lines = re.findall(r"^\s*[0-9a-f]+:\t(.*)$", part, re.MULTILINE)
            lines = [" ".join(line.split()) for line in lines]
            last = max(i for i, line in enumerate(lines) if line == "ret")
            code[name[1]] = lines[:last + 1]
    return code


def test_all_loops_are_known(code, image):
    assert set(code) == {*LAPS, "ilp_laps"}
    assert len(LAPS) == 101
    assert image.symbol("ilp_loop").size == 8 * len(LAPS)


@pytest.mark.parametrize("name", LAPS)
def test_a_lap_is_what_it_should_be(code, image, name):
    lap = LAPS[name]
    assert code[name][:len(lap)] == lap
    assert code[name][len(lap)] == "dec %rsi"
    assert re.fullmatch(rf"jne {image.symbol(name).address:x} <{name}>", code[name][len(lap) + 1])
    assert code[name][len(lap) + 2:] == ["ret"]


def test_the_table_leads_to_the_loops(image):
    entries = list(struct.iter_unpack("<iI", image.symbol_bytes("ilp_loop")))
    table = image.symbol("ilp_loop").address
    for i, (name, lap) in enumerate(LAPS.items()):
        offset, operations = entries[i]
        assert table + 8 * i + offset == image.symbol(name).address, name
        assert operations == len(lap), name


def test_the_way_in_and_out(code):
    """All accumulators come from where they go to, and what belongs to the caller is put back."""
    lines = code["ilp_laps"]
    call = lines.index("call *(%rsp)")
    loaded = dict(re.fullmatch(r"movq? (\w*\(%rdi\)),(%\w+)", line).group(2, 1)
                  for line in lines[:call] if "(%rdi)" in line)
    stored = dict(re.fullmatch(r"movq? (%\w+),(\w*\(%rdi\))", line).group(1, 2)
                  for line in lines[call:] if "(%rdi)" in line)
    assert loaded.pop("%xmm0") == "0x78(%rdi)"
    assert loaded.pop("%r15") == "0xe0(%rdi)"
    assert loaded == stored
    assert set(stored) == {*GENERAL, *VECTOR}
    pushed = [line.split()[1] for line in lines if line.startswith("push")]
    popped = [line.split()[1] for line in lines if line.startswith("pop")]
    assert pushed == ["%rbx", "%rbp", "%r12", "%r13", "%r14", "%r15", "%rdx"]
    assert popped == pushed[::-1]


def test_no_relocation_points_into_the_loops(image):
    for name in (*LAPS, "ilp_laps", "ilp_loop"):
        part = image.symbol(name)
        assert part.size > 0
        assert not [entry for entry in image.relocations()
                    if part.address <= entry.address < part.address + part.size]


@pytest.mark.parametrize("offset", OFFSETS)
def test_no_instruction_is_there_for_alignment(image, root, tmp_path, offset):
    """Assembled so far beyond its place, a loop has the same bytes."""
    source = (root / "kernels/ilp_loops.S").read_text(encoding="utf-8")
    assert source.count(".p2align 4\n") == 1
    moved = source.replace(".p2align 4\n", f".p2align 4\n.skip {offset}, 0x90\n")
    subprocess.run(["gcc", "-c", "-x", "assembler-with-cpp", "-", "-o", tmp_path / "a.o"],
                   input=moved, text=True, check=True)
    there = elf.Elf.read(tmp_path / "a.o")
    for name in LAPS:
        assert there.symbol(name).address % 16 == offset % 16
        assert there.symbol_bytes(name) == image.symbol_bytes(name), name
