"""The paper's split on the host: the bits of a device whose SGEMM is portmp's."""

import itertools
import math

import numpy as np

from portmp import formats, networks
from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.gemm.reference import gemm as direct
from portmp.routines.ozaki.reference import exponents_of
from portmp.routines.reference import Arithmetic, Host

PRECISION = 24
"""Bits of float32."""


def gemm(form: Format, a: Host, b: Host, slices: int) -> Host:
    """a b for a (m, k), b (k, n) of format ts2021, by *slices* slices of each; k > 0."""
    ar, add, single = Arithmetic(form), networks.get("add3_2021"), formats.get("float32")
    left, right = split(form, a, slices=slices), split(form, [p.T for p in b], slices=slices)
    with ieee.quiet():
        total = None
        for (x, *_), (y, *_) in itertools.product(left, right):
            product = direct(single, [x], [y.T])[0]
            term = (product, *ar.zeros(form.limbs - 1, product.shape))
            total = term if total is None else ar.run(add, total, term)
        assert total is not None
        return ar.store(total)


def split(form: Format, view: Host, *, slices: int, words: int = 1) -> list[Host]:
    """The slices of *view* (rows, depth), by its rows, as float32 matrices; last what is left."""
    ar, add = Arithmetic(form), networks.get("add3_2021")
    rest = ar.load(view)
    above = bits_above(rest[0].shape[1], words)
    found: list[Host] = []
    with ieee.quiet():
        for _ in range(slices - 1):
            exponents = exponents_of(rest[0]).astype(np.int32)[:, None]
            large = ((exponents + np.int32(above + 127)) << np.int32(23)).view(np.float32)
            part = (rest[0] + large) - large
            found.append([part])
            rest = ar.run(add, rest, (-part, *ar.zeros(form.limbs - 1, part.shape)))
        return [*found, ar.store(rest)]


def bits_above(depth: int, words: int = 1) -> int:
    """How far above a row's exponent the constant lies that cuts its entries.

    So that sums of products of slices are exact in so many *words*.
    """
    sums = -(-(words * PRECISION + math.ceil(math.log2(depth))) // 2)
    return sums - (words - 1) * PRECISION
