"""OpenCL C's built-in functions for a plain clang: definitions of those that a text names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import product

LANES = (1, 2, 3, 4, 8, 16)
FLOATS = {"float": "int", "double": "long"}
"""Types of floats, and of the integers that comparisons of their vectors give."""
INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
TYPES = (*INTEGERS, *FLOATS)

_WORD = re.compile(r"\b[a-z]\w*")
_STATIC = "static inline __attribute__((overloadable, always_inline))"


def _vector(kind: str, lanes: int) -> str:
    return kind if lanes == 1 else f"{kind}{lanes}"


def _define(result: str, name: str, arguments: str, kinds: Iterable[str], value: str) -> str:
    """A function of the arguments, named by letters, of these types."""
    taken = ", ".join(f"{kind} {a}" for kind, a in zip(kinds, arguments, strict=True))
    return f"{_STATIC} {result} {name}({taken}) {{ return {value}; }}"


_WHOLE = {
    "fabs": ("x", "__builtin_elementwise_abs(x)"),
    "sqrt": ("x", "__builtin_elementwise_sqrt(x)"),
    "fma": ("xyz", "__builtin_elementwise_fma(x, y, z)"),
    "floor": ("x", "__builtin_elementwise_floor(x)"),
    "ceil": ("x", "__builtin_elementwise_ceil(x)"),
    "trunc": ("x", "__builtin_elementwise_trunc(x)"),
    "rint": ("x", "__builtin_elementwise_roundeven(x)"),
    "round": ("x", "__builtin_elementwise_round(x)"),
    "copysign": ("xy", "__builtin_elementwise_copysign(x, y)"),
    "mad": ("xyz", "x * y + z"),
    "fmin": ("xy", "y < x || x != x ? y : x"),
    "fmax": ("xy", "y > x || x != x ? y : x"),
    "rsqrt": ("x", "(T)1 / __builtin_elementwise_sqrt(x)"),
    "native_rsqrt": ("x", "(T)1 / __builtin_elementwise_sqrt(x)"),
    "native_sqrt": ("x", "__builtin_elementwise_sqrt(x)"),
    "native_recip": ("x", "(T)1 / x"),
    "native_divide": ("xy", "x / y"),
    "mix": ("xyz", "x + (y - x) * z"),
    "step": ("xy", "y < x ? (T)0 : (T)1"),
    "degrees": ("x", "x * (T)57.29577951308232"),
    "radians": ("x", "x * (T)0.017453292519943295"),
}
"""Functions of floats: arguments and value, for vectors as for numbers."""

_INTEGER = {
    "min": ("xy", "y < x ? y : x"),
    "max": ("xy", "x < y ? y : x"),
    "clamp": ("xyz", "x < y ? y : z < x ? z : x"),
    "mad24": ("xyz", "x * y + z"),
    "mul24": ("xy", "x * y"),
    "hadd": ("xy", "(x & y) + ((x ^ y) >> 1)"),
    "rhadd": ("xy", "(x | y) - ((x ^ y) >> 1)"),
}
"""Functions of integers; the first three are also of floats."""

_LANE = {
    "exp": "x",
    "exp2": "x",
    "exp10": "x",
    "expm1": "x",
    "log": "x",
    "log2": "x",
    "log10": "x",
    "log1p": "x",
    "sin": "x",
    "cos": "x",
    "tan": "x",
    "asin": "x",
    "acos": "x",
    "atan": "x",
    "sinh": "x",
    "cosh": "x",
    "tanh": "x",
    "asinh": "x",
    "acosh": "x",
    "atanh": "x",
    "cbrt": "x",
    "erf": "x",
    "erfc": "x",
    "lgamma": "x",
    "tgamma": "x",
    "pow": "xy",
    "atan2": "xy",
    "hypot": "xy",
    "fmod": "xy",
    "remainder": "xy",
    "fdim": "xy",
    "nextafter": "xy",
}
_LANE |= {f"native_{name}": _LANE[name] for name in ("exp", "exp2", "log", "log2")}
_LANE |= {f"native_{name}": _LANE[name] for name in ("exp10", "log10", "sin", "cos", "tan")}
"""Functions of C's library, of which nothing is promised: lane by lane."""

_HALF_TURNS = """{head} {{
    const {t} r = x - 2 * __builtin_rint{end}(x / 2), q = __builtin_rint{end}(2 * r);
    const {t} a = ({t})0x1.921fb54442d18p1 * (r - q / 2);
    const int k = (int)q + {shift};
    const {t} y = k & 1 ? __builtin_cos{end}(a) : __builtin_sin{end}(a);
    return k & 2 ? -y : y;
}}"""
"""The sine of so many half turns, and, shifted, the cosine."""

