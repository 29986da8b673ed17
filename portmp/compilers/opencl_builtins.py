"""OpenCL C's built-in functions for a plain clang: definitions of those that a text names."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
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
"""Functions of floats: arguments and value, for vectors as for numbers, T."""

_ORDER = {
    "min": ("xy", "y < x ? y : x"),
    "max": ("xy", "x < y ? y : x"),
    "clamp": ("xyz", "x < y ? y : z < x ? z : x"),
    "bitselect": (
        "xyz",
        "__builtin_astype((I)((__builtin_astype(x, I) & ~__builtin_astype(z, I)) | "
        "(__builtin_astype(y, I) & __builtin_astype(z, I))), T)",
    ),
}
"""Functions of integers and floats; I are integers of their size."""

_COUNT = "(__builtin_astype(y, U) & (U)(BITS - 1))"

_INTEGER = {
    "mad24": ("xyz", "x * y + z"),
    "mul24": ("xy", "x * y"),
    "hadd": ("xy", "(x & y) + ((x ^ y) >> 1)"),
    "rhadd": ("xy", "(x | y) - ((x ^ y) >> 1)"),
    "add_sat": ("xy", "__builtin_elementwise_add_sat(x, y)"),
    "sub_sat": ("xy", "__builtin_elementwise_sub_sat(x, y)"),
    "rotate": (
        "xy",
        f"__builtin_astype((U)((__builtin_astype(x, U) << {_COUNT}) | (__builtin_astype(x, U) >> "
        f"(((U)BITS - {_COUNT}) & (U)(BITS - 1)))), T)",
    ),
}
"""Functions of integers: U are those without a sign, BITS a number's."""

_LANE = {
    name: arguments
    for arguments, names in {
        "x": "exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh "
        "asinh acosh atanh cbrt erf erfc lgamma tgamma native_exp native_exp2 native_exp10 "
        "native_log native_log2 native_log10 native_sin native_cos native_tan",
        "xy": "pow atan2 hypot fmod remainder fdim nextafter",
    }.items()
    for name in names.split()
}
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


Definition = Callable[[str], Iterator[str]]
"""What defines a function of this name, by its types."""


def _expression(
    arguments: str, value: str, kinds: Iterable[str], result: str, name: str
) -> Iterator[str]:
    """A function that is one expression, in which words stand for its types, of each kind."""
    for kind, lanes in product(kinds, LANES):
        integer = _vector(FLOATS.get(kind, kind), lanes)
        types = {
            "T": _vector(kind, lanes),
            "I": integer,
            "U": _vector(_unsigned(kind), lanes),
            "BITS": f"(8 * sizeof({kind}))",
            "TEST": "int" if lanes == 1 else integer,
        }
        text = value
        for word, meant in types.items():
            text = re.sub(rf"\b{word}\b", meant, text)
        yield _define(types[result], name, arguments, [types["T"]] * len(arguments), text)


def _expressions(
    table: Mapping[str, tuple[str, str]], kinds: Iterable[str], result: str = "T"
) -> dict[str, Definition]:
    """What defines each function of a table."""
    return {name: partial(_expression, *row, kinds, result) for name, row in table.items()}


def _unsigned(kind: str) -> str:
    return kind if kind[0] == "u" else f"u{kind}"


def _by_lanes(kind: str, lanes: int, text: str) -> str:
    """What a text is of a number, or lane by lane of a vector: @ stands behind what has lanes."""
    if lanes == 1:
        return text.replace("@", "")
    each = ", ".join(text.replace("@", f".s{lane:x}") for lane in range(lanes))
    return f"({_vector(kind, lanes)})({each})"


def _lanes(name: str) -> Iterator[str]:
    """A function of C's library."""
    arguments, own = _LANE[name], name.removeprefix("native_")
    for kind, lanes in product(FLOATS, LANES):
        t, end = _vector(kind, lanes), "f" if kind == "float" else ""
        call = f"__builtin_{own}{end}({', '.join(f'{a}@' for a in arguments)})"
        yield _define(t, name, arguments, [t] * len(arguments), _by_lanes(kind, lanes, call))


def _half_turns(name: str) -> Iterator[str]:
    """sinpi, cospi."""
    for t, end in (("float", "f"), ("double", "")):
        head = f"{_STATIC} {t} {name}({t} x)"
        shift = 1 if name == "cospi" else 0
        text = _HALF_TURNS.format(head=head, t=t, end=end, shift=shift)
        yield " ".join(line.strip() for line in text.splitlines())


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


def _counts(name: str) -> Iterator[str]:
    """Ones, or zeros at an end: all bits for 0."""
    for kind, lanes in product(INTEGERS, LANES):
        word, bits = f"(ulong)({_unsigned(kind)})x@", f"(int)(8 * sizeof({kind}))"
        text = {
            "popcount": f"__builtin_popcountl({word})",
            "clz": f"x@ ? __builtin_clzl({word}) - 64 + {bits} : {bits}",
            "ctz": f"x@ ? __builtin_ctzl({word}) : {bits}",
        }[name]
        t = _vector(kind, lanes)
        yield _define(t, name, "x", [t], _by_lanes(kind, lanes, text))


def _abs(name: str) -> Iterator[str]:
    for kind, lanes in product(INTEGERS, LANES):
        t, u = _vector(kind, lanes), _vector(_unsigned(kind), lanes)
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


_CALLS: dict[str, Definition] = {
    **_expressions(_WHOLE, FLOATS),
    **_expressions(_ORDER, TYPES),
    **_expressions(_INTEGER, INTEGERS),
    **_expressions(_TESTS, FLOATS, "TEST"),
    **dict.fromkeys(_LANE, _lanes),
    **dict.fromkeys(("sinpi", "cospi"), _half_turns),
    **dict.fromkeys(("any", "all"), _quantifier),
    "select": _select,
    **dict.fromkeys(("clz", "ctz", "popcount"), _counts),
    "abs": _abs,
    "mul_hi": _mul_hi,
    **dict.fromkeys(("dot", "length", "distance", "normalize"), _sums),
    "cross": _cross,
}

_ATOMIC = {op: (op, "(x)") for op in ("add", "sub", "and", "or", "xor", "min", "max")}
_ATOMIC |= {"inc": ("add", "1"), "dec": ("sub", "1")}
"""Operations: what they do with memory, and by which number."""


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
        else:
            done, number = _ATOMIC[op]
            arguments, takes = ("p", [pointer]) if number == "1" else ("px", [pointer, kind])
            value = f"__atomic_fetch_{done}((p), {number}, __ATOMIC_RELAXED)"
            yield _define(kind, name, arguments, takes, value)


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
