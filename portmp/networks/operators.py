"""Public operators: networks with their special values settled.

An operator's finite results are the network's; a result whose leading limb is not
finite becomes the plain result of the leading limbs with zeros below. Everything
elementwise (sub, fma, min, max, comparison ...) is derived here from a format's add,
mul, div and sqrt, for any number of limbs.
"""

import re
from functools import cache

from portmp.errors import FormatError
from portmp.networks.language import NETWORKS, Network, get, network
from portmp.networks.levels import kind

ARITY = {
    **dict.fromkeys(("add", "sub", "mul", "div"), 2),
    "sqrt": 1,
    "fma": 3,
    **dict.fromkeys(("neg", "abs", "copy", "sign"), 1),
    **dict.fromkeys(("min", "max", "compare"), 2),
}
"""Elementwise operators and their number of operands (x, y, z)."""

TESTS = {
    "equal": "opposite(nonzero(compared))",
    "not_equal": "nonzero(compared)",
    "less": "less(compared, 0)",
    "less_equal": "opposite(less(0, compared))",
    "greater": "both(less(0, compared), less(compared, 2))",
    "greater_equal": "both(opposite(less(compared, 0)), less(compared, 2))",
    "nonzero": "nonzero({})",
    "isnan": "isnan({})",
    "isinf": "both(opposite(isnan({0})), opposite(finite({0})))",
    "isfinite": "finite({})",
    "signbit": "negative({})",
}
"""Questions whose answers are truth values, by what ``compare`` gives or by the leading limb."""

_LEADING = {
    "add": "x[0] + y[0]",
    "mul": "x[0] * y[0]",
    "div": "x[0] / y[0]",
    "sqrt": "sqrt(x[0])",
    "sub": "x[0] - y[0]",
    "fma": "fma(x[0], y[0], z[0])",
}


def _register(name: str, signature: str, listing: str, source: str, bound: str) -> str:
    """Add a network; one name never stands for two programs."""
    new = network(name, signature, listing, source=source, bound=bound)
    if NETWORKS.setdefault(name, new).listing != listing:
        raise FormatError(f"network {name!r} is already defined, with another listing")
    return name


def _limb(name: str, i: int, words: int) -> str:
    return name if words == 1 else f"{name}[{i}]"


def _derive(base: str, op: str) -> str:
    """``add3_2021`` -> ``sub3_2021``: the name of an operator derived from *base*."""
    return re.sub(r"^[a-z]+", op, base)


def _both(add: str, mul: str, op: str) -> str:
    """``add2_jmp6``, ``mul2`` -> ``fma2_jmp6``: the name of an operator made of two networks."""
    of_add, of_mul = (re.sub(r"^[a-z]+[0-9]+", "", name) for name in (add, mul))
    suffix = of_mul if of_mul.startswith(of_add) else of_add + of_mul
    return re.sub(r"^[a-z]+([0-9]+).*", rf"{op}\1", add) + suffix


def _guarded(name: str, op: str) -> str:
    """Register *name* with its special values settled and return the guarded name."""
    inner = get(name)
    words = inner.result.words
    arguments = ", ".join(n for n, _ in inner.inputs)
    # Quotients and roots take long: where they stand, devices compute them only if they are needed.
    seldom = op in ("div", "sqrt")
    first = f"r = {name}({arguments})\nok = finite(r[0])\n"
    if not seldom:
        first = f"h = {_LEADING[op]}\n{first}"
    h = _LEADING[op] if seldom else "h"
    limbs = ", ".join(f"select(ok, r[{i}], {'0' if i else h})" for i in range(words))
    listing = f"{first}return {limbs}"
    signature = " ".join(f"{n}:{words}" for n, _ in inner.inputs) + f" -> {words}"
    source = f"{name}; where that is not finite, {op} of leading limbs"
    return _register(f"{name}_guarded", signature, listing, source, inner.bound)


def _sub(add: str, words: int) -> str:
    v = kind(words)
    body = "return x - y" if words == 1 else f"return {add}(x, -y)"
    source = get(add).source
    return _register(
        _derive(add, "sub"), f"x:{v} y:{v} -> {v}", body, f"{source}, of x and -y", get(add).bound
    )


def _fma(add: str, mul: str, words: int) -> str:
    v = kind(words)
    body = "return fma(x, y, z)" if words == 1 else f"return {add}({mul}(x, y), z)"
    source = "IEEE 754 fusedMultiplyAdd" if words == 1 else f"{add} of {mul} and z"
    name, signature = _both(add, mul, "fma"), f"x:{v} y:{v} z:{v} -> {v}"
    return _register(name, signature, body, source, "that of the product and the sum")


