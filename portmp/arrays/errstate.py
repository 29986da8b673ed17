"""What NumPy has for errors of arithmetic: here nothing is to be set, but for lost digits."""

from collections.abc import Iterator
from contextlib import contextmanager

from portmp.errors import UnsupportedError, choice
from portmp.formats import losses

_KINDS = ("all", "divide", "over", "under", "invalid")


@contextmanager
def errstate(*, rounded: str | None = None, **kinds: str | None) -> Iterator[None]:
    """``seterr`` for the lines of a ``with``."""
    before = seterr(rounded=rounded, **kinds)
    try:
        yield
    finally:
        losses.answer.set(before["rounded"])


def seterr(*, rounded: str | None = None, **kinds: str | None) -> dict[str, str]:
    """What is answered from here on; what was before is returned.

    *rounded*: ``warn`` (a RoundedWarning) or ``raise`` (a RoundedError) where a float comes in that
    was rounded before, as 0.1 is and 0.25 is not, and the format has more digits than its type; and
    where ``float(x)``, which ``math``'s functions ask for, loses digits. ``ignore`` is the default.
    Of NumPy's *kinds* ``ignore`` changes nothing, other answers are refused.
    """
    for kind, answer in kinds.items():
        if kind not in _KINDS or answer not in (None, "ignore"):
            raise UnsupportedError(
                f"errstate: {kind}={answer!r} given, 'ignore' is what there is: NaN and infinities "
                "are results, and isfinite tells where they are; rounded= tells of lost digits"
            )
    before = dict.fromkeys(_KINDS[1:], "ignore") | {"rounded": losses.answer.get()}
    if rounded is not None:
        losses.answer.set(choice("errstate: rounded", rounded, losses.ANSWERS))
    return before
