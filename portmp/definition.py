"""The numbers that fix a result's bits, and their version; the version of the package.

The numbers are not tuning parameters: a change is a new VERSION and new recorded digests.
What each means is in docs/bits.md.
"""

import math

__version__ = "0.1.0"

VERSION = 3

SLAB = 1024
"""GEMM: k is cut into slabs of this length; slabs are added in ascending order."""

PERIOD = 32
"""GEMM, GEMV, DOT: accurate sums are renormalised after every PERIOD steps of a slab or lane."""

GRAVITY_PERIOD = 256
"""Gravity: so are the sums over a slab's sources, after every GRAVITY_PERIOD of them."""

FAST_PERIOD = 4
"""GEMM, GEMV, DOT: so is the fast one after every FAST_PERIOD steps of a slab or lane."""

LANES = 32
"""DOT, GEMV, sums, extrema: element i belongs to lane i mod LANES ..."""

CHUNK = 8192
"""... of chunk i div CHUNK; lanes, then chunks, combine pairwise with halving distance."""

BLOCK = 32
"""Factorisations and triangular systems: halving ends at so many columns ..."""

TRIANGLE = 256
"""... that of a product with a triangular matrix at so many, whose zeros take part ..."""

BY_INTEGERS = (128, 128, 64, 64)
"""... and products by integers are made where rows, columns and steps are at least so many ..."""

MANY = (2**27, 2**27, 2**24, 2**24)
"""... and their product is at least this, by the number of limbs."""

PIVOT = 41 / 64
"""L D L^T: a diagonal element is a pivot if it is at least so much of the largest beside it."""

ROWS = 256
"""QR: sums over a column are cut into chunks of so many rows ..."""

ROW_LANES = 8
"""... and row i of a chunk belongs to lane i mod ROW_LANES; both combine pairwise."""


NEGLIGIBLE = {"float32": (2.0**-60, 2.0**-50, 2.0**-38, 2.0**-60), "float64": (2.0**-420,) * 4}
"""QR: what others leave of a column counts as zero up to this length, by word and limbs ..."""

COLUMNS = {"float32": (2.0**46, 2.0**48), "float64": (2.0**-200, 2.0**480)}
"""... once columns whose largest element is beyond these sizes are scaled to just below the upper
one (float64 words: 1): squares above such a length keep all limbs, but for four of float32
words ..."""

SQUARES_EXACT = {"float32": (0.0, 0.0, 0.0, 2.0**-26), "float64": (0.0,) * 4}
"""... of which a column of less than this length is factored near 1, and so all of its matrix."""

SPARSE_LANES = 8
"""Sparse rows: stored element i of a chunk belongs to lane i mod SPARSE_LANES ..."""

SPARSE_CHUNK = 2048
"""... and chunks of so many stored elements are added in order."""

LIFTED = {"float32": 48, "float64": 0}
"""Singular values: the largest element is brought below this power of two, by word, so that squares
of small columns keep limbs."""

ROTATED = 64
"""Jacobi's method: matrices of so many rows turn as a whole, larger ones by pairs of blocks."""


def by_integers(m: int, n: int, k: int, limbs: int) -> bool:
    """Whether factorisations make a product of m rows and n columns over k steps by integers."""
    return min(m, n, k) >= BY_INTEGERS[limbs - 1] and m * n * k >= MANY[limbs - 1]


BEYOND = (2, 20)
"""GEMM by elements: bits that integers have beyond the format's, level by level ..."""

BEYOND_FACTORS, BEYOND_ROTATIONS = (4,), (20,)
"""... in LU and Cholesky's factors; in QR, and triangular systems and products."""

JUDGED = {"float32": (0, 768, 320, 320), "float64": (0, 768, 320, 256)}
"""GEMM: rows, columns and steps from which on elements are judged, by word and limbs; 0: never."""


def judges(m: int, n: int, k: int, word: str, limbs: int) -> bool:
    """Whether elements of a product of m rows and n columns over k steps are judged."""
    least = JUDGED[word][limbs - 1]
    return bool(least) and min(m, n, k) >= least


def half(count: int) -> int:
    """How many of more than BLOCK columns a factorisation does first: a multiple of BLOCK."""
    return BLOCK * (-(-count // BLOCK) // 2)


SCAN = 256
"""Running sums and products: elements of a chunk in order, then what the chunks before come to."""


def halvings(count: int) -> tuple[int, ...]:
    """The distances at which *count* lanes, a power of two, combine: half of them, ... 2, 1."""
    return tuple(2**i for i in reversed(range(count.bit_length() - 1)))


def norm_exponent(word: str, largest: float) -> int | None:
    """nrm2: the e of the scale 2^-e for the largest |leading limb|; None for no scale."""
    if largest == 0 or not math.isfinite(largest):
        return None
    limit = 120 if word == "float32" else 1000
    return max(-limit, min(limit, math.frexp(largest)[1]))
