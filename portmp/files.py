"""Matrices in files: NumPy's .npy and .npz, Matrix Market, and decimal text.

Reading gives limb planes on the host. Text is parsed exactly and rounded once; integers
(17, 0x11, 34/2: no point, no exponent) are exact or refused. Writing is lossless, and a
reader sees the old file or the whole new one. Pickled objects are never loaded. Each
failure is one InputError that names the file and, in text, the line.
"""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import numpy as np

from portmp import convert, formats, places, storage
from portmp.array import Array, from_limbs
from portmp.backends.base import Device
from portmp.errors import FormatError, InputError, PortmpError, ShapeError, suggestion
from portmp.formats import Format

Plane = np.ndarray[Any, Any]
Number = Fraction | float
Row = tuple[int, list[str]]
"""A line's number and its fields."""

FORMAT_KEY = "format"
LIMB_KEY = "limb"
PART_KEY = "part"
_NPY_MAGIC = b"\x93NUMPY"
_ZIP_MAGIC = b"PK"
_HEADERS = {True: np.lib.format.read_array_header_1_0, False: np.lib.format.read_array_header_2_0}
"""What reads an array's header of version 1.0, and of later ones."""
_INTEGER = re.compile(r"[+-]?[0-9]+")
_POINTED = re.compile(r"[.p]|^[^x]*e", re.IGNORECASE)
"""A point or an exponent; the e of a hexadecimal number is a digit."""
_FIELD = re.compile(r'"([^"]*)"|([^"]*)')
_MARKS = {None: "blank", ",": "comma", ";": "semicolon"}
_HEADING = re.compile(
    r"(?!(?:nan|inf|infinity)(?: |$))[^\W\d](?:[\w ()\[\]]|-(?=[^\W\d]))*", re.IGNORECASE
)
"""Words: nothing that a slip of the keyboard makes of a number, such as O.5, 1.0x or e-3."""


# --- reading ----------------------------------------------------------------------------------


def read(path: str | Path, form: Format, device: Device) -> Array:
    """The array in *path*, in format *form* on *device*.

    Limb planes that were stored in another format are converted from their exact values.
    """
    file = Path(path)
    reader = _READERS[_suffix(file)]
    try:
        planes = reader(file, _content(file), form)
    except MemoryError:
        raise InputError(f"{file}: the array does not fit this machine's memory") from None
    return from_limbs(planes, form, device)


def stored_format(path: str | Path) -> Format | None:
    """The format that a .npz file of limb planes names; None for files that name none."""
    file = Path(path)
    if _suffix(file) != ".npz":
        return None
    members = _members(file, _content(file))
    return _named_format(file, members[FORMAT_KEY]) if FORMAT_KEY in members else None


def _suffix(file: Path) -> str:
    suffix = file.suffix.lower()
    if suffix not in _READERS:
        near = suggestion(suffix, list(_READERS)) if suffix else ""
        raise InputError(
            f"{file}: unknown file type {file.suffix!r}{near}; allowed are {', '.join(_READERS)}"
        )
    return suffix


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None


# --- NumPy's files


def _read_npy(file: Path, content: bytes, form: Format) -> list[Plane]:
    return convert.to_limbs(_parsed_npy(str(file), content), form, str(file))


def _parsed_npy(name: str, content: bytes) -> Plane:
    """The array in the bytes of a .npy file."""
    if not content.startswith(_NPY_MAGIC):
        raise InputError(
            f"{name}: does not begin as a .npy file does; pickled objects are never loaded"
        )
    try:
        array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except MemoryError:
        raise
    except Exception as error:  # damaged headers reach NumPy's parser, which raises many types
        if "Object" in str(error):
            raise InputError(f"{name}: holds pickled objects, which are never loaded") from None
        raise InputError(f"{name}: damaged or truncated: {_line(error)}") from None
    return np.asarray(array)


def _read_npz(file: Path, content: bytes, form: Format) -> list[Plane]:
    members = _members(file, content)
    if FORMAT_KEY in members:
        stored = _named_format(file, members.pop(FORMAT_KEY))
        return convert.change_format(_limb_planes(file, members, stored), stored, form)
    if len(members) != 1:
        keys = ", ".join(sorted(members)) or "nothing"
        raise InputError(
            f"{file}: holds {keys}; expected are limb0, limb1 ... with format, or a single array"
        )
    return convert.to_limbs(next(iter(members.values())), form, str(file))


