"""Matrices in files: NumPy's .npy and .npz, Matrix Market, and decimal text.

Reading gives limb planes on the host. Text is parsed exactly and rounded once; integers
(17, 0x11, 34/2: no point, no exponent) are exact or refused. Writing is lossless, and a
reader sees the old file or the whole new one. Pickled objects are never loaded. Each
failure is one InputError that names the file and, in text, the line.
"""

import io
import math
import os
import re
import struct
import warnings
import zipfile
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np

from portmp import formats
from portmp.arrays import dtypes
from portmp.arrays.array import Array, from_limbs
from portmp.backends.base import Device
from portmp.errors import FormatError, InputError, ShapeError, suggestion
from portmp.files import text
from portmp.files.content import TEXT_BYTES, afford, afford_unpacked, content, reading, regular
from portmp.files.matrix_market import mtx_bytes, read_mtx
from portmp.files.target import check_place, replace
from portmp.files.text import Plane, lines, table
from portmp.formats import Format, complexes, encode

FORMAT_KEY = "format"
LIMB_KEY = "limb"
PART_KEY = "part"
PLAIN_KEY = "array"
_NPY_MAGIC = b"\x93NUMPY"
_ZIP_MAGIC = b"PK"
_HEADERS = {True: np.lib.format.read_array_header_1_0, False: np.lib.format.read_array_header_2_0}
"""What reads an array's header of version 1.0, and of later ones."""


# --- reading ----------------------------------------------------------------------------------


STANDARD_INPUT = "-"


@cache
def _standard_input() -> bytes:
    """All that standard input gives; it can be read once."""
    return content(Path("/dev/stdin"))


def _kind_of(data: bytes) -> str:
    """Which kind of file the bytes of standard input are, by how they begin."""
    for magic, suffix in ((_NPY_MAGIC, ".npy"), (_ZIP_MAGIC, ".npz"), (b"%%MatrixMarket", ".mtx")):
        if data.startswith(magic):
            return suffix
    return ".csv" if b"," in data else ".txt"


def _given(path: str | Path) -> tuple[Path, str, bytes]:
    """A file as messages name it, its kind, and what it holds."""
    file = Path(path)
    if str(path) == STANDARD_INPUT:
        data = _standard_input()
        return Path("standard input"), _kind_of(data), data
    return file, _suffix(file), content(file)


def read(path: str | Path, form: Format, device: Device) -> Array:
    """The array in *path*, in format *form* on *device*.

    Limb planes that were stored in another format are converted from their exact values. ``-`` is
    standard input, in any of the kinds of files.
    """
    file, kind, data = _given(path)
    with reading(file):
        planes = _READERS[kind](file, data, form)
    if (note := _note(kind, data)) and math.prod(shape := _shape(note)) == planes[0].size:
        planes = [plane.reshape(shape) for plane in planes]
    return from_limbs(planes, form, device)


def headings(path: str | Path) -> list[str]:
    """The words above the columns of a .csv file; none where there are none."""
    _, kind, data = _given(path)
    return text.headings(Path(path), data) if kind == ".csv" else []


def stored_format(path: str | Path) -> Format | None:
    """The format that a .npz file of limb planes, or a text, names; None for others."""
    file, handed = Path(path), str(path) == STANDARD_INPUT
    kind = _kind_of(_standard_input()) if handed else _suffix(file)
    if kind == ".npy" and not handed:
        with reading(file), regular(file) as opened:
            is_complex = _header(opened, 0).dtype.kind == "c"
        return formats.complex_of(dtypes.default()) if is_complex else None
    if kind != ".npz":
        data = _given(path)[2]
        note = _note(kind, data)
        if note is None and _holds_complex(str(file), kind, data):
            return formats.complex_of(dtypes.default())
        return formats.get(note[1].decode()) if note else None
    name = Path("standard input") if handed else file
    with reading(name), io.BytesIO(_standard_input()) if handed else regular(file) as opened:
        found = _members(name, opened, {FORMAT_KEY})
        return _named_format(file, found[FORMAT_KEY]) if found else None


