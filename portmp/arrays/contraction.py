"""Einstein's sums: products of arrays, summed over the axes whose letters do not stay."""

from __future__ import annotations

import math
import string
from typing import Any

import numpy as np

from portmp.arrays import elementwise, manipulation, products, statistics
from portmp.arrays.viewed import AnyArray
from portmp.errors import ArgumentError, ShapeError

Labels = list[str]


def einsum(
    subscripts: Any, *operands: Any, out: AnyArray | None = None, optimize: Any = False
) -> Any:
    """``einsum("ij,jk->ik", a, b)``: sums of products by letters of axes, as NumPy has them.

    Or with numbers for axes, ``einsum(a, [0, 1], b, [1, 2], [0, 2])``; without the last list those
    stay that come once.

    Products are taken from the left to the right, two at a time, each a matrix product of this
    library (``matmul``) where axes are summed over, else elementwise. *optimize* is there for
    NumPy's sake: the order is always this.
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _lettered([subscripts, *operands])
    if not operands:
        raise ArgumentError("einsum: no operands given")
    arrays = elementwise.as_arrays(operands, [f"einsum: operand {i}" for i in range(len(operands))])
    given, wanted = _parsed(subscripts, arrays)
    sizes: dict[str, int] = {}
    for labels, x in zip(given, arrays, strict=True):
        for label, n in zip(labels, x.shape, strict=True):
            if sizes.setdefault(label, n) != n:
                if 1 not in (n, sizes[label]) or labels.count(label) > 1:
                    raise ShapeError(
                        f"einsum: {subscripts!r}: axes {label} have lengths {sizes[label]} and {n}"
                    )
                sizes[label] = max(n, sizes[label])
    parts = [_once(x, labels, sizes) for x, labels in zip(arrays, given, strict=True)]
    found, labels = parts[0]
    for i, (x, theirs) in enumerate(parts[1:], 1):
        later = set(wanted).union(*(names for _, names in parts[i + 1 :]))
        found, labels = _two(found, labels, x, theirs, later)
    found, labels = _summed(found, labels, set(wanted))
    found = found.transpose(*(labels.index(label) for label in wanted)) if wanted else found
    return elementwise.given_back(found.planes, out)


def _lettered(given: list[Any]) -> tuple[str, tuple[Any, ...]]:
    """The text for operands that are given with lists of axes' numbers, and the operands."""
    lists = given[1::2] + (given[-1:] if len(given) % 2 else [])
    if len(given) < 2 or not all(isinstance(axes, (list, tuple)) for axes in lists):
        raise ArgumentError(
            "einsum: a text such as 'ij,jk->ik' and arrays are needed, or arrays, each with a list "
            "of its axes' numbers"
        )
    texts = ["".join(map(_letter, axes)) for axes in lists]
    left = ",".join(texts[: len(given) // 2])
    arrays = tuple(given[: len(given) // 2 * 2 : 2])
    return (f"{left}->{texts[-1]}" if len(given) % 2 else left), arrays


def _letter(axis: Any) -> str:
    if axis is Ellipsis:
        return "..."
    letters = string.ascii_uppercase + string.ascii_lowercase
    if not isinstance(axis, (int, np.integer)) or not 0 <= axis < len(letters):
        raise ArgumentError(f"einsum: axis {axis!r:.40} given, numbers from 0 to 51 are allowed")
    return letters[axis]


def _parsed(subscripts: str, arrays: list[Any]) -> tuple[list[Labels], Labels]:
    """The letters of each operand's axes and those of the result; those of ``...`` are numbers."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    names = left.split(",")
    if len(names) != len(arrays):
        raise ArgumentError(f"einsum: {len(arrays)} operands given for {subscripts!r}")
    most = max(
        (
            x.ndim - len(name.replace("...", ""))
            for name, x in zip(names, arrays, strict=True)
            if "..." in name
        ),
        default=0,
    )
    given = []
    for name, x in zip(names, arrays, strict=True):
        open_ = x.ndim - len(name.replace("...", ""))
        if open_ < 0 or ("..." not in name and open_):
            raise ShapeError(f"einsum: {name!r} given for an array of shape {x.shape}")
        given.append(_letters(name, [str(i) for i in range(most - open_, most)], subscripts))
    if arrow:
        wanted = _letters(right, [str(i) for i in range(most)], subscripts)
        known = {label for labels in given for label in labels}
        if len(set(wanted)) != len(wanted) or not known.issuperset(wanted):
            raise ArgumentError(f"einsum: the result of {subscripts!r} has other or equal letters")
        return given, wanted
    every = [label for labels in given for label in labels]
    alone = sorted(x for x in set(every) if every.count(x) == 1 and not x.isdigit())
    return given, [*(str(i) for i in range(most)), *alone]


def _letters(name: str, open_: Labels, subscripts: str) -> Labels:
    before, dots, after = name.partition("...")
    if not all(c in string.ascii_letters for c in before + after):
        raise ArgumentError(f"einsum: {subscripts!r} given; letters, commas, ... and -> are needed")
    return [*before, *(open_ if dots else []), *after]


def _once(x: AnyArray, labels: Labels, sizes: dict[str, int]) -> tuple[AnyArray, Labels]:
    """The view whose axes have different letters, without axes of length 1 that are repeated."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = manipulation.diagonal(x, 0, first, second)
            labels = [n for i, n in enumerate(labels) if i not in (first, second)] + [label]
    gone = [i for i, n in enumerate(labels) if x.shape[i] == 1 and sizes[n] != 1]
    kept = [n for i, n in enumerate(labels) if i not in gone]
    return (manipulation.squeeze(x, axis=gone) if gone else x), kept


def _summed(x: AnyArray, labels: Labels, kept: set[str]) -> tuple[AnyArray, Labels]:
    """The sum over axes whose letters are not kept; integers stay of their dtype."""
    over = tuple(i for i, n in enumerate(labels) if n not in kept)
    if not over:
        return x, labels
    found = statistics.sum(x, over, dtype=x.dtype)
    return found, [n for n in labels if n in kept]


def _two(
    a: AnyArray, first: Labels, b: AnyArray, second: Labels, later: set[str]
) -> tuple[AnyArray, Labels]:
    """The product of two, summed over the letters that come in no later operand."""
    a, first = _summed(a, first, later.union(second))
    b, second = _summed(b, second, later.union(first))
    both = [n for n in first if n in second and n in later]
    over = [n for n in first if n in second and n not in later]
    left = [n for n in first if n not in second]
    right = [n for n in second if n not in first]
    a = a.transpose(*(first.index(n) for n in (*both, *left, *over))) if first else a
    b = b.transpose(*(second.index(n) for n in (*both, *over, *right))) if second else b
    k = len(both)
    shape = (*a.shape[:k], *a.shape[k : k + len(left)], *b.shape[k + len(over) :])
    labels = [*both, *left, *right]
    if not over:
        open_ = a.reshape((*a.shape, *[1] * len(right)))
        apart = b.reshape((*shape[:k], *[1] * len(left), *shape[k + len(left) :]))
        return elementwise.multiply(open_, apart), labels
    batch, m = math.prod(a.shape[:k]), math.prod(a.shape[k : k + len(left)])
    inner, n = math.prod(a.shape[k + len(left) :]), math.prod(b.shape[k + len(over) :])
    pair = (a.reshape(batch, m, inner), b.reshape(batch, inner, n))
    if not k:
        pair = (pair[0][0], pair[1][0])
    return products.matmul(*pair).reshape(shape), labels
