"""What ``verify`` compares of operations on complex numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from portmp.formats import Format, inputs
from portmp.routines.case import COUNT, Case, In
from portmp.routines.complexes import launch, reference
from portmp.routines.reference import Host

TWO: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "pow": operator.pow,
    "equal": operator.eq,
}
"""What users call for operations of two operands."""

ONE: dict[str, str | Callable[..., Any]] = {
    "neg": operator.neg,
    "abs": abs,
    **{
        name: name
        for name in (
            *("conj", "angle", "sign", "sqrt", "exp", "expm1", "log", "log2", "log10", "log1p"),
            *("sin", "cos", "tan", "asin", "acos", "atan"),
            *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "isnan", "isinf", "isfinite"),
        )
    },
}
"""The same of one."""

INPUTS = ("ordinary", "hostile")


def made(form: Format, name: str, seed: str, shape: tuple[int, ...] = (COUNT,)) -> Host:
    """Complex numbers whose parts are recorded inputs: real parts, then imaginary ones."""
    if name == "ordinary":
        return inputs.ordinary(form, shape, seed)
    parts = ("real", "imaginary")
    of = [inputs.hostile(form.component, COUNT, f"{seed} {which}") for which in parts]
    return [*of[0], *of[1]]


def cases(form: Format) -> Iterator[Case]:
    """Values about 1, and everything that is special."""
    for op, call in (ONE | TWO).items():
        for name in INPUTS:
            operands = [made(form, name, f"{op}{i}") for i in range(1 + (op in TWO))]
            yield Case(f"complex_{op}", name, form, tuple(operands), call, _reference(op))
    z, x = made(form, "hostile", "mixed"), inputs.hostile(form.component, COUNT, "mixed")
    yield Case("complex_mul", "real", form, (z, _part(form, x)), operator.mul, _mixed("mul_real"))
    yield Case(
        "complex_div", "real", form, (z, _part(form, x)), operator.truediv, _mixed("div_real")
    )


def _part(form: Format, x: Host) -> In:
    return In(form.component, x)


def _reference(op: str) -> Callable[..., Host]:
    def on_host(form: Format, *operands: Host) -> Host:
        return applied(form, op, *(half for z in operands for half in halves(form, z)))

    return on_host


def _mixed(op: str) -> Callable[..., Host]:
    def on_host(form: Format, z: Host, x: Host) -> Host:
        return applied(form, op, *halves(form, z), x)

    return on_host


def halves(form: Format, z: Host) -> tuple[Host, Host]:
    """Real and imaginary parts."""
    return z[: form.limbs], z[form.limbs :]


def applied(form: Format, op: str, *parts: Host) -> Host:
    """An operation by its definition."""
    given = parts[::-1] if op == "angle" else parts
    return reference.elementwise(form.component, launch.network(op, form.component), *given)