def members(path: str | Path) -> dict[str, Plane]:
    """The arrays of a .npz file by name; pickled objects are refused."""
    file = Path(path)
    return _members(file, _content(file))


def _members(file: Path, content: bytes) -> dict[str, Plane]:
    """The arrays of a .npz file by key."""
    if not content.startswith(_ZIP_MAGIC):
        raise InputError(_no_archive(file))
    found = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.namelist():
                array = _parsed_npy(f"{file}, {member}", archive.read(member))
                found[member.removesuffix(".npy")] = array
    except (PortmpError, MemoryError):
        raise
    except Exception as error:  # zipfile and zlib raise many types for damaged archives
        raise InputError(f"{file}: damaged or truncated: {_line(error)}") from None
    return found


@dataclass(frozen=True)
class Header:
    """What a stored array is, without its numbers."""

    shape: tuple[int, ...]
    dtype: str
    nbytes: int


def headers(path: str | Path) -> dict[str, Header]:
    """The arrays of a .npz file by name, as ``members`` has them; their numbers are not read."""
    file, found = Path(path), {}
    try:
        with file.open("rb") as content:
            if content.read(len(_ZIP_MAGIC)) != _ZIP_MAGIC:
                raise InputError(_no_archive(file))
            with zipfile.ZipFile(content) as archive:
                for member in archive.infolist():
                    name = member.filename.removesuffix(".npy")
                    with archive.open(member) as stream:
                        found[name] = _header(stream, member.file_size)
    except PortmpError:
        raise
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from None
    except Exception as error:  # as in _members
        raise InputError(f"{file}: damaged or truncated: {_line(error)}") from None
    return found


def _header(stream: IO[bytes], nbytes: int) -> Header:
    first = np.lib.format.read_magic(stream) == (1, 0)
    shape, _, kind = _HEADERS[first](stream)
    return Header(shape, kind.name, nbytes)


def _no_archive(file: Path) -> str:
    return f"{file}: does not begin as a .npz file does; pickles are never loaded"


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
    wanted = [f"{LIMB_KEY}{i}" for i in range(form.limbs)]
    if sorted(members) != wanted:
        raise InputError(
            f"{file}: {form} needs {', '.join(wanted)}; found {', '.join(sorted(members))}"
        )
    try:
        return convert.normalise([members[key] for key in wanted], form, str(file))
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
    return storage.limbs_of(form, [members[name] for name in wanted])


def _line(error: BaseException) -> str:
    """An error's message on one line."""
    return " ".join(str(error).split()) or type(error).__name__


# --- decimal text


def read_csv(file: Path, content: bytes, form: Format) -> list[Plane]:
    return _table(file, content, form, header=True)


def read_txt(file: Path, content: bytes, form: Format) -> list[Plane]:
    return _table(file, content, form, header=False)


def _table(file: Path, content: bytes, form: Format, header: bool) -> list[Plane]:
    """Rows of numbers, separated by semicolons, commas or blanks; # begins a comment."""
    lines = [
        (number, text)
        for number, line in enumerate(decoded_text(file, content).splitlines(), 1)
        if (text := line.partition("#")[0].strip())
    ]
    mark = next((mark for mark in ";," if any(mark in text for _, text in lines)), None)
    rows = [(number, _fields(text, mark, f"{file}, line {number}")) for number, text in lines]
    if header and rows:
        rows = _without_header(file, rows)
    if not rows:
        raise InputError(f"{file}: holds no numbers")
    first, width = rows[0][0], len(rows[0][1])
    limbs = []
    for number, fields in rows:
        if len(fields) != width:
            raise InputError(
                f"{file}, line {number}: {len(fields)} fields, line {first} has {width}"
            )
        for column, field in enumerate(fields, 1):
            place = f"{file}, line {number}, column {column}"
            limbs.append(convert.round_to_limbs(parsed_field(field, place, form), form))
    return _stacked(limbs, (len(rows), width), form)


def _without_header(file: Path, rows: list[Row]) -> list[Row]:
    """The rows, less a first one of words; a first row with a misspelt number is no header."""
    number, fields = rows[0]
    strange = [column for column, field in enumerate(fields, 1) if not _is_number(field)]
    if not strange:
        return rows
    if len(strange) == len(fields) and all(map(_HEADING.fullmatch, fields)):
        return rows[1:]
    raise InputError(
        f"{file}, line {number}, column {strange[0]}: {fields[strange[0] - 1][:60]!r} is not a "
        "number; a line of headings has only words (letters, digits, blanks, _, (), [], -)"
    )