_TESTS = {
    "isnan": ("x", "x != x"),
    "isinf": ("x", "__builtin_elementwise_abs(x) == (T)INFINITY"),
    "isfinite": ("x", "__builtin_elementwise_abs(x) < (T)INFINITY"),
    "signbit": ("x", "__builtin_astype(x, I) < 0"),
    "isequal": ("xy", "x == y"),
    "isnotequal": ("xy", "x != y"),
    "isgreater": ("xy", "x > y"),
    "isgreaterequal": ("xy", "x >= y"),
    "isless": ("xy", "x < y"),
    "islessequal": ("xy", "x <= y"),
}
"""Tests of floats T by integers I of their size: 1 for a number, -1 in lanes of vectors."""


def _floats(name: str) -> Iterator[str]:
    """A function of floats that is one expression."""
    arguments, value = _WHOLE[name]
    for kind, lanes in product(FLOATS, LANES):
        t = _vector(kind, lanes)
        text = re.sub(r"\bT\b", t, value)
        yield _define(t, name, arguments, [t] * len(arguments), text)


def _integers(name: str) -> Iterator[str]:
    arguments, value = _INTEGER[name]
    for kind, lanes in product(TYPES if name in ("min", "max", "clamp") else INTEGERS, LANES):
        t = _vector(kind, lanes)
        yield _define(t, name, arguments, [t] * len(arguments), value)


def _lanes(name: str) -> Iterator[str]:
    """A function of C's library."""
    arguments, own = _LANE[name], name.removeprefix("native_")
    for kind, lanes in product(FLOATS, LANES):
        t, end = _vector(kind, lanes), "f" if kind == "float" else ""

        def one(at: str, end: str = end) -> str:
            return f"__builtin_{own}{end}({', '.join(a + at for a in arguments)})"

        each = [one("" if lanes == 1 else f".s{lane:x}") for lane in range(lanes)]
        value = each[0] if lanes == 1 else f"({t})({', '.join(each)})"
        yield _define(t, name, arguments, [t] * len(arguments), value)


def _half_turns(name: str) -> Iterator[str]:
    """sinpi, cospi."""
    for t, end in (("float", "f"), ("double", "")):
        head = f"{_STATIC} {t} {name}({t} x)"
        shift = 1 if name == "cospi" else 0
        text = _HALF_TURNS.format(head=head, t=t, end=end, shift=shift)
        yield " ".join(line.strip() for line in text.splitlines())


def _saturated(name: str) -> Iterator[str]:
    for kind, lanes in product(INTEGERS, LANES):
        t = _vector(kind, lanes)
        yield _define(t, name, "xy", [t] * 2, f"__builtin_elementwise_{name}(x, y)")


def _tests(name: str) -> Iterator[str]:
    arguments, value = _TESTS[name]
    for (kind, integer), lanes in product(FLOATS.items(), LANES):
        t, i = _vector(kind, lanes), _vector(integer, lanes)
        text = re.sub(r"\bT\b", t, re.sub(r"\bI\b", i, value))
        result = "int" if lanes == 1 else i
        yield _define(result, name, arguments, [t] * len(arguments), text)


def _quantifier(name: str) -> Iterator[str]:
    """any, all: of the highest bits."""
    how = {"any": "or", "all": "and"}[name]
    for kind, lanes in product(("char", "short", "int", "long"), LANES):
        t = _vector(kind, lanes)
        value = "x" if lanes == 1 else f"__builtin_reduce_{how}(x)"
        if lanes == 3:
            value = {"any": "x.x | x.y | x.z", "all": "x.x & x.y & x.z"}[name]
        yield _define("int", name, "x", [t], f"({value}) < 0")


def _select(name: str) -> Iterator[str]:
    """Of lanes by the highest bit, of numbers by what is not 0; of bits by bits."""
    masks = {"char": "char", "short": "short", "int": "int", "float": "int", "long": "long"}
    masks |= {f"u{kind}": kind for kind in ("char", "short", "int", "long")} | {"double": "long"}
    for (kind, mask), lanes in product(masks.items(), LANES):
        t, m = _vector(kind, lanes), _vector(mask, lanes)
        for sign in ("", "u") if name == "select" else ("",):
            test = "z" if lanes == 1 else f"__builtin_astype(z, {m}) < ({m})0"
            yield _define(t, "select", "xyz", [t, t, sign + m], f"{test} ? y : x")


