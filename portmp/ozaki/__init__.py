"""The Ozaki scheme: products of matrices by error-free products of integers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Ozaki2"]


@dataclass(frozen=True)
class Ozaki2:
    """How ``gemm`` computes by residues (the Ozaki scheme II, Ozaki, Uchino, Imamura 2025).

    ``moduli``: how many, 4 to 49 (large products need more than 4); by default the fewest that
    keep the format's bits. More moduli keep more bits below the largest entry of a row.
    ``engine``: who multiplies int8 matrices: ``auto`` (the platform's library where it is found
    and works, else portmp), ``library``, ``own``; bits do not depend on it. ``workspace``: bytes
    of memory for residues and their products, by default a quarter of the device's; blocks of C
    are computed one after another.
    """

    moduli: int | None = None
    engine: str = "auto"
    workspace: int | None = None
