"""Eigenvalues of real Hessenberg matrices, and Schur's form: Francis's iteration, two shifts.

Definition, by leading limbs where sizes are compared: with rows up to e active (at first all),
the block begins at the largest b with |h_b,b-1| at most u^N times the plain sum |h_b-1,b-1| +
|h_bb| (if that is 0, times 1), or at most 2^10 of the word's smallest normal number, or at 0;
that element becomes +0. b = e gives an eigenvalue h_ee; b = e - 1 two: with p half of add(h_bb,
-h_ee), s the plain sum of |p|, |h_be| and |h_eb|, and all three divided by s, q = mul(h_be,
h_eb), r = add(mul(p, p), q): below 0, h_ee + p (not divided) and +-mul(sqrt(-r), s); else with z
= add(p, sqrt(r) with p's sign), add(h_ee, mul(z, s)) and add(h_ee, -mul(div(q, z), s)), the first
one again if z is 0; in Schur's form rows, then columns b and e turn by c = div(z, t), d =
div(h_eb, t), t = sqrt(add(mul(z, z), mul(h_eb, h_eb))): fma(c, x, mul(d, y)), fma(c, y, -mul(d,
x)).

Else the block is swept once. x = h_ee, y = h_e-1,e-1, w = mul(h_e,e-1, h_e-1,e); in each tenth
sweep for an e with s the plain sum of |h_e,e-1| and |h_e-1,e-2| (in each twentieth |h_b+1,b| and
|h_b+2,b+1|), x = y = add(mul(3/4, s), h_ee or h_bb), w = mul(mul(-7/16, s), s). r = add(x,
-h_bb), t = add(y, -h_bb); the vector is add(div(fma(r, t, -w), h_b+1,b), h_b,b+1),
add(add(add(h_b+1,b+1, -h_bb), -r), -t), h_b+2,b+1; after that, for k = b + 1 to e - 1, column k -
1 from row k on. Divided by the plain sum f of its sizes (skipped if that is 0): g = sqrt(fma(v_3,
v_3, fma(v_2, v_2, mul(v_1, v_1)))) with v_1's sign, the column becomes -mul(g, f), +0, +0; v_1 =
add(v_1, g), x_i = div(v_i, g), y_i = div(v_i, v_1). Rows lose t = fma(y_3, h_k+2,j, fma(y_2,
h_k+1,j, h_kj)): fma(-t, x_i, it); then columns, up to row k + 3, t = fma(x_3, h_i,k+2, fma(x_2,
h_i,k+1, mul(x_1, h_ik))): add(h_ik, -t), fma(-t, y_i, it); so does z. Only the active block, or
with Schur's form all of h. Small shifts are multiplied by a power of two first, with all of the
first vector (``reference.RAISING``). After ``reference.PATIENCE`` sweeps for an e each begins at
the largest b up to e - 2 for which |h_b,b-1| ((|v_2| + |v_3|) / f) is below u^N ((|v_1| / f)
(|h_b-1,b-1| + |h_bb| + |h_b+1,b+1|)), the v being the first vector there; then h_b,b-1 becomes its
negative. About 10 n^3 operations, 25 n^3 with Schur's form.
"""

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from portmp import formats
from portmp.codegen.kernel_spec import KernelSpec, spec
from portmp.codegen.signature import Flag, Index, Scratch, matrix
from portmp.progress import doing
from portmp.routines import base
from portmp.routines.base import threads_of
from portmp.routines.schur import reference
from portmp.runtime import launch
from portmp.runtime.planes import Planes, allocate, upload_numbers

THREADS = 128
WORK = 20_000
"""Steps of a launch times rows: so that none takes long."""


@cache
def kernel_spec(form: str, threads: int = THREADS) -> KernelSpec:
    """Steps of the iteration."""
    f = formats.get(form)
    real = f.components == 1
    names = ("mul",) if real else reference.OF_COMPLEX
    roles = f.roles("add", "div", "sqrt", "neg", "fma", *names)
    sizes: dict[str, Any] = {
        "threads": threads,
        "small": f.unit_roundoff,
        "least": reference.least(f),
        "most": reference.MOST,
    }
    if real:
        sizes |= {"patience": reference.PATIENCE, "raising": reference.RAISING[f.word]}
    sizes["takes"] = (
        *(Index("n"), Flag("steps"), Flag("whole")),
        *(matrix(name, const=False) for name in ("h", "z", "values")),
        Scratch("state", "int32"),
    )
    template = "schur" if real else "schur_complex"
    return spec(template, f"linalg/{template}.mako", f, roles, **sizes)


class Unfinished(NamedTuple):
    """A matrix whose iteration does not end: its place in the batch, eigenvalues not found.

    ``size``: of the element below the diagonal that does not become small.
    """

    entry: int
    left: int
    size: float


def iterate(h: Planes, z: Planes | None) -> tuple[Planes, Unfinished | None]:
    """Eigenvalues of Hessenberg matrices h (batch, n, n), which are overwritten; waits.

    Returns (batch, n, 2): real and imaginary parts, conjugate pairs side by side, the positive
    imaginary part first. With z (batch, n, n) h becomes Schur's form, whose blocks of two are of
    conjugate pairs, and z is multiplied by what does it from the right.
    """
    batch, n, _ = h.shape
    values = allocate(h.format, (batch, n, 2), h.queue)
    if not h.size:
        return values, None
    return values, launch.do((h, values), partial(_by_kernels, z), partial(_by_reference, z))


def _by_kernels(z: Planes | None, h: Planes, values: Planes) -> Unfinished | None:
    batch, n, _ = h.shape
    left = np.tile(np.array([n - 1, 0], np.int32), (batch, 1))
    state = upload_numbers(left, h.queue)
    threads = threads_of(h.device, THREADS)
    unit = (kernel_spec(h.format.name, threads),)
    given = {"n": n, "steps": max(4, WORK // n), "whole": z is not None, "h": h}
    given |= {"z": h if z is None else z, "values": values, "state": state}
    while (left[:, 0] >= 0).any():
        launch.run(h.queue, unit, (batch, 1, 1), (threads, 1, 1), given)
        left = state.read_parts()[0].reshape(batch, 2)
        doing(f"{int((left[:, 0] + 1).sum())} eigenvalues left")
        stuck = (left[:, 0] >= 0) & (left[:, 1] >= reference.MOST)
        if stuck.any():
            entry = int(np.flatnonzero(stuck)[0])
            return _unfinished(h, entry, int(left[entry, 0]) + 1)
    return None


def _unfinished(h: Planes, entry: int, left: int) -> Unfinished:
    batch, row, column = h.strides
    at = h.start + entry * batch + (left - 1) * row + max(left - 2, 0) * column
    element = h.view((1,), (1,), at).read_parts()[0]
    return Unfinished(entry, left, float(abs(element[0])))


def _by_reference(z: Planes | None, h: Planes, values: Planes) -> Unfinished | None:
    given = [h] if z is None else [h, z]
    made = partial(reference.iterate, h.format)
    for each, one in enumerate(base.each_changed([values, *given], made, *given)):
        if one.left:
            return _unfinished(h, each, one.left)
    return None


launch.TAKES_COMPLEX.add(iterate)
