"""The networks of a sum of interactions, by role."""

from __future__ import annotations

from portmp import formats, networks
from portmp.errors import FormatError
from portmp.formats import Format
from portmp.networks import Network, gravity
from portmp.routines import base


def steps(form: Format, root: str = "exact", guarded: bool = True) -> dict[str, Network]:
    """The networks of a sum of interactions; FormatError for a paper's own format."""
    if form.paper:
        known = ", ".join(formats.STANDARD)
        raise FormatError(
            f"nbody: format {form.name} given, a paper's own arithmetic, in which there is no "
            f"gravity; allowed are {known}"
        )
    base.computes(form, "nbody")
    form.operator("sub")  # derives the plain difference
    return {
        **gravity.roles(form.limbs, form.word, root, guarded),
        "sub": networks.get(f"sub{form.limbs}"),
        **form.accumulator().networks,
        "add": form.operator("add"),
    }
