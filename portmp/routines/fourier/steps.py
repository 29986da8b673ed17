"""How a transform is made of small ones: the definition, as data.

A length is a product of 7s, 5s, 3s, a 2 where it is needed, and 4s. Transforms of length *before*
become those of length *before* times the next factor r, from before = 1 on (decimation in time):

    Y[k + before p] = sum over q of exp(-2 pi i p q / r) (exp(-2 pi i q k / (r before)) X_q[k]),

where X_q is the transform of every r-th element from q on. The product with the root is left out
for q = 0, and for before = 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from typing import NamedTuple

from portmp.formats import Format

PRIMES = (7, 5, 3, 2)
REGISTERS = 64
"""32-bit registers of a thread that elements of a pass may take."""
TOGETHER = 512
"""Elements that a block of threads has in block memory at most, four for each thread ..."""
BYTES = 1 << 15
"""... which take so many bytes at most."""
COLUMNS = 8
"""Neighbouring transforms that a block has at least: memory is read by 32 or 64 bytes."""
MOST = 256
"""Elements of a transform that a block has at most."""


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
    """Steps that are taken one after the other, without memory between them.

    *columns*: so many neighbouring transforms are those of a block of threads, by block memory; 0
    where a thread has the elements of one in registers.
    """

    before: int
    radices: tuple[int, ...]
    columns: int = 0


def passes(n: int, form: Format, many: bool) -> Iterator[Pass]:
    """The steps of a length in passes: a schedule. *many*: for blocks of many threads."""
    words = 2 * form.limbs * (2 if form.word == "float64" else 1)
    held = min(TOGETHER, 1 << (BYTES // (4 * words)).bit_length() - 1)
    steps, before = list(factors(n)), 1
    while steps:
        together: list[int] = []
        whole = many and steps[0] in (2, 4) and len(steps) > 1
        room = _in_block(steps, min(MOST, held // COLUMNS)) if whole else REGISTERS // words
        while steps and (not together or prod(together) * steps[0] <= room):
            if together and not whole and many and steps[0] in (2, 4):
                break
            together.append(steps.pop(0))
        size = prod(together)
        fitting = len(together) > 1 and whole
        yield Pass(before, tuple(together), held // size if fitting else 0)
        before *= size


def _in_block(steps: Sequence[int], most: int) -> int:
    """The length up to which a block joins transforms: passes of about as many steps each."""
    at_most = most.bit_length() // 2
    each = -(-len(steps) // -(-len(steps) // at_most))
    return min(most, prod(steps[:each]))
