"""Questions about numbers whose answers are truth values, as text of C and with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from portmp.codegen.writer import Writer


class Test(NamedTuple):
    """A question about numbers: which operator answers it, and how its result *r* is looked at.

    As text of C for a Writer, with NumPy, and as gates of a network, of the result's leading words.
    """

    op: str
    text: Callable[[Writer, str], str]
    holds: Callable[[Any], Any]
    gates: str


def _signed(w: Writer, r: str) -> str:
    """The sign bit of a word, NaN's and zero's too."""
    p = w.platform
    return f"{p.as_int.format(r, l='') if w.scalar == 'float' else w.bits('high_word', r)} < 0"


TESTS = {
    "equal": Test("compare", lambda w, r: f"{r} == 0", lambda r: r == 0, "opposite(nonzero({0}))"),
    "not_equal": Test("compare", lambda w, r: f"{r} != 0", lambda r: r != 0, "nonzero({0})"),
    "less": Test("compare", lambda w, r: f"{r} == -1", lambda r: r == -1, "less({0}, 0)"),
    "less_equal": Test("compare", lambda w, r: f"{r} <= 0", lambda r: r <= 0, "opposite(less(0, {0}))"),
    "greater": Test("compare", lambda w, r: f"{r} == 1", lambda r: r == 1, "both(less(0, {0}), less({0}, 2))"),
    "greater_equal": Test(
        "compare",
        lambda w, r: f"{r} == 0 || {r} == 1",
        lambda r: (r == 0) | (r == 1),
        "both(opposite(less({0}, 0)), less({0}, 2))",
    ),
    "nonzero": Test("copy", lambda w, r: f"{r} != 0", lambda r: r != 0, "nonzero({0})"),
    "isnan": Test("copy", lambda w, r: f"{r} != {r}", np.isnan, "isnan({0})"),
    "isinf": Test("copy", lambda w, r: f"{w.fabs(r)} > {w.largest}", np.isinf, "both(opposite(isnan({0})), opposite(finite({0})))"),
    "isfinite": Test("copy", lambda w, r: f"{w.fabs(r)} <= {w.largest}", np.isfinite, "finite({0})"),
    "signbit": Test("copy", _signed, np.signbit, "negative({0})"),
}
"""Questions that are answered for each element. Compared are -1, 0, 1, and 2 where unordered."""
