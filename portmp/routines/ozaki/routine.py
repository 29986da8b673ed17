"""GEMM by integers, as one object."""

from collections.abc import Callable, Iterator
from functools import partial

from portmp.backends.base import Device
from portmp.formats import Format, inputs
from portmp.routines.case import Case, ended, hostile, of_turned
from portmp.routines.ozaki import distances, judged, levels, residues, slices
from portmp.routines.ozaki.options import Auto, Ozaki1, Ozaki2
from portmp.routines.ozaki.work import Integers, has
from portmp.routines.reference import Host
from portmp.routines.routine import Routine, Units

METHODS: dict[str, tuple[Callable[..., Host], object]] = {
    "ozaki1": (slices.on_host, "ozaki1"),
    "ozaki2": (residues.on_host, "ozaki2"),
    "auto": (levels.product, Auto(smallest=1)),
}
"""References, and what gemm takes, by name."""


def cases(form: Format) -> Iterator[Case]:
    """The cases of a format: products over few steps, which say how they are cut."""
    if not has(form):
        return
    for name, (host, method) in METHODS.items():
        if name != "auto" or levels.has(form):
            yield from _by(form, name, host, method)
    a, b = inputs.ordinary(form, (13, 40), "a words"), inputs.ordinary(form, (40, 9), "b words")
    for word in ("float32", "float64"):
        yield Case(
            "gemm_ozaki1",
            f"{word}-13x9x40",
            form,
            (a, b),
            "gemm",
            partial(slices.on_host, cut=slices.slices(form, word)),
            {"method": Ozaki1(word=word)},
        )


def _by(form: Format, called: str, host: Callable[..., Host], method: object) -> Iterator[Case]:
    key, chosen = f"gemm_{called}", {"method": method}
    for name, make, (m, n, k) in (
        ("ordinary-17x19x23", inputs.ordinary, (17, 19, 23)),
        ("wide-9x8x20", inputs.wide, (9, 8, 20)),
        ("cancelling-4x5x101", inputs.cancelling, (4, 5, 101)),
    ):
        a, b = make(form, (m, k), f"a {name}"), make(form, (k, n), f"b {name}")
        yield Case(key, name, form, (a, b), "gemm", host, chosen)
    a, b, c = (
        hostile(form, shape, f"ozaki2 {shape[0] * shape[1]}")
        for shape in ((6, 30), (30, 11), (6, 11))
    )
    yield ended(Case(key, "hostile-6x11x30", form, (a, b), "gemm", host, chosen), c=c)
    yield of_turned(Case(key, "transposed-6x11x30", form, (a, b), "gemm", host, chosen))


class Ozaki(Routine):
    """C = alpha A B + beta C by slices or residues."""

    name = "ozaki"
    work = (
        Integers("gemm-ozaki1", Ozaki1()),
        Integers("gemm-ozaki1-float64", Ozaki1(word="float64")),
        Integers("gemm-ozaki2", Ozaki2()),
    )
    cases = staticmethod(cases)

    def units(self, form: Format, device: Device | None) -> Units:
        """Each kernel by itself: what is cut, multiplied and rebuilt."""
        if not (form.paper or form.coded):
            yield from (slices.units(form, device) | residues.units(form, device)).items()
        if levels.has(form):
            yield from judged.units(form, device).items()

    def on_request(self, form: Format, device: Device | None) -> Units:
        """How far results are from products by integers."""
        yield from distances.units(form, device).items()
