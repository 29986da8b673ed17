"""What ``verify`` compares of elementary functions."""

from __future__ import annotations

from collections.abc import Iterator

from portmp.formats import Format
from portmp.networks.functions import ARITY
from portmp.routines.case import COUNT, Case
from portmp.routines.elementwise.cases import applied, makers

MENDED = {("fmod", "hostile"): "hostile-2"}
"""Cases whose recorded results were wrong once: reports of before are not judged by today's."""


def cases(form: Format) -> Iterator[Case]:
    """Values about 1, of all sizes, and everything that is special."""
    for name, arity in ARITY.items():
        for kind, make in makers(form, COUNT).items():
            label = MENDED.get((name, kind), kind)
            yield applied(form, name, label, [make(f"{name}{i}") for i in range(arity)], name)
