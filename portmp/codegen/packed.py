"""Four neighbours at once of operands in any storage format: the text that reads and writes them.

Each part of a limb is read in one load for four elements: 4 bytes of bytes, 8 of halves, 16 of
words. Indices are multiples of four, and planes are aligned, so that no load is misaligned. What
was read stays packed until a word of it is needed: unpacking waits for memory. Where there are
no vectors in memory the elements are read and written one by one.
"""

from collections.abc import Sequence

from portmp.codegen.writer import SCALAR, Writer
from portmp.formats.encodings import SIZES, Encoding

COUNT = 4

WIDEST = 16
"""Bytes that a thread can read or write at once."""

_LANES = "xyzw"
_VECTORS = {
    "uint8": "unsigned",
    "uint16": "uint2",
    "uint32": "uint4",
    "float32": "float4",
    "float64": "double2",
}
"""What four (of float64 two) neighbours of a part are read as."""


def shared_words(w: Writer) -> int:
    """How many words of four neighbours in shared memory a thread reads at once."""
    return min(COUNT, 8 * WIDEST // SIZES[w.format.word]) if w.memory_vectors else 1


def _type(w: Writer, part: str) -> str:
    """What one variable holds: neighbours of a part, or one element."""
    return SCALAR[part] if _single(w, part) else _VECTORS[part]


def _single(w: Writer, part: str) -> bool:
    """Whether elements are held one by one; four bytes are a word everywhere."""
    return not w.memory_vectors and part != "uint8"


def declared(w: Writer, operand: str, i: int, name: str, groups: int) -> list[str]:
    """Statements that declare arrays for limb *i* of so many times four elements."""
    return [
        f"{_type(w, part)} {', '.join(f'{v}[{groups}]' for v in _variables(w, part, name, j))};"
        for j, (part, _) in enumerate(_planes(w, operand, i))
    ]


def loads(
    w: Writer, operand: str, i: int, index: str, name: str, group: int | str | None = None
) -> list[str]:
    """Statements that read limb *i* of four elements from *index* on.

    They define *name*_0, *name*_1 ..., or set a *group* of the arrays of ``declared``.
    """
    lines = []
    for j, (part, place) in enumerate(_planes(w, operand, i)):
        pointer = f"({w.platform.const_pointer.format(_type(w, part))})({place} + {index})"
        for half, variable in enumerate(_variables(w, part, name, j)):
            target = f"const {_type(w, part)} {variable}" if group is None else variable
            lines.append(f"{target}{_at(group)} = ({pointer})[{half}];")
    return lines


def gathered(
    w: Writer, operand: str, i: int, places: Sequence[tuple[str, str]], name: str, group: int
) -> list[str]:
    """The same for four elements apart: conditions, where false zero is taken, and indices."""
    lines = []
    for j, (part, plane) in enumerate(_planes(w, operand, i)):
        zero = "0" if part.startswith("float") else "0u"
        values = [f"({inside} ? {plane}[{index}] : {zero})" for inside, index in places]
        variables = [f"{variable}{_at(group)}" for variable in _variables(w, part, name, j)]
        for variable, lanes in zip(variables, _packed(w, part, values), strict=True):
            if len(lanes) == 1:
                lines.append(f"{variable} = {lanes[0]};")
            else:
                lines += [f"{variable}.{_LANES[e]} = {lane};" for e, lane in enumerate(lanes)]
    return lines


def word(w: Writer, operand: str, i: int, name: str, e: int, group: int | str | None = None) -> str:
    """The word of element *e* (0 to 3) of what was read."""
    encoding = w.storage(operand).encodings[i]
    parts = [
        _taken(w, part, [f"{v}{_at(group)}" for v in _variables(w, part, name, j)], e)
        for j, part in enumerate(encoding.parts)
    ]
    return w.decoded(encoding, parts)


def value(w: Writer, operand: str, name: str, e: int, group: int | str | None = None) -> str:
    """The value of element *e* of what was read of all limbs, as *name*0, *name*1 ..."""
    return w.pack(word(w, operand, i, f"{name}{i}", e, group) for i in w.limbs)


def _at(group: int | str | None) -> str:
    return "" if group is None else f"[{group}]"


def _variables(w: Writer, part: str, name: str, j: int) -> list[str]:
    """The variables that hold four neighbours of part *j*: two for doubles."""
    if _single(w, part):
        return [f"{name}_{j}{letter}" for letter in "abcd"]
    return [f"{name}_{j}a", f"{name}_{j}b"] if part == "float64" else [f"{name}_{j}"]


def _taken(w: Writer, part: str, variables: Sequence[str], e: int) -> str:
    """Element *e* of a part."""
    if _single(w, part):
        return variables[e]
    if part == "float64":
        return f"{variables[e // 2]}.{_LANES[e % 2]}"
    (name,) = variables
    if part == "uint8":
        return f"({name} >> {8 * e} & 0xffu)"
    if part == "uint16":
        word = f"{name}.{_LANES[e // 2]}"
        return f"({word} >> 16)" if e % 2 else f"({word} & 0xffffu)"
    return f"{name}.{_LANES[e]}"


def stores(w: Writer, operand: str, i: int, index: str, words: Sequence[str]) -> list[str]:
    """Statements that write limb *i* of four elements from *index* on."""
    form = w.storage(operand)
    encoding = form.encodings[i]
    if not encoding.parts:
        return []
    if encoding.plain:
        values = [[w.narrow(i, text)] for text in words]
        lines = []
    else:
        rounded = f"encode_{w.rounded(encoding, form.rounding)}"
        parts = range(len(encoding.parts))
        values = [[f"{operand}{i}_{e}_{j}" for j in parts] for e in range(COUNT)]
        lines = _declared(encoding, f"{operand}{i}")
        lines += [
            f"{rounded}({text}, {', '.join(f'&{name}' for name in names)});"
            for text, names in zip(words, values, strict=True)
        ]
    for j, (part, place) in enumerate(_planes(w, operand, i)):
        pointer = f"({w.platform.pointer.format(_type(w, part))})({place} + {index})"
        lines += _put(w, part, pointer, [value[j] for value in values])
    return ["{", *lines, "}"]


def _declared(encoding: Encoding, name: str) -> list[str]:
    """Variables for the parts of four elements."""
    return [
        f"{SCALAR[part]} {', '.join(f'{name}_{e}_{j}' for e in range(COUNT))};"
        for j, part in enumerate(encoding.parts)
    ]


def _put(w: Writer, part: str, pointer: str, values: Sequence[str]) -> list[str]:
    """Four values of a part in one store, of float64 in two."""
    lines = []
    for half, lanes in enumerate(_packed(w, part, values)):
        target = f"({pointer})[{half}]"
        if len(lanes) == 1:
            lines.append(f"{target} = {lanes[0]};")
        else:
            sets = " ".join(f"here.{_LANES[e]} = {text};" for e, text in enumerate(lanes))
            lines.append(f"{{ {_VECTORS[part]} here; {sets} {target} = here; }}")
    return lines


def _packed(w: Writer, part: str, values: Sequence[str]) -> list[list[str]]:
    """The lanes of the vectors that hold four values of a part."""
    if _single(w, part):
        return [[value] for value in values]
    if part == "float64":
        return [list(values[:2]), list(values[2:])]
    if part == "uint8":
        return [[" | ".join(f"(unsigned){v} << {8 * e}" for e, v in enumerate(values))]]
    if part == "uint16":
        return [[f"{a} | (unsigned){b} << 16" for a, b in (values[:2], values[2:])]]
    return [list(values)]


def _planes(w: Writer, operand: str, i: int) -> list[tuple[str, str]]:
    """The dtypes and names of the planes of an operand's limb."""
    form = w.storage(operand)
    return list(zip(form.encodings[i].parts, w.plane_names(operand, i), strict=True))