def _bitselect(name: str) -> Iterator[str]:
    for kind, lanes in product(TYPES, LANES):
        t = _vector(kind, lanes)
        i = _vector(FLOATS.get(kind, kind), lanes)
        x, y, z = (f"__builtin_astype({a}, {i})" for a in "xyz")
        value = f"__builtin_astype(({i})(({x} & ~{z}) | ({y} & {z})), {t})"
        yield _define(t, name, "xyz", [t] * 3, value)


def _counts(name: str) -> Iterator[str]:
    """Ones, or zeros at an end: all bits for 0."""
    for kind, lanes in product(INTEGERS, LANES):
        t, unsigned = _vector(kind, lanes), kind if kind.startswith("u") else f"u{kind}"
        bits = f"(int)(8 * sizeof({kind}))"

        def one(at: str, unsigned: str = unsigned, bits: str = bits) -> str:
            word = f"(ulong)({unsigned})x{at}"
            if name == "popcount":
                return f"__builtin_popcountl({word})"
            count = f"clzl({word}) - 64 + {bits}" if name == "clz" else f"ctzl({word})"
            return f"x{at} ? __builtin_{count} : {bits}"

        each = [one("" if lanes == 1 else f".s{lane:x}") for lane in range(lanes)]
        value = each[0] if lanes == 1 else f"({t})({', '.join(each)})"
        yield _define(t, name, "x", [t], value)


def _abs(name: str) -> Iterator[str]:
    for kind, lanes in product(INTEGERS, LANES):
        t, u = _vector(kind, lanes), _vector(kind if kind[0] == "u" else f"u{kind}", lanes)
        positive = f"__builtin_astype(({t})(x < ({t})0 ? ({t})0 - x : x), {u})"
        yield _define(u, name, "x", [t], "x" if kind == u else positive)


def _mul_hi(name: str) -> Iterator[str]:
    wide = {"char": "short", "short": "int", "int": "long", "long": "__int128"}
    for kind in INTEGERS:
        sign, base = ("unsigned ", kind[1:]) if kind[0] == "u" else ("", kind)
        large = f"{sign}{wide[base]}"
        yield _define(
            kind, name, "xy", [kind] * 2, f"({kind})(({large})x * ({large})y >> 8 * sizeof({kind}))"
        )


def _rotate(name: str) -> Iterator[str]:
    for kind, lanes in product(INTEGERS, LANES):
        t, u = _vector(kind, lanes), _vector(kind if kind[0] == "u" else f"u{kind}", lanes)
        x, y = (f"__builtin_astype({a}, {u})" for a in "xy")
        bits = f"(8 * sizeof({kind}))"
        count = f"({y} & ({u})({bits} - 1))"
        back = f"((({u}){bits} - {count}) & ({u})({bits} - 1))"
        value = f"__builtin_astype(({u})(({x} << {count}) | ({x} >> {back})), {t})"
        yield _define(t, name, "xy", [t] * 2, value)


def _sums(name: str) -> Iterator[str]:
    """dot, length, distance, normalize."""
    for kind, lanes in product(FLOATS, (1, 2, 3, 4)):
        t = _vector(kind, lanes)
        root = "__builtin_sqrt" + ("f" if kind == "float" else "")

        def total(x: str, y: str, lanes: int = lanes) -> str:
            each = [f"({x}){at} * ({y}){at}" for at in (f".s{i}" for i in range(lanes))]
            return " + ".join(each) if lanes > 1 else f"({x}) * ({y})"

        if name == "dot":
            yield _define(kind, name, "xy", [t] * 2, total("x", "y"))
        elif name == "length":
            yield _define(kind, name, "x", [t], f"{root}({total('x', 'x')})")
        elif name == "distance":
            yield _define(kind, name, "xy", [t] * 2, f"{root}({total('x - y', 'x - y')})")
        else:
            yield _define(t, name, "x", [t], f"x / {root}({total('x', 'x')})")


def _cross(name: str) -> Iterator[str]:
    for kind, lanes in product(FLOATS, (3, 4)):
        t = _vector(kind, lanes)
        parts = [f"x.{a} * y.{b} - x.{b} * y.{a}" for a, b in ("yz", "zx", "xy")]
        yield _define(t, name, "xy", [t] * 2, f"({t})({', '.join(parts + ['0'] * (lanes - 3))})")


