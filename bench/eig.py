"""Eigenvalues and vectors of a random matrix: seconds, beside mpmath and python-flint, by turns.

python bench/eig.py --device cpu:0 [--order 100] [--digits 50] [--turns 2] [-o eig.json]

A script, since the peers have one call of this kind and take minutes. python-flint's is the
approximate algorithm of its complex matrices, in as many digits. mpmath runs once.
"""

import argparse
import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import portmp as mp

FORMATS = "dd", "td", "qd", "cdd", "ctd"


def seconds(work: Callable[[], object]) -> float:
    """The time of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """A line for each call and turn, and a JSON report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device")
    parser.add_argument("--order", type=int, default=100)
    parser.add_argument("--digits", type=int, default=50)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    n, device = args.order, mp.discovery.get(args.device)
    host = np.random.default_rng(0).standard_normal((n, n))
    works: dict[str, Callable[[], object]] = {}
    for form in FORMATS:
        a = mp.array(host, form, device)
        works[f"portmp {form}"] = lambda a=a: mp.linalg.eig(a).eigenvectors.to_limbs()
        works[f"portmp {form}"]()
    if importlib.util.find_spec("flint"):
        import flint

        flint.ctx.dps = args.digits
        exact = flint.acb_mat(n, n, [flint.arb(x) for x in host.flat])
        works["python-flint"] = lambda: exact.eig(right=True, algorithm="approx")
    found: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(args.turns):
        for name, work in works.items():
            found[name].append(seconds(work))
            print(f"{name:16} {found[name][-1]:10.3f} s", flush=True)
        if not turn and importlib.util.find_spec("mpmath"):
            import mpmath

            with mpmath.workdps(args.digits):
                matrix = mpmath.matrix(host.tolist())
                found["mpmath"] = [seconds(lambda matrix=matrix: mpmath.eig(matrix))]
            print(f"{'mpmath':16} {found['mpmath'][-1]:10.3f} s", flush=True)
    data = {"device": device.name, "order": n, "digits": args.digits, "seconds": found}
    if args.output:
        Path(args.output).write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
