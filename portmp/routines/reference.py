"""The routines on the host, by their definitions: the reference that devices must equal.

Operands are lists of limb planes in the dtypes of the format. Every function follows
docs/bits.md step by step, vectorised over independent elements; schedules do not exist
here.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp import networks
from portmp.formats import Format, encode
from portmp.networks import Network, evaluator, ieee

Plane = np.ndarray[Any, Any]
Host = list[Plane]
Value = tuple[Plane, ...]


class Arithmetic:
    """One format's networks on NumPy arrays; a value is a tuple of word arrays."""

    def __init__(self, form: Format) -> None:
        self.form = form
        self.word = np.dtype(form.word)
        self.gates = evaluator.gates(self.word)

    def load(self, planes: Sequence[Any]) -> Value:
        """Planes as words; where values have a bound, limbs that operands have not are zero."""
        words = [np.asarray(p).astype(self.word) for p in planes]
        while self.form.bounded and len(words) < self.form.limbs:
            words.append(np.zeros_like(words[0]))
        return tuple(words)

    def store(self, value: Sequence[Plane]) -> Host:
        """Words as planes: a low limb beyond its dtype's range is dropped."""
        if self.form.coded:
            return encode.stored(self.form, [np.asarray(word) for word in value])
        planes = []
        for i, word in enumerate(value):
            plane = np.asarray(word).astype(self.form.dtype(i))
            if plane.dtype != self.word:
                plane = np.where(np.isfinite(plane), plane, plane.dtype.type(0))
            planes.append(plane)
        return planes

    def run(self, net: Network, *arguments: Value) -> Value:
        """Evaluate a network on values or sums; one word counts as a tuple of one."""
        kinds = (kind for _, kind in net.inputs)
        plain = [a[0] if k.words == 1 else a for k, a in zip(kinds, arguments, strict=True)]
        result = networks.evaluate(net, self.gates, *plain)
        return result if isinstance(result, tuple) else (result,)

    def operator(self, op: str, *arguments: Value) -> Value:
        """Apply a public operator."""
        return self.run(self.form.operator(op), *arguments)

    def zeros(self, words: int, shape: tuple[int, ...], first: float = 0.0) -> Value:
        """A value or sum of *words* words: *first*, then zeros."""
        return tuple(np.full(shape, 0.0 if i else first, self.word) for i in range(words))


def patched(value: Value, chain: Plane, bounded: bool = False) -> Value:
    """Replace elements that are not finite by *chain* and zeros; *bounded*, by no known bound."""
    bad = ~np.isfinite(value[0])
    lower = [np.where(bad, w.dtype.type(0), w) for w in value[1:]]
    if bounded:
        lower[-1] = np.where(bad, value[0].dtype.type(np.inf), value[-1])
    return (np.where(bad, chain, value[0]), *lower)


def scaled(ar: Arithmetic, z: Value | None, alpha: Value, beta: Value, c: Value | None) -> Value:
    """alpha z + beta c; z is None where there is no product, c where beta is zero."""
    if z is not None and not is_number(alpha, 1):
        shape = z[0].shape
        z = ar.operator("mul", tuple(np.broadcast_to(w, shape) for w in alpha), z)
    if c is None:
        assert z is not None
        return z
    addend = c
    if not is_number(beta, 1):
        addend = ar.operator("mul", tuple(np.broadcast_to(w, c[0].shape) for w in beta), c)
    return addend if z is None else ar.operator("add", z, addend)


def ended(
    form: Format,
    shape: tuple[int, ...],
    product: Sequence[Plane] | None,
    alpha: Sequence[Any],
    beta: Sequence[Any],
    c: Host | None,
) -> Host:
    """What a product ends with: alpha times it (None: zero), plus beta c."""
    ar = Arithmetic(form)
    with ieee.quiet():
        scale = ar.load(alpha) if alpha else ar.zeros(form.limbs, (), 1.0)
        add = ar.load(beta) if beta else ar.zeros(1, ())
        addend = None if c is None or is_number(add, 0) else ar.load(c)
        if product is None and addend is None:
            return ar.store(ar.zeros(form.limbs, shape))
        words = None if product is None else tuple(product)
        return ar.store(scaled(ar, words, scale, add, addend))


def is_number(value: Value, number: float) -> bool:
    return bool(value[0] == number) and all(bool(w == 0) for w in value[1:])
