"""The application as a PE file: what firmware wants of it, and that the check would notice."""

import re
import struct
import subprocess

import check_pe
import elf
import pytest


@pytest.fixture(scope="module")
def arguments(build, root):
    text = (build / "generated/version.h").read_text(encoding="utf-8")
    version, commit = (re.search(rf'{name} "(.*)"', text)[1]
                       for name in ("IRONCHASE_VERSION", "IRONCHASE_COMMIT"))
    return [str(build / "ironchase.elf"), str(build / "ironchase.efi"),
            str(root / "linker/sbat.csv"), version, commit]


@pytest.fixture(scope="module")
def pe(build):
    return check_pe.Pe((build / "ironchase.efi").read_bytes())


def test_file_is_what_firmware_wants(arguments):
    assert not list(check_pe.problems(*arguments))


def test_no_path_of_the_machine_is_inside(pe, root):
    for path in (str(root), "/usr/", "/home/", "/tmp/"):
        assert path.encode() not in pe.data


def test_binutils_agree(build):
    """Another reader of PE files sees the same sections."""
    done = subprocess.run(["objdump", "-h", build / "ironchase.efi"], check=True, text=True,
                          capture_output=True)
    names = re.findall(r"^\s+\d+ (\S+)", done.stdout, re.MULTILINE)
    assert "pei-x86-64" in done.stdout and names == list(check_pe.ACCESS)


def test_sections_for_the_window_are_page_aligned(build):
    """The window maps the image by these symbols, each part with its own access."""
    image = elf.Elf.read(build / "ironchase.elf")
    for part, section in (("text", ".text"), ("rodata", ".rodata"), ("data", ".data")):
        start = image.symbol(f"image_{part}_start").address
        end = image.symbol(f"image_{part}_end").address
        assert start % 4096 == 0 and end % 4096 == 0
        inside = image.section(section)
        assert start <= inside.address and inside.address + inside.size <= end


def section_header(data, name):
    return data.index(name.encode().ljust(8, b"\0"))


def set_word(data, at, value):
    return data[:at] + struct.pack("<I", value) + data[at + 4:]


def change_dll_characteristics(data):
    at = struct.unpack_from("<I", data, 60)[0] + 24 + 70
    return data[:at] + b"\0\0" + data[at + 2:]


def change_timestamp(data):
    return set_word(data, struct.unpack_from("<I", data, 60)[0] + 8, 1)


def change_file_alignment(data):
    return set_word(data, struct.unpack_from("<I", data, 60)[0] + 24 + 36, 512)


def make_text_writable(data):
    return set_word(data, section_header(data, ".text") + 36, 0xE0000020)


def make_rodata_writable(data):
    return set_word(data, section_header(data, ".rodata") + 36, 0xC0000040)


def make_data_read_only(data):
    return set_word(data, section_header(data, ".data") + 36, 0x40000040)


def shorten_data(data):
    return set_word(data, section_header(data, ".data") + 8, 16)


def empty_reloc(data):
    block, = struct.unpack_from("<I", data, section_header(data, ".reloc") + 20)
    return set_word(data, block + 4, 0)


def lose_a_relocation(data):
    block, = struct.unpack_from("<I", data, section_header(data, ".reloc") + 20)
    return data[:block + 8] + b"\0\0" + data[block + 10:]


def spoil_sbat(data):
    return data.replace(b"SBAT Version", b"SBAT version", 1)


def spoil_text(data):
    return data[:0x1000] + bytes([data[0x1000] ^ 1]) + data[0x1001:]


def drop_commit(data, commit):
    return data.replace(commit.encode(), b"?" * len(commit))


def pad(data):
    return data + bytes(384 * 1024)


@pytest.mark.parametrize("change, noticed", [
    (change_dll_characteristics, "NX_COMPAT"),
    (change_timestamp, "timestamp"),
    (change_file_alignment, "file_alignment"),
    (make_text_writable, ".text is writable and executable"),
    (make_rodata_writable, ".rodata has access"),
    (make_data_read_only, "outside the writable sections"),
    (shorten_data, "image size|ELF section .data"),
    (empty_reloc, "relocation block"),
    (lose_a_relocation, "relocation table"),
    (spoil_sbat, ".sbat"),
    (spoil_text, "ELF section .text"),
    (pad, "more than"),
])
def test_check_notices(arguments, tmp_path, change, noticed):
    with open(arguments[1], "rb") as file:
        changed = change(file.read())
    copy = tmp_path / "changed.efi"
    copy.write_bytes(changed)
    found = list(check_pe.problems(arguments[0], str(copy), *arguments[2:]))
    assert any(re.search(noticed, text) for text in found), found


def test_check_notices_a_missing_commit(arguments, tmp_path):
    with open(arguments[1], "rb") as file:
        changed = drop_commit(file.read(), arguments[4])
    copy = tmp_path / "changed.efi"
    copy.write_bytes(changed)
    assert any("commit" in text
               for text in check_pe.problems(arguments[0], str(copy), *arguments[2:]))
