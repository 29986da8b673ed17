"""How products of matrices are made: what ``explain`` and ``last_product`` say."""

from collections.abc import Mapping
from dataclasses import dataclass

from portmp import definition, formats
from portmp.errors import choice
from portmp.formats import Format
from portmp.routines.gemm import launch as gemm
from portmp.routines.ozaki import choose, judged, levels
from portmp.routines.ozaki import launch as ozaki
from portmp.routines.ozaki.launch import Way
from portmp.routines.ozaki.options import Auto, Ozaki1, Ozaki2
from portmp.routines.ozaki.systems import Moduli
from portmp.routines.products.product import Asked, Made, last


@dataclass(frozen=True)
class Part:
    """Elements that are made alike: a *share* of all, None where nothing is known of it.

    ``bits``: of integers, K; None: direct. ``products``: how many matrices of ``word`` are
    multiplied for them, by ``engine``.
    """

    share: float | None
    bits: int | None = None
    products: int = 0
    word: str = ""
    engine: str = ""

    def __str__(self) -> str:
        share = "" if self.share is None else f"{self.share:.4g} of the elements "
        if self.bits is None:
            return f"{share}directly, by the format's own arithmetic"
        how = f"integers of {self.bits} bits, {self.products} products of {self.word} matrices"
        return f"{share}by {how} ({self.engine})"


@dataclass(frozen=True)
class Explanation:
    """How a product of *shape* (..., m, n) over *steps* is made; what it says stands in ``str``.

    ``method``: auto, direct, ozaki1 or ozaki2. ``bound``: of an element's error, as gemm documents
    it. ``why``: what decided, where that is not the method that was asked for.
    """

    format: str
    shape: tuple[int, ...]
    steps: int
    method: str
    parts: tuple[Part, ...]
    bound: str
    why: str = ""

    def __str__(self) -> str:
        m, n = self.shape[-2:]
        head = f"{m} x {self.steps} by {self.steps} x {n} in {self.format}, method {self.method}"
        lines = [f"{head}{': ' + self.why if self.why else ''}", *map(str, self.parts)]
        return "\n  ".join([*lines, f"error of an element: {self.bound}"])


def product(asked: Asked, method: object, accuracy: str) -> Explanation:
    """Of one that is not made; elements are judged where the method does."""
    given, form = gemm.checked(asked), asked.a.format
    choice("accuracy:", accuracy, ("accurate", "fast"))
    chosen = choose.resolve(method, accuracy, None, form)
    made = _large((form, given.out.queue, given.out.shape, given.steps, chosen))
    how = made[-1]
    if isinstance(chosen, Auto):
        ozaki.check_options(chosen.engine, chosen.workspace)
    shares = judged.shares(given, how) if isinstance(how, Auto) else None
    return _explained(
        made, shares or None, "" if chosen is how else _why(form, given.steps, chosen)
    )


def last_one() -> Explanation | None:
    """Of this thread's last product."""
    return last.made and _explained(_large(last.made), {1: 1.0} if last.alike else None)


def _large(made: Made) -> Made:
    """Directly, where there are no steps, or elements would be judged and are too few."""
    form, queue, shape, k, chosen = made
    m, n = shape[-2:]
    few = isinstance(chosen, Auto) and not levels.judges(form.component, m, n, k, chosen.smallest)
    if not k or few:
        chosen = None
    return form, queue, shape, k, chosen


def _why(form: Format, steps: int, chosen: object) -> str:
    """Why a product is direct that is asked for otherwise."""
    if not steps:
        return "there are no steps"
    if not levels.has(form):
        return f"{form.name} has no other"
    least = definition.JUDGED[form.word][form.limbs - 1]
    if isinstance(chosen, Auto) and chosen.smallest is not None:
        least = chosen.smallest
    return f"fewer than {least} rows, columns or steps"


def _explained(made: Made, shares: Mapping[int, float] | None, why: str = "") -> Explanation:
    """*shares*: of elements by level, where they are judged; None: not known."""
    whole, queue, shape, k, chosen = made
    form, name = whole.component, METHODS[type(chosen)]
    if isinstance(chosen, Auto):
        levels_of = [*range(1, len(chosen.beyond) + 1), 0]
        parts = [
            _part((form, *made[1:]), level, None if shares is None else shares.get(level, 0.0))
            for level in levels_of
            if shares is None or level in shares
        ]
        most = 2 ** levels.margin(form, 0)
        bound = f"{most}u^N T, N limbs, T the sum of |a_ik b_kj|; and 2u^N of the result"
    elif chosen is None or isinstance(chosen, str):
        parts = [Part(1.0)]
        bound = "half a unit in the last place" if chosen else "as gemm documents it of direct"
    else:
        assert isinstance(chosen, (Ozaki1, Ozaki2))
        parts = [_by(choose.way(form, queue.device, k, chosen))]
        bound = "by the largest entries of its row and column, as gemm documents it"
    if getattr(chosen, "components", 1) > 1:
        # What was asked for, not the real matrices that it was made of.
        whole, k = formats.complex_of(form), k // 2
        shape = (*shape[:-2], shape[-2] // 2, shape[-1])
    return Explanation(whole.name, shape, k, name, tuple(parts), bound, why)


METHODS = {
    Auto: "auto",
    type(None): "direct",
    str: "correctly rounded",
    Ozaki1: "ozaki1",
    Ozaki2: "ozaki2",
}


def _part(made: Made, level: int, share: float | None) -> Part:
    """Of a level, 0: direct."""
    if not level:
        return Part(share)
    form, queue, _, k, chosen = made
    assert isinstance(chosen, Auto)
    return _by(judged.way(form, queue.device, k, chosen, level), share)


def _by(way: Way, share: float | None = 1.0) -> Part:
    """Of products by integers."""
    numbers, count = way.scheme.integers, way.scheme.count
    products = numbers.products if isinstance(numbers, Moduli) else count * (count + 1) // 2
    return Part(share, numbers.bits, products, way.scheme.word, way.engine.name)
