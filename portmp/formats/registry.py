"""Number formats: how a value is stored in planes and which networks compute with it.

A format is a table entry. ``planes`` are the dtypes of its limbs on the host, most
significant first; ``word`` is the dtype that computes; ``networks`` maps the roles
(add, mul, div, sqrt) to networks of portmp.networks; ``accumulators`` says how sums of
products run, accurately and fast. A storage format computes as another format,
``arithmetic``, and is shorter in memory: ``encodings`` says how each limb lies there.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from portmp import definition, networks
from portmp.errors import FormatError, choice, suggestion
from portmp.formats.encodings import Encoding, encoding
from portmp.networks import Network, complexes, functions, operators

WORDS = ("float32", "float64")
"""Formats of one word."""
NUMPYS = (*WORDS, "complex64", "complex128")
"""Formats that are dtypes of NumPy's, too."""
ROLES = ("add", "mul", "div", "sqrt")
ACCURACIES = ("accurate", "fast")


class Internal(str):
    """The name of a format that kernels alone have: a user's text of the same letters is none."""

    __slots__ = ()


@dataclass(frozen=True)
class Accumulator:
    """How a sum of products runs: names of networks.

    ``step`` takes one product, ``renormalise`` (None: nothing) follows every ``period``
    steps, ``finish`` turns the state into a value. ``suffix`` ends the names of kernels.
    """

    step: str
    renormalise: str | None
    period: int
    finish: str
    suffix: str = ""

    @property
    def networks(self) -> dict[str, Network]:
        """The networks by role."""
        roles = {"accumulate": self.step, "renormalise": self.renormalise, "finish": self.finish}
        return {role: networks.get(name) for role, name in roles.items() if name}


