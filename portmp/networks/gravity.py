"""Networks of softened gravity: what one particle feels of another.

The squared distance is a fused sum of squares, the inverse distance a correctly rounded
word with residual steps up to the format's length; all of it is a fixed sequence of IEEE
operations, so that each device gives the same bits.
"""

from __future__ import annotations

from portmp.networks.language import Network
from portmp.networks.library import define, get


def _limbs(name: str, words: int) -> str:
    return ", ".join(f"{name}[{i}]" for i in range(words))


define(
    "inverse_distance1", "dx:word dy:word dz:word eps2:word -> word",
    """
r = fma(dx, dx, eps2)
r = fma(dy, dy, r)
r = fma(dz, dz, r)
return rsqrt_word(r)
""",
    source="three fused squares, one root", bound="3u",
)  # fmt: skip
define(
    "strength1", "y:word m:word -> word",
    "w = y * y\nw = y * w\nreturn w * m",
    source="three products", bound="3u",
)  # fmt: skip
for _n in (2, 3, 4):
    define(
        f"begin{_n}_fast", f"x:{_n} -> +{_n}", f"return {_limbs('x', _n)}",
        source="a fast sum that starts from a value", bound="exact",
    )  # fmt: skip
    define(
        f"inverse_distance{_n}", f"dx:{_n} dy:{_n} dz:{_n} eps2:{_n} -> {_n}",
        f"""
s = begin{_n}_fast(eps2)
s = accumulate{_n}_fast(s, dx, dx)
s = accumulate{_n}_fast(s, dy, dy)
s = accumulate{_n}_fast(s, dz, dz)
r = finish{_n}_fast(s)
return rsqrt{_n}(r, rsqrt_word(r[0]))
""",
        source="three steps of the fast sum of products, one root",
        bound="half of that of the sum, and that of the root",
    )  # fmt: skip
    define(
        f"strength{_n}", f"y:{_n} m:{_n} -> {_n}",
        f"""
w = mul{_n}(y, y)
w = mul{_n}(y, w)
w = mul{_n}(w, m)
return {_limbs("w", _n)}
""",
        source="three products", bound="three times that of a product",
    )  # fmt: skip


def roles(words: int) -> dict[str, Network]:
    """The networks of one interaction for a format of so many limbs."""
    return {"inverse": get(f"inverse_distance{words}"), "strength": get(f"strength{words}")}
