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
EACH = 4
"""Elements of a thread whose block has block memory ..."""
MANY = 16
"""... and, of one limb, of transforms of so many times 4 elements at least: fewer passes."""
TOGETHER = {EACH: 512, MANY: 4096}
"""Elements that a block of threads has, by those of a thread."""
MOST = {EACH: 64, MANY: 512}
"""Elements of a transform that a block has with its neighbours, by which memory is read by 64 bytes
at least; a row that a block has alone may have all."""
LISTED = 1 << 24
"""Bytes of roots that lie in the order in which steps take them; others are found from an eighth of
the circle."""


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
    steps, before = list(factors(n)), 1
    while steps:
        joined = many and steps[0] in (2, 4) and len(steps) > 1
        if joined:
            together = _in_block(steps, form, before == 1)
        else:
            # What blocks can join is theirs.
            several = steps[: next((i for i, r in enumerate(steps) if i and r in (2, 4)), None)]
            together = grouped(several if many else steps, REGISTERS // words)[0]
        del steps[: len(together)]
        size = prod(together)
        columns = TOGETHER[each(form, size)] // size if joined else 0
        yield Pass(before, tuple(together), columns)
        before *= size


def each(form: Format, size: int) -> int:
    """Elements of a thread whose block transforms so many by block memory."""
    return MANY if form.limbs == 1 and size >= 4 * MANY else EACH


def _in_block(steps: Sequence[int], form: Format, first: bool) -> list[int]:
    """The steps that a block takes first: as few passes as may be, of about as many steps each."""
    held = each(form, prod(steps))
    if first and held == MANY and prod(steps) <= TOGETHER[held]:
        return [*steps]
    count = len(grouped(steps, MOST[held]))
    return [*steps[: -(-len(steps) // count)]]


def grouped(steps: Sequence[int], most: int) -> list[list[int]]:
    """Steps in order, in groups that join *most* elements at most, if they are several."""
    found: list[list[int]] = [[]]
    for step in steps:
        if found[-1] and prod(found[-1]) * step > most:
            found.append([])
        found[-1].append(step)
    return found


def is_listed(form: Format, n: int) -> bool:
    """Whether the roots are listed of all steps up to transforms of n elements."""
    return 2 * form.itemsize * n <= LISTED


def listed(form: Format, before: int, radices: tuple[int, ...]) -> int | None:
    """How many transforms steps of a pass join whose roots are listed; None: all."""
    joined = [prod(radices[:i]) for i in range(1, len(radices) + 1)]
    few = [n for n in joined if is_listed(form, before * n)]
    return None if few == joined else max(few, default=1)
