"""What NumPy or mpmath has, and portmp has not: what to use instead."""

import importlib.util

import numpy as np

_TEXT = "a.to_strings(digits) and portmp.array(strings, format) keep all digits; portmp.save, too"
_ARCHIVES = (
    "portmp.save(file, a) keeps all digits of one array; of several, portmp.save(group, a) in "
    "groups of a file that h5py has opened"
)
_SHOWN = "str(a), f'{x:.30e}' and a.to_strings(digits) have all digits"
_STATE = "no state of the process changes what is computed: NaN and infinities are results"
_COEFFICIENTS = (
    "poly1d is there; polyval, polymul, polyder, polyint and roots take vectors of coefficients, "
    "linalg.eigvalsh gives the nodes of Gauss' rules"
)

_KINDS = "isdtype(a.dtype, 'real floating'), 'integral', 'bool' ... tells of dtypes"
_WINDOWS = "windows are sums of cos(2 pi i / n): cos, arange and pi are there"
_ONE_BY_ONE = "x.flat goes through the elements, ndindex(*x.shape) through their indices"
DIGITS = (
    "digits are a format's: portmp.array(x, 'td') has 50, 'qd' 66; in a "
    "`with portmp.default_format('td'):` what is given no format has it"
)
_OF_MATRICES = "portmp.linalg has inv, eigh, svd, norm, lstsq and matrix_power"
_TEXTS = "f'{x:.15g}' and x.to_strings(15) round, str(x) and print show all digits"
INSTEAD: dict[str, str] = {
    **dict.fromkeys(("prec", "mp", "workdps", "workprec", "extradps", "extraprec"), DIGITS),
    **dict.fromkeys(("mpf", "mpmathify"), "portmp.array('0.1', 'qd') makes numbers of texts"),
    **dict.fromkeys(("nstr", "nprint"), _TEXTS),
    **dict.fromkeys(("mpc", "j"), "portmp.array('1.1+2.2j', 'cqd') makes numbers of texts"),
    "findroot": "a start of SciPy's brentq doubles its digits by a step of Newton's (recipes.md)",
    **dict.fromkeys(("fsum", "fdot"), "sum and dot take rounding='correct'"),
    "ln": "log",
    **dict.fromkeys(("inverse", "eigsy", "svd_r", "mnorm", "qr_solve", "powm"), _OF_MATRICES),
    "asnumpy": "x.to_float64() gives NumPy arrays, rounded to float64",
    **dict.fromkeys(
        ("odeint", "solve_ivp"), "docs/recipes.md has solvers of differential equations"
    ),
    **dict.fromkeys(("savetxt", "loadtxt", "genfromtxt", "fromstring", "fromfile"), _TEXT),
    **dict.fromkeys(("savez", "savez_compressed"), _ARCHIVES),
    **dict.fromkeys(("array2string", "array_str", "array_repr"), _SHOWN),
    **dict.fromkeys(("format_float_positional", "format_float_scientific"), _SHOWN),
    "geterr": _STATE,
    "polynomial": _COEFFICIENTS,
    "complexfloating": "isdtype(a.dtype, 'complex floating')",
    **dict.fromkeys(("issubdtype", "dtype", "generic", "number", "inexact"), _KINDS),
    **dict.fromkeys(("floating", "integer", "signedinteger", "unsignedinteger"), _KINDS),
    **dict.fromkeys(("promote_types", "common_type", "min_scalar_type"), "result_type"),
    **dict.fromkeys(("hanning", "hamming", "blackman", "bartlett", "kaiser"), _WINDOWS),
    **dict.fromkeys(("longdouble", "float128"), "formats td and qd have more digits"),
    "frombuffer": "portmp.array(numpy.frombuffer(...), format)",
    "typing": "portmp.ndarray is for annotations",
    "float16": "portmp.formats.get('float16') is a storage format",
    "matrix": "arrays have @",
    "bmat": "block takes nested lists of arrays",
    "spacing": "finfo(format).eps is the distance at 1; nextafter is for formats of one limb",
    "i0": "portmp's functions are listed in docs/functions.md",
    "gcd": "of plain numbers math.gcd; of arrays of integers np.gcd gives NumPy's",
    "lcm": "of plain numbers math.lcm; of arrays of integers np.lcm gives NumPy's",
    "trapz": "trapezoid",
    "row_stack": "vstack",
    "in1d": "isin",
    "product": "prod",
    "round_": "round",
    **dict.fromkeys(("nditer", "ndenumerate", "nested_iters"), _ONE_BY_ONE),
    "apply_along_axis": "sum, sort, linalg.norm ... take axis=; stack([f(row) for row in x]) joins",
    "apply_over_axes": "reductions take several axes: axis=(0, 2), keepdims=True",
    "vectorize": "functions of arrays need none; where and select choose among what several give",
    "piecewise": "where and select choose, for each element, among what functions give",
    "iterable": "numpy.iterable tells",
    **dict.fromkeys(("shares_memory", "may_share_memory"), "slices, reshape, T ... give views"),
    "ravel_multi_index": "np.ravel_multi_index takes arrays of integers",
    **dict.fromkeys(("mgrid", "ogrid"), "meshgrid(x, y, indexing='ij') and indices make grids"),
    **dict.fromkeys(("r_", "c_"), "concat joins vectors, column_stack makes columns of them"),
    "fromiter": "array(list(values), format)",
    "rollaxis": "moveaxis",
    **dict.fromkeys(("tril_indices_from", "triu_indices_from"), "tril_indices(n), triu_indices(n)"),
    "diag_indices_from": "diag_indices(n)",
    **dict.fromkeys(("extract", "place", "putmask"), "x[mask] takes, x[mask] = values sets"),
    "logaddexp2": "logaddexp(x ln2, y ln2) / ln2",
    "float_power": "power",
    **dict.fromkeys(("matvec", "vecmat"), "a @ b"),
    "real_if_close": "x.real, where (x.imag == 0).all()",
    "expit": "1 / (1 + exp(-x))",
}
"""By names; what stands here for none of them is said of all others."""