def decoded_text(file: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(f"{file}, line {line}: not a text file (UTF-8)") from None


def _fields(text: str, mark: str | None, place: str) -> list[str]:
    """The fields of a line, without the quotes that may enclose a whole one."""
    fields = []
    for column, part in enumerate(text.split(mark), 1):
        match = _FIELD.fullmatch(part.strip())
        # Half of a quoted decimal comma would otherwise be read as a number.
        if match is None:
            raise InputError(
                f"{place}, column {column}: quotes must enclose one whole field, without the "
                f"separator ({_MARKS[mark]}) in it; {text[:60]!r} found"
            )
        fields.append((match[1] or match[2] or "").strip())
    return fields


def _is_number(field: str) -> bool:
    try:
        convert.parse_number(field, "field")
    except InputError:
        return False
    return True


def parsed_field(field: str, place: str, form: Format, integer: bool = False) -> Number:
    """The exact value of a field; InputError where it is none, or an integer that rounds.

    An integer is written without a point and an exponent: 17, 0x11 or 34/2.
    """
    if integer and not _INTEGER.fullmatch(field):
        raise InputError(f"{place}: {field[:60]!r} is not an integer")
    value = convert.parse_number(field, place)
    # Integers of up to 7 characters are exact in every format (0xfffff, 9999999).
    if len(field) > 7 and _is_integral(field, value) and not _holds(value, form):
        raise InputError(
            f"{place}: the integer {field[:60]} is not exact in {form}; "
            "write it in decimal with a point (such as 12.0) to have it rounded"
        )
    return value


def _is_integral(field: str, value: Number) -> bool:
    return isinstance(value, Fraction) and value.denominator == 1 and not _POINTED.search(field)


def _holds(value: Number, form: Format) -> bool:
    limbs = convert.round_to_limbs(value, form)
    return bool(np.isfinite(limbs[0])) and convert.to_fraction(limbs) == value


def _stacked(
    limbs: Sequence[tuple[float, ...]], shape: tuple[int, ...], form: Format
) -> list[Plane]:
    """Planes from the limbs of each value."""
    columns = zip(*limbs, strict=True) if limbs else iter([()] * form.limbs)
    return [np.array(words, dtype=form.dtype(i)).reshape(shape) for i, words in enumerate(columns)]


# --- Matrix Market


@dataclass(frozen=True)
class _Banner:
    """The first line of a Matrix Market file."""

    layout: str
    field: str
    symmetry: str

    def mirrored(self, value: Number) -> Number:
        """The value on the other side of the diagonal."""
        return -value if self.symmetry == "skew-symmetric" else value


_LAYOUTS = ("coordinate", "array")
_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


def read_mtx(file: Path, content: bytes, form: Format) -> list[Plane]:
    lines = decoded_text(file, content).splitlines()
    banner = _banner(file, lines[0] if lines else "")
    body = iter([
        (number, line.split())
        for number, line in enumerate(lines[1:], 2)
        if line.strip() and not line.lstrip().startswith("%")
    ])  # fmt: skip
    rows, columns, stored = _size(file, banner, next(body, None))
    planes = _blank(file, (rows, columns), form)
    entries = _coordinates if banner.layout == "coordinate" else _columns
    seen: set[tuple[int, int]] = set()
    count = 0
    for place, row, column, value in entries(file, banner, body, (rows, columns), form):
        count += 1
        if count > stored:
            raise InputError(f"{place}: more than the {stored} entries that the size line says")
        _put(planes, seen, place, (row, column), value, form)
        if banner.symmetry != "general" and row != column:
            _put(planes, seen, place, (column, row), banner.mirrored(value), form)
    if count < stored:
        raise InputError(f"{file}: truncated: {stored} values expected, {count} found")
    return planes


def _banner(file: Path, line: str) -> _Banner:
    words = line.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise InputError(
            f"{file}, line 1: no Matrix Market header (%%MatrixMarket matrix LAYOUT FIELD "
            f"SYMMETRY) but {line[:60]!r}"
        )
    for word, allowed in zip(words[2:], (_LAYOUTS, _FIELDS, _SYMMETRIES), strict=True):
        if word not in allowed:
            raise InputError(
                f"{file}, line 1: {word!r} is not accepted; allowed are {', '.join(allowed)}"
            )
    if words[2] == "array" and words[3] == "pattern":
        raise InputError(f"{file}, line 1: a pattern has no array layout")
    return _Banner(*words[2:])


def _size(file: Path, banner: _Banner, found: tuple[int, list[str]] | None) -> tuple[int, int, int]:
    """Rows, columns and stored entries."""
    need = 3 if banner.layout == "coordinate" else 2
    if found is None:
        raise InputError(f"{file}: truncated: the size line is missing")
    number, words = found
    if len(words) != need or not all(w.isascii() and w.isdigit() and len(w) < 19 for w in words):
        raise InputError(
            f"{file}, line {number}: {need} sizes expected, {' '.join(words)[:60]!r} found"
        )
    rows, columns, *entries = map(int, words)
    if banner.symmetry != "general" and rows != columns:
        raise InputError(f"{file}, line {number}: {rows} x {columns} cannot be {banner.symmetry}")
    stored = {
        "general": rows * columns,
        "symmetric": rows * (rows + 1) // 2,
        "skew-symmetric": rows * (rows - 1) // 2,
    }[banner.symmetry]
    return rows, columns, entries[0] if entries else stored


def _first_row(banner: _Banner, column: int) -> int:
    """The first row that the array layout stores of a column."""
    return {"general": 0, "symmetric": column, "skew-symmetric": column + 1}[banner.symmetry]


def _blank(file: Path, shape: tuple[int, int], form: Format) -> list[Plane]:
    """Zeros, unless they would take most of this machine's memory."""
    needed = shape[0] * shape[1] * form.itemsize
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if 4 * needed > memory:
        raise InputError(
            f"{file}: {shape[0]} x {shape[1]} values of {form} take {needed} bytes; "
            f"this machine has {memory}, of which a quarter may be used"
        )
    return [np.zeros(shape, form.dtype(i)) for i in range(form.limbs)]


Lines = Iterator[tuple[int, list[str]]]
Entry = tuple[str, int, int, Number]


def _coordinates(
    file: Path, banner: _Banner, lines: Lines, shape: tuple[int, int], form: Format
) -> Iterator[Entry]:
    """Entries of lines ``row column value``, counted from 1 in the file."""
    pattern = banner.field == "pattern"
    for number, words in lines:
        place = f"{file}, line {number}"
        if len(words) != (2 if pattern else 3):
            kind = "row and column" if pattern else "row, column and value"
            raise InputError(f"{place}: {kind} expected, {' '.join(words)[:60]!r} found")
        row, column = _position(words[:2], shape, place)
        value = Fraction(1) if pattern else _entry(words[2], f"{place}, column 3", banner, form)
        if banner.symmetry == "skew-symmetric" and row == column and value != 0:
            raise InputError(f"{place}: a skew-symmetric matrix has a diagonal of zeros")
        yield place, row, column, value


def _position(words: list[str], shape: tuple[int, int], place: str) -> tuple[int, int]:
    """Row and column, counted from 0."""
    numbers = all(w.isascii() and w.isdigit() and len(w) < 19 for w in words)
    row, column = (int(w) - 1 for w in words) if numbers else (-1, -1)
    if not (0 <= row < shape[0] and 0 <= column < shape[1]):
        raise InputError(
            f"{place}: ({words[0][:20]}, {words[1][:20]}) is no place in {shape[0]} x {shape[1]}"
        )
    return row, column


def _columns(
    file: Path, banner: _Banner, lines: Lines, shape: tuple[int, int], form: Format
) -> Iterator[Entry]:
    """Entries one a line, column by column; of symmetric matrices the lower triangle."""
    rows, columns = shape
    where = ((i, j) for j in range(columns) for i in range(_first_row(banner, j), rows))
    for number, words in lines:
        place = f"{file}, line {number}"
        if len(words) != 1:
            raise InputError(f"{place}: one value expected, {' '.join(words)[:60]!r} found")
        # One past the end is reported by the caller, which counts.
        row, column = next(where, (0, 0))
        yield place, row, column, _entry(words[0], place, banner, form)


def _entry(word: str, place: str, banner: _Banner, form: Format) -> Number:
    return parsed_field(word, place, form, integer=banner.field.endswith("integer"))


def _put(
    planes: list[Plane], seen: set[tuple[int, int]], place: str, at: tuple[int, int],
    value: Number, form: Format,
) -> None:  # fmt: skip
    if at in seen:
        raise InputError(f"{place}: entry ({at[0] + 1}, {at[1] + 1}) is given twice")
    seen.add(at)
    for plane, limb in zip(planes, convert.round_to_limbs(value, form), strict=True):
        plane[at] = limb


_READERS: dict[str, Callable[[Path, bytes, Format], list[Plane]]] = {
    ".npy": _read_npy, ".npz": _read_npz, ".mtx": read_mtx, ".csv": read_csv, ".txt": read_txt,
}  # fmt: skip


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


def check_place(file: Path) -> None:
    """Refuse a file that cannot be created where it should be."""
    try:
        mode = file.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = None
    except (OSError, ValueError) as error:  # too long, a loop of links; a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{_short(file)}: cannot be written: {reason}") from None
    if mode is not None and stat.S_ISDIR(mode):
        raise InputError(f"{file}: is a folder, not a file")
    if mode is not None and not stat.S_ISREG(mode):
        return  # a device or a pipe, which is written to as it is
    folder = Path(os.path.realpath(file)).parent
    if not folder.is_dir():
        raise InputError(f"{file}: the folder {folder} does not exist")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{file}: the folder {folder} cannot be written to")


def _short(file: Path) -> str:
    """A name that fits a line."""
    name = str(file)
    return repr(name) if len(name) <= 80 else f"{name[:80]!r}... ({len(name)} characters)"


def write(path: str | Path, array: Array) -> None:
    """Write an array, losslessly, in the kind of file that the extension names."""
    file, form = Path(path), array.format
    check_target(file, form)
    replace(file, _WRITERS[_suffix(file)](file, array.to_limbs(), form))


def replace(file: Path, data: bytes) -> None:
    """Put *data* in the place of *file*; InputError where that fails."""
    try:
        places.replace_file(file, data)
    except OSError as error:
        raise InputError(f"{file}: cannot be written: {error.strerror or error}") from None


def _npy_bytes(file: Path, planes: list[Plane], form: Format) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, planes[0], allow_pickle=False)
    return buffer.getvalue()


