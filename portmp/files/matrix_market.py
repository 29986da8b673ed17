"""Matrix Market files, of numbers in any format."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from portmp.errors import InputError
from portmp.files.content import afford, afford_numbers, decoded
from portmp.files.text import Number, Plane, decimal_strings, parsed_field
from portmp.formats import COMPLEX, Format, complexes, convert

# --- Matrix Market


@dataclass(frozen=True)
class _Banner:
    """The first line of a Matrix Market file."""

    layout: str
    field: str
    symmetry: str

    @property
    def numbers(self) -> int:
        """How many stand for a value."""
        return 1 + (self.field == "complex")

    @property
    def said(self) -> str:
        """What they are, in messages."""
        return "real and imaginary part" if self.numbers > 1 else "one value"

    def mirrored(self, value: Number) -> Number:
        """The value on the other side of the diagonal."""
        return -value if self.symmetry == "skew-symmetric" else value

    def mirrored_parts(self, value: Sequence[Number]) -> list[Number]:
        """Both parts of it, or the one of a real value."""
        found = [self.mirrored(part) for part in value]
        return [found[0], -found[1]] if self.symmetry == "hermitian" else found


_LAYOUTS = ("coordinate", "array")
_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern", "complex")
MOST_LINES = 2**40
"""Rows or columns of a matrix, be it without elements."""
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


def read_mtx(file: Path, data: bytes, form: Format) -> list[Plane]:
    afford_numbers(file, data, len(form.planes))
    lines = decoded(file, data).splitlines()
    banner = _banner(file, lines[0] if lines else "")
    if banner.field == "complex":
        _check_complex(file, form)
    body = iter(
        [
            (number, line.split())
            for number, line in enumerate(lines[1:], 2)
            if line.strip() and not line.lstrip().startswith("%")
        ]
    )
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
            _put(planes, seen, place, (column, row), banner.mirrored_parts(value), form)
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
    if words[4] == "hermitian" and words[3] != "complex":
        raise InputError(f"{file}, line 1: hermitian matrices are complex, {words[3]} found")
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
        **dict.fromkeys(("symmetric", "hermitian"), rows * (rows + 1) // 2),
        "skew-symmetric": rows * (rows - 1) // 2,
    }[banner.symmetry]
    return rows, columns, entries[0] if entries else stored


def _first_row(banner: _Banner, column: int) -> int:
    """The first row that the array layout stores of a column."""
    return {"general": 0, "skew-symmetric": column + 1}.get(banner.symmetry, column)


def _blank(file: Path, shape: tuple[int, int], form: Format) -> list[Plane]:
    """Zeros, unless they would take more memory than is allowed."""
    if max(shape) > MOST_LINES:
        raise InputError(f"{file}: {shape[0]} x {shape[1]} given, at most {MOST_LINES} are allowed")
    afford(f"{file}: {shape[0]} x {shape[1]} values of {form}", math.prod(shape) * form.itemsize)
    return [np.zeros(shape, dtype) for dtype in form.planes]


def _check_complex(file: Path, form: Format) -> None:
    if form.components == 1:
        raise InputError(
            f"{file}, line 1: complex numbers, {form.name} holds real ones alone; formats of "
            f"complex ones are {', '.join(COMPLEX)}"
        )


Lines = Iterator[tuple[int, list[str]]]
Entry = tuple[str, int, int, Sequence[Number]]


def _coordinates(
    file: Path, banner: _Banner, lines: Lines, shape: tuple[int, int], form: Format
) -> Iterator[Entry]:
    """Entries of lines ``row column value``, counted from 1 in the file."""
    pattern = banner.field == "pattern"
    for number, words in lines:
        place = f"{file}, line {number}"
        if len(words) != 2 + (0 if pattern else banner.numbers):
            said = banner.said.removeprefix("one ")
            kind = "row and column" if pattern else f"row, column and {said}"
            raise InputError(f"{place}: {kind} expected, {' '.join(words)[:60]!r} found")
        row, column = _position(words[:2], shape, place)
        value = [Fraction(1)] if pattern else _entry(words[2:], f"{place}, column 3", banner, form)
        if banner.symmetry == "skew-symmetric" and row == column and any(value):
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
    where = (
        (i, j) for j in range(columns if rows else 0) for i in range(_first_row(banner, j), rows)
    )
    for number, words in lines:
        place = f"{file}, line {number}"
        if len(words) != banner.numbers:
            raise InputError(f"{place}: {banner.said} expected, {' '.join(words)[:60]!r} found")
        # One past the end is reported by the caller, which counts.
        row, column = next(where, (0, 0))
        yield place, row, column, _entry(words, place, banner, form)


def _entry(words: Sequence[str], place: str, banner: _Banner, form: Format) -> Sequence[Number]:
    whole = banner.field.endswith("integer")
    return [parsed_field(word, place, form.component, integer=whole) for word in words]


def _put(
    planes: list[Plane],
    seen: set[tuple[int, int]],
    place: str,
    at: tuple[int, int],
    value: Sequence[Number],
    form: Format,
) -> None:
    if at in seen:
        raise InputError(f"{place}: entry ({at[0] + 1}, {at[1] + 1}) is given twice")
    seen.add(at)
    limbs = [limb for part in value for limb in convert.round_to_limbs(part, form.component)]
    for plane, limb in zip(planes, limbs, strict=False):  # of real numbers imaginary parts stay 0
        plane[at] = limb


def mtx_bytes(file: Path, planes: list[Plane], form: Format) -> bytes:
    texts = decimal_strings(file, planes, form)
    field = "real"
    if form.components > 1:
        field = "complex"
        both = complexes.halves(planes)
        real, imaginary = (decimal_strings(file, list(h), form.component) for h in both)
        texts = real + " " + imaginary
    head = f"%%MatrixMarket matrix array {field} general\n{texts.shape[0]} {texts.shape[1]}\n"
    return (head + "".join(text + "\n" for text in texts.T.ravel().tolist())).encode()