def _copy(op: str, words: int) -> str:
    """neg, abs and copy: exact, by limbs."""
    v = kind(words)
    limbs = [_limb("x", i, words) for i in range(words)]
    if op == "abs":
        lower = [f"select(negative, -{limb}, {limb})" for limb in limbs[1:]]
        body = f"negative = less({limbs[0]}, 0)\nreturn " + ", ".join([f"fabs({limbs[0]})", *lower])
    else:
        body = "return " + ", ".join(f"-{limb}" if op == "neg" else limb for limb in limbs)
    return _register(f"{op}{words}", f"x:{v} -> {v}", body, "exact", "exact")


def _sign(words: int) -> str:
    """-1, 0 or 1 as a value; NaN stays."""
    v, x0 = kind(words), _limb("x", 0, words)
    body = (
        f"s = select(less(0, {x0}), 1, 0)\n"
        f"s = select(less({x0}, 0), -1, s)\n"
        f"s = select(isnan({x0}), {x0}, s)\n"
        "return " + ", ".join(["s", *["0"] * (words - 1)])
    )
    return _register(f"sign{words}", f"x:{v} -> {v}", body, "compare and select", "exact")


def _difference(add: str, words: int) -> str:
    """Statements that leave the sign of x - y in the word ``d`` (zero iff equal)."""
    if words == 1:
        return "d = x - y\n"
    return f"difference = {_derive(add, 'sub')}_guarded(x, y)\nd = difference[0]\n"


def _extremum(add: str, op: str, words: int) -> str:
    """min or max by compare and select: NaN propagates, -0 < +0, ties take x."""
    v = kind(words)
    x0, y0 = _limb("x", 0, words), _limb("y", 0, words)
    swap = "less(0, d)" if op == "min" else "less(d, 0)"
    zero = f"-(-{x0} - {y0})" if op == "min" else f"{x0} + {y0}"
    lines = [_difference(add, words) + f"other = {swap}"]
    for i in range(words):
        x, y = _limb("x", i, words), _limb("y", i, words)
        lines.append(f"w{i} = select(other, {y}, {x})")
    lines += [f"z = {zero}", "z = select(nonzero(w0), w0, z)", "w0 = select(nonzero(d), w0, z)"]
    for i in range(words):
        x, y = _limb("x", i, words), _limb("y", i, words)
        lines.append(f"w{i} = select(isnan({y0}), {y}, w{i})")
        lines.append(f"w{i} = select(isnan({x0}), {x}, w{i})")
    lines.append("return " + ", ".join(f"w{i}" for i in range(words)))
    name, signature = _derive(add, op), f"x:{v} y:{v} -> {v}"
    return _register(name, signature, "\n".join(lines), "compare and select", "exact")


def _compare(add: str, words: int) -> str:
    """-1, 0, 1 as x < y, x = y, x > y; 2 when unordered."""
    v = kind(words)
    x0, y0 = _limb("x", 0, words), _limb("y", 0, words)
    body = (
        _difference(add, words)
        + "s = select(less(0, d), 1, 0)\n"
        + "s = select(less(d, 0), -1, s)\n"
        + f"s = select(isnan({y0}), 2, s)\n"
        + f"return select(isnan({x0}), 2, s)"
    )
    name, signature = _derive(add, "compare"), f"x:{v} y:{v} -> word"
    source = "the sign of the difference, whose leading limb has the sign of the exact one"
    return _register(name, signature, body, source, "exact")


def _test(op: str, compare: str, words: int) -> str:
    """Whether one of TESTS holds."""
    v, asked = kind(words), TESTS[op]
    name, signature, body = f"{op}{words}", f"x:{v}", ""
    if "compared" in asked:
        name, signature = _derive(compare, op), f"{signature} y:{v}"
        body = f"compared = {compare}(x, y)\n"
    body += f"return {asked.format(_limb('x', 0, words))}"
    return _register(name, f"{signature} -> flag", body, get(compare).source, "exact")


@cache
def operator(op: str, add: str, mul: str, div: str, sqrt: str) -> Network:
    """The public operator *op* of the arithmetic given by its four networks."""
    words = get(add).result.words
    base = {"add": add, "mul": mul, "div": div, "sqrt": sqrt}
    if op in ("neg", "abs", "copy"):
        return get(_copy(op, words))
    if op == "sign":
        return get(_sign(words))
    if op == "fma":
        name = _fma(add, mul, words)
    elif op == "sub":
        name = _sub(add, words)
    elif op in base:
        name = base[op]
    else:
        operator("sub", add, mul, div, sqrt)
        if op not in ("compare", *TESTS):
            return get(_extremum(add, op, words))
        compare = _compare(add, words)
        return get(_test(op, compare, words) if op in TESTS else compare)
    return get(name if words == 1 else _guarded(name, op))