def _suffix(file: Path) -> str:
    suffix = file.suffix.lower()
    if suffix not in _READERS:
        near = suggestion(suffix, list(_READERS)) if suffix else ""
        raise InputError(
            f"{file}: unknown file type {file.suffix!r}{near}; allowed are {', '.join(_READERS)}"
        )
    return suffix


def _holds_complex(name: str, kind: str, data: bytes) -> bool:
    """Whether a file without a format's name says that its numbers are complex."""
    if kind == ".mtx":
        return data[:200].lower().split(b"\n")[0].split()[3:4] == [b"complex"]
    if kind in _COMMENTS:
        return _IMAGINARY.search(data) is not None
    with reading(name):
        return kind == ".npy" and _header(io.BytesIO(data), len(data)).dtype.kind == "c"


_COMMENTS = {".csv": b"#", ".txt": b"#", ".mtx": b"%"}
"""How comments begin in the kinds of files that are text."""
_IMAGINARY = re.compile(rb"^[^#\n]*(?:[0-9.]|nan|inf|infinity)j[)\"]?\s*(?:[,;\s]|\Z)", re.M | re.I)
"""A line with the end of a complex number, outside of its comment."""
_NOTE = re.compile(rb"^[#%] portmp ([\w+]+) \(([0-9, ]*)\)$", re.MULTILINE)


def _note(kind: str, data: bytes) -> re.Match[bytes] | None:
    """The comment with a format and a shape at the beginning of a text."""
    return _NOTE.search(data[:200]) if kind in _COMMENTS else None


def _shape(note: re.Match[bytes]) -> tuple[int, ...]:
    return tuple(map(int, re.findall(rb"[0-9]+", note[2])))


def _noted(kind: str, data: bytes, array: Array) -> bytes:
    """What ``load`` needs to know of a text, but of the usual format's matrices, as a comment."""
    if kind not in _COMMENTS or (array.format.name == dtypes.USUAL and array.ndim == 2):
        return data
    begun = data.index(b"\n") + 1 if kind == ".mtx" else 0  # its first line has to be its own
    note = _COMMENTS[kind] + f" portmp {array.format.name} {array.shape}\n".encode()
    return data[:begun] + note + data[begun:]


# --- NumPy's files


def _read_npy(file: Path, data: bytes, form: Format) -> list[Plane]:
    return complexes.limbs_of(_parsed_npy(str(file), data), form, str(file))


def _parsed_npy(name: str, data: bytes) -> Plane:
    """The array in the bytes of a .npy file."""
    stream = io.BytesIO(data)
    header = _checked_header(name, stream, len(data))
    with reading(name):
        if header.dtype.kind in "US":
            afford(name, math.prod(header.shape) * (TEXT_BYTES + header.dtype.itemsize))
        stream.seek(0)
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def _checked_header(name: str, stream: BinaryIO, nbytes: int) -> "Header":
    """What an array of *nbytes* is that begins here; the stream is where its numbers begin."""
    begin = stream.tell()
    if stream.read(len(_NPY_MAGIC)) != _NPY_MAGIC:
        raise InputError(
            f"{name}: does not begin as a .npy file does; pickled objects are never loaded"
        )
    stream.seek(begin)
    with reading(name):
        header = _header(stream, nbytes)
        if header.dtype.hasobject:
            raise InputError(f"{name}: holds pickled objects, which are never loaded")
        if not header.dtype.itemsize:
            raise InputError(f"{name}: holds empty texts ({header.dtype.str}), no numbers")
        if any(not 0 <= n < 2**63 for n in header.shape):
            raise InputError(f"{name}: shape {header.shape!s:.80} is none")
        count = math.prod(header.shape)
        if count * header.dtype.itemsize > nbytes - (stream.tell() - begin):
            raise InputError(f"{name}: truncated: {count} elements of {header.dtype} expected")
        return header


