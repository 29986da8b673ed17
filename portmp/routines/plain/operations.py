"""What is computed with plain numbers, as text of C and with NumPy.

In C, x and y are of the longest integers of their kind, {W}; {U} is the unsigned one, in which sums
and products wrap around as they do in NumPy; i is the number of the element. A result is cut to
its dtype.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Operation(NamedTuple):
    """An operation on one or two numbers.

    ``text``: an expression, or the body of a function where it has several lines. ``call``: the
    same on arrays of the longest integers. ``boolean``: the results are truth values.
    """

    text: str
    call: Callable[..., Any]
    boolean: bool = False


_FLOOR_DIVIDE = """\
if (y == 0)
    return 0;
if (y == ({W})-1 && y < 0)
    return ({W})(0 - ({U})x);
const {W} q = x / y;
return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
"""
_REMAINDER = """\
if (y == 0 || (y == ({W})-1 && y < 0))
    return 0;
const {W} r = x % y;
return r != 0 && (r < 0) != (y < 0) ? r + y : r;
"""
_POW = """\
if (y < 0)
    return x == 1 || x == ({W})-1 ? (y % 2 ? x : 1) : 0;
{U} left = y, factor = x, z = 1;
for (; left > 0; left /= 2) {{
    if (left % 2)
        z *= factor;
    factor *= factor;
}}
return z;
"""


def _power(x: Any, y: Any) -> Any:
    inverse = np.where(np.isin(x, [1, -1]), np.where(y % 2 == 0, 1, x), 0)
    return np.where(y < 0, inverse, np.power(x, np.where(y < 0, 0, y)))


def _shift_left(x: Any, y: Any) -> Any:
    return np.where((y < 0) | (y > 63), 0, np.left_shift(x, np.clip(y, 0, 63)))


def _shift_right(x: Any, y: Any) -> Any:
    return np.right_shift(x, np.where((y < 0) | (y > 63), 63, y)) >> (y > 63).astype(x.dtype)


OPERATIONS = {
    "counted": Operation("({W})(({U})x + ({U})i * ({U})y)", lambda x, y: None),
    "copy": Operation("x", np.positive),
    "truth": Operation("x != 0", lambda x: x != 0, True),
    "add": Operation("({W})(({U})x + ({U})y)", np.add),
    "sub": Operation("({W})(({U})x - ({U})y)", np.subtract),
    "mul": Operation("({W})(({U})x * ({U})y)", np.multiply),
    "neg": Operation("({W})(0 - ({U})x)", np.negative),
    "abs": Operation("x < 0 ? ({W})(0 - ({U})x) : x", np.abs),
    "sign": Operation("(x > 0) - (x < 0)", np.sign),
    "max": Operation("x < y ? y : x", np.maximum),
    "min": Operation("y < x ? y : x", np.minimum),
    "floor_divide": Operation(_FLOOR_DIVIDE, np.floor_divide),
    "remainder": Operation(_REMAINDER, np.remainder),
    "pow": Operation(_POW, _power),
    "and": Operation("x & y", np.bitwise_and),
    "or": Operation("x | y", np.bitwise_or),
    "xor": Operation("x ^ y", np.bitwise_xor),
    "invert": Operation("~x", np.invert),
    "left_shift": Operation("y < 0 || y > 63 ? 0 : ({W})(({U})x << y)", _shift_left),
    "right_shift": Operation("y < 0 || y > 63 ? ({W})-(x < 0) : x >> y", _shift_right),
    "not": Operation("x == 0", lambda x: x == 0, True),
    "equal": Operation("x == y", np.equal, True),
    "not_equal": Operation("x != y", np.not_equal, True),
    "less": Operation("x < y", np.less, True),
    "less_equal": Operation("x <= y", np.less_equal, True),
    "greater": Operation("x > y", np.greater, True),
    "greater_equal": Operation("x >= y", np.greater_equal, True),
}
"""Operations by name. A quotient by zero, and its rest, are 0; a long shift shifts all out."""
