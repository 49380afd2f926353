"""What the flags of the build promise, read from the machine code."""

import re
import subprocess

import pytest

# A use of memory below the stack pointer; "lea" only computes an address, and with an index
# register the distance alone says nothing.
RED_ZONE = re.compile(r"-0x[0-9a-f]+\(%rsp\)")
SEGMENT = re.compile(r"%[fg]s:")
# VEX and EVEX instructions begin with a v in AT&T syntax; these few others do, too.
VECTOR = re.compile(r"%[yz]mm|^v(?!err|erw)")
WIDE_REGISTER = re.compile(r"%[xyz]?mm[0-9]|%st\b")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\t(.*)$")


def instructions(text):
    """(function, instruction) of a disassembly without the bytes."""
    function = None
    for line in text.split("\n"):
        if found := FUNCTION.match(line):
            function = found[1]
        elif found := INSTRUCTION.match(line):
            yield function, found[1].strip()


def disassemble(path):
    done = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], check=True, text=True,
                          capture_output=True)
    return list(instructions(done.stdout))


def uses_red_zone(instruction):
    return RED_ZONE.search(instruction) and not instruction.startswith("lea")


def uses_segment(instruction):
    """Segment bases belong to the firmware; prefixes of padding (nop) touch nothing."""
    return SEGMENT.search(instruction) and "nop" not in instruction


@pytest.fixture(scope="module", params=["picolibc/lib/libc.a", "ironchase.elf"])
def code(request, build):
    found = disassemble(build / request.param)
    assert len(found) > 1000
    return found


def test_no_red_zone(code):
    assert not [entry for entry in code if uses_red_zone(entry[1])]


def test_no_thread_local_storage(code):
    assert not [entry for entry in code if uses_segment(entry[1])]


def test_library_has_no_avx(build):
    found = disassemble(build / "picolibc/lib/libc.a")
    assert not [entry for entry in found if VECTOR.search(entry[1])]


def test_traps_leave_vector_registers_alone(build):
    """A trap may come while they hold a measurement's data."""
    objects = sorted((build / "efi/hw").glob("trap*.o"))
    assert objects
    for path in objects:
        assert not [entry for entry in disassemble(path) if WIDE_REGISTER.search(entry[1])], path


def test_no_stack_protector(build):
    done = subprocess.run(["nm", build / "ironchase.elf"], check=True, text=True,
                          capture_output=True)
    assert "__stack_chk" not in done.stdout


SAMPLE = """
int leaf(int a) { volatile int b = a; return b; }
__thread int local;
int get(void) { return local; }
void add(float *a) { for (int i = 0; i < 8; i++) a[i] += 1.0f; }
"""


def test_the_check_sees_what_it_looks_for(tmp_path):
    """The same code, generated without the flags of the build."""
    (tmp_path / "a.c").write_text(SAMPLE)
    subprocess.run(["gcc", "-O3", "-mavx", "-c", "a.c", "-o", "a.o"], cwd=tmp_path, check=True)
    found = disassemble(tmp_path / "a.o")
    assert {name for name, text in found if uses_red_zone(text)} == {"leaf"}
    assert {name for name, text in found if uses_segment(text)} == {"get"}
    assert "add" in {name for name, text in found if VECTOR.search(text)}
    assert "add" in {name for name, text in found if WIDE_REGISTER.search(text)}