def mapped(path: Path, turn: int = 0, turns: int = 1) -> dict[str, Plane] | None:
    """The arrays of a .npy or .npz file by name, as views of it; None of another kind, or packed.

    *turn*: one of so many *turns*, by which processes together read an archive through for damage.
    """
    if path.suffix.lower() not in (".npy", ".npz"):
        return None
    with reading(path), regular(path) as opened:
        if path.suffix.lower() == ".npy":
            return {"": _mapped(path, str(path), opened, os.fstat(opened.fileno()).st_size)}
        found = {}
        with _archived(path, opened) as archive:
            for i, member in enumerate(archive.infolist()):
                if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
                    return None
                with archive.open(member) as stream:
                    while i % turns == turn and stream.read(1 << 20):
                        pass
                opened.seek(member.header_offset + 26)
                opened.seek(sum(struct.unpack("<HH", opened.read(4))), io.SEEK_CUR)
                name = member.filename.removesuffix(".npy")
                found[name] = _mapped(path, f"{path}, {name}", opened, member.file_size)
        return found


def _mapped(path: Path, name: str, opened: BinaryIO, nbytes: int) -> Plane:
    header = _checked_header(name, opened, nbytes)
    if not math.prod(header.shape):
        return np.empty(header.shape, header.dtype)
    order: Any = "F" if header.fortran else "C"
    return np.memmap(path, header.dtype, "r", opened.tell(), header.shape, order)


def _read_npz(file: Path, data: bytes, form: Format) -> list[Plane]:
    return limbs(file, _members(file, io.BytesIO(data)), form)


def limbs(file: Path, members: dict[str, Plane], form: Format) -> list[Plane]:
    """The limbs of what an archive holds, in a format."""
    if FORMAT_KEY in members:
        stored = _named_format(file, members.pop(FORMAT_KEY))
        return complexes.change_format(_limb_planes(file, members, stored), stored, form)
    if len(members) != 1:
        keys = ", ".join(sorted(members)) or "nothing"
        raise InputError(
            f"{file}: holds {keys}; expected are limb0, limb1 ... with format, or a single array"
        )
    return complexes.limbs_of(next(iter(members.values())), form, str(file))


def members(path: str | Path) -> dict[str, Plane]:
    """The arrays of a .npz file by name; pickled objects are refused."""
    file = Path(path)
    with reading(file), regular(file) as opened:
        return _members(file, opened)


def _members(
    file: Path, opened: BinaryIO, wanted: Container[str] | None = None
) -> dict[str, Plane]:
    """The arrays of a .npz file by key: all, or those *wanted*."""
    found = {}
    with reading(file), _archived(file, opened) as archive:
        members = {m.filename.removesuffix(".npy"): m for m in archive.infolist()}
        taken = {key: m for key, m in members.items() if wanted is None or key in wanted}
        packed = opened.seek(0, io.SEEK_END)
        afford_unpacked(file, packed, sum(m.file_size for m in taken.values()))
        for key, member in taken.items():
            found[key] = _parsed_npy(f"{file}, {member.filename}", archive.read(member))
    return found


def _archived(file: Path, opened: BinaryIO) -> zipfile.ZipFile:
    """The archive that a .npz file is."""
    if opened.read(len(_ZIP_MAGIC)) != _ZIP_MAGIC:
        raise InputError(f"{file}: does not begin as a .npz file does; pickles are never loaded")
    return zipfile.ZipFile(opened)


