"""Machine code in ELF files, as far as reports and the loader of the interpreter need them.

Read by pyelftools; what is no whole 64-bit little-endian ELF file is a ValueError.
"""

import contextlib
import io
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile


@contextlib.contextmanager
def opened(binary: bytes) -> "Iterator[ELFFile]":
    """The file, as long as nothing that is read of it is damaged."""
    from elftools.common.exceptions import ELFError
    from elftools.construct.core import ConstructError
    from elftools.elf.elffile import ELFFile

    # What the library raises of its own, and what numbers that mean nothing lead it to.
    damage = (ELFError, ConstructError, struct.error, LookupError, AttributeError, TypeError)
    try:
        file = ELFFile(io.BytesIO(binary))
        if file.elfclass != 64 or not file.little_endian:
            raise ValueError("not a 64-bit little-endian ELF file")
        yield file
    except damage as error:
        raise ValueError(f"not a whole ELF file: {error}") from None


def sections(binary: bytes) -> dict[str, Any]:
    """All sections by name."""
    with opened(binary) as file:
        return {section.name: section for section in file.iter_sections()}


def loaded(binary: bytes) -> list[tuple[int, int, bytes]]:
    """Address, size in memory and content of each segment that is loaded."""
    with opened(binary) as file:
        return [
            (segment["p_vaddr"], segment["p_memsz"], segment.data())
            for segment in file.iter_segments("PT_LOAD")
        ]


def symbols(binary: bytes) -> list[tuple[str, int]]:
    """Names and addresses of the symbol table, in its order, to which other tables refer."""
    with opened(binary) as file:
        table = file.get_section_by_name(".symtab")
        found = table.iter_symbols() if table else ()
        return [(symbol.name, symbol["st_value"]) for symbol in found]


def notes(binary: bytes) -> list[tuple[str, Any, bytes]]:
    """Owner, type and content of every note."""
    with opened(binary) as file:
        return [
            (note["n_name"], note["n_type"], note["n_descdata"])
            for section in file.iter_sections("SHT_NOTE")
            for note in section.iter_notes()
        ]
