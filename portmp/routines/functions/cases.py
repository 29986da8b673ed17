"""What ``verify`` compares of elementary functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from portmp.formats import Format, inputs
from portmp.networks.functions import ARITY
from portmp.routines.case import COUNT, Case
from portmp.routines.functions import reference
from portmp.routines.reference import Host

MENDED = {("fmod", "hostile"): "hostile-2"}
"""Cases whose recorded results were wrong once: reports of before are not judged by today's."""


def cases(form: Format) -> Iterator[Case]:
    """Values about 1, of all sizes, and everything that is special."""
    for name, arity in ARITY.items():
        makers: dict[str, Callable[[str], Host]] = {
            "ordinary": partial(inputs.ordinary, form, (COUNT,)),
            "wide": partial(inputs.wide, form, (COUNT,)),
            "hostile": partial(inputs.hostile, form, COUNT),
        }
        for kind, make in makers.items():
            label = MENDED.get((name, kind), kind)
            yield _case(form, name, label, [make(f"{name}{i}") for i in range(arity)])


def _case(form: Format, name: str, kind: str, operands: list[Host]) -> Case:
    def on_host(f: Format, *values: Host) -> Host:
        return reference.elementwise(f, name, *values)

    return Case(name, kind, form, tuple(operands), name, on_host)
