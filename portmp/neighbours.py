"""Four neighbours at once of operands in any storage format: the text that reads and writes them.

Each part of a limb is read in one load for four elements: 4 bytes of bytes, 8 of halves, 16 of
words. Indices are multiples of four, and planes are aligned, so that no load is misaligned.
"""

from __future__ import annotations

from collections.abc import Sequence

from portmp.codings import Coding
from portmp.formats import ROUNDINGS
from portmp.writer import SCALAR, Writer

COUNT = 4
_LANES = "xyzw"
_VECTORS = {
    "uint8": "unsigned", "uint16": "uint2", "uint32": "uint4", "float32": "float4",
    "float64": "double2",
}  # fmt: skip
"""What four (of float64 two) neighbours of a part are read as."""


def loads(w: Writer, operand: str, i: int, index: str, name: str) -> list[str]:
    """Statements that read limb *i* of four elements from *index* on, as *name*_0, *name*_1 ..."""
    lines = []
    for j, (part, place) in enumerate(_planes(w, operand, i)):
        pointer = f"({w.platform.const_pointer.format(_VECTORS[part])})({place} + {index})"
        if part == "float64":
            pair = f"const double2 {name}_{j}a = ({pointer})[0], {name}_{j}b = ({pointer})[1];"
            lines.append(pair)
        else:
            lines.append(f"const {_VECTORS[part]} {name}_{j} = *{pointer};")
    return lines


def word(w: Writer, operand: str, i: int, name: str, e: int) -> str:
    """The word of element *e* (0 to 3) of what ``loads`` read."""
    coding = w.storage(operand).codings[i]
    if coding.kind == "none":
        return w.literal(0)
    parts = [_taken(part, f"{name}_{j}", e) for j, part in enumerate(coding.parts)]
    if coding.kind in ("word", "single"):
        return parts[0] if coding.parts[0] == w.format.word else f"({w.scalar})({parts[0]})"
    return f"decoded_{coding.name}({', '.join(parts)})"


def _taken(part: str, name: str, e: int) -> str:
    """Element *e* of a part."""
    if part == "float64":
        return f"{name}{'ab'[e // 2]}.{_LANES[e % 2]}"
    if part == "uint8":
        return f"({name} >> {8 * e} & 0xffu)"
    if part == "uint16":
        word = f"{name}.{_LANES[e // 2]}"
        return f"({word} >> 16)" if e % 2 else f"({word} & 0xffffu)"
    return f"{name}.{_LANES[e]}"


def stores(w: Writer, operand: str, i: int, index: str, words: Sequence[str]) -> list[str]:
    """Statements that write limb *i* of four elements from *index* on."""
    form = w.storage(operand)
    coding = form.codings[i]
    if coding.kind == "none":
        return []
    if coding.kind == "word":
        values = [[w.narrow(i, text)] for text in words]
        lines = []
    else:
        rounded = f"encode_{coding.name}{ROUNDINGS[form.rounding]}"
        parts = range(len(coding.parts))
        values = [[f"{operand}{i}_{e}_{j}" for j in parts] for e in range(COUNT)]
        lines = _declared(coding, f"{operand}{i}")
        lines += [
            f"{rounded}({text}, {', '.join(f'&{name}' for name in names)});"
            for text, names in zip(words, values, strict=True)
        ]
    for j, (part, place) in enumerate(_planes(w, operand, i)):
        pointer = f"({w.platform.pointer.format(_VECTORS[part])})({place} + {index})"
        lines += _put(part, pointer, [value[j] for value in values])
    return ["{", *lines, "}"]


def _declared(coding: Coding, name: str) -> list[str]:
    """Variables for the parts of four elements."""
    return [
        f"{SCALAR[part]} {', '.join(f'{name}_{e}_{j}' for e in range(COUNT))};"
        for j, part in enumerate(coding.parts)
    ]


def _put(part: str, pointer: str, values: Sequence[str]) -> list[str]:
    """Four values of a part in one store, of float64 two."""
    if part == "uint8":
        joined = " | ".join(f"(unsigned){v} << {8 * e}" for e, v in enumerate(values))
        return [f"*{pointer} = {joined};"]
    if part == "uint16":
        lanes = [f"{a} | (unsigned){b} << 16" for a, b in (values[:2], values[2:])]
        return _vector("uint2", f"*{pointer}", lanes)
    if part == "float64":
        pairs = (values[:2], values[2:])
        return [
            line
            for half, lanes in enumerate(pairs)
            for line in _vector("double2", f"({pointer})[{half}]", lanes)
        ]
    return _vector(_VECTORS[part], f"*{pointer}", values)


def _vector(kind: str, target: str, lanes: Sequence[str]) -> list[str]:
    sets = " ".join(f"here.{_LANES[e]} = {text};" for e, text in enumerate(lanes))
    return [f"{{ {kind} here; {sets} {target} = here; }}"]


def _planes(w: Writer, operand: str, i: int) -> list[tuple[str, str]]:
    """The dtypes and names of the planes of an operand's limb."""
    form = w.storage(operand)
    return list(zip(form.codings[i].parts, w.places(operand, i), strict=True))
