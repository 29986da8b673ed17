"""What ``verify`` compares of elementwise operators, AXPY, SCAL and conversions."""

import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from portmp.formats import Format, convert, inputs
from portmp.networks.operators import ARITY
from portmp.routines.case import ALPHA, COUNT, Case, hostile, scalar
from portmp.routines.elementwise import reference
from portmp.routines.elementwise.launch import converts
from portmp.routines.reference import Host


def signs(x: Any, y: Any) -> np.ndarray[Any, Any]:
    """Signs of x - y by comparisons: -1, 0, 1, or 2 where unordered."""
    less, equal, greater = (np.asarray(answer) for answer in (x < y, x == y, x > y))
    return np.select([less, equal, greater], [-1, 0, 1], 2).astype(np.int8)


CALLS: dict[str, str | Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
    "sqrt": "sqrt",
    "fma": "fma",
    "min": "minimum",
    "max": "maximum",
    "copy": "positive",
    "sign": "sign",
    "compare": signs,
}
"""What users call for each operator."""


def cases(form: Format) -> Iterator[Case]:
    """The cases of a format; those stored short are products, AXPY and conversions."""
    if form.coded:
        for make in (inputs.ordinary, inputs.wide, hostile):
            x, y = make(form, (COUNT,), "x"), make(form, (COUNT,), "y")
            yield Case("axpy", make.__name__, form, (ALPHA, x, y), "axpy", _axpy)
            yield applied(form, "mul", make.__name__, [x, y], CALLS["mul"])
        if converts(form, form.arithmetic):
            yield from _conversions(form)
        return
    for op, arity in ARITY.items():
        yield from _operators(form, op, arity)
    for name, make in (("ordinary", inputs.ordinary), ("wide", inputs.wide)):
        x, y = make(form, (COUNT,), "x"), make(form, (COUNT,), "y")
        yield Case("axpy", name, form, (ALPHA, x, y), "axpy", _axpy)
        yield Case("scal", name, form, (ALPHA, x), "scal", _scal)
    x, y = (inputs.hostile(form, 5 * COUNT, f"axpy{i}") for i in range(2))
    named = {"hostile": ALPHA, "hostile-alpha-one": "1", "hostile-alpha-zero": "0"}
    for name, alpha in named.items():
        yield Case("axpy", name, form, (alpha, x, y), "axpy", _axpy)
        yield Case("scal", name, form, (alpha, x), "scal", _scal)


def makers(form: Format, hostile: int) -> dict[str, Callable[[str], Host]]:
    """What makes an operand from a seed: of COUNT elements, or so many *hostile* ones."""
    return {
        "ordinary": partial(inputs.ordinary, form, (COUNT,)),
        "wide": partial(inputs.wide, form, (COUNT,)),
        "hostile": partial(inputs.hostile, form, hostile),
    }


def _operators(form: Format, op: str, arity: int) -> Iterator[Case]:
    for name, make in makers(form, 5 * COUNT).items():
        yield applied(form, op, name, [make(f"{op}{i}") for i in range(arity)], CALLS[op])
    if arity > 1:
        first = inputs.ordinary(form, (COUNT,), op)
        second = inputs.cancelling(form, (COUNT,), op)
        near = [[-p for p in first[:-1]] + [second[-1]]]
        more = [inputs.ordinary(form, (COUNT,), "z")] * (arity - 2)
        yield applied(form, op, "cancelling", [first, *near, *more], CALLS[op])


def applied(form: Format, op: str, name: str, operands: list[Host], call: Any) -> Case:
    """An operator or a function, by what users call."""

    def on_host(f: Format, *values: Host) -> Host:
        return reference.elementwise(f, op, *values)

    return Case(op, name, form, tuple(operands), call, on_host)


def _axpy(form: Format, alpha: str, x: Host, y: Host) -> Host:
    return reference.axpy(form, scalar(form, alpha), x, y)


def _scal(form: Format, alpha: str, x: Host) -> Host:
    return reference.scal(form, scalar(form, alpha), x)


def _conversions(form: Format) -> Iterator[Case]:
    """Arrays in the parent's format and back."""
    parent = form.arithmetic
    x, y = (inputs.hostile(form, 5 * COUNT, f"astype {seed}") for seed in "xy")

    def there(f: Format, x: Host) -> Host:
        return convert.change_format(x, f, parent)

    def product(f: Format, x: Host, y: Host) -> Host:
        return convert.change_format(reference.elementwise(parent, "mul", x, y), parent, f)

    yield Case("astype", f"{parent.name}-hostile", form, (x,), lambda x: x.astype(parent), there)
    yield Case(
        "astype",
        f"products-of-{parent.name}-hostile",
        form,
        (x, y),
        lambda x, y: (x.astype(parent) * y.astype(parent)).astype(form),
        product,
    )
