"""Arrays as text, and numbers as Python's format strings ask for them."""

import decimal as standard
import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from portmp.errors import ArgumentError, UnsupportedError
from portmp.formats import complexes, convert, decimal, exact, spelled

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]

SHOWN = 1000
"""Of arrays with more elements only the ends of the axes are printed."""


@dataclass(frozen=True)
class Options:
    """How arrays are printed, by NumPy's names.

    *precision*: digits after the point, at most (None: those that give the numbers back);
    *threshold*: of more elements only *edgeitems* at each end; *linewidth*: characters of a line;
    *suppress*: no exponents.
    """

    precision: int | None = None
    threshold: int = SHOWN
    edgeitems: int = 3
    linewidth: int = 100
    suppress: bool = False


_USUAL = Options()
_NUMPYS = {"precision": 8, "threshold": 1000, "edgeitems": 3, "linewidth": 75, "suppress": False}
_options: ContextVar[Options] = ContextVar("printing", default=_USUAL)
_KEPT: Any = object()
"""For a precision that is not given."""


def _now() -> Options:
    """The options in force: where none is set here, those of NumPy that are not its usual ones."""
    own, theirs = _options.get(), dict[str, Any](np.get_printoptions())
    if own != _USUAL:
        return own
    return replace(own, **{k: theirs[k] for k, usual in _NUMPYS.items() if theirs[k] != usual})


def get_printoptions() -> dict[str, Any]:
    """How arrays are printed (``set_printoptions``)."""
    return asdict(_options.get())


def set_printoptions(precision: int | None = _KEPT, **options: Any) -> None:
    """Print arrays otherwise from now on, by NumPy's names: *precision* (digits after the point, at
    most; None for those that give the numbers back), *threshold*, *edgeitems*, *linewidth* and
    *suppress* (no exponents). Numbers stay what they are.
    """
    known = get_printoptions()
    if precision is not _KEPT:
        options["precision"] = precision
    for name, value in options.items():
        if name not in known:
            raise UnsupportedError(
                f"set_printoptions: {name} given, there are {', '.join(known)}; "
                "a.to_strings(digits) and format strings have all digits"
            )
        whole = isinstance(value, (int, np.integer)) and value >= 0
        if not (whole or (name == "precision" and value is None)):
            raise ArgumentError(
                f"set_printoptions: {name}: {value!r:.60} given, a number from 0 on is needed"
            )
    _options.set(replace(_options.get(), **options))


@contextmanager
def printoptions(precision: int | None = _KEPT, **options: Any) -> Iterator[dict[str, Any]]:
    """``set_printoptions`` for the lines of a ``with``."""
    before = get_printoptions()
    set_printoptions(precision, **options)
    try:
        yield get_printoptions()
    finally:
        set_printoptions(**before)


def is_long(x: Any) -> bool:
    """Whether only the ends of its axes are printed."""
    return bool(x.size > _now().threshold)


def shown(x: Any, quoted: bool = False) -> str:
    """The elements: digits that give them back, but no more than the format has unless quoted."""
    return _abridged(x, quoted) if is_long(x) else _laid_out(_texts(x, quoted))


def written(x: Any) -> str:
    """What makes the array again, where nothing is left out; of numbers as texts, so all digits."""
    empty = not x.size and x.ndim > 1  # of which the text has not the shape
    text = f"zeros({x.shape}" if empty else f"array({shown(x, quoted=hasattr(x, 'to_limbs'))}"
    return f"portmp.{text}, {str(x.dtype)!r}, device={x.device.name!r})"


def html(x: Any) -> str | None:
    """A table for notebooks; None, for which they show the text, of what is no short matrix."""
    short = x.ndim == 2 and x.size <= _now().threshold
    rows = ["".join(f"<td>{text}</td>" for text in row) for row in _texts(x)] if short else []
    return f"<table><tr>{'</tr><tr>'.join(rows)}</tr></table>" if short else None


def _abridged(x: Any, quoted: bool) -> str:
    """The elements at the ends of each axis."""
    n, ends = len(x), _now().edgeitems
    chosen = range(n) if n <= 2 * ends else (*range(ends), *range(n - ends, n))
    deep = x.ndim > 1
    parts = [_abridged(x[i], quoted) for i in chosen] if deep else []
    parts += [] if deep else map(str, _texts(x[list(chosen)], quoted))
    if n > 2 * ends:
        parts.insert(ends, "...")
    text = (",\n" if deep else ", ").join(parts).replace("\n", "\n ")
    return f"[{text}]"


def _texts(x: Any, quoted: bool = False) -> np.ndarray[Any, Any]:
    """The elements as an array of texts, or as plain numbers."""
    if hasattr(x, "to_limbs"):
        precision = _now().precision
        all_digits = quoted and precision is None
        limbs, part = x.to_limbs(), x.format.component
        both = complexes.halves(limbs) if x.format.components > 1 else [limbs]
        texts = [decimal.to_strings(h, part, "short" if all_digits else "shown") for h in both]
        cut = [[_cut(t, precision) for t in of_part.ravel()] for of_part in texts]
        whole = list(map(exact.joined, *cut)) if len(cut) == 2 else cut[0]
        return convert.object_array([repr(t) if quoted else t for t in whole], x.shape)
    found: np.ndarray[Any, Any] = x.to_numpy()
    return found


def _cut(text: str, precision: int | None) -> str:
    """A number's text with so many digits after the point, at most; all of them of None."""
    number, suppress = standard.Decimal(text), _now().suppress
    if not number.is_finite() or not (suppress or precision is not None):
        return text
    fixed = f"{number:f}" if precision is None else f"{number:.{precision}f}"
    plain = suppress or (
        "e" not in text.lower() and (any(c in "123456789" for c in fixed) or not number)
    )
    digits, power = fixed, ""
    if not plain:
        digits, _, power = f"{number:.{precision}e}".partition("e")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return f"{digits}e{power}" if power else digits if "." in digits else f"{digits}.0"


def _laid_out(texts: np.ndarray[Any, Any]) -> str:
    options: dict[str, Any] = {"separator": ", ", "max_line_width": _now().linewidth}
    if texts.dtype == object:
        if texts.ndim == 1 and len(line := f"[{', '.join(texts.tolist())}]") < _now().linewidth:
            return line
        options["formatter"] = {"all": str}
    return np.array2string(texts, threshold=texts.size + 1, **options)


def formatted(x: Any, spec: str) -> str:
    """One value as Python's format strings have floats, from all its digits: ``f"{x:.40f}"``."""
    if not spec:
        return str(x)
    if x.size != 1:
        raise ArgumentError(f"format {spec!r}: one element expected, shape {x.shape} given")
    if x.format.components > 1:
        return spelled.of_complex((x.real, x.imag), spec, formatted)
    limbs = [float(plane.ravel()[0]) for plane in x.to_limbs()]
    if not math.isfinite(limbs[0]) or not limbs[0]:
        return spelled.formatted(limbs[0], spec, "")
    return spelled.formatted(convert.exact_sum(limbs), spec, str(_texts(x).ravel()[0]))
