"""What NumPy has for errors of arithmetic: here nothing is to be set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from portmp.errors import UnsupportedError

_KINDS = ("all", "divide", "over", "under", "invalid")


def _checked(asked: dict[str, str | None]) -> None:
    for kind, answer in asked.items():
        if kind not in _KINDS or answer not in (None, "ignore"):
            raise UnsupportedError(
                f"errstate: {kind}={answer!r} given, 'ignore' is what there is: NaN and infinities "
                "are results, and isfinite tells where they are"
            )


@contextmanager
def errstate(**kinds: str | None) -> Iterator[None]:
    """For scripts of NumPy's: ``ignore`` changes nothing, other answers are refused."""
    _checked(kinds)
    yield


def seterr(**kinds: str | None) -> dict[str, str]:
    """For scripts of NumPy's: ``ignore`` changes nothing, other answers are refused."""
    _checked(kinds)
    return dict.fromkeys(_KINDS[1:], "ignore")