@dataclass(frozen=True, eq=False, repr=False)
class Format:
    """One number format."""

    name: str
    planes: tuple[str, ...]
    """The dtype of each limb, leading limb first; of complex numbers those of both parts."""
    word: str
    """The dtype that is computed in: float32 or float64."""
    networks: Mapping[str, str]
    """The network of each operation that is the format's own."""
    accumulators: Mapping[str, Accumulator]
    """How sums of products are made, by ``accuracy``."""
    about: str
    aliases: tuple[str, ...] = ()
    definition: int = 1
    """Counts changes of the networks: part of every digest's key."""
    scalar: bool = False
    """Whether the arithmetic has no form in explicit vectors."""
    paper: str = ""
    """The paper whose arithmetic it is."""
    stored: tuple[str, ...] = ()
    """The encoding of each limb in memory; none: as they are."""
    rounding: str = "nearest"
    """How stored limbs are rounded: ``nearest``, ties to even, or ``toward_zero``."""
    parent: str = ""
    """The format that computes, where that is another one."""
    bounded: bool = False
    """Whether the last limb is a bound of the value's error (``with_bound``)."""
    operators: Mapping[str, str] = field(default_factory=dict)
    """Networks of public operators that are not derived from ``networks``."""
    components: int = 1
    """2 of complex numbers; limbs, digits and roundoff are a component's."""

    @property
    def kind(self) -> str:
        """As NumPy's dtypes tell real numbers from complex ones."""
        return "fc"[self.components - 1]

    @property
    def limbs(self) -> int:
        """Number of limbs of a value, of a complex one's component."""
        return len(self.planes) // self.components

    @property
    def words(self) -> int:
        """Number of words of a value: of a complex one those of both components."""
        return len(self.planes)

    @cached_property
    def component(self) -> "Format":
        """The format of real and imaginary parts: of real numbers their own."""
        return self if self.components == 1 else get(_COMPONENTS[self.name])

    @cached_property
    def encodings(self) -> tuple[Encoding, ...]:
        """How each limb lies in memory."""
        return tuple(encoding(name) for name in self.stored or self.planes)

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The dtypes of the planes in memory, leading limb and bits first."""
        return tuple(part for one in self.encodings for part in one.parts)

    @property
    def coded(self) -> bool:
        """Whether this is a storage format: limbs are not words in memory."""
        return bool(self.stored)

    @cached_property
    def arithmetic(self) -> "Format":
        """The format that computes: itself, or a storage format's parent."""
        return get(self.parent) if self.parent else self

    @cached_property
    def bits(self) -> int:
        """Significand bits of a value with contiguous limbs."""
        return sum(one.bits for one in self.encodings[: self.limbs])

    @property
    def reach(self) -> str:
        """What its range is, as a part of a sentence."""
        return f"finite numbers are below 2^{self.encodings[0].overflow}"

    @cached_property
    def digits(self) -> int:
        """Decimal digits that distinguish values with contiguous limbs."""
        return math.ceil(1 + (self.bits + self.limbs - 1) * math.log10(2))

    @cached_property
    def unit_roundoff(self) -> float:
        """u^N, the relative accuracy that one operation reaches up to a small factor."""
        return 2.0**-self.bits

    @cached_property
    def itemsize(self) -> int:
        """Bytes of one value in memory."""
        return sum(one.size for one in self.encodings) // 8

    @cached_property
    def compute(self) -> "Format":
        """The format of this one's intermediate results: all limbs are words."""
        if self.coded:
            return self.arithmetic.compute
        if all(p == self.word for p in self.planes):
            return self
        return get(_UNIFORM[self.word, self.limbs])

    def dtype(self, plane: int) -> np.dtype:
        """NumPy dtype of a limb on the host."""
        return np.dtype(self.planes[plane])

    @property
    def __numpy_dtype__(self) -> np.dtype:
        """NumPy's dtype of the same numbers, for its functions that take one."""
        if self.name in NUMPYS:
            return np.dtype(self.name)
        rounded = "to_numpy()" if self.components > 1 else "to_float64()"
        raise FormatError(
            f"NumPy has no dtype {self.name}: portmp.finfo({self.name!r}) gives limits, "
            f"portmp.zeros(n, {self.name!r}) arrays; SciPy's solvers take x.{rounded}, and "
            f"functions that return f(x).{rounded} (docs/recipes.md)"
        )

    def network(self, role: str) -> Network:
        """The network that plays *role* here."""
        real_only(self, role)
        return networks.get(self.networks[role])

    def accumulator(self, accuracy: str = "accurate") -> Accumulator:
        """How this format sums products: ``accurate`` or ``fast``."""
        real_only(self, "sums of products")
        if isinstance(accuracy, str) and accuracy in self.accumulators:
            return self.accumulators[accuracy]
        choice("accuracy:", accuracy, ACCURACIES)
        raise FormatError(
            f"accuracy: {accuracy!r} given, {self.name} has only {', '.join(self.accumulators)}"
        )

    def operator(self, op: str) -> Network:
        """The public operator *op* (add, sub, fma, exp ...), special values settled.

        Of complex numbers its operands and its result are whole values, 2N words each.
        """
        if self.components > 1 and op in complexes.OF_VALUES:
            return complexes.of_values(op, self.word, self.limbs)
        real_only(self, op)
        if op in functions.ARITY:
            if self.paper:
                other = _UNIFORM[self.word, self.limbs]
                raise FormatError(
                    f"{op}: {self.name} is a paper's format, which has no functions; convert with "
                    f"astype({other!r})"
                )
            return functions.function(op, self.word, self.limbs)
        n = self.networks
        if self.operators:
            return networks.get(self.operators[op])
        return operators.operator(op, n["add"], n["mul"], n["div"], n["sqrt"])

    def roles(self, *ops: str) -> dict[str, Network]:
        """The networks of public operators, by their names, for a kernel."""
        return {op: self.operator(op) for op in ops}

    def __eq__(self, other: object) -> bool:
        """The same format, one of its names, or NumPy's dtype of the same numbers."""
        if self is other or isinstance(other, Format):
            return self is other
        if isinstance(other, str):
            return other in (self.name, *self.aliases)
        return self.name in NUMPYS and np.dtype(self.name) == other

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        told = f"{self.about}, {self.digits} digits"
        return f"<portmp format {self.name}: {told}; limits: portmp.finfo({self.name!r})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return get, (self.name,)


def _fpan(n: int) -> dict[str, str]:
    return {role: f"{role}{n}" for role in ROLES}


def _sums(n: int) -> dict[str, Accumulator]:
    steps, settle, end, s = f"accumulate{n}", f"renormalise{n}", f"finish{n}", "_fast"
    return {
        "accurate": Accumulator(steps, settle, definition.PERIOD, end),
        "fast": Accumulator(steps + s, settle + s, definition.FAST_PERIOD, end + s, s),
    }


def _plain(name: str, n: int) -> Accumulator:
    """Textbook sums: acc = add(mul(a, b), acc), nothing to renormalise or finish."""
    return Accumulator(name, None, definition.PERIOD, f"keep{n}")


