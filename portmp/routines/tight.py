"""Tight bounds of products' errors, however the products were computed.

Large products are compared with exact ones, by integers; others with the same in one limb more or,
where no format has that, with exact sums (``certified.apart``). Which is which depends on formats,
shapes and methods alone, so that bounds have the same bits on every device.
"""

from __future__ import annotations

from portmp import definition
from portmp.routines import base, certified
from portmp.routines.methods import Computed, ProductOperands
from portmp.runtime.planes import Planes


def product(result: Planes, given: ProductOperands, computed: Computed) -> Planes:
    """A tight bound of the error of *result*, a product with a matrix or a vector."""
    form, a, b = result.format, given.a, given.b
    plain = base.is_number(given.alpha, 1) and not given.adds and form.compute is form
    if plain and b.ndim > 1:
        (m, k), n = a.shape[-2:], b.shape[-1]
        if definition.by_integers(m, n, k, form.limbs):
            # Seldom wanted, and much to import.
            from portmp.routines.ozaki import apart

            found = apart.product(result, a, b, computed)
            if found is not None:
                return found
    return certified.apart(result, given)
