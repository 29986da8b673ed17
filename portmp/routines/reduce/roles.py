"""What a reduction is made of: its networks by role, and what it starts from."""

from __future__ import annotations

import math

from portmp import definition, networks
from portmp.formats import Format
from portmp.networks import Network

IDENTITY = {"dot": 0.0, "sum": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}


def steps(form: Format, kind: str, accuracy: str = "accurate") -> dict[str, Network]:
    """The networks of a reduction: step, finish, combine, and renormalise where it is needed."""
    keep = networks.get(f"keep{form.limbs}")
    if kind == "dot":
        accumulator = form.accumulator(accuracy)
        nets = accumulator.networks
        found = {
            "step": nets["accumulate"],
            "finish": nets["finish"],
            "combine": form.operator("add"),
        }
        # Where a lane of a chunk is long enough for it.
        if accumulator.period < definition.CHUNK // definition.LANES:
            found |= {role: nets[role] for role in ("renormalise",) if role in nets}
        return found
    if kind == "sum":
        return {"step": form.network("add"), "finish": keep, "combine": form.operator("add")}
    operator = form.operator("mul" if kind == "prod" else kind)
    return {"step": operator, "finish": keep, "combine": operator}