_FMA = dict.fromkeys(ACCURACIES, _plain("accumulate1", 1))


def _paper(
    name: str, word: str, n: int, end: str, about: str, add: str = "", mul: str = ""
) -> Format:
    """A paper's arithmetic, whose networks' names end with *end*, but for *add* and *mul*."""
    nets = _fpan(n) | {"add": add or f"add{n}{end}", "mul": mul or f"mul{n}{end}"}
    sums = {"accurate": _plain(f"accumulate{n}{end}", n)}
    paper = "ts2021" if "2021" in end else "hpcs2011"
    return Format(name, (word,) * n, word, nets, sums, about, paper=paper, scalar=n == 4)


def _standard(
    name: str, planes: tuple[str, ...], about: str, aliases: tuple[str, ...] = ()
) -> Format:
    n = len(planes)
    return Format(name, planes, planes[0], _fpan(n), _FMA if n == 1 else _sums(n), about, aliases)


def _stored(
    name: str, parent: str, stored: tuple[str, ...], about: str, aliases: tuple[str, ...] = ()
) -> list[Format]:
    """A storage format with either rounding; the paper's suffix marks truncation."""
    base = next(f for f in _TABLE if f.name == parent)
    near = replace(base, name=name, about=about, aliases=aliases, stored=stored, parent=parent)
    truncated = replace(
        near,
        name=f"{name}_rz",
        about=f"{about}, truncated",
        rounding="toward_zero",
        aliases=tuple(f"{alias}_rz" for alias in aliases),
    )
    return [near, truncated]


_F32, _F64 = "float32", "float64"
_TABLE = [
    _standard("float32", (_F32,), "IEEE binary32"),
    _standard("float64", (_F64,), "IEEE binary64"),
    _standard("ds", (_F32,) * 2, "double-single", ("float32x2", "df")),
    _standard("ts", (_F32,) * 3, "triple-single", ("float32x3",)),
    _standard("qs", (_F32,) * 4, "quad-single", ("float32x4",)),
    _standard("dd", (_F64,) * 2, "double-double", ("float64x2",)),
    _standard("td", (_F64,) * 3, "triple-double", ("float64x3",)),
    _standard("qd", (_F64,) * 4, "quad-double", ("float64x4",)),
    _standard("d+s", (_F64, _F32), "double plus single: stored short, computed as dd", ("dps",)),
    _paper(
        "ts2021", _F32, 3, "_2021", "the triple-single paper's arithmetic (GPU listing, corrected)"
    ),
    _paper("ts2021cpu", _F32, 3, "_2021_cpu", "the same paper's for CPUs (CPU listing, corrected)"),
    _paper(
        "dd2011", _F64, 2, "_2011", "HPCS2011's double-double, QD's with FMA", "add2_jmp6", "mul2"
    ),
    _paper("dd2011nofma", _F64, 2, "_2011_split", "the same without FMA", "add2_jmp6"),
    _paper("qd2011", _F64, 4, "_2011", "HPCS2011's quad-double, QD's accurate operations with FMA"),
    _paper("qd2011nofma", _F64, 4, "_2011_split", "the same without FMA", "add4_2011"),
]

_CUT = (("float64", (56, 48, 40, 32, 24, 16)), ("float32", (24, 16)))
_NAMED = {("float32", 16): ("bfloat16", "bf16")}
_PAIRS = (
    *(
        _stored(
            f"slfp{parent[5:]}in{size}b",
            parent,
            (f"{parent}in{size}b",),
            f"the top {size} bits of {parent}",
            _NAMED.get((parent, size), ()),
        )
        for parent, sizes in _CUT
        for size in sizes
    ),
    _stored("fp64infp32", _F64, ("float64infp32",), "binary32 in memory, computed as float64"),
    _stored("float16", _F32, ("float16",), "binary16 in memory, computed as float32", ("half",)),
    _stored("ddin64b", "dd", (_F64, "unstored"), "float64 in memory, computed as dd"),
    _stored(
        "ddin96b", "dd", (_F64, "float64in32b"), "dd, its last limb in 32 bits", ("d+i", "dpi")
    ),
    _stored("tsin80b", "ts", (_F32, _F32, "float32in16b"), "ts with a last limb of 16 bits"),
    _stored("qdin192b", "qd", (_F64, _F64, _F64, "unstored"), "qd without its last limb"),
)
"""Storage formats, with either rounding."""
_STORED = [form for pair in _PAIRS for form in pair]


