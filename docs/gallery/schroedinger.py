"""A quantum particle that meets a wall, by complex numbers: exact turns of pairs of neighbours.

i dpsi/dt = -(psi[k-1] + psi[k+1]) + V[k] psi[k] on a ring. A step of length t is exp(-i t V) of
each place and a turn of each pair, (a, b) to (cos t a + i sin t b, i sin t a + cos t b), first of
the pairs that begin at even places, then of the others. So probability is kept, and conjugate
waves go back: what is lost in both tells the format's digits.
"""

from functools import cache

import portmp as mp

STEP = "0.1"

TEMPLATE = """
${kernel()}
{
    const ${index} i = ${global_id()};
    if (i < n) {
        const ${index} other = (i + first) % 2 == 0 ? (i + 1) % n : (i + n - 1) % n;
        const ${value} beside = ${load("psi", "other")};
        const ${part.value} real = ${real_part("beside")}, imag = ${imag_part("beside")};
        const ${value} turned = ${from_parts(part.negative("imag"), "real")}; // i times it
        const ${value} both = ${fma(load("cosine"), load("psi", "i"), mul(load("sine"), "turned"))};
        ${store("next", "i", mul("both", load("factor", "i")))}
    }
}
"""


@cache
def turn(form: str, part: str) -> mp.Kernel:
    """Pairs of neighbours, from the *first* place on, turned; then each place by its factor."""
    numbers = f"cosine: {part}, sine: {part}, first: int32"
    takes = f"turn({numbers}, factor: in [n], psi: in [n], next: out [n])"
    return mp.Kernel(TEMPLATE, takes, threads="n", block=64, format=form)


def packet(form: str, n: int, device: str | None = None) -> mp.Array:
    """A wave of length 1 that goes right, about a quarter of the ring."""
    k = mp.arange(n, dtype=form, device=device)
    wave = mp.exp(-8 * ((k - n // 4) * 4 / n) ** 2) * mp.exp(1.5j * k)
    return wave / mp.linalg.norm(wave)


def main(
    device: str | None = None, form: str = "dd", n: int = 128, steps: int = 200
) -> tuple[mp.Array, mp.Array, mp.Array]:
    """A wave at first, after so many steps, and as many steps back."""
    psi = first = packet(form, n, device)
    step = mp.array(STEP, form, device)
    cosine, sine = mp.cos(step).to_fractions(), mp.sin(step).to_fractions()
    there = turn(str(psi.format), form)
    wall = mp.zeros(n, form, device)
    wall[n // 2 : n // 2 + 4] = 2
    still, factor = mp.ones(n, psi.format, device), mp.exp(-1j * step * wall)
    for _ in range(steps):
        psi = there(cosine, sine, 0, still, psi)
        psi = there(cosine, sine, 1, factor, psi)
    after, psi = psi, psi.conj()
    for _ in range(steps):
        psi = there(cosine, sine, 1, still, psi * factor)
        psi = there(cosine, sine, 0, still, psi)
    return first, after, psi.conj()


if __name__ == "__main__":
    for form in ("float64", "dd", "qd"):
        first, after, back = main(form=form)
        chances = abs(after) ** 2
        half = len(chances) // 2
        print(f"{form}: through the wall {float(chances[half + 4 :].sum()):.6f}", end=", ")
        print(f"lost {float(abs(chances.sum() - 1)):.0e}", end=", ")
        print(f"back to {float(abs(back - first).max()):.0e}")
