"""Text files of numbers: CSV, and one number a line."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from portmp.arrays.array import Array
from portmp.arrays.elementwise import is_readable
from portmp.errors import InputError
from portmp.files.content import afford_numbers, decoded
from portmp.formats import Format, complexes, convert, foreign, parse

Plane = np.ndarray[Any, Any]
Number = Fraction | float
Row = tuple[int, list[str]]
"""A line's number and its fields."""
_INTEGER = re.compile(r"[+-]?[0-9]+")
_POINTED = re.compile(r"[.p]|^[^x]*e", re.IGNORECASE)
"""A point or an exponent; the e of a hexadecimal number is a digit."""
_FIELD = re.compile(r'"([^"]*)"|([^"]*)')
_MARKS = {None: "blank", ",": "comma", ";": "semicolon"}
_HEADING = re.compile(
    r"(?!(?:nan|inf|infinity)(?: |$))[^\W\d](?:[\w ()\[\]]|-(?=[^\W\d]))*", re.IGNORECASE
)
"""Words: nothing that a slip of the keyboard makes of a number, such as O.5, 1.0x or e-3."""


# --- decimal text


def headings(file: Path, data: bytes) -> list[str]:
    """The words of a table's first line; none where it has numbers."""
    (_, first), *_ = _rows(file, data) or [(0, [])]
    return [] if any(map(is_readable, first)) else first


def _rows(file: Path, data: bytes) -> list[Row]:
    """Rows of fields, separated by semicolons, commas or blanks; # begins a comment."""
    lines = [
        (number, text)
        for number, line in enumerate(decoded(file, data).splitlines(), 1)
        if (text := line.partition("#")[0].strip())
    ]
    mark = next((mark for mark in ";," if any(mark in text for _, text in lines)), None)
    return [(number, _fields(text, mark, f"{file}, line {number}")) for number, text in lines]


def table(header: bool, file: Path, data: bytes, form: Format) -> list[Plane]:
    """Rows of numbers, with or without a *header*."""
    afford_numbers(file, data, len(form.planes))
    rows = _rows(file, data)
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
            limbs.append(field_limbs(field, place, form))
    return convert.to_planes(limbs, (len(rows), width), form)


def _without_header(file: Path, rows: list[Row]) -> list[Row]:
    """The rows, less a first one of words; a first row with a misspelt number is no header."""
    number, fields = rows[0]
    strange = [column for column, field in enumerate(fields, 1) if not is_readable(field)]
    if not strange:
        return rows
    if len(strange) == len(fields) and all(map(_HEADING.fullmatch, fields)):
        return rows[1:]
    raise InputError(
        f"{file}, line {number}, column {strange[0]}: {fields[strange[0] - 1][:60]!r} is not a "
        "number; a line of headings has only words (letters, digits, blanks, _, (), [], -)"
    )


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


def field_limbs(field: str, place: str, form: Format) -> tuple[float, ...]:
    """The limbs of a field: of a complex format those of both its parts."""
    if form.components == 1 and foreign.is_complex(field):
        foreign.refused(field, place)
    texts = complexes.split(field, place) if form.components > 1 else (field,)
    part = form.component
    values = [parsed_field(text, place, part) for text in texts]
    return tuple(limb for x in values for limb in convert.round_to_limbs(x, part))


def parsed_field(field: str, place: str, form: Format, integer: bool = False) -> Number:
    """The exact value of a field; InputError where it is none, or an integer that rounds.

    An integer is written without a point and an exponent: 17, 0x11 or 34/2.
    """
    if integer and not _INTEGER.fullmatch(field):
        raise InputError(f"{place}: {field[:60]!r} is not an integer")
    value = parse.parse_number(field, place)
    # Integers of up to 7 characters are exact in every format (0xfffff, 9999999).
    whole = len(field) > 7 and isinstance(value, Fraction) and value.denominator == 1
    if whole and not _POINTED.search(field) and not _holds(value, form):
        raise InputError(
            f"{place}: the integer {field[:60]} is not exact in {form}; "
            "write it in decimal with a point (such as 12.0) to have it rounded"
        )
    return value


def _holds(value: Number, form: Format) -> bool:
    limbs = convert.round_to_limbs(value, form)
    return bool(np.isfinite(limbs[0])) and convert.to_fraction(limbs) == value


def decimal_strings(file: Path, planes: list[Plane], form: Format) -> Plane:
    """The values as text in a matrix; a vector is one column."""
    texts = complexes.matrix_of_texts(planes, form)
    if texts.ndim > 2 or not texts.size:
        raise InputError(
            f"{file}: text holds matrices with elements, not shape {texts.shape}; use .npz"
        )
    return texts if texts.ndim == 2 else texts.reshape(-1, 1)


def csv_text(array: Array) -> str:
    """What a .csv file of *array* holds."""
    return lines(",", Path("standard output"), array.to_limbs(), array.format).decode()


def lines(separator: str, file: Path, planes: list[Plane], form: Format) -> bytes:
    """What a file of lines with numbers holds."""
    rows = decimal_strings(file, planes, form).tolist()
    return "".join(separator.join(row) + "\n" for row in rows).encode()
