"""Numbers as Python's format strings ask for them, from all their digits."""

import locale
import re
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from typing import Any

from portmp.errors import ArgumentError

_SPEC = re.compile(
    r"(?:(.?)([<>=^]))?([-+ ]?)(z?)(#?)(0?)([0-9]*)([_,]?)(?:\.([0-9]+))?([eEfFgGn%]?)", re.DOTALL
)
"""Filler, alignment, sign, no negative zero, point kept, zeros, width, groups, precision, kind."""


def formatted(value: float | tuple[int, int], spec: str, shown: str) -> str:
    """A float, or a ratio, as Python's format strings have floats; *shown*: where it names no kind.

    What has no end is cut after so many digits that no format string asks for more.
    """
    match = _SPEC.fullmatch(spec)
    if not match or (match[8] and match[10] == "n"):
        raise ArgumentError(f"format {spec!r}: one of floats is needed, such as '.40f'")
    if isinstance(value, float):  # an infinity, NaN or a zero
        return format(value, spec)
    fill, side, sign, no_minus, alternate, zeros, width, by, precision, kind = match.groups()
    exact = _WIDE.divide(*map(Decimal, value))
    if precision or kind:
        text = _digits(exact.copy_abs(), kind, int(precision or 6), bool(alternate))
    else:  # as it is printed
        text = shown.lstrip("-")
        text = text.replace("e", ".e") if alternate and "." not in text else text
    less = exact < 0 and not (no_minus and not any(c in "123456789" for c in text.split("e")[0]))
    sign = "-" if less else sign.strip("-")
    rest = text.lstrip("0123456789")
    whole = int(text[: len(text) - len(rest)])
    if kind == "n":
        by, rest = "n", rest.replace(".", str(locale.localeconv()["decimal_point"]))
    fill, side = fill or ("0" if zeros else " "), side or ("=" if zeros else ">")
    room = int(width or 0) - len(sign + rest)
    least = f"0{max(room, 0)}" if side == "=" and fill == "0" else ""
    text = f"{whole:{least}{by}}{rest}"
    return (
        f"{sign}{text.rjust(room + len(rest), fill)}"
        if side == "="
        else format(f"{sign}{text}", f"{fill}{side}{width}")
    )


def of_complex(parts: Iterable[Any], spec: str, of: Callable[[Any, str], str]) -> str:
    """A complex number as Python has it: a sign between the parts, one width for both."""
    match = _SPEC.fullmatch(spec)
    lacking = match and (
        (match[1] or match[6]) == "0"
        or match[2] == "="
        or match[10] == "%"
        or (match[8] and match[10] == "n")
    )
    if not match or lacking:
        raise ArgumentError(f"format {spec!r}: one of complex numbers is needed, such as '>40.20f'")
    fill, side, sign, no_minus, alternate, _, width, by, precision, kind = match.groups()
    rest = f"{no_minus}{alternate}{by}{'' if precision is None else f'.{precision}'}{kind}"
    texts = [of(part, f"{one}{rest}") for part, one in zip(parts, (sign, "+"), strict=True)]
    return format(f"{''.join(texts)}j", f"{fill or ' '}{side or '>'}{width}")


_WIDE = Context(prec=10_000)
"""A multi-limb number has at most some 2,000 digits, so that its quotient of integers is exact."""


def _digits(size: Decimal, kind: str, precision: int, alternate: bool) -> str:
    """The digits of a positive number, as a kind of format has them."""
    if kind in ("f", "F", "%"):
        text = f"{size.scaleb(2 if kind == '%' else 0, _WIDE):.{precision}f}"
        return f"{text}{'.' if alternate and not precision else ''}{kind.strip('fF')}"
    general = kind not in ("e", "E")
    kept = max(precision, 1) - 1 if general else precision
    digits, _, power = f"{size:.{kept}e}".partition("e")
    place = int(power)
    if general and -4 <= place < kept + bool(kind):
        digits, power = f"{size:.{kept - place}f}", ""
    if general and not alternate:
        digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    elif alternate and "." not in digits:
        digits += "."
    if power:
        e = "E" if kind in ("E", "G") else "e"
        return f"{digits}{e}{place:+03d}"
    return digits if kind or "." in digits else f"{digits}.0"
