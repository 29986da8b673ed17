"""How a transform is made of small ones: the definition, as data.

A length is a product of 7s, 5s, 3s, a 2 where it is needed, and 4s. Transforms of length *before*
become those of length *before* times the next factor r, from before = 1 on (decimation in time):

    Y[k + before p] = sum over q of exp(-2 pi i p q / r) (exp(-2 pi i q k / (r before)) X_q[k]),

where X_q is the transform of every r-th element from q on. The product with the root is left out
for q = 0, and for before = 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from portmp.formats import Format

PRIMES = (7, 5, 3, 2)
REGISTERS = 128
"""32-bit registers of a thread that elements of a pass may take."""


@cache
def factors(n: int) -> tuple[int, ...]:
    """The factors of a length, in the order of their steps; of another length none."""
    found: list[int] = []
    for prime in PRIMES:
        while n % prime == 0:
            n //= prime
            found.append(prime)
    twos = found.count(2)
    odd = [prime for prime in found if prime != 2]
    return (*odd, *[2] * (twos % 2), *[4] * (twos // 2)) if n == 1 else ()


class Pass(NamedTuple):
    """Steps that a thread takes one after the other, on elements in registers."""

    before: int
    radices: tuple[int, ...]


def passes(n: int, form: Format) -> Iterator[Pass]:
    """The steps of a length, as many in a pass as registers have room for: a schedule."""
    room = REGISTERS // (2 * form.limbs * (2 if form.word == "float64" else 1))
    before = 1
    together: tuple[int, ...] = ()
    size = 1
    for radix in factors(n):
        if together and size * radix > room:
            yield Pass(before, together)
            before, together, size = before * size, (), 1
        together, size = (*together, radix), size * radix
    if together:
        yield Pass(before, together)