_LAYOUT = (
    "a.to_parts() gives the planes as NumPy arrays, of which a.device holds one after the other"
)
_FILES = "portmp.save(file, a) keeps all digits; a.to_parts() gives the planes as NumPy arrays"
_ATTRIBUTES: dict[str, str] = {
    **dict.fromkeys(("strides", "flags", "base", "data", "ctypes", "view", "setflags"), _LAYOUT),
    **dict.fromkeys(("byteswap", "getfield", "setfield"), _LAYOUT),
    **dict.fromkeys(("tobytes", "tofile", "dump", "dumps"), _FILES),
    "resize": "portmp.resize(a, shape) gives a new array",
    **dict.fromkeys(("append", "extend", "insert"), "portmp.append and insert give new arrays"),
    **dict.fromkeys(("pop", "remove"), "portmp.delete(a, places) gives a new array"),
    **dict.fromkeys(("inv", "I", "norm"), _OF_MATRICES),
    **dict.fromkeys(
        ("numpy", "get", "cpu"), "a.to_float64() gives NumPy arrays, rounded to float64"
    ),
}
"""By names of attributes of NumPy's arrays."""


def of_arrays(name: str, kind: str) -> str:
    """What an error says about an attribute that arrays do not have."""
    plain = f"{kind!r} object has no attribute {name!r}"
    return f"{plain}: {_ATTRIBUTES[name]}" if name in _ATTRIBUTES else plain


def said(name: str) -> str | None:
    """What an error says about a name of NumPy's or mpmath's that is not here; None for others."""
    found = INSTEAD.get(name)
    if found is not None:
        return f"portmp has no {name}: {found}"
    if name.startswith("_") or not hasattr(np, name):
        known = not name.startswith("_") and importlib.util.find_spec("mpmath")
        if not known or not callable(getattr(importlib.import_module("mpmath"), name, None)):
            return None
        given = f"mpmath.{name} takes x.to_mpmath(), and portmp.array its result"
        return f"portmp has no {name}: within `with mpmath.workdps(70):` {given}"
    return (
        f"portmp has no {name}: a.to_float64() gives NumPy arrays for np.{name}, rounded to float64"
    )
