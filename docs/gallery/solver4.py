"""Many systems of four linear equations, one a thread: LU decomposition with partial pivoting.

The loops are the template's, so that a matrix stays in registers.
"""

from fractions import Fraction
from functools import cache

import portmp as mp

TEMPLATE = """
${kernel()}
{
    const ${index} i = ${global_id()};
    if (i < n) {
        ${value} a[4][4], x[4], held;
% for r in range(4):
        x[${r}] = ${load("b", "i", r)};
% for c in range(4):
        a[${r}][${c}] = ${load("a", "i", r, c)};
% endfor
% endfor
% for k in range(4):
% for r in range(k + 1, 4):
        if (${compare(absolute(f"a[{r}][{k}]"), absolute(f"a[{k}][{k}]"))} == 1) {
% for c in range(k, 4):
            held = a[${k}][${c}], a[${k}][${c}] = a[${r}][${c}], a[${r}][${c}] = held;
% endfor
            held = x[${k}], x[${k}] = x[${r}], x[${r}] = held;
        }
% endfor
% for r in range(k + 1, 4):
        held = ${div(negative(f"a[{r}][{k}]"), f"a[{k}][{k}]")};
% for c in range(k + 1, 4):
        a[${r}][${c}] = ${fma("held", f"a[{k}][{c}]", f"a[{r}][{c}]")};
% endfor
        x[${r}] = ${fma("held", f"x[{k}]", f"x[{r}]")};
% endfor
% endfor
% for r in reversed(range(4)):
% for c in range(r + 1, 4):
        x[${r}] = ${fma(negative(f"a[{r}][{c}]"), f"x[{c}]", f"x[{r}]")};
% endfor
        x[${r}] = ${div(f"x[{r}]", f"a[{r}][{r}]")};
        ${store("x", "i", r, f"x[{r}]")}
% endfor
    }
}
"""


@cache
def solve(form: str) -> mp.Kernel:
    """x with a[i] x[i] = b[i]; where a matrix is singular, numbers that are not finite."""
    takes = "solve(a: in [n, 4, 4], b: in [n, 4], x: out [n, 4])"
    return mp.Kernel(TEMPLATE, takes, threads="n", block=64, format=form)


def main(device: str | None = None, form: str = "dd") -> tuple[mp.Array, mp.Array, mp.Array]:
    """Parts of the Hilbert matrix, and right sides whose solutions are nearly ones."""
    four = range(4)
    a = [[[Fraction(1, 1 + i + r + c) for c in four] for r in four] for i in range(100)]
    for i, matrix in enumerate(a):
        matrix[i % 4][i % 4] = Fraction(0)
    b = [[sum(row) for row in matrix] for matrix in a]
    given = mp.array(a, form, device), mp.array(b, form, device)
    return *given, solve(form)(*given)


if __name__ == "__main__":
    for form in ("float64", "dd", "qd"):
        x = main(form=form)[2]
        off = max(abs(one - 1) for row in x.to_fractions() for one in row)
        print(f"{form}: at most {float(off):.1e} from 1")
