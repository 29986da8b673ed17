"""Arithmetic beyond float64 on GPUs of any vendor, with the same bits on every device.

>>> import portmp as mp
>>> a = mp.array([["1.1", "2.2"], ["3.3", "4.4"]], "qd")
>>> c = a @ a
"""

from portmp import errors, linalg, nbody
from portmp.arrays.array import Array, array, from_limbs, from_parts, zeros
from portmp.arrays.blas import axpy, dot, fma, gemm, gemv, maximum, minimum, nrm2, scal, sqrt
from portmp.arrays.functions import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cbrt,
    ceil,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    expm1,
    floor,
    fmod,
    gamma,
    hypot,
    lgamma,
    log,
    log1p,
    log2,
    log10,
    pow,
    round,
    sin,
    sinh,
    tan,
    tanh,
    trunc,
)
from portmp.arrays.plain import PlainArray, plain_array, plain_full, plain_zeros
from portmp.arrays.queues import Graph, graph, pinned, queue
from portmp.definition import __version__
from portmp.discovery import devices
from portmp.errors import PortmpError
from portmp.formats.constants import e, ln2, pi
from portmp.kernels import Kernel, Module
from portmp.nbody import particles, system
from portmp.routines import ozaki

__all__ = [
    "Array",
    "Graph",
    "Kernel",
    "Module",
    "PlainArray",
    "PortmpError",
    "__version__",
    "acos",
    "acosh",
    "array",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "axpy",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "devices",
    "dot",
    "e",
    "erf",
    "erfc",
    "errors",
    "exp",
    "expm1",
    "floor",
    "fma",
    "fmod",
    "from_limbs",
    "from_parts",
    "gamma",
    "gemm",
    "gemv",
    "graph",
    "hypot",
    "lgamma",
    "linalg",
    "ln2",
    "log",
    "log1p",
    "log2",
    "log10",
    "maximum",
    "minimum",
    "nbody",
    "nrm2",
    "ozaki",
    "particles",
    "pi",
    "pinned",
    "plain_array",
    "plain_full",
    "plain_zeros",
    "pow",
    "queue",
    "round",
    "scal",
    "sin",
    "sinh",
    "sqrt",
    "system",
    "tan",
    "tanh",
    "trunc",
    "zeros",
]