def has_bounds(form: Format) -> bool:
    """Whether a format has the networks whose bounds are proved, so that results can have one."""
    n = form.limbs
    return form.networks == _fpan(n) and form.accumulators == (_FMA if n == 1 else _sums(n))


def _bounded(form: Format) -> list[Format]:
    """How *form* is read, and what results are, where each has a bound beside it.

    Operands have none: their last limb, which is zero, is not stored. Values that are stored as one
    limb of fewer bits are computed and given as words.
    """
    n, name = form.limbs, form.parent or form.name

    def accumulator(known: Accumulator) -> Accumulator:
        tail = f"{n}{known.suffix}_{form.word}"
        settle = f"bounded_renormalise{tail}"
        return Accumulator(
            f"bounded_accumulate{tail}",
            settle if settle in networks.NETWORKS else None,
            known.period,
            f"bounded_finish{tail}",
            f"{known.suffix}_bounded",
        )

    results = Format(
        Internal(f"{name} and its bound"),
        (*form.planes, form.word),
        form.word,
        {op: f"bounded_{op}{n}_{form.word}" for op in ("add", "mul")},
        {key: accumulator(one) for key, one in form.accumulators.items()},
        "values and bounds",
        operators={op: f"bounded_{op}{n}_{form.word}_guarded" for op in ("add", "mul")},
        rounding=form.rounding,
        bounded=True,
    )
    held, short = form.stored or form.planes, replace(results, parent=results.name)
    apart = Internal(f"{form.name} without a bound")
    operands = replace(short, name=apart, about="values", stored=(*held, "unstored"))
    if not form.coded:
        return [operands, results]
    kept = replace(short, name=Internal(f"{form.name} and its bound"), stored=(*held, form.word))
    return [operands, kept] if n > 1 else [operands]


def _read_wider(form: Format) -> list[Format]:
    """How operands of *form* are read where one limb more is computed with, and a bound."""
    wide = wider(form)
    if wide is None:
        return []
    bounded = _DERIVED[f"{wide.name} and its bound"]
    stored = form.stored or form.planes
    if form.word == _F64:
        # What d+s holds lies in memory as this format's number does.
        stored = tuple("float64infp32" if one == _F32 else one for one in stored)
    return [
        replace(
            bounded,
            name=Internal(f"{form.name} read as {wide.name}"),
            about="values",
            stored=(*stored, "unstored", "unstored"),
            parent=bounded.name,
            rounding=form.rounding,
        )
    ]


def _norms(word: str) -> list[Format]:
    """Sums of squares in three words, and words that are read as such, or the first of such."""
    sums = Format(
        Internal(f"squares of {word}"),
        (word,) * 3,
        word,
        {"add": f"square_{word}"},
        _FMA,
        "sums of squares",
        operators={"add": f"squares_{word}", "sqrt": f"norm_{word}", "fma": f"normwise_{word}"},
    )
    stored = (word, "unstored", "unstored")
    leading = replace(
        sums, name=Internal(f"{word} for norms"), about="words", stored=stored, parent=sums.name
    )
    return [sums, leading]


def norms(word: str) -> tuple[Format, Format]:
    """How sums of squares of words are stored, and how words are read (``networks.normwise``)."""
    sums, leading = (_DERIVED[name] for name in (f"squares of {word}", f"{word} for norms"))
    return sums, leading


def wider(form: Format) -> Format | None:
    """The format of the same words with one limb more; None where there is none.

    None for a paper's, too: its values need not be normalised as the others' networks expect.
    """
    if form.components > 1:
        part = wider(form.component)
        return part and complex_of(part)
    name = _UNIFORM.get((form.word, form.limbs + 1)) if has_bounds(form) else None
    return _REGISTRY[name] if name else None


_UNIFORM = {
    (f.word, f.limbs): f.name for f in _TABLE if not f.paper and all(p == f.word for p in f.planes)
}
_COMPONENTS = {"complex64": "float32", "complex128": "float64"} | {
    f"c{name}": name for name in ("ds", "ts", "qs", "dd", "td", "qd")
}
"""Complex formats, with the format of their real and imaginary parts."""
_COMPLEX = [
    Format(
        name,
        2 * part.planes,
        part.word,
        {},
        {},
        f"complex numbers of two {part.name}",
        tuple(f"complex {alias}" for alias in (part.name, *part.aliases)),
        part.definition,
        components=2,
    )
    for name, real in _COMPONENTS.items()
    for part in _TABLE
    if part.name == real
]

