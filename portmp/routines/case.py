"""Cases of ``portmp verify``: a routine on a recorded input, by portmp's face and by definition."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from portmp import definition
from portmp.formats import Format, inputs
from portmp.routines import base
from portmp.routines.reference import Host
from portmp.routines.work import summed

COUNT = 203
"""Elements of a vector."""
ALPHA, BETA = "0.3", "-1.7"


class In(NamedTuple):
    """An operand in a format of its own."""

    form: Format
    planes: Host


@dataclass(frozen=True)
class Case:
    """One routine on one recorded input: how a device and the host compute it.

    *operands* are limb planes (of *form*, or ``In`` another), numbers and texts. *call* is what
    users call: the name of a function in portmp, or a function of arrays; it also gets the
    *options*, where limb planes are arrays too. Of several results the first one counts.
    *reference* is given the format and the operands.
    """

    routine: str
    name: str
    form: Format
    operands: tuple[Any, ...]
    call: str | Callable[..., Any]
    reference: Callable[..., Host]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The digest's key: routine and definition version, format and its version, input."""
        form = f"{self.form.name}.{self.form.definition}"
        return f"{self.routine}.{definition.VERSION}/{form}/{self.name}"

    def host_result(self) -> Host:
        """Limb planes computed by the host reference."""
        given = [o.planes if isinstance(o, In) else o for o in self.operands]
        return self.reference(self.form, *given)


def sums(
    routine: str, name: str, form: Format, operands: tuple[Any, ...], reference: Callable[..., Host]
) -> Iterator[Case]:
    """A routine that sums products, and where the format has fast sums, with these too."""
    yield Case(routine, name, form, operands, routine, reference)
    if "fast" in summed(form):
        fast = {"accuracy": "fast"}
        yield Case(
            f"{routine}_fast", name, form, operands, routine, partial(reference, **fast), fast
        )


def ended(case: Case, **addend: Host) -> Case:
    """The same with both factors, and an addend by the name of its option."""
    factors = [scalar(case.form, text) for text in (ALPHA, BETA)]

    def reference(form: Format, *operands: Host) -> Host:
        return case.reference(form, *operands, *factors, *addend.values())

    options = {**case.options, "alpha": ALPHA, "beta": BETA, **addend}
    return replace(case, reference=reference, options=options)


def of_turned(case: Case) -> Case:
    """The same product of matrices that lie the other way in memory."""

    def reference(form: Format, a: Host, b: Host) -> Host:
        return case.reference(form, transposed(a), transposed(b))

    operands = tuple(map(turned, case.operands))
    options = {**case.options, "trans_a": True, "trans_b": True}
    return replace(case, operands=operands, reference=reference, options=options)


def scalar(form: Format, text: str) -> base.ScalarLimbs:
    """A factor as the references take it."""
    return base.scalar_limbs(form, text, "alpha")


def transposed(planes: Host) -> Host:
    """A matrix turned, as a view."""
    return [p.T for p in planes]


def turned(planes: Host) -> Host:
    """A matrix turned, in memory."""
    return [p.T.copy() for p in planes]


def hostile(form: Format, shape: tuple[int, ...], seed: str) -> Host:
    """Hostile inputs of any shape."""
    return [p.reshape(shape) for p in inputs.hostile(form, int(np.prod(shape)), seed)]
