"""What ``verify`` compares of gravity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from portmp.formats import Format, inputs
from portmp.routines.case import Case
from portmp.routines.gravity import reference
from portmp.routines.gravity.launch import squared
from portmp.routines.reference import Host

SOURCES = 1100
"""More than a slab of them."""


def cases(form: Format) -> Iterator[Case]:
    """The cases of a format; none of the papers' own and of storage formats."""
    if form.paper or form.coded:
        return
    mass = inputs.positive(form, (SOURCES,), "mass")
    plain = inputs.ordinary(form, (37, 3), "position")
    pairs = [np.concatenate([p[:20], p[:20]]) for p in plain]
    for name, position, eps in (
        ("ordinary-37", plain, "0.01"),
        ("hard-37", plain, 0),
        ("pairs-40", pairs, "0.01"),
        ("hard-pairs-40", pairs, 0),
    ):
        heavy = [m[: len(position[0])] for m in mass]
        yield _among(form, "nbody", "acceleration", name, position, heavy, eps)
    few = inputs.ordinary(form, (5, 3), "few")
    many = inputs.ordinary(form, (SOURCES, 3), "many")
    yield Case(
        "nbody",
        f"apart-5x{SOURCES}",
        form,
        (many, mass),
        "nbody.acceleration",
        lambda f, r, m: _sums(f, few, r, m, "1e-3", None)[0],
        {"eps": "1e-3", "targets": few},
    )
    light = [m[:37] for m in mass]
    yield _among(form, "nbody_potential", "potential", "ordinary-37", plain, light, "0.01")


def _among(
    form: Format, routine: str, what: str, name: str, position: Host, mass: Host, eps: Any
) -> Case:
    """What particles cause of themselves."""
    which = ("acceleration", "potential").index(what)
    return Case(
        routine,
        name,
        form,
        (position, mass),
        f"nbody.{what}",
        lambda f, r, m: _sums(f, r, r, m, eps, 0)[which],
        {"eps": eps},
    )


def _sums(
    form: Format, targets: Host, sources: Host, mass: Host, eps: Any, first: int | None
) -> list[Host]:
    return reference.gravity(form, targets, sources, mass, squared(eps, form), first)