def _npz_bytes(file: Path, planes: list[Plane], form: Format) -> bytes:
    members = {f"{LIMB_KEY}{i}": plane for i, plane in enumerate(planes)}
    if form.coded:
        parts = storage.parts_of(form, planes)
        members = {f"{PART_KEY}{i}": part for i, part in enumerate(parts)}
    return _archive({**members, FORMAT_KEY: np.array(form.name)})


def write_members(file: Path, members: dict[str, Plane]) -> None:
    """Write arrays by name to a .npz file; ``members`` reads them."""
    replace(file, _archive(members))


def _archive(members: dict[str, Plane]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **members)
    return buffer.getvalue()


def decimal_strings(file: Path, planes: list[Plane], form: Format) -> Plane:
    """The values as text in a matrix; a vector is one column."""
    texts = convert.to_strings(planes, form, "round-trip")
    if texts.ndim > 2 or not texts.size:
        raise InputError(
            f"{file}: text holds matrices with elements, not shape {texts.shape}; use .npz"
        )
    return texts if texts.ndim == 2 else texts.reshape(-1, 1)


def csv_text(array: Array) -> str:
    """What a .csv file of *array* holds."""
    return csv_bytes(Path("standard output"), array.to_limbs(), array.format).decode()


def csv_bytes(file: Path, planes: list[Plane], form: Format) -> bytes:
    rows = decimal_strings(file, planes, form).tolist()
    return "".join(",".join(row) + "\n" for row in rows).encode()


def txt_bytes(file: Path, planes: list[Plane], form: Format) -> bytes:
    rows = decimal_strings(file, planes, form).tolist()
    return "".join(" ".join(row) + "\n" for row in rows).encode()


def mtx_bytes(file: Path, planes: list[Plane], form: Format) -> bytes:
    texts = decimal_strings(file, planes, form)
    head = f"%%MatrixMarket matrix array real general\n{texts.shape[0]} {texts.shape[1]}\n"
    return (head + "".join(text + "\n" for text in texts.T.ravel().tolist())).encode()


_WRITERS: dict[str, Callable[[Path, list[Plane], Format], bytes]] = {
    ".npy": _npy_bytes, ".npz": _npz_bytes, ".mtx": mtx_bytes,
    ".csv": csv_bytes, ".txt": txt_bytes,
}  # fmt: skip
