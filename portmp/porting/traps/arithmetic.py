"""Traps of arithmetic: contraction, rounding, functions that are called the same and are not."""

import re
from collections.abc import Iterator

from portmp.porting.sources import Node, called, of_type, sides, text_of
from portmp.porting.traps.base import (
    CERTAIN,
    LIKELY,
    OPENCL,
    POSSIBLE,
    Inside,
    Trap,
    at,
    of_functions,
    short,
)

_ROUNDED = frozenset(f"__{t}{o}_rn" for t in "df" for o in ("add", "sub", "mul"))


def error_free(inside: Inside) -> Iterator[Trap]:
    """two_sum and compensated sums: a difference that gives a sum's rounding error."""
    for node in of_type(inside.nodes, "binary_expression"):
        if found := _error_of(inside, node):
            product = "*" in found and "*" not in text_of(sides(node)[2])
            sure = LIKELY if product or "fma" in found else POSSIBLE
            words = (
                f"{short(node)} is the rounding error of {found}: contraction, on by default, "
                "and -ffast-math change it"
            )
            yield Trap("arithmetic/contraction", *at(node), "bits", sure, words)


def _error_of(inside: Inside, node: Node) -> str:
    """The sum or the product whose rounding error an expression is; nothing if it is none."""
    left, sign, right = sides(node)
    if sign != "-":
        return ""
    name = text_of(left).strip("()")
    floating = re.search(r"\b(float|double|real|T|scalar\w*)\b", inside.types.get(name, ""))
    if not re.fullmatch(r"\w+", name) or not floating:
        return ""
    for value in of_type(inside.values.get(name, []), "binary_expression"):
        a, sign, b = sides(value)
        if sign == "+" and text_of(right) in (text_of(a), text_of(b)):
            return short(value)
    return ""


def products(inside: Inside) -> Iterator[Trap]:
    """a * b - p, the error of a product without fma."""
    for node in of_type(inside.nodes, "binary_expression"):
        left, sign, right = sides(node)
        if sign != "-" or left is None or left.type != "binary_expression":
            continue
        for value in inside.values.get(text_of(right), []):
            if _same(value, left) and sides(left)[1] == "*":
                words = (
                    f"{short(node)} is 0, or the product's rounding error where it is contracted"
                )
                yield Trap("arithmetic/contraction", *at(node), "bits", CERTAIN, words)


def _same(a: Node, b: Node) -> bool:
    return text_of(a).replace(" ", "") == text_of(b).replace(" ", "")


def rounded(inside: Inside) -> Iterator[Trap]:
    """Intrinsics that promise no separate rounding on AMD."""
    multiplies = any("mul" in name for name in inside.names_called & _ROUNDED)
    for call, name, _ in inside.of_calls(_ROUNDED):
        if "mul" in name and multiplies:
            words = f"{name} is a plain product on AMD, and is contracted by default"
            sure = CERTAIN if _is_summand(call) else LIKELY
            yield Trap("arithmetic/rounded-operations", *at(call), "bits", sure, words)


def _is_summand(call: Node) -> bool:
    around = call.parent.parent if call.parent is not None else None
    is_call = around is not None and around.type == "call_expression"
    return is_call and re.search("add|sub", called(around)) is not None


def shifts(inside: Inside) -> Iterator[Trap]:
    """Shifts of 32 bits by 32 and more."""
    for node in of_type(inside.nodes, "binary_expression"):
        left, sign, right = sides(node)
        by = inside.number(right) if sign in ("<<", ">>") else None
        kind = inside.types.get(text_of(left), "") or text_of(left)
        narrow = re.fullmatch(r"(const )?(unsigned( int)?|int|uint32_t)|\d+[uU]?", kind)
        if by is not None and by >= 32 and narrow:
            words = f"a shift of 32 bits by {by} is undefined: 0 on NVIDIA, not on AMD"
            yield Trap("arithmetic/shift-count", *at(node), "results", CERTAIN, words)


def divisions(inside: Inside) -> Iterator[Trap]:
    """Roots in OpenCL that need an option."""
    for call, name, _ in inside.of_calls(frozenset(("sqrtf", "__fdiv_rn"))):
        words = f"{name} is inexact in OpenCL C without the build option for it"
        yield Trap("arithmetic/division-float", *at(call), "bits", POSSIBLE, words, OPENCL)


TRAPS = tuple(map(of_functions, (error_free, products, rounded, shifts, divisions)))