@dataclass(frozen=True)
class Header:
    """What a stored array is, without its numbers."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    nbytes: int
    fortran: bool = False


def headers(path: str | Path) -> dict[str, Header]:
    """The arrays of a .npz file by name, as ``members`` has them; their numbers are not read."""
    file, found = Path(path), {}
    with reading(file), regular(file) as opened, _archived(file, opened) as archive:
        for member in archive.infolist():
            with archive.open(member) as stream:
                name = member.filename.removesuffix(".npy")
                found[name] = _header(stream, member.file_size)
    return found


def _header(stream: IO[bytes], nbytes: int) -> Header:
    first = np.lib.format.read_magic(stream) == (1, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy has headers parsed as Python, which may warn
        shape, fortran, kind = _HEADERS[first](stream)
    return Header(shape, kind, nbytes, fortran)


def _named_format(file: Path, value: Plane) -> Format:
    if value.dtype.kind != "U" or value.shape != ():
        raise InputError(f"{file}: 'format' must be one string, {value.dtype} {value.shape} found")
    try:
        return formats.get(str(value))
    except FormatError as error:
        raise FormatError(f"{file}: {error}") from None


def _limb_planes(file: Path, members: dict[str, Plane], form: Format) -> list[Plane]:
    if form.coded:
        return _parts(file, members, form)
    wanted = [f"{LIMB_KEY}{i}" for i in range(len(form.planes))]
    if sorted(members) != wanted:
        raise InputError(
            f"{file}: {form} needs {', '.join(wanted)}; found {', '.join(sorted(members))}"
        )
    try:
        return complexes.normalise([members[key] for key in wanted], form, str(file))
    except ShapeError as error:
        raise ShapeError(f"{file}: {error}") from None


def _parts(file: Path, members: dict[str, Plane], form: Format) -> list[Plane]:
    """The limbs of a storage format, which is in files as it is in memory."""
    wanted = {f"{PART_KEY}{i}": dtype for i, dtype in enumerate(form.parts)}
    found = {name: plane.dtype.name for name, plane in sorted(members.items())}
    if found != wanted or len({plane.shape for plane in members.values()}) > 1:
        text = ", ".join(f"{name} {plane.dtype} {plane.shape}" for name, plane in members.items())
        raise InputError(
            f"{file}: {form} needs {', '.join(f'{n} {d}' for n, d in wanted.items())}, all of one "
            f"shape; found {text or 'nothing'}"
        )
    return encode.limbs_of(form, [members[name] for name in wanted])


_READERS: dict[str, Callable[[Path, bytes, Format], list[Plane]]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".mtx": read_mtx,
    ".csv": partial(table, True),
    ".txt": partial(table, False),
}


# --- writing ----------------------------------------------------------------------------------


def check_target(path: str | Path, form: Format) -> None:
    """Refuse, before anything is computed, a file that *form* cannot be written to."""
    file = Path(path)
    if _suffix(file) == ".npy" and form.limbs != 1:
        raise InputError(
            f"{file}: .npy holds one plane, {form} has {form.limbs}; use .npz (limb planes) "
            "or .csv (decimal strings)"
        )
    check_place(file)


def write(path: str | Path, array: Array) -> None:
    """Write an array, losslessly, in the kind of file that the extension names."""
    file, form, limbs = Path(path), array.format, array.to_limbs()
    check_target(file, form)
    suffix = _suffix(file)
    if suffix in _TEXTS:
        replace(file, _noted(suffix, _TEXTS[suffix](file, limbs, form), array))
    elif suffix == ".npz":
        write_parts(file, form, encode.parts_of(form, limbs) if form.coded else limbs)
    else:
        values = complexes.to_numpy(limbs, form.name) if form.components > 1 else limbs[0]
        write_parts(file, form, [values])


class Rows(NamedTuple):
    """A plane that is written without being there as a whole: some rows at once, in order."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    blocks: Iterable[Plane]


def write_parts(file: Path, kind: Format | str, parts: Sequence[Plane | Rows]) -> None:
    """Planes as they lie in memory: a .npy file has one, a .npz file all."""
    if file.suffix.lower() == ".npy":
        replace(file, partial(_put, array=parts[0]))
    elif isinstance(kind, Format):
        key = PART_KEY if kind.coded else LIMB_KEY
        named = {f"{key}{i}": part for i, part in enumerate(parts)}
        write_members(file, {**named, FORMAT_KEY: np.array(kind.name)})
    else:
        write_members(file, {PLAIN_KEY: parts[0]})


def write_members(file: Path, members: Mapping[str, Plane | Rows]) -> None:
    """Write arrays by name to a .npz file, as NumPy's savez; ``members`` reads them."""

    def written(stream: BinaryIO) -> None:
        with zipfile.ZipFile(stream, "w") as archive:
            for name, array in members.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    _put(member, array)

    replace(file, written)


def _put(stream: IO[bytes], array: Plane | Rows) -> None:
    """An array as NumPy's save writes it."""
    if not isinstance(array, Rows):
        np.lib.format.write_array(stream, array, allow_pickle=False)
        return
    descr = np.lib.format.dtype_to_descr(array.dtype)
    facts = {"descr": descr, "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(stream, facts)
    for block in array.blocks:
        stream.write(block.tobytes())


_TEXTS: dict[str, Callable[[Path, list[Plane], Format], bytes]] = {
    ".mtx": mtx_bytes,
    ".csv": partial(lines, ","),
    ".txt": partial(lines, " "),
}
