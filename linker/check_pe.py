#!/usr/bin/env python3
"""Checks the PE file against the ELF file that it was made from, and against what firmware wants.

usage: check_pe.py ironchase.elf ironchase.efi sbat.csv VERSION COMMIT

The build runs it, and so does a test; it reads the PE file on its own, not with make_pe.py's code.
"""

import struct
import sys
from dataclasses import dataclass

import elf

PAGE = 0x1000
# 200 KiB held for the window and two experiments; all of them bring their loops and findings along.
LARGEST_FILE = 384 * 1024
NX_COMPAT = 0x0100
DIRECTORY_BASE_RELOCATION = 5
IMAGE_REL_BASED_ABSOLUTE, IMAGE_REL_BASED_DIR64 = 0, 10
EXECUTE, READ, WRITE = 0x20000000, 0x40000000, 0x80000000
ACCESS = {".text": READ | EXECUTE, ".rodata": READ, ".data": READ | WRITE, ".reloc": READ,
          ".sbat": READ}


@dataclass
class PeSection:
    name: str
    address: int
    size: int
    file_offset: int
    file_size: int
    characteristics: int


class Pe:
    def __init__(self, data):
        self.data = data
        start, = struct.unpack_from("<I", data, 60)
        if data[:2] != b"MZ" or data[start:start + 4] != b"PE\0\0":
            raise ValueError("not a PE file")
        (self.machine, count, self.timestamp, _, _, optional_size, self.characteristics) = (
            struct.unpack_from("<HHIIIHH", data, start + 4))
        optional = start + 24
        self.magic, = struct.unpack_from("<H", data, optional)
        self.entry, = struct.unpack_from("<I", data, optional + 16)
        self.section_alignment, self.file_alignment = struct.unpack_from("<II", data, optional + 32)
        self.image_size, self.header_size = struct.unpack_from("<II", data, optional + 56)
        self.subsystem, self.dll_characteristics = struct.unpack_from("<HH", data, optional + 68)
        directory = optional + 112 + 8 * DIRECTORY_BASE_RELOCATION
        self.reloc_address, self.reloc_size = struct.unpack_from("<II", data, directory)
        table = optional + optional_size
        self.sections = [self._section(table + 40 * i) for i in range(count)]

    def _section(self, at):
        name, size, address, file_size, offset, _, _, _, _, characteristics = (
            struct.unpack_from("<8sIIIIIIHHI", self.data, at))
        return PeSection(name.rstrip(b"\0").decode(), address, size, offset, file_size,
                         characteristics)

    def section(self, name):
        return next((s for s in self.sections if s.name == name), None)

    def body(self, section):
        return self.data[section.file_offset:section.file_offset + section.size]

    def memory(self):
        """The image as a loader lays it out, before relocation."""
        memory = bytearray(self.image_size)
        memory[:self.header_size] = self.data[:self.header_size]
        for s in self.sections:
            part = self.data[s.file_offset:s.file_offset + min(s.size, s.file_size)]
            memory[s.address:s.address + len(part)] = part
        return bytes(memory)


def check_header(pe):
    expected = {"machine": 0x8664, "magic": 0x20B, "subsystem": 10, "timestamp": 0,
                "section_alignment": PAGE, "file_alignment": PAGE}
    for name, value in expected.items():
        if getattr(pe, name) != value:
            yield f"{name} is {getattr(pe, name):#x}, not {value:#x}"
    if not pe.dll_characteristics & NX_COMPAT:
        yield "NX_COMPAT is not set"
    if pe.characteristics & 1:
        yield "relocations are marked as stripped"
    text = pe.section(".text")
    if text and not text.address <= pe.entry < text.address + text.size:
        yield f"the entry point {pe.entry:#x} is not in .text"
    if len(pe.data) > LARGEST_FILE:
        yield f"the file has {len(pe.data)} bytes, more than {LARGEST_FILE}"


def check_sections(pe):
    if [s.name for s in pe.sections] != list(ACCESS):
        yield f"sections are {[s.name for s in pe.sections]}, not {list(ACCESS)}"
    address, offset = pe.header_size, pe.header_size
    for s in pe.sections:
        access = s.characteristics & (EXECUTE | READ | WRITE)
        if access & EXECUTE and access & WRITE:
            yield f"{s.name} is writable and executable"
        if access != ACCESS.get(s.name):
            yield f"{s.name} has access {access:#x}"
        if s.address != address or s.file_offset != offset or s.file_size % PAGE:
            yield f"{s.name} is not where the section before it ends, or not page aligned"
        if s.size > s.file_size and not s.characteristics & WRITE:
            yield f"{s.name} is larger in memory than in the file"
        address = s.address + (s.size + PAGE - 1) // PAGE * PAGE
        offset = s.file_offset + s.file_size
    if address != pe.image_size:
        yield f"the image size is {pe.image_size:#x}, the sections end at {address:#x}"
    if offset != len(pe.data):
        yield f"the sections end at {offset:#x} of {len(pe.data):#x} bytes"


