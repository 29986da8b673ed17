"""What random numbers are made of: digits of a uniform number as a value, and normal numbers."""

from functools import cache

from portmp.networks import constants
from portmp.networks.functions import logarithm, trigonometric
from portmp.networks.functions.setting import Setting, guarded, square_root
from portmp.networks.levels import Listing, kind, limbs, paired, returned, value

MEASURED = "3u^N where the cosine is not small (measured)"


@cache
def uniform(s: Setting) -> str:
    """The sum of words, each a number of p bits that stand below the one before."""
    out = Listing()
    words = limbs("x", s.limbs)
    # Digits that are all zero leave a gap between words.
    words = out.settle(words, s.limbs, robust=s.limbs > 2) if s.limbs > 1 else words
    out.write(returned(words))
    return s.function("uniform", out, "words that do not overlap", bound="exact")


@cache
def normal(s: Setting) -> str:
    """sqrt(-2 log(1 - x)) cos(2 pi y) of uniform x and y (Box and Muller 1958).

    Of one word x has two, so that what 1 - x is near zero has enough bits for the far tail.
    """
    n, m = s.limbs, s.limbs + 1
    first = s.of(max(n, 2))
    out = Listing()
    minus = [out.named(f"-{word}") for word in limbs("x", first.limbs)]
    rest = out.settle(out.cascade(paired(["1"], minus)), first.limbs, robust=True)
    log = out.named(f"{logarithm.log(s)}({value(rest[:n])})", "log")
    some = out.named(f"nonzero({limbs(log, n)[0]})", "some")
    head = out.named(f"select({some}, -2 * {limbs(log, n)[0]}, 1)")
    lower = [out.named(f"-2 * {word}") for word in limbs(log, n)[1:]]
    root = square_root(out, s, [head, *lower]) if n > 1 else [out.named(f"sqrt({head})")]
    # A turn in steps of the table of sines; y less its steps is exact.
    steps = trigonometric.STEPS
    y = limbs("y", n)
    k = out.nearest(f"{steps} * {y[0]}", s.nearest, "k")
    near = out.named(f"{-1 / steps} * {k}")
    part = out.settle(out.cascade(paired([*y, "0"], [near])), m, robust=True)
    r = out.products(m, (part, s.texts(2 * constants.pi(), m)))
    j = out.named(f"{k} - select(less({steps - 0.5}, {k}), {steps}, 0)", "j")
    words = trigonometric.cosine(out, s, trigonometric.of_angle(out, s, j, r))
    cosine = out.settle(words, n, robust=True)
    product = out.products(n, (root, cosine))
    guarded(out, product, some)
    return s.define(
        s.named("normal"),
        f"x:{kind(first.limbs)} y:{s.kind} -> {s.kind}",
        out,
        "Box and Muller 1958",
        MEASURED,
    )
