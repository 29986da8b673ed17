"""Worst errors of a platform's mathematical functions, in units in the last place.

Points are made from their number alone, the same everywhere; what is exact is MPFR's of 200 bits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np

from porting import running
from porting.entries import DEVICES, Entry, Error
from portmp.errors import BackendUnavailable

POINTS = 4096
_BITS = {"float32": 24, "float64": 53}
_LEAST = {"float32": -149, "float64": -1074}

_KERNELS = {
    "cuda": 'extern "C" __global__ void k(T *out, const T *in)\n'
    "{ const int i = blockIdx.x * blockDim.x + threadIdx.x; const T x = in[i], y = in[i + N]; "
    "(void)y; out[i] = CALL; }\n",
    "opencl": "__kernel void k(__global T *out, __global const T *in)\n"
    "{ const int i = get_global_id(0); const T x = in[i], y = in[i + N]; "
    "(void)y; out[i] = CALL; }\n",
}
_KERNELS["hip"] = _KERNELS["cuda"]


def text(claim: Error, device: str) -> str:
    """The kernel that a device runs."""
    dialect = DEVICES[device]
    call = claim.call.get(dialect, claim.call["cuda"])
    word = {"float32": "float", "float64": "double"}[claim.type]
    body = _KERNELS[dialect].replace("CALL", call).replace("N]", f"{POINTS}]")
    return body.replace("T ", f"{word} ")


def key(entry: Entry, claim: Error, device: str) -> str:
    """What a recorded error is called."""
    facts = [text(claim, device), claim.low, claim.high, claim.powers, claim.reference]
    facts.append(list(claim.options.get(running.compiler(device), ())))
    return f"{entry.name} {sha256(json.dumps(facts).encode()).hexdigest()[:12]}"


def points(claim: Error) -> np.ndarray[Any, Any]:
    """x, and behind it y: spread over the interval, or over the exponents."""
    number = np.arange(2 * POINTS, dtype=np.uint64) * np.uint64(2654435761) % np.uint64(2**32)
    unit = number.astype(np.float64) / 2.0**32
    spread = claim.low + unit * (claim.high - claim.low)
    return np.asarray(np.exp2(spread) if claim.powers else spread).astype(claim.type)


def worst(
    claim: Error, device: str, compile_text: Callable[[str, str, str, tuple[str, ...]], bytes]
) -> float:
    """The largest error at the points on a device here."""
    given = points(claim)
    options = tuple(claim.options.get(running.compiler(device), ()))
    out = np.zeros(POINTS, claim.type)
    found = running.run(
        device, text(claim, device), options, out, given, POINTS // 256, 256, compile_text
    )
    return largest(claim, given, found)


def largest(claim: Error, given: np.ndarray[Any, Any], found: np.ndarray[Any, Any]) -> float:
    """The largest error of what was found; infinite where it is no number."""
    exact = _exact(claim.reference, given.tobytes(), claim.type)
    error = 0.0
    for value, right in zip(found.tolist(), exact, strict=True):
        if not math.isfinite(value):
            return math.inf
        unit = (
            2.0
            ** max(
                right.as_mantissa_exp()[1] + _size(right) - _BITS[claim.type], _LEAST[claim.type]
            )
            if right
            else 2.0 ** _LEAST[claim.type]
        )
        error = max(error, abs(float((right - value) / unit)))
    return error


def _size(x: Any) -> int:
    return abs(int(x.as_mantissa_exp()[0])).bit_length()


@lru_cache(maxsize=8)
def _exact(reference: str, content: bytes, kind: str) -> list[Any]:
    try:
        import gmpy2
    except ImportError:
        raise BackendUnavailable("errors are told with gmpy2; pip install gmpy2") from None
    given = np.frombuffer(content, kind).tolist()
    function = _FUNCTIONS.get(reference) or getattr(gmpy2, reference)
    with gmpy2.context(gmpy2.get_context(), precision=200, emax=10**6, emin=-(10**6)):
        pairs = zip(given[:POINTS], given[POINTS:], strict=True)
        if reference in _TWO:
            return [function(gmpy2.mpfr(x), gmpy2.mpfr(y)) for x, y in pairs]
        return [function(gmpy2.mpfr(x)) for x, _ in pairs]


_TWO = ("pow", "hypot", "atan2", "div")
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "pow": lambda x, y: x**y,
    "div": lambda x, y: x / y,
    "rcp": lambda x: 1 / x,
}