def relocated_words(body):
    """Addresses that a table of base relocations names; raises ValueError where it is torn."""
    at = 0
    while at < len(body):
        page, size = struct.unpack_from("<II", body.ljust(at + 8, b"\0"), at)
        if size < 8 or size % 4 or at + size > len(body) or page % PAGE:
            raise ValueError(f"a relocation block at {at:#x} is torn")
        for entry in struct.unpack_from(f"<{(size - 8) // 2}H", body, at + 8):
            if entry >> 12 not in (IMAGE_REL_BASED_ABSOLUTE, IMAGE_REL_BASED_DIR64):
                raise ValueError(f"a relocation block has an entry of type {entry >> 12}")
            if entry >> 12 == IMAGE_REL_BASED_DIR64:
                yield page + (entry & 0xFFF)
        at += size


def check_reloc(pe, image):
    reloc = pe.section(".reloc")
    if not reloc or (reloc.address, reloc.size) != (pe.reloc_address, pe.reloc_size):
        yield "the relocation directory is not the .reloc section"
        return
    try:
        words = list(relocated_words(pe.body(reloc)))
    except ValueError as torn:
        yield str(torn)
        return
    if words != sorted(r.address for r in image.relocations()):
        yield "the relocation table does not name the words that the ELF file relocates"


def check_sbat(pe, sbat):
    section = pe.section(".sbat")
    if not section or pe.body(section) != sbat:
        yield ".sbat is not sbat.csv"
    lines = sbat.decode("ascii").splitlines()
    if not lines or not lines[0].startswith("sbat,1,SBAT Version,sbat,1,"):
        yield "sbat.csv does not begin with the SBAT version"
    if any(line.count(",") != 5 for line in lines) or len(lines) < 2:
        yield "a line of sbat.csv does not have six fields"


def check_against_elf(pe, image):
    memory = pe.memory()
    for s in image.sections:
        if not s.flags & elf.SHF_ALLOC or not s.size or s.kind == elf.SHT_RELA:
            continue
        # GNU-EFI's start-up code would relocate once more by what .dynamic says.
        data = s.data if s.kind != elf.SHT_NOBITS and s.name != ".dynamic" else bytes(s.size)
        if memory[s.address:s.address + s.size] != data:
            yield f"ELF section {s.name} is not in the PE file"
    writable = [s for s in pe.sections if s.characteristics & WRITE]
    count = 0
    for r in image.relocations():
        count += 1
        if r.kind != elf.R_X86_64_RELATIVE:
            yield f"relocation type {r.kind} at {r.address:#x} is not one that PE files have"
        if not any(s.address <= r.address and r.address + 8 <= s.address + s.size
                   for s in writable):
            yield f"a relocation at {r.address:#x} is outside the writable sections"
        # The firmware adds the load address to what stands there.
        if struct.unpack_from("<Q", memory, r.address)[0] != r.addend:
            yield f"the word at {r.address:#x} is not the relocation's addend"
    if not count:
        yield "the ELF file has no relocations: was it linked as position independent?"


def check_strings(pe, version, commit):
    for name, text in (("version", version), ("commit", commit)):
        if text.encode() not in pe.data:
            yield f"the {name} {text} is not in the file"


def problems(elf_path, efi_path, sbat_path, version, commit):
    with open(efi_path, "rb") as file:
        pe = Pe(file.read())
    with open(sbat_path, "rb") as file:
        sbat = file.read()
    image = elf.Elf.read(elf_path)
    for found in (check_header(pe), check_sections(pe), check_reloc(pe, image), check_sbat(pe, sbat),
                  check_against_elf(pe, image),
                  check_strings(pe, version, commit)):
        yield from found


def main(arguments):
    found = list(problems(*arguments))
    for problem in found:
        print(f"{arguments[1]}: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) != 6:
        raise SystemExit("usage: check_pe.py ironchase.elf ironchase.efi sbat.csv VERSION COMMIT")
    sys.exit(main(sys.argv[1:]))
