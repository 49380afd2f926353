#!/usr/bin/env python3
"""Turns the linked ELF file into the PE file that firmware loads.

usage: make_pe.py ironchase.elf sbat.csv ironchase.efi

Every ELF segment becomes one section, page aligned in memory and in the file, so that no ELF
section can be lost on the way. Two sections are added: .reloc, with one block that relocates nothing
(GNU-EFI's start-up code relocates the image; some firmware wants a table all the same), and .sbat
for shim.
Nothing in the result depends on the time, the machine or the path of the build.

Sources: Microsoft PE format specification, sections "COFF File Header", "Optional Header" and
".reloc"; shim's SBAT.md.
"""

import struct
import sys

import elf

PAGE = 0x1000
SECTION_NAMES = {elf.PF_R | elf.PF_X: ".text", elf.PF_R: ".rodata", elf.PF_R | elf.PF_W: ".data"}

MACHINE_AMD64 = 0x8664
# executable, no line numbers, no symbols, large addresses, no debug data
FILE_CHARACTERISTICS = 0x0002 | 0x0004 | 0x0008 | 0x0020 | 0x0200
MAGIC_PE32_PLUS = 0x20B
SUBSYSTEM_EFI_APPLICATION = 10
DLL_CHARACTERISTICS_NX_COMPAT = 0x0100
DIRECTORIES = 16
DIRECTORY_BASE_RELOCATION = 5
IMAGE_REL_BASED_DIR64 = 10

CODE, INITIALISED, DISCARDABLE = 0x20, 0x40, 0x02000000
EXECUTE, READ, WRITE = 0x20000000, 0x40000000, 0x80000000

DOS_HEADER_SIZE = 64
OPTIONAL_HEADER_SIZE = 112 + 8 * DIRECTORIES


def round_up(value, to=PAGE):
    return (value + to - 1) // to * to


class PeSection:
    def __init__(self, name, address, data, size, characteristics):
        self.name, self.address, self.data, self.size = name, address, data, size
        self.characteristics = characteristics
        self.file_offset = 0

    def file_size(self):
        return round_up(len(self.data))

    def header(self):
        return struct.pack("<8sIIIIIIHHI", self.name.encode(), self.size, self.address,
                           self.file_size(), self.file_offset, 0, 0, 0, 0, self.characteristics)


def segment_section(segment):
    if segment.address % PAGE:
        raise SystemExit(f"make_pe: segment at {segment.address:#x} is not page aligned")
    if segment.flags not in SECTION_NAMES:
        raise SystemExit(f"make_pe: segment at {segment.address:#x} has access {segment.flags}")
    characteristics = READ
    characteristics |= CODE | EXECUTE if segment.flags & elf.PF_X else INITIALISED
    characteristics |= WRITE if segment.flags & elf.PF_W else 0
    # What the file does not hold of a section is zero in memory.
    return PeSection(SECTION_NAMES[segment.flags], segment.address, segment.data,
                     segment.memory_size, characteristics)


def relocation_table(relocations):
    """Base relocations: a block a page, which ends with an entry that means "skip" where its length
    would not be a multiple of four. Never empty: some loaders refuse an image without a table."""
    pages = {}
    for relocation in sorted(relocations, key=lambda r: r.address):
        if relocation.kind != elf.R_X86_64_RELATIVE:
            raise SystemExit(f"make_pe: relocation type {relocation.kind} at "
                             f"{relocation.address:#x}")
        pages.setdefault(relocation.address // PAGE * PAGE, []).append(
            IMAGE_REL_BASED_DIR64 << 12 | relocation.address % PAGE)
    table = b""
    for page, entries in pages.items():
        entries += [0] * (len(entries) % 2)
        table += struct.pack(f"<II{len(entries)}H", page, 8 + 2 * len(entries), *entries)
    return table or struct.pack("<IIHH", PAGE, 12, 0, 0)


def without(segment, section):
    """The segment's data with zeros for a section."""
    start = section.address - segment.address
    return segment.data[:start] + bytes(section.size) + segment.data[start + section.size:]


def build_sections(image, sbat):
    dynamic = image.section(".dynamic")
    rela = [s.address for s in image.sections if s.kind == elf.SHT_RELA]
    segments = [s for s in image.loads() if s.address not in rela]
    for segment in segments:
        if segment.address <= dynamic.address < segment.address + segment.memory_size:
            segment.data = without(segment, dynamic)
    sections = [segment_section(segment) for segment in segments]
    if [s.name for s in sections] != list(SECTION_NAMES.values()):
        raise SystemExit(f"make_pe: segments are {[s.name for s in sections]}")
    reloc = relocation_table(image.relocations())
    for name, data, extra in ((".reloc", reloc, DISCARDABLE), (".sbat", sbat, 0)):
        end = round_up(sections[-1].address + sections[-1].size)
        sections.append(PeSection(name, end, data, len(data), INITIALISED | READ | extra))
    offset = PAGE
    for section in sections:
        section.file_offset = offset
        offset += section.file_size()
    return sections


def optional_header(image, sections):
    by_name = {section.name: section for section in sections}
    text, reloc = by_name[".text"], by_name[".reloc"]
    data_size = sum(s.file_size() for s in sections if s is not text)
    header = struct.pack("<HBBIIIII", MAGIC_PE32_PLUS, 0, 0, text.file_size(), data_size, 0,
                         image.entry, text.address)
    end = round_up(sections[-1].address + sections[-1].size)
    header += struct.pack("<QIIHHHHHHIIIIHHQQQQII", 0, PAGE, PAGE, 0, 0, 0, 0, 0, 0, 0, end, PAGE,
                          0, SUBSYSTEM_EFI_APPLICATION, DLL_CHARACTERISTICS_NX_COMPAT,
                          0x10000, 0x10000, 0x10000, 0, 0, DIRECTORIES)
    directories = [(0, 0)] * DIRECTORIES
    directories[DIRECTORY_BASE_RELOCATION] = (reloc.address, reloc.size)
    return header + b"".join(struct.pack("<II", *entry) for entry in directories)


def build_pe(image, sbat):
    sections = build_sections(image, sbat)
    dos = b"MZ".ljust(60, b"\0") + struct.pack("<I", DOS_HEADER_SIZE)
    coff = struct.pack("<4sHHIIIHH", b"PE\0\0", MACHINE_AMD64, len(sections), 0, 0, 0,
                       OPTIONAL_HEADER_SIZE, FILE_CHARACTERISTICS)
    header = dos + coff + optional_header(image, sections)
    header += b"".join(section.header() for section in sections)
    if len(header) > PAGE:
        raise SystemExit("make_pe: the headers do not fit into their page")
    body = b"".join(section.data.ljust(section.file_size(), b"\0") for section in sections)
    return header.ljust(PAGE, b"\0") + body


def main(elf_path, sbat_path, efi_path):
    with open(sbat_path, "rb") as file:
        sbat = file.read()
    with open(efi_path, "wb") as file:
        file.write(build_pe(elf.Elf.read(elf_path), sbat))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit("usage: make_pe.py ironchase.elf sbat.csv ironchase.efi")
    main(*sys.argv[1:])
