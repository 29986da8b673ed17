"""Arrays of numbers on devices, and the BLAS on them: the public face."""

# Functions on views make arrays of both kinds, and functions of two operands have NumPy's methods.
from portmp.arrays import array, plain, ufunc_methods

__all__ = ["array", "plain", "ufunc_methods"]
