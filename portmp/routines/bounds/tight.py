"""Tight bounds of products' errors, however the products were computed.

Large products are compared with exact ones, by integers; others with the same in one limb more or,
where no format has that, with exact sums (``certified.error_bound``). Which is which depends on
formats, shapes and methods alone, so that bounds have the same bits on every device.
"""

from portmp import definition
from portmp.routines import base
from portmp.routines.bounds import certified
from portmp.routines.products.methods import Computed
from portmp.routines.products.product import Asked
from portmp.runtime.planes import Planes


def product(result: Planes, given: Asked, computed: Computed) -> Planes:
    """A tight bound of the error of *result*, a product with a matrix or a vector.

    By integers it takes little time where int8 matrices are multiplied fast, and needs float64; it
    is at most 2^-29 u^N alpha_i beta_j above the error, with the powers of two above the largest
    entries of a row and a column. All else takes two to twenty-five times as long as the product,
    and is at most a few percent above the error, unless that is nearly zero; of four limbs, where
    it takes as long as a correctly rounded product, it is the error itself, rounded up.
    """
    form, a, b = result.format, given.a, given.b
    plain = base.is_number(given.alpha, 1) and not given.adds and form.compute is form
    if plain and b.ndim > 1:
        (m, k), n = a.shape[-2:], b.shape[-1]
        if definition.by_integers(m, n, k, form.limbs):
            # Seldom wanted, and much to import.
            from portmp.routines.ozaki import distances

            found = distances.product(result, a, b, computed)
            if found is not None:
                return found
    return certified.error_bound(result, given)
