"""Tight bounds of products' errors, however the products were computed.

Large products are compared with exact ones, by integers; others with the same in one limb more or,
where no format has that, with exact sums (``certified.apart``). Which is which depends on formats,
shapes and methods alone, so that bounds have the same bits on every device.
"""

from __future__ import annotations

from portmp import definition
from portmp.routines import base, certified
from portmp.routines.methods import Computed
from portmp.runtime.planes import Planes


def product(
    result: Planes,
    a: Planes,
    b: Planes,
    *,
    alpha: base.ScalarLimbs,
    beta: base.ScalarLimbs,
    c: Planes | None,
    computed: Computed,
) -> Planes:
    """A tight bound of the error of *result*, alpha a b + beta c; b is a matrix or a vector."""
    form = result.format
    plain = base.is_number(alpha, 1) and base.is_number(beta, 0) and form.compute is form
    if plain and b.ndim > 1:
        (m, k), n = a.shape[-2:], b.shape[-1]
        if definition.by_integers(m, n, k, form.limbs):
            # Seldom wanted, and much to import.
            from portmp.routines.ozaki import apart

            found = apart.product(result, a, b, computed)
            if found is not None:
                return found
    return certified.apart(result, a, b, alpha=alpha, beta=beta, c=c)
