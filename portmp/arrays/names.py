"""Dtypes, constants, and functions by other names than the array API standard's."""

import math

import numpy as np

from portmp import formats
from portmp.arrays import composed, creation, elementwise, functions, manipulation, statistics
from portmp.arrays.viewed import Viewed

__all__ = ["absolute", "amax", "amin", "arccos", "arccosh", "arcsin", "arcsinh", "arctan"]
__all__ += ["arctan2", "arctanh", "around", "asanyarray", "bitwise_not", "bool", "bool_"]
__all__ += ["concatenate", "conjugate", "dd", "double", "dps", "ds", "float32", "float64"]
__all__ += ["index_exp", "inf", "int8", "int16", "int32", "int64", "int_", "intp", "invert"]
__all__ += ["left_shift", "mod", "nan", "ndarray", "newaxis", "pow", "qd", "qs", "right_shift"]
__all__ += ["rint", "s_", "single", "td", "true_divide", "ts", "uint", "uint16", "uint32", "uint64"]
__all__ += ["cdd", "cds", "complex64", "complex128", "cqd", "cqs", "ctd", "cts", "uint8"]

float32, float64 = formats.get("float32"), formats.get("float64")
ds, ts, qs = formats.get("ds"), formats.get("ts"), formats.get("qs")
dd, td, qd, dps = formats.get("dd"), formats.get("td"), formats.get("qd"), formats.get("d+s")
complex64, complex128 = formats.get("complex64"), formats.get("complex128")
cds, cts, cqs = formats.get("cds"), formats.get("cts"), formats.get("cqs")
cdd, ctd, cqd = formats.get("cdd"), formats.get("ctd"), formats.get("cqd")
int8, int16, int32, int64 = (np.dtype(f"int{n}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{n}") for n in (8, 16, 32, 64))
bool = bool_ = np.dtype("bool")
int_ = intp = int64
uint, single, double = uint64, float32, float64
inf, nan, newaxis = math.inf, math.nan, None

absolute, concatenate = elementwise.abs, manipulation.concat
invert = elementwise.bitwise_invert
left_shift, right_shift = elementwise.bitwise_left_shift, elementwise.bitwise_right_shift
pow, mod, true_divide = composed.power, composed.remainder, elementwise.divide
amax, amin = statistics.max, statistics.min
arcsin, arccos, arctan, arctan2 = functions.asin, functions.acos, functions.atan, functions.atan2
arcsinh, arccosh, arctanh = functions.asinh, functions.acosh, functions.atanh
rint = around = functions.round
bitwise_not = elementwise.bitwise_invert
asanyarray, conjugate = creation.asarray, composed.conj
s_, index_exp = np.s_, np.index_exp
ndarray = Viewed
"""What arrays of both kinds are: for ``isinstance`` and annotations."""
