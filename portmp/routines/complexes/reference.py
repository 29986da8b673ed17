"""Operations on complex numbers on the host, bit for bit as on devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from portmp.formats import Format
from portmp.networks import Network, ieee
from portmp.routines.reference import Arithmetic, Host


def elementwise(form: Format, net: Network, *parts: Sequence[Any]) -> Host:
    """A network of *parts*, each the limbs of a real or an imaginary part in *form*."""
    ar = Arithmetic(form)
    with ieee.quiet():
        values = [ar.load(part) for part in parts]
        shape = np.broadcast_shapes(*(v[0].shape for v in values))
        spread = [tuple(np.broadcast_to(w, shape) for w in v) for v in values]
        return [np.broadcast_to(word, shape) for word in ar.run(net, *spread)]
