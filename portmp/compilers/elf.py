"""Just enough of 64-bit little-endian ELF to read reports out of machine code, and to load it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_NOTE = struct.Struct("<III")

NOTE = 7
"""Section type of notes."""

LOADED = 1
"""Segment type of what is loaded into memory."""

NO_BITS = 8
"""Section type of zeroed memory, which has a size and no data."""


@dataclass(frozen=True)
class Section:
    """One section; ``data`` is empty for NO_BITS sections."""

    name: str
    kind: int
    size: int
    data: bytes


@dataclass(frozen=True)
class Symbol:
    """One symbol; ``other`` is the byte in which NVIDIA marks kernels, ``value`` its address."""

    name: str
    other: int
    size: int
    value: int = 0


def text_at(table: bytes, offset: int) -> str:
    """The zero-terminated string at *offset*."""
    return table[offset : table.index(b"\0", offset)].decode(errors="replace")


def sections(binary: bytes) -> list[Section]:
    """All sections; raises ValueError on anything else than 64-bit little-endian ELF."""
    if binary[:6] != b"\x7fELF\x02\x01" or len(binary) < _HEADER.size:
        raise ValueError("not a 64-bit little-endian ELF file")
    header = _HEADER.unpack_from(binary)
    table, entry, count, names_at = header[6], header[11], header[12], header[13]
    rows = [_SECTION.unpack_from(binary, table + i * entry) for i in range(count)]
    names = binary[rows[names_at][4] :]
    found = []
    for name, kind, _, _, offset, size, *_ in rows:
        data = b"" if kind == NO_BITS else binary[offset : offset + size]
        found.append(Section(text_at(names, name), kind, size, data))
    return found


def loaded(binary: bytes) -> list[tuple[int, int, bytes]]:
    """Address, size in memory and content of each segment that is loaded."""
    header = _HEADER.unpack_from(binary)
    table, entry, count = header[5], header[9], header[10]
    rows = [_SEGMENT.unpack_from(binary, table + i * entry) for i in range(count)]
    return [
        (address, size, binary[offset : offset + stored])
        for kind, _, offset, address, _, stored, size, _ in rows
        if kind == LOADED
    ]


def symbols(parts: list[Section]) -> list[Symbol]:
    """The symbol table, in file order, since other tables refer to it by index."""
    by_name = {part.name: part.data for part in parts}
    names = by_name.get(".strtab", b"\0")
    rows = _SYMBOL.iter_unpack(by_name.get(".symtab", b""))
    return [
        Symbol(text_at(names, name), other, size, value) for name, _, other, _, value, size in rows
    ]


def notes(parts: list[Section]) -> Iterator[tuple[str, int, bytes]]:
    """Owner, type and content of every note."""
    for part in parts:
        if part.kind != NOTE:
            continue
        at = 0
        while at + _NOTE.size <= len(part.data):
            name_size, size, kind = _NOTE.unpack_from(part.data, at)
            name_at = at + _NOTE.size
            body = name_at + (name_size + 3) // 4 * 4
            owner = part.data[name_at : name_at + name_size].rstrip(b"\0").decode(errors="replace")
            yield owner, kind, part.data[body : body + size]
            at = body + (size + 3) // 4 * 4