_REGISTRY = {name: f for f in [*_TABLE, *_STORED, *_COMPLEX] for name in (f.name, *f.aliases)}

_DERIVED = {f.name: f for one in [*_TABLE, *_STORED] if has_bounds(one) for f in _bounded(one)}
_DERIVED |= {f.name: f for one in [*_TABLE, *_STORED] for f in _read_wider(one)}
_DERIVED |= {f.name: f for word in (_F32, _F64) for f in _norms(word)}
"""How kernels read operands and store results beside bounds, by ``Internal`` names."""

NAMES = tuple(f.name for f in _TABLE)
"""All formats, the papers' own included."""

STANDARD = tuple(f.name for f in _TABLE if not f.paper)
"""The formats meant for use."""

COMPLEX = tuple(_COMPONENTS)
"""Formats of complex numbers."""

STORED = tuple(f.name for f in _STORED)
"""Formats that are shorter in memory, with either rounding."""

STORAGE = tuple(f.name for f in _STORED if f.rounding == "nearest")
"""Those that round to nearest; each also with ``_rz``, truncated."""

ROUNDINGS = {"nearest": "", "toward_zero": "_rz"}
"""How storage formats round, and how the names of those that do so end."""


_HOLDING = {
    **dict.fromkeys(("float80", "float96", "longdouble"), " (dd has its digits)"),
    **dict.fromkeys(("float128", "quad"), " (td has its digits)"),
    "float256": "",
}
"""What to take for names of other floats: those that are nearest to them lose digits."""


def get(name: str | Format) -> Format:
    """Return the format called *name* (or one of its aliases)."""
    if isinstance(name, Format):
        return name
    known = _DERIVED if isinstance(name, Internal) else _REGISTRY
    if isinstance(name, str) and name in known:
        return known[name]
    held = _HOLDING.get(str(name), suggestion(str(name), list(_REGISTRY)))
    usual = ", ".join(one.name for one in _TABLE if not one.paper)
    raise FormatError(
        f"unknown format {name!r}{held}; formats: {usual}, cdd ... (complex), float16, "
        "slfp64in48b ... (storage); portmp formats lists all"
    )


def complex_of(form: Format) -> Format:
    """The format of complex numbers whose parts are of *form*; FormatError where there is none."""
    if form.components == 2:
        return form
    for name, part in _COMPONENTS.items():
        if part == form.name:
            return get(name)
    parts = map(get, _COMPONENTS.values())
    wide = next(p for p in parts if p.word == form.word and p.limbs >= form.limbs)
    raise FormatError(
        f"{form.name} has no complex numbers; convert with astype({wide.name!r}) first, which "
        f"keeps all digits and has {complex_of(wide).name}"
    )


def real_only(form: Format, routine: str) -> None:
    """FormatError for complex numbers, which *routine* does not take."""
    if form.components > 1:
        raise FormatError(
            f"{routine}: {form.name} given, which holds complex numbers; real ones alone are "
            "taken: x.real, x.imag and abs(x) are arrays of these"
        )


@cache
def with_bound(form: Format, one_limb_more: bool = False) -> tuple[Format, Format]:
    """How operands of *form* are read and results are stored where each has a bound beside it.

    A result's last limb is the bound, in units of u^N. Storage formats of one limb have results in
    their parent's words. With *one_limb_more* both are read and computed as the ``wider`` format,
    which there must be. FormatError for formats with other networks, such as a paper's.
    """
    real_only(form, "bound")
    if not has_bounds(form):
        raise FormatError(
            f"bound: {form.name} has networks of its own, of which no bound is proved here"
        )
    if one_limb_more:
        wide = wider(form)
        assert wide is not None
        return _DERIVED[f"{form.name} read as {wide.name}"], _DERIVED[f"{wide.name} and its bound"]
    results = form if form.limbs > 1 else form.arithmetic
    return _DERIVED[f"{form.name} without a bound"], _DERIVED[f"{results.name} and its bound"]


def rounded_as(form: Format, rounding: str) -> Format:
    """The storage format *form* with another rounding; other formats have only ``nearest``."""
    if form.rounding == choice("rounding:", rounding, ROUNDINGS):
        return form
    if not form.coded:
        raise FormatError(
            f"rounding: {rounding!r} given, {form.name} has only nearest; storage formats have "
            f"both: {', '.join(STORAGE)}"
        )
    return get(form.name.removesuffix("_rz") + ROUNDINGS[rounding])
