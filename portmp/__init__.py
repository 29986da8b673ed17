"""Arithmetic beyond float64 on GPUs of any vendor, with the same bits on every device.

>>> import portmp as mp
>>> a = mp.array([["1.1", "2.2"], ["3.3", "4.4"]], "qd")
>>> c = a @ a
"""

from portmp import errors, linalg, nbody
from portmp.arrays.array import Array, array, from_limbs, from_parts, zeros
from portmp.arrays.blas import axpy, dot, fma, gemm, gemv, maximum, minimum, nrm2, scal, sqrt
from portmp.arrays.functions import cos, exp, log, log1p, log2, log10, sin, tan
from portmp.arrays.plain import PlainArray, plain_array, plain_full, plain_zeros
from portmp.arrays.queues import Graph, graph, pinned, queue
from portmp.definition import __version__
from portmp.discovery import devices
from portmp.errors import PortmpError
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
    "array",
    "axpy",
    "cos",
    "devices",
    "dot",
    "errors",
    "exp",
    "fma",
    "from_limbs",
    "from_parts",
    "gemm",
    "gemv",
    "graph",
    "linalg",
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
    "pinned",
    "plain_array",
    "plain_full",
    "plain_zeros",
    "queue",
    "scal",
    "sin",
    "sqrt",
    "system",
    "tan",
    "zeros",
]
