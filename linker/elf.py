"""Reads segments, sections, symbols and relocations of a 64-bit little-endian ELF file."""

import struct
from dataclasses import dataclass

PT_LOAD = 1
PF_X, PF_W, PF_R = 1, 2, 4
SHT_SYMTAB = 2
SHT_RELA = 4
SHT_NOBITS = 8
SHF_ALLOC = 2
SHN_UNDEF = 0
R_X86_64_RELATIVE = 8


@dataclass
class Segment:
    kind: int
    flags: int
    address: int
    file_size: int
    memory_size: int
    data: bytes


@dataclass
class Section:
    name: str
    kind: int
    flags: int
    address: int
    size: int
    data: bytes  # empty for SHT_NOBITS
    link: int


@dataclass
class Symbol:
    name: str
    address: int
    size: int
    section: int  # index, SHN_UNDEF for one that is only used


@dataclass
class Relocation:
    address: int
    kind: int
    addend: int


class ElfError(Exception):
    pass


def _text(table, offset):
    return table[offset:table.index(b"\0", offset)].decode()


class Elf:
    def __init__(self, data):
        if data[:6] != b"\x7fELF\x02\x01":
            raise ElfError("not a 64-bit little-endian ELF file")
        (self.entry, phoff, shoff, _, _, phentsize, phnum, shentsize, shnum, shstrndx) = (
            struct.unpack_from("<QQQIHHHHHH", data, 24))
        self.segments = [self._segment(data, phoff + i * phentsize) for i in range(phnum)]
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shentsize)
                   for i in range(shnum)]
        names = data[headers[shstrndx][4]:][:headers[shstrndx][5]] if headers else b""
        self.sections = [self._section(data, header, names) for header in headers]

    @classmethod
    def read(cls, path):
        with open(path, "rb") as file:
            return cls(file.read())

    @staticmethod
    def _segment(data, at):
        kind, flags, offset, address, _, file_size, memory_size, _ = (
            struct.unpack_from("<IIQQQQQQ", data, at))
        return Segment(kind, flags, address, file_size, memory_size,
                       data[offset:offset + file_size])

    @staticmethod
    def _section(data, header, names):
        name, kind, flags, address, offset, size, link = header[:7]
        body = b"" if kind == SHT_NOBITS else data[offset:offset + size]
        return Section(_text(names, name), kind, flags, address, size, body, link)

    def loads(self):
        return [s for s in self.segments if s.kind == PT_LOAD and s.memory_size]

    def section(self, name):
        return next(s for s in self.sections if s.name == name)

    def symbols(self):
        for table in self.sections:
            if table.kind != SHT_SYMTAB:
                continue
            names = self.sections[table.link].data
            for name, _, _, section, value, size in struct.iter_unpack("<IBBHQQ", table.data):
                yield Symbol(_text(names, name), value, size, section)

    def symbol(self, name):
        for symbol in self.symbols():
            if symbol.name == name and symbol.section != SHN_UNDEF:
                return symbol
        raise ElfError(f"no symbol {name}")

    def symbol_bytes(self, name):
        """The bytes of a function or an object, for finding it in an image that was relocated."""
        symbol = self.symbol(name)
        section = self.sections[symbol.section]
        start = symbol.address - section.address
        return section.data[start:start + symbol.size]

    def relocations(self):
        """The relocations that are left for the start-up code."""
        for section in self.sections:
            if section.kind != SHT_RELA or not section.flags & SHF_ALLOC:
                continue
            for address, info, addend in struct.iter_unpack("<QQq", section.data):
                yield Relocation(address, info & 0xFFFFFFFF, addend)
