"""Networks of softened gravity: what one particle feels of another.

The squared distance is a fused sum of squares. Its reciprocal root starts from a word that
is correctly rounded to float32 on every device (templates/arithmetic/inverse_root.mako) and
is refined to the format's length; all of it is a fixed sequence of IEEE operations, so that
each device gives the same bits. The inexact roots of ROOTS are for one limb only.
"""

from portmp.errors import FormatError, choice
from portmp.networks import papers  # noqa: F401  # after the expansions, whose networks are called
from portmp.networks.language import Network, declare, define, get

ROOTS = {
    "exact": "correctly rounded to float32, then refined: the same bits on every device",
    "fast": "the hardware's estimate, in float64 with one step of third order",
    "rsqrt": "the platform's function",
    "rounded": "the platform's function that promises rounding (not all keep it), or exact",
    "division": "1 / sqrt(x)",
}
"""Kinds of reciprocal square root, and where each comes from."""

_THIRD_ORDER = """
h = x * y
e = fma(-h, y, 1)
c = fma(0.375, e, 0.5)
h = y * e
return fma(h, c, y)
"""
_RESIDUAL = """
h, f = two_prod(x, y)
e = fma(-h, y, 1)
e = fma(-f, y, e)
c = fma(0.375, e, 0.5)
h = y * e
return fma(h, c, y)
"""


def _limbs(name: str, words: int) -> str:
    return ", ".join(f"{name}[{i}]" for i in range(words))


# --- one limb: roots of a word --------------------------------------------------------------

for _tail, _what in (
    ("", "a normal number"),
    ("_guarded", "any number; NaN for one below the smallest normal number"),
):
    declare(
        f"inverse_root{_tail}",
        "x:word -> word",
        "inverse_root.mako",
        source=f"1/sqrt(x) to float32's accuracy, x {_what}",
        bound="2^-24, in float64 2^-23",
    )
    define(
        f"inverse_root_double{_tail}",
        "x:word -> word",
        f"y = inverse_root{_tail}(x){_THIRD_ORDER}",
        source="float32's root and one step of third order",
        bound="1.51u (proved)",
    )
    define(
        f"inverse_root_seed{_tail}",
        "x:word -> word",
        f"y = inverse_root{_tail}(x){_RESIDUAL}",
        source="float32's root and one residual step of third order",
        bound="1.01u (proved)",
    )
for _kind in ("fast", "rsqrt", "rounded", "division"):
    declare(
        f"inverse_root_{_kind}",
        "x:word -> word",
        "inverse_root.mako",
        source=ROOTS[_kind],
        bound="the platform's",
    )

# --- distances ------------------------------------------------------------------------------

_SEEDS = {
    "_guarded": ("inverse_root_guarded", "inverse_root_guarded"),
    "": ("inverse_root", "inverse_root"),
    "_double_guarded": ("inverse_root_double_guarded", "inverse_root_seed_guarded"),
    "_double": ("inverse_root_double", "inverse_root_seed"),
}
"""By the word's type: the root of one limb, the seed of more."""

_SQUARES = """
r = fma(dx, dx, eps2)
r = fma(dy, dy, r)
r = fma(dz, dz, r)
"""
for _tail, (_root, _) in {
    **_SEEDS,
    **{f"_{k}": (f"inverse_root_{k}", "") for k in ROOTS if k != "exact"},
}.items():
    define(
        f"inverse_distance1{_tail}",
        "dx:word dy:word dz:word eps2:word -> word",
        f"{_SQUARES}return {_root}(r)",
        source="three fused squares, one root",
        bound="3.02u (proved)",
    )
define(
    "strength1",
    "y:word m:word -> word",
    "w = y * y\nw = y * w\nreturn w * m",
    source="three products",
    bound="3.01u (proved)",
)
for _n in (2, 3, 4):
    define(
        f"begin{_n}_fast",
        f"x:{_n} -> +{_n}",
        f"return {_limbs('x', _n)}",
        source="a fast sum that starts from a value",
        bound="exact",
    )
    for _tail, (_, _seed) in _SEEDS.items():
        define(
            f"inverse_distance{_n}{_tail}",
            f"dx:{_n} dy:{_n} dz:{_n} eps2:{_n} -> {_n}",
            f"""
s = begin{_n}_fast(eps2)
s = accumulate{_n}_fast(s, dx, dx)
s = accumulate{_n}_fast(s, dy, dy)
s = accumulate{_n}_fast(s, dz, dz)
r = finish{_n}_fast(s)
return rsqrt{_n}(r, {_seed}(r[0]))
""",
            source="three steps of the fast sum of products, one root",
            bound="half of that of the sum, and that of the root",
        )
    define(
        f"strength{_n}",
        f"y:{_n} m:{_n} -> {_n}",
        f"""
w = mul{_n}(y, y)
w = mul{_n}(y, w)
w = mul{_n}(w, m)
return {_limbs("w", _n)}
""",
        source="three products",
        bound="three times that of a product",
    )


def roles(limbs: int, word: str, root: str, guarded: bool) -> dict[str, Network]:
    """The networks of one interaction; *guarded*: squared distances may be below normal."""
    tail = f"_{choice('root:', root, ROOTS)}"
    if root == "exact":
        tail = ("_double" if word == "float64" else "") + ("_guarded" if guarded else "")
    elif limbs > 1:
        raise FormatError(f"root: {root!r} given, formats of several limbs have exact only")
    return {"inverse": get(f"inverse_distance{limbs}{tail}"), "strength": get(f"strength{limbs}")}
