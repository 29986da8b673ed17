"""Cholesky's factorisation on the host, bit for bit as on devices."""

from portmp.formats import Format
from portmp.networks import ieee
from portmp.routines.cholesky.steps import CholeskySteps, operators
from portmp.routines.reference import Host
from portmp.routines.triangular import reference as triangular
from portmp.routines.triangular.reference import OnHost
from portmp.routines.triangular.steps import Method


class _OnHost(OnHost, CholeskySteps[Host]):
    failed = 0

    def block(self, a: Host, origin: int) -> None:
        n, ops = len(a[0]), operators(self.form)
        with ieee.quiet():
            for k in range(n):
                pivot = [p[k : k + 1, k : k + 1] for p in a]
                if not a[0][k, k] > 0 and not self.failed:
                    self.failed = origin + k + 1
                self.store(pivot, self.ar.operator(ops["sqrt"], self.load(pivot)))
                self.operate(ops["div"], [p[k + 1 :, k : k + 1] for p in a], a, k, k)
                for i in range(k + 1, n):
                    self.eliminate(
                        [p[i : i + 1, k + 1 : i + 1] for p in a],
                        self.load([p[i : i + 1, k : k + 1] for p in a]),
                        self.load([p[k + 1 : i + 1, k : k + 1].T for p in a]),
                        fma=ops["fma"],
                    )


def factor(form: Format, a: Host, method: Method = None) -> tuple[Host, int]:
    """L in the lower triangle of a (n, n), and the order of the first minor not positive."""
    w = triangular.copied(a)
    steps = _OnHost(form, method)
    steps.factor(w)
    return w, steps.failed


def lower(form: Format, a: Host, method: Method = None) -> Host:
    """L with zeros above the diagonal."""
    return triangular.triangle(factor(form, a, method)[0], lower=True, unit=False)