_CALLS: dict[str, Callable[[str], Iterator[str]]] = {
    **dict.fromkeys(_WHOLE, _floats),
    **dict.fromkeys(_INTEGER, _integers),
    **dict.fromkeys(_LANE, _lanes),
    **dict.fromkeys(_TESTS, _tests),
    **dict.fromkeys(("sinpi", "cospi"), _half_turns),
    **dict.fromkeys(("add_sat", "sub_sat"), _saturated),
    **dict.fromkeys(("any", "all"), _quantifier),
    "select": _select,
    "bitselect": _bitselect,
    **dict.fromkeys(("clz", "ctz", "popcount"), _counts),
    "abs": _abs,
    "mul_hi": _mul_hi,
    "rotate": _rotate,
    **dict.fromkeys(("dot", "length", "distance", "normalize"), _sums),
    "cross": _cross,
}

_ATOMIC = {
    "add": "__atomic_fetch_add((p), (x), __ATOMIC_RELAXED)",
    "sub": "__atomic_fetch_sub((p), (x), __ATOMIC_RELAXED)",
    "and": "__atomic_fetch_and((p), (x), __ATOMIC_RELAXED)",
    "or": "__atomic_fetch_or((p), (x), __ATOMIC_RELAXED)",
    "xor": "__atomic_fetch_xor((p), (x), __ATOMIC_RELAXED)",
    "min": "__atomic_fetch_min((p), (x), __ATOMIC_RELAXED)",
    "max": "__atomic_fetch_max((p), (x), __ATOMIC_RELAXED)",
    "inc": "__atomic_fetch_add((p), 1, __ATOMIC_RELAXED)",
    "dec": "__atomic_fetch_sub((p), 1, __ATOMIC_RELAXED)",
}


def _atomic(name: str) -> Iterator[str]:
    """atomic_... of 32 bits, atom_... of 64 as well."""
    start, _, op = name.partition("_")
    kinds = ("int", "uint") if start == "atomic" else ("int", "uint", "long", "ulong")
    if op == "xchg":
        for kind in (*kinds, *(["float"] if start == "atomic" else [])):
            size = "int" if kind in ("int", "uint", "float") else "long"
            value = (
                f"__builtin_astype(__atomic_exchange_n((volatile {size} *)p, "
                f"__builtin_astype(x, {size}), __ATOMIC_RELAXED), {kind})"
            )
            yield _define(kind, name, "px", [f"volatile {kind} *", kind], value)
        return
    for kind in kinds:
        pointer = f"volatile {kind} *"
        if op == "cmpxchg":
            yield (
                f"{_STATIC} {kind} {name}({pointer} p, {kind} x, {kind} y) {{ "
                "__atomic_compare_exchange_n(p, &x, y, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); "
                "return x; }"
            )
        elif op in ("inc", "dec"):
            yield _define(kind, name, "p", [pointer], _ATOMIC[op])
        else:
            yield _define(kind, name, "px", [pointer, kind], _ATOMIC[op])


def _memory(name: str, lanes: int) -> Iterator[str]:
    """vloadN, vstoreN: neighbours that begin anywhere."""
    for kind in TYPES:
        t = _vector(kind, lanes)
        parts = [f"p[{lanes} * n + {i}]" for i in range(lanes)]
        if name == "vload":
            value = f"({t})({', '.join(parts)})"
            yield _define(t, f"vload{lanes}", "np", ["size_t", f"const {kind} *"], value)
        else:
            stores = " ".join(f"{part} = x.s{i:x};" for i, part in enumerate(parts))
            yield f"{_STATIC} void vstore{lanes}({t} x, size_t n, {kind} *p) {{ {stores} }}"


def _definitions(word: str) -> Iterator[str]:
    """What defines a word, or nothing."""
    if word in _CALLS:
        yield from _CALLS[word](word)
    elif re.fullmatch(r"atom(ic)?_(cmpxchg|xchg|" + "|".join(_ATOMIC) + ")", word):
        yield from _atomic(word)
    elif found := re.fullmatch(r"(as|convert)_([a-z]+?)(2|3|4|8|16)?(_rtz)?", word):
        if found[2] not in TYPES:
            return
        t = found[2] + (found[3] or "")
        if found[1] == "as":
            yield f"#define {word}(x) __builtin_astype((x), {t})"
        elif found[3]:
            yield f"#define {word}(x) __builtin_convertvector((x), {t})"
        else:
            yield f"#define {word}(x) (({t})(x))"
    elif found := re.fullmatch(r"(vload|vstore)(2|3|4|8|16)", word):
        yield from _memory(found[1], int(found[2]))


def definitions(source: str) -> str:
    """Lines that define the built-in functions that a text names, on one line each."""
    words = dict.fromkeys(_WORD.findall(source))
    return "".join(f"{line}\n" for word in words for line in _definitions(word))
