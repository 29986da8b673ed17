"""Gravity on several devices: targets are split, each device has all sources."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from portmp.arrays.viewed import Elsewhere
from portmp.distributed.functions import here, joined, known, team
from portmp.distributed.layout import Placement, Replicated, Rows
from portmp.nbody import forces

_WANTED = {
    "acceleration": (forces.FORCE,),
    "potential": (forces.POTENTIAL,),
    "field": (forces.FORCE, forces.POTENTIAL),
}


@known(*_WANTED)
def field(
    function: Callable[..., Any],
    position: Any,
    mass: Any,
    *,
    eps: Any = 0,
    targets: Any = None,
    out: Any = None,
    root: str = "exact",
    schedule: Any = None,
) -> Any:
    """What sources cause at targets, or at their own places, cut up by rows as these are."""
    arrays, queues = team(position, mass, targets)
    everywhere = [x for x in (position, mass, targets) if x is not None]
    if out is not None or len(arrays) < len(everywhere) or position.ndim != 2:
        raise Elsewhere(arrays[0])
    led = position if targets is None else targets
    if led.ndim != 2:
        raise Elsewhere(led)
    place = led.placement
    contiguous = place.axes[0].block * place.axes[0].parts >= led.shape[0]
    if not contiguous or place.axes[1].parts > 1 or place.replicated:
        place = Rows().place(led.shape, len(queues))
    mine = led.placed(place, queues)
    sources = [x.placed(Replicated().place(x.shape, len(queues)), queues) for x in (position, mass)]
    wanted = _WANTED[function.__name__]
    made: Any = partial(forces.sums, eps=eps, root=root, schedule=schedule, wanted=wanted)

    def local(i: int) -> Any:
        begin, _ = next(place.axes[0].blocks(place.part(i, 0)), (0, 0))
        first = begin if targets is None else None
        where, weight = (x.pieces[i] for x in sources)
        return made(where, weight, mine.pieces[i], first=first)

    results = [one or [None] * len(wanted) for one in here(local, queues)]
    rows = Placement(place.grid, place.axes[:1])
    found = [
        joined(each, rows if one == forces.POTENTIAL else place, queues)
        for one, each in zip(wanted, zip(*results, strict=True), strict=True)
    ]
    return tuple(found) if len(found) > 1 else found[0]
